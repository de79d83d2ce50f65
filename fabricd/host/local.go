package host

import (
	"cmp"
	"slices"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic/nicd"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Runtime drives the nodes of a [Local] and carries what they send: live it is goroutines and a
// transport, in virtual time package virtual.
type Runtime interface {
	Now() weft.Time
	// Build makes and connects the drivers of all nodes. Called once, before all methods but Now.
	Build(b BuildSpec) (switches, nics []Driver, err error)
	// Cut drops frames sent from these ends, beginning with those on the way; Restore undoes that.
	Cut(from []weft.End) error
	Restore(from []weft.End) error
}

// Driver drives one node. *switchd.Driver is one.
type Driver = nicd.Driver

// BuildSpec is what a Runtime builds.
type BuildSpec struct {
	Graph          *topology.Graph
	Switches, NICs []weft.Core // by number; nil: another host runs it
	Watch          func(n weft.Node) switchd.Observer
	Pace           link.Pace             // of every link
	Batch          int                   // most packets in a frame
	Inbox          int                   // most frames on their way to one port
	Seed           uint64                // of what impairments draw
	Interval       weft.Time             // between hellos; 0: there are none
	Progress       func(done, total int) // hears of how many nodes the links are open; nil: nobody does
}

// LocalConfig says what a Local is. Spec, Graph, Firmware, Runtime and Watch are required.
type LocalConfig struct {
	Spec     Spec // but for its topology and the name of its firmware
	Graph    *topology.Graph
	Firmware switching.Firmware // of every switch; one that notifies when Spec.NIC.Notices is set
	Runtime  Runtime
	Watch    func(n weft.Node) switchd.Observer // hears what a node reports; called by several goroutines

	// how many observations were made, and of these not told; nil: Watch hears all
	Observed func() (all, unpublished uint64)
	Steer    func(by weft.Time)   // puts the clock right; nil: it is the leader's
	Factor   func(factor float64) // has the clock go with another factor; nil: it has none
	// ends what drives the nodes, and returns when it has; nil: somebody else does
	Halt     func()
	Latency  *hdrhistogram.Histogram    // see [NodeFactory]
	Panicked func(switching.RoutePanic) // the same
	// hears of how many nodes there are cores, then of how many the links are open
	Progress func(made bool, done, total int)
}

// Local is a host in this process: its nodes are driven, counted and ordered by calls. Its methods
// are safe for as many goroutines as its Runtime is.
type Local struct {
	spec      Spec
	graph     *topology.Graph
	runtime   Runtime
	nodes     nodes
	programs  map[weft.SwitchID]*Program // of its switches, and of those that its NICs are at; constant
	observed  func() (all, unpublished uint64)
	steer     func(by weft.Time)
	setFactor func(factor float64)
	shard     func(node string) int // the connection of a node; nil: there are none
	halt      func()
	adder     adder

	making sync.Mutex // for latest
	latest Loaded     // the firmware that was made last by name

	orders // what was done to it
}

// nodes are the nodes of the host, in its order. Constant.
type nodes struct {
	switches   []*node
	nics       []*nicNode
	bySwitch   map[weft.SwitchID]*node
	byNIC      map[weft.NICID]*nicNode
	ends       []end                        // in the order of Placement.Ends
	inside     []inside                     // links with both ends here
	shared     []inside                     // likewise, of switches that somebody else may be
	atPrograms map[weft.SwitchID][]*nicNode // NICs by the switch that they are at
}

// node is a switch with its driver.
type node struct {
	Driver
	id   weft.SwitchID
	core *switching.Switch // stepped only by the driver
	*Program
	first int // of its ends
}

// nicNode is a NIC with its driver.
type nicNode struct {
	*nicd.NIC
	id  weft.NICID
	end int
}

// end is an end of a link.
type end struct {
	weft.End
	driver Driver
	linked bool   // else the port leads nowhere
	shared bool   // the link is inside this host, and tells what passes all the same: see [Local.Share]
	peer   string // who has the other end, see [Peer]; empty: this host, or nobody
	beside string // the node at the other end
	placed string // whose that is by the placement: a host, or the node itself where it is in none
}

// inside is a link with both ends in the host, which are indices of ends.
type inside struct {
	id   weft.LinkID
	a, b int
}

// Routing is the name of what a switch of the host runs.
func (p *Local) Routing(id weft.SwitchID) string {
	return cmp.Or(p.programs[id].Now().Routing, p.spec.Routing)
}

// NewLocal makes the nodes of a host. Their links have no signal yet, so they send nothing.
func NewLocal(cfg LocalConfig) (*Local, error) {
	c, g := &cfg.Spec, cfg.Graph
	p := &Local{
		spec: *c, graph: g, runtime: cfg.Runtime, observed: cfg.Observed, steer: cfg.Steer, setFactor: cfg.Factor,
		halt: cfg.Halt, programs: map[weft.SwitchID]*Program{},
	}
	if p.observed == nil {
		p.observed = func() (all, unpublished uint64) { return 0, 0 }
	}
	factory := NodeFactory{
		Graph: g, Firmware: cfg.Firmware, Switch: c.Switch, NIC: c.NIC, Liveness: c.Liveness, Seed: c.Seed, Epoch: c.Epoch,
		Again: c.Again, Number: uint64(c.Again), Program: func(id weft.SwitchID) *Program { return p.programs[id] },
		Latency:  cfg.Latency,
		Panicked: cfg.Panicked,
	}
	if c.Placement.Shared {
		factory.Number = c.Number
	}
	_, factory.Together = p.runtime.(*Live)
	switches, nics := c.Placement.SwitchIDs(), c.Placement.NICIDs()
	for _, id := range switches {
		p.programs[id] = NewProgram(cfg.Firmware)
	}
	for _, id := range nics {
		if leaf, _ := Leaf(g, id); leaf != nil && p.programs[leaf.Switch] == nil {
			p.programs[leaf.Switch] = NewProgram(cfg.Firmware)
		}
	}
	b := BuildSpec{
		Graph: g, Switches: make([]weft.Core, len(g.Switches)), NICs: make([]weft.Core, len(g.NICs)), Watch: cfg.Watch,
		Pace: c.Link.Pace(), Batch: c.Switch.Batch, Inbox: c.Inbox, Seed: c.Seed, Interval: c.Liveness.Detector().Interval,
	}
	var made func(done int)
	if cfg.Progress != nil {
		made = func(done int) { cfg.Progress(true, done, len(switches)+len(nics)) }
		b.Progress = func(done, total int) { cfg.Progress(false, done, total) }
	}
	switchCores, nicCores, err := factory.MakeAll(switches, nics, made)
	if err != nil {
		return nil, err
	}
	for i, id := range switches {
		b.Switches[id] = switchCores[i]
	}
	for i, id := range nics {
		nicCores[i].SetGeneration(c.Generation)
		b.NICs[id] = nicCores[i]
	}
	switchDrivers, nicDrivers, err := p.runtime.Build(b)
	if err != nil {
		return nil, err
	}
	n := &p.nodes
	n.bySwitch, n.byNIC = make(map[weft.SwitchID]*node, len(switches)), make(map[weft.NICID]*nicNode, len(nics))
	n.atPrograms = map[weft.SwitchID][]*nicNode{}
	drivers := make(map[weft.Node]Driver, len(switches)+len(nics))
	for i, id := range switches {
		s := &node{Driver: switchDrivers[id], id: id, core: switchCores[i], Program: p.programs[id]}
		n.switches, n.bySwitch[id], drivers[id.Node()] = append(n.switches, s), s, s.Driver
	}
	for i, id := range nics {
		h := &nicNode{NIC: nicd.New(nicCores[i], nicDrivers[id], cfg.Runtime.Now), id: id}
		n.nics, n.byNIC[id], drivers[id.Node()] = append(n.nics, h), h, h.Driver
		if c.Hold {
			h.Hold(true)
		}
		if leaf, _ := Leaf(g, id); leaf != nil {
			n.atPrograms[leaf.Switch] = append(n.atPrograms[leaf.Switch], h)
		}
	}
	for _, list := range n.atPrograms { // in the order of the ports there
		slices.SortFunc(list, func(a, b *nicNode) int {
			_, p := Leaf(g, a.id)
			_, q := Leaf(g, b.id)
			return int(p) - int(q)
		})
	}
	connections := 0
	if t, ok := p.runtime.(interface {
		Shards() int
		Shard(node string) int
	}); ok {
		connections, p.shard = t.Shards(), t.Shard
	}
	p.findEnds(drivers)
	p.orders.init(len(n.ends), connections, c)
	return p, nil
}

// findEnds lists the ends and links of the host.
func (p *Local) findEnds(drivers map[weft.Node]Driver) {
	n, g := &p.nodes, p.graph
	placed := p.spec.placed()
	list := p.spec.Placement.Ends(g)
	n.ends, n.inside = make([]end, len(list)), make([]inside, 0, len(list)/2)
	for i, e := range list {
		_, _, linked := g.Peer(e)
		n.ends[i] = end{End: e, driver: drivers[e.Node], linked: linked}
		switch {
		case !e.Node.IsSwitch():
			n.byNIC[weft.NICID(e.Node.Index)].end = i
		case e.Port == 0:
			n.bySwitch[weft.SwitchID(e.Node.Index)].first = i
		}
	}
	for i := range n.ends {
		e := &n.ends[i]
		if !e.linked {
			continue
		}
		peer, id, _ := g.Peer(e.End)
		e.beside = g.Name(peer.Node)
		e.placed = cmp.Or(placed[peer.Node], e.beside)
		other, local := n.indexOf(peer)
		switch {
		case !local:
			e.peer = e.placed
		case g.Links[id].A == e.End:
			n.inside = append(n.inside, inside{id, i, other})
		}
	}
}

// indexOf is the index of an end in ends.
func (n *nodes) indexOf(e weft.End) (i int, ok bool) {
	if !e.Node.IsSwitch() {
		h := n.byNIC[weft.NICID(e.Node.Index)]
		if h == nil || e.Port != 0 {
			return 0, false
		}
		return h.end, true
	}
	s := n.bySwitch[weft.SwitchID(e.Node.Index)]
	if s == nil || int(e.Port) >= s.core.Ports() {
		return 0, false
	}
	return s.first + int(e.Port), true
}

// NIC is a NIC of the host, to send and take payloads by; nil: another host runs it.
func (p *Local) NIC(id weft.NICID) *nicd.NIC {
	if h := p.nodes.byNIC[id]; h != nil {
		return h.NIC
	}
	return nil
}
