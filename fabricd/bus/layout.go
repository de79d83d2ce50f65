package bus

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/switch/wire"
)

// ErrElsewhere means that a node is in a shard of another process.
var ErrElsewhere = errors.New("the node is in a shard of another process")

// Layout says in which shard every node of a fabric is. What a node sends travels on a subject with
// its own shard and that of the node it sends to, so all processes of a fabric must agree.
// Constant.
type Layout struct {
	first, n int            // the shards of all nodes that are on no host
	own      [2]int         // of them those of this process: the first, and how many
	hosts    [][2]int       // per host of the others, its shards likewise
	host     map[string]int // by node
}

// Hashed is the layout of a fabric that has n shards, 1 to MaxConnections, and spreads its nodes
// over all of them by their names.
func Hashed(n int) *Layout { return &Layout{n: n, own: [2]int{0, n}} }

// HostShards are the shards of one host of a fabric and the nodes in it, which are spread over them
// by their names.
type HostShards struct {
	First, N int // N is 1 to MaxConnections, First+N at most MaxShards
	Nodes    []string
}

// NewLayout is the layout of a fabric of several hosts, for the process that has the shards of own;
// its own nodes need no mention. The error says which host has shards that cannot be.
func NewLayout(own HostShards, others ...HostShards) (*Layout, error) {
	l := &Layout{first: own.First, n: own.N, own: [2]int{own.First, own.N}, host: make(map[string]int)}
	if err := own.validate(); err != nil {
		return nil, err
	}
	for i, p := range others {
		if err := p.validate(); err != nil {
			return nil, err
		}
		l.hosts = append(l.hosts, [2]int{p.First, p.N})
		for _, node := range p.Nodes {
			l.host[node] = i
		}
	}
	for _, node := range own.Nodes {
		delete(l.host, node)
	}
	return l, nil
}

func (p HostShards) validate() error {
	if p.First < 0 || p.N < 1 || p.N > MaxConnections || p.First+p.N > MaxShards {
		return fmt.Errorf("bus: a host with shards %d to %d: want 1 to %d of them, below %d", p.First, p.First+p.N-1,
			MaxConnections, MaxShards)
	}
	return nil
}

// Only is l for a process that runs one node and nothing else. It shares the shard of the node with
// who has l, so no subject changes when it takes the node over.
func (l *Layout) Only(node string) *Layout {
	one := *l
	one.own = [2]int{l.Shard(node), 1}
	return &one
}

// Own is the first of the shards of this process, and how many it has.
func (l *Layout) Own() (first, n int) { return l.own[0], l.own[1] }

// Shard is the shard of a node.
func (l *Layout) Shard(node string) int {
	if i, ok := l.host[node]; ok {
		return l.hosts[i][0] + ShardOf(node, l.hosts[i][1])
	}
	return l.first + ShardOf(node, l.n)
}

// owns reports whether a node is in a shard of this process.
func (l *Layout) owns(node string) bool {
	s := l.Shard(node)
	return s >= l.own[0] && s < l.own[0]+l.own[1]
}

// subject is what a direction travels on.
func (l *Layout) subject(fabric string, d wire.Direction) Subject {
	return Subject{
		Kind: SubjectLink, Fabric: fabric, Shard: l.Shard(d.From), To: l.Shard(d.To), Node: d.From,
		Port: d.FromPort,
	}
}
