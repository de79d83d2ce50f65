package host

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// NodeFactory makes the cores of nodes: live and in virtual time, for a whole fabric, a host or one
// switch. Constant once the first is made.
type NodeFactory struct {
	Graph    *topology.Graph
	Firmware switching.Firmware // of every switch
	Switch   settings.Switch
	NIC      settings.NIC
	Liveness settings.Liveness
	Seed     uint64
	Epoch    weft.Epoch // before the first of every link
	Together bool       // see [link.Liveness]

	Number uint64 // of the incarnation of switches that were made before: they draw anew; 0 the first time
	Again  uint32 // see [Spec]

	// Program returns what a switch forwards by now, for its NICs.
	Program func(id weft.SwitchID) *Program
	// Latency is the histogram of all NICs that run on one goroutine; nil: each NIC has its own.
	Latency *hdrhistogram.Histogram
	// Panicked hears of panics in the firmware; see [switching.Config]. nil: they are not caught.
	Panicked func(switching.RoutePanic)
}

// MakeSwitch makes the core of a switch. The error is that of [switching.New].
func (c *NodeFactory) MakeSwitch(id weft.SwitchID) (*switching.Switch, error) {
	cfg := c.Switch.Config()
	cfg.Place, cfg.Firmware, cfg.Version = c.Graph.Place(id), c.Firmware, c.Firmware.Version()
	cfg.Rand = weft.Stream(c.Seed, weft.StreamSwitch, uint64(id), c.Number)
	cfg.Liveness, cfg.Epoch, cfg.Panicked = c.liveness(), c.Epoch, c.Panicked
	cfg.Notices = c.NIC.Notices.Time() > 0
	return switching.New(cfg)
}

// MakeNIC makes the core of a NIC. The error is that of [nic.New].
func (c *NodeFactory) MakeNIC(id weft.NICID) (*nic.NIC, error) {
	cfg := c.NIC.Config(c.Switch)
	cfg.ID, cfg.NICs, cfg.Rand = id, len(c.Graph.NICs), weft.Stream(c.Seed, weft.StreamNIC, uint64(id), uint64(c.Again))
	cfg.Liveness, cfg.Epoch, cfg.Incarnation = c.liveness(), c.Epoch, c.Again
	cfg.Source, cfg.Addresses, cfg.Latency = c.source(id), c.addresses(id), c.Latency
	cfg.Distance = func(src weft.NICID) int { return c.Graph.Distance(src, id) }
	return nic.New(cfg)
}

func (c *NodeFactory) liveness() link.Liveness {
	l := c.Liveness.Detector()
	l.Together = c.Together
	return l
}

// source returns the function by which the firmware fills in headers at a NIC, or nil. It asks the
// firmware that its switch runs then.
func (c *NodeFactory) source(id weft.NICID) func(h *weft.Header) {
	leaf, port := Leaf(c.Graph, id)
	if leaf == nil {
		return nil
	}
	in := c.Program(leaf.Switch)
	return func(h *weft.Header) { in.Firmware().Write(leaf, port, h) }
}

// addresses returns the function by which the firmware has a NIC choose among addresses, or nil.
func (c *NodeFactory) addresses(id weft.NICID) func(dst weft.NICID) []weft.Address {
	leaf, port := Leaf(c.Graph, id)
	if leaf == nil {
		return nil
	}
	in := c.Program(leaf.Switch)
	return func(dst weft.NICID) []weft.Address {
		if of := in.Firmware().Addresses; of != nil {
			return of(leaf, port, dst)
		}
		return nil
	}
}

// Leaf is the switch of a NIC and the port there, nil when it has none.
func Leaf(g *topology.Graph, id weft.NICID) (*weft.Place, weft.PortID) {
	leaf, _, ok := g.Peer(weft.End{Node: id.Node()})
	if !ok || !leaf.Node.IsSwitch() {
		return nil, weft.NoPort
	}
	return g.Place(weft.SwitchID(leaf.Node.Index)), leaf.Port
}
