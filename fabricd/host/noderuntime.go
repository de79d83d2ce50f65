package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// NodeRuntimeConfig says what a NodeRuntime drives. All but Watch and Progress are required. Watch
// is called by several goroutines.
type NodeRuntimeConfig struct {
	Graph       *topology.Graph
	Transport   wire.Transport
	Clock       *Clock
	Nodes       []weft.Node // each once
	Cores       []weft.Core // of Nodes
	Pace        link.Pace   // of every link
	Batch       int         // most packets in a frame
	Inbox       int         // most frames on their way to one port
	Seed        uint64      // of what impairments draw
	Incarnation uint64      // of this host, which draws anew; 0 the first time
	Interval    weft.Time   // between hellos; 0: there are none
	// it may send nothing on its shards but what is for its links, so it cannot measure what holds
	// frames up
	NoSelfProbe bool
	Watch       func(n weft.Node) switchd.Observer
	Progress    func(done, total int) // hears now and then of how many nodes the links are open; nil: nobody does
}

// NodeRuntime drives nodes live over a transport: it opens the links of each and steps its core.
type NodeRuntime struct {
	cfg       NodeRuntimeConfig
	drivers   map[weft.Node]*switchd.Driver // constant
	own       map[weft.Node]bool            // constant: the nodes
	tickers   []*switchd.Ticker             // per connection: one that does not take what is sent holds up nobody else
	wires     map[weft.Node][]switchd.Wire  // constant
	payloads  wire.Payloads                 // of all nodes
	selfProbe *wire.SelfProbe               // nil: links do not leave the process
}

