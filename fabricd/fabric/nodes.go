package fabric

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/topology"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// nodes are the switches, NICs and links of a fabric, and the hosts that run them. New makes them;
// only the loop adds a host, or has another one run a switch. Any goroutine may ask.
type nodes struct {
	graph      *topology.Graph
	switches   []*liveSwitch
	nics       []*liveNIC
	links      []*link
	local      *hostState                   // the nodes of this process
	remote     []*hostState                 // of the options, in other processes
	hosts      atomic.Pointer[[]*hostState] // these, and where switch processes are or were
	placements []host.Placement             // where all nodes are, when there are hosts
}

// newNodes has the graph and the links of a topology; the nodes are made when there are hosts.
func newNodes(g *topology.Graph) *nodes {
	ns := &nodes{graph: g}
	for _, l := range g.Links {
		ns.links = append(ns.links, newLink(g, l))
	}
	return ns
}

// liveSwitch is a switch as the leader knows it.
type liveSwitch struct {
	id   weft.SwitchID
	name string
	home *hostState // the host that it belongs to by the placement

	placement     // who runs it, see process.go
	*host.Program // what it forwards by, see tables.go
}

// liveNIC is a NIC as the leader knows it.
type liveNIC struct {
	id   weft.NICID
	home *hostState // the host that runs it
}

// Topology is the graph the fabric was built from.
func (ns *nodes) Topology() *topology.Graph { return ns.graph }

func (ns *nodes) switchByName(name string) (*liveSwitch, error) {
	id, err := ns.graph.SwitchByName(name)
	if err != nil {
		return nil, err
	}
	return ns.switches[id], nil
}

func (ns *nodes) link(id weft.LinkID) (*link, error) {
	if int(id) >= len(ns.links) {
		return nil, fmt.Errorf("link %d: %w: there are %d", id, ErrUnknown, len(ns.links))
	}
	return ns.links[id], nil
}

// linkAt is the link at a port, and which of its ends that is.
func (ns *nodes) linkAt(e weft.End) (l *link, side int, ok bool) {
	_, id, ok := ns.graph.Peer(e)
	if !ok {
		return nil, 0, false
	}
	l = ns.links[id]
	if l.B == e {
		side = 1
	}
	return l, side, true
}

func (ns *nodes) linksOf(id weft.SwitchID) []*link {
	var out []*link
	for _, l := range ns.links {
		if l.A.Node == id.Node() || l.B.Node == id.Node() {
			out = append(out, l)
		}
	}
	return out
}

// switchName is the name of a switch of the fabric.
func (ns *nodes) switchName(s weft.SwitchID) string { return ns.graph.Name(s.Node()) }

// from are the sending ends of directions.
func (ns *nodes) from(list []leader.Direction) []weft.End {
	ends := make([]weft.End, len(list))
	for i, d := range list {
		l := ns.links[d.Link]
		if ends[i] = l.A; d.Back {
			ends[i] = l.B
		}
	}
	return ends
}

// held reports whether damping keeps either end of l down.
func (ns *nodes) held(l *link) bool {
	return ns.hostOf(l.A.Node).held(l.A) || ns.hostOf(l.B.Node).held(l.B)
}

// home is the host that a node belongs to by the placement.
func (ns *nodes) home(n weft.Node) *hostState {
	if n.IsSwitch() {
		return ns.switches[n.Index].home
	}
	return ns.nics[n.Index].home
}

// hostsOf are the hosts that are told what is to be so for a node: its home, and of a switch
// besides its host of its own.
func (ns *nodes) hostsOf(n weft.Node) []*hostState {
	if n.IsSwitch() {
		if h := ns.switches[n.Index].owned(); h != nil {
			return []*hostState{h, ns.home(n)}
		}
	}
	return []*hostState{ns.home(n)}
}

// hostOf is the host that runs a node now.
func (ns *nodes) hostOf(n weft.Node) *hostState {
	if n.IsSwitch() && ns.switches[n.Index].moved.Load() {
		return ns.switches[n.Index].own.Load()
	}
	return ns.home(n)
}

// hostBefore is the host that runs a node, while from still runs a switch of which it may have been
// decided already that another one does.
func (ns *nodes) hostBefore(s *liveSwitch, from *hostState, n weft.Node) *hostState {
	if n == s.id.Node() {
		return from
	}
	return ns.hostOf(n)
}

// runBy are the switches that a host of the options runs now.
func (ns *nodes) runBy(h *hostState) (list []string) {
	for _, s := range ns.switches {
		if s.runsAt() == h.name {
			list = append(list, s.name)
		}
	}
	return list
}

func (ns *nodes) hostNamed(name string) *hostState {
	for _, h := range ns.remote {
		if h.name == name {
			return h
		}
	}
	return nil
}

// hostNumbered is the host of a number.
func (ns *nodes) hostNumbered(id ledger.HostID) *hostState {
	hosts := *ns.hosts.Load()
	return hosts[slices.IndexFunc(hosts, func(h *hostState) bool { return h.id == id })]
}

// hostOfProcess is the number of the processes that are a switch.
func (ns *nodes) hostOfProcess(s weft.SwitchID) ledger.HostID {
	return localHostID + 1 + ledger.HostID(len(ns.remote)) + ledger.HostID(s)
}

// owned are the hosts of one switch alone that have owners.
func (ns *nodes) owned() (list []*hostState) {
	for _, h := range *ns.hosts.Load() {
		if h.sw != nil && h.owner.Load() != nil {
			list = append(list, h)
		}
	}
	return list
}

// remoteHosts are all hosts in other processes that there are now.
func (ns *nodes) remoteHosts() []*hostState { return slices.Concat(ns.remote, ns.owned()) }

// answering are the hosts that answer.
func (ns *nodes) answering() []*hostState {
	return slices.DeleteFunc(ns.remoteHosts(), func(h *hostState) bool { return h.suspect.Load() })
}

// eachLives calls do with the list of each host, and of each switch that has moved.
func (ns *nodes) eachLives(do func(list *atomic.Pointer[[]linkend.Incarnation])) {
	for _, h := range *ns.hosts.Load() {
		if l := h.incarnations.Load(); l != nil && len(*l) > 0 {
			do(&h.incarnations)
		}
	}
	for _, s := range ns.switches {
		if l := s.lives.Load(); l != nil && len(*l) > 0 {
			do(&s.lives)
		}
	}
}