// NewNodeRuntime opens the links of the nodes. Nothing runs yet.
func NewNodeRuntime(cfg NodeRuntimeConfig) (*NodeRuntime, error) {
	m := &NodeRuntime{
		cfg: cfg, drivers: make(map[weft.Node]*switchd.Driver, len(cfg.Nodes)),
		wires: make(map[weft.Node][]switchd.Wire, len(cfg.Nodes)),
		own:   make(map[weft.Node]bool, len(cfg.Nodes)),
	}
	for _, n := range cfg.Nodes {
		m.own[n] = true
	}
	gatherer, _ := cfg.Transport.(wire.HelloGatherer)
	for shard := range max(1, cfg.Transport.Shards()) {
		ticker := switchd.NewTicker(cfg.Clock.Now, cfg.Clock.Wall)
		if gatherer != nil {
			ticker.Rest = func() { gatherer.FlushHellos(shard) }
		}
		m.tickers = append(m.tickers, ticker)
	}
	if every := cfg.Interval / 4; every > 0 && !cfg.NoSelfProbe && len(cfg.Nodes) > 0 &&
		cfg.Transport.Enforcement() != wire.EnforcedInProcess {
		var err error
		if m.selfProbe, err = wire.NewSelfProbe(cfg.Transport, every.Duration()); err != nil {
			return nil, err
		}
	}
	exemptions, drivers := make([]*stallExemption, len(cfg.Nodes)), make([]*switchd.Driver, len(cfg.Nodes))
	all := make([][]switchd.Wire, len(cfg.Nodes))
	var progress func(done int)
	if cfg.Progress != nil {
		progress = func(done int) { cfg.Progress(done, len(cfg.Nodes)) }
	}
	err := inParallel(len(cfg.Nodes), progress, func(i int) (err error) {
		n := cfg.Nodes[i]
		exemptions[i] = &stallExemption{interval: cfg.Interval.Duration(), ports: make([]heldFor, cfg.Cores[i].Ports())}
		if all[i], err = m.wire(n, cfg.Cores[i].Ports()); err != nil {
			return err
		}
		c := switchd.Config{
			Core: cfg.Cores[i], Wires: all[i], Clock: cfg.Clock.Now, Wall: cfg.Clock.Wall, Batch: cfg.Batch,
			MaxFrame: cfg.Transport.MaxFrame(), Payloads: &m.payloads,
			Exempt: exemptions[i].exempt, Ticker: m.tickers[max(0, cfg.Transport.Shard(cfg.Graph.Name(n)))],
			Draws: func(p weft.PortID) *rand.PCG {
				return weft.Stream(cfg.Seed, weft.StreamLink, weft.End{Node: n, Port: p}.StreamNumber(), cfg.Incarnation)
			},
		}
		if cfg.Watch != nil {
			c.Watch = cfg.Watch(n)
			if !n.IsSwitch() && c.Watch != nil {
				c.Watch = reader{c.Watch, &m.payloads}
			}
		}
		drivers[i] = switchd.New(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, n := range cfg.Nodes {
		m.wires[n], m.drivers[n] = all[i], drivers[i]
	}
	m.findPeers(exemptions)
	return m, nil
}

// Direction is the transport's name of the direction that an end sends on; ok is false if the end
// has no link.
func Direction(g *topology.Graph, from weft.End) (d wire.Direction, ok bool) {
	to, _, ok := g.Peer(from)
	if !ok {
		return d, false
	}
	return wire.Direction{From: g.Name(from.Node), FromPort: from.Port, To: g.Name(to.Node), ToPort: to.Port}, true
}

// wire opens the links of a node.
func (m *NodeRuntime) wire(n weft.Node, ports int) ([]switchd.Wire, error) {
	wires := make([]switchd.Wire, ports)
	own := func(e weft.End) bool {
		peer, _, _ := m.cfg.Graph.Peer(e)
		return m.own[peer.Node]
	}
	for p := range wires {
		d, ok := Direction(m.cfg.Graph, weft.End{Node: n, Port: weft.PortID(p)})
		if !ok {
			continue
		}
		inbox := make(chan wire.Message, m.cfg.Inbox)
		if err := m.cfg.Transport.Listen(d.Reverse(), inbox); err != nil {
			return nil, fmt.Errorf("link %v: %w", d, err)
		}
		out, err := m.cfg.Transport.Sender(d)
		if err != nil {
			return nil, fmt.Errorf("link %v: %w", d, err)
		}
		wires[p] = switchd.Wire{
			Out: out, Inbox: inbox, Pace: m.cfg.Pace, Far: !own(weft.End{Node: n, Port: weft.PortID(p)}),
			OutSum: d.Sum(), InSum: d.Reverse().Sum(),
		}
	}
	return wires, nil
}

// Driver is the driver of a node, nil for a node of another host.
func (m *NodeRuntime) Driver(n weft.Node) *switchd.Driver { return m.drivers[n] }

// Drivers are those of all nodes.
func (m *NodeRuntime) Drivers() []*switchd.Driver {
	list := make([]*switchd.Driver, len(m.cfg.Nodes))
	for i, n := range m.cfg.Nodes {
		list[i] = m.drivers[n]
	}
	return list
}

// Recheck has all nodes look again at how long they wait: the clock goes with another factor.
func (m *NodeRuntime) Recheck() {
	for _, d := range m.drivers {
		d.Recheck()
	}
}

// Inbox is where frames for an end arrive. The runtime goes on listening there.
func (m *NodeRuntime) Inbox(e weft.End) chan wire.Message { return m.wires[e.Node][e.Port].Inbox }

// Run drives all nodes until ctx ends, and returns when no goroutine is left. Call it once.
func (m *NodeRuntime) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, t := range m.tickers {
		running.Go(func() { t.Run(ctx) })
	}
	for _, n := range m.cfg.Nodes {
		m.drivers[n].Start(&running)
	}
	if m.selfProbe != nil {
		running.Go(func() { m.selfProbe.Run(ctx) })
	}
	<-ctx.Done()
	for _, n := range m.cfg.Nodes {
		m.drivers[n].Stop()
	}
	running.Wait()
}

// This process must not take a neighbour for dead because it did not let the neighbour speak. A
// busy machine may hold up the goroutine that carries the frames of all links, or the one that
// steps the neighbour, for hundreds of milliseconds, while the goroutine that checks the deadline
// runs on time. Silence counts only while neither is held up.

// stallExemption says whether this process holds up what comes to a node's ports, or did until just
// now.
type stallExemption struct {
	selfProbe *wire.SelfProbe
	interval  time.Duration
	own       int       // the connection of the node
	ports     []heldFor // per port
}

// heldFor is where frames for a port may be held up.
type heldFor struct {
	linked bool
	peer   *switchd.Driver // nil: it runs elsewhere, and whether its process holds it up nobody knows here
	port   weft.PortID     // of the peer
	shard  int             // of the peer
}

func (e *stallExemption) exempt(p weft.PortID) bool {
	h := &e.ports[p]
	switch {
	case !h.linked:
		return false
	case h.peer != nil && h.peer.Late(h.port, e.interval/2, e.interval):
		return true
	case e.selfProbe == nil:
		return false
	case e.selfProbe.Late(e.own, e.interval/2, e.interval):
		return true
	}
	return h.peer != nil && h.shard != e.own && e.selfProbe.Late(h.shard, e.interval/2, e.interval)
}

// findPeers fills in the neighbours of all nodes, once all have drivers.
func (m *NodeRuntime) findPeers(exemptions []*stallExemption) {
	g := m.cfg.Graph
	for i, n := range m.cfg.Nodes {
		e := exemptions[i]
		e.selfProbe, e.own = m.selfProbe, m.cfg.Transport.Shard(g.Name(n))
		for p := range e.ports {
			if peer, _, ok := g.Peer(weft.End{Node: n, Port: weft.PortID(p)}); ok {
				e.ports[p] = heldFor{
					linked: true, peer: m.drivers[peer.Node], port: peer.Port,
					shard: m.cfg.Transport.Shard(g.Name(peer.Node)),
				}
			}
		}
	}
}
