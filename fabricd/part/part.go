package part

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/nic/nicd"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/switchd"
)

// Config of a part. Charter and URL are required.
type Config struct {
	Charter     Charter
	URL         string          // of the broker
	Credentials bus.Credentials // for when the charter has none
	Log         *slog.Logger    // nil: discarded
	Ready       func()          // called once when the part answers; nil: nobody
	Alone       int             // seconds in which nobody asks after which it ends; 0: it goes on, for another leader
	// Elapsed is what has passed since some moment by the clock of the host; nil: that of the process. Tests have clocks that drift.
	Elapsed func() time.Duration
}

// Run is a part of a running fabric until it is told to end, which is no error, or ctx ends, whose error is returned. Other
// errors say why it cannot be made, or that the broker takes its credentials no more. When it returns nothing of it is left.
func Run(ctx context.Context, cfg Config) error {
	p, err := Open(cfg)
	if err != nil {
		return err
	}
	if cfg.Ready != nil {
		cfg.Ready()
	}
	_, err = p.Wait(ctx)
	return errors.Join(err, p.Close())
}

// Part is a part of a running fabric. Its methods are safe for any goroutine.
type Part struct {
	charter  Charter
	log      *slog.Logger
	graph    *topology.Graph
	nodes    nodes
	programs map[weft.SwitchID]*Program // of its switches, and of those that its NICs are at; constant
	clock    *clock
	links    *bus.NATS
	machine  *Machine
	teller   *teller
	notices  chan weft.Notice // bound: maxNotices; for NICs of the part
	control  *bus.Control
	server   *server
	adder    adder

	ended   chan string   // capacity 1: it was told to end, and why
	asked   chan struct{} // capacity 1: somebody asks
	alone   int           // see Config
	running sync.WaitGroup
	stop    context.CancelFunc
	halt    func()        // ends the machine, and returns when it has; its nodes can be read all the same
	halted  chan struct{} // closed when the machine has ended
	once    sync.Once
	failed  error // of Close

	orders // what was done to it
}

// nodes are those that the part has, in its order. Constant.
type nodes struct {
	switches   []*node
	nics       []*host
	bySwitch   map[weft.SwitchID]*node
	byNIC      map[weft.NICID]*host
	ends       []end                     // in the order of Place.Ends
	endOf      map[weft.End]int          // index in ends
	inside     []inside                  // links with both ends here
	crossing   []int                     // indices of ends of links that lead elsewhere
	atPrograms map[weft.SwitchID][]*host // NICs by the switch that they are at
}

// node is a switch with its driver.
type node struct {
	*switchd.Driver
	id   weft.SwitchID
	core *switching.Switch // stepped only by the driver
	*Program
	first int // of its ends
}

// host is a NIC with its driver.
type host struct {
	*nicd.NIC
	id  weft.NICID
	end int
}

// end is an end of a link.
type end struct {
	weft.End
	driver *switchd.Driver
	linked bool          // else the port leads nowhere
	way    bus.Direction // that it sends on
	shards [2]int        // the connections of the link's ends; -1: another process has it
}

// inside is a link with both ends in the part, which are indices of ends.
type inside struct {
	id   weft.LinkID
	a, b int
}

// Open makes a part and serves it. It carries nothing yet, for its links have no signal. The caller closes it.
func Open(cfg Config) (*Part, error) {
	c := cfg.Charter
	p := &Part{
		charter: c, log: cfg.Log, clock: newClock(c.Now, cfg.Elapsed), ended: make(chan string, 1), halted: make(chan struct{}), notices: make(chan weft.Notice, maxNotices),
		asked: make(chan struct{}, 1), alone: cfg.Alone,
	}
	p.orders.troubles.more = make(chan struct{}, 1)
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if err := p.open(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("part %s of fabric %s: %w", c.Part, c.Fabric, err), p.Close())
	}
	return p, nil
}

func (p *Part) open(cfg Config) (err error) {
	c := &p.charter
	if p.graph, err = c.graph(); err != nil {
		return err
	}
	if err := c.check(p.graph); err != nil {
		return err
	}
	layout, err := c.layout(p.graph)
	if err != nil {
		return err
	}
	creds, identity, err := bus.PartCredentials(c.Credentials, cfg.Credentials)
	if err != nil {
		return err
	}
	links := bus.NATSConfig{Fabric: c.Fabric, URL: cfg.URL, Credentials: creds, Layout: layout}
	if c.Place.Shared {
		links.Layout, links.Subscription = layout.Only(p.graph.Switches[c.Place.Switches[0].First].Name), bus.PerDirection
	}
	if p.links, err = bus.NewNATS(links); err != nil {
		return err
	}
	p.links.Watch(p.trouble)
	p.teller = newTeller(c, p.carry, func(s Seen) error { return p.control.Publish(TellSeen, s) })
	if err := p.build(); err != nil {
		return err
	}
	if err := p.links.Ready(context.Background()); err != nil {
		return err
	}
	p.control, err = bus.NewControl(bus.ControlConfig{
		Fabric: c.Fabric, Node: c.Part, URL: cfg.URL, Credentials: creds,
		OnError: func(err error) { p.log.Warn("control", "part", c.Part, "err", err) },
	})
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(context.Background())
	p.stop = stop
	driving, halt := context.WithCancel(work)
	p.halt = func() { halt(); <-p.halted }
	p.running.Go(func() { defer close(p.halted); p.machine.Run(driving) })
	p.running.Go(func() { p.teller.run(work) })
	p.running.Go(func() { p.carryNotices(work) })
	p.running.Go(func() { p.carryTroubles(work) })
	return errors.Join(p.serve(), identity.Serve(p.control))
}

// graph is the topology of the fabric.
func (c *Charter) graph() (*topology.Graph, error) {
	text, err := Decompress(c.Topology)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	g, err := topology.Load("fabric.yaml", text)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return g, nil
}

// errPlace means that a charter speaks of nodes that the topology does not have.
var errPlace = errors.New("the charter and its topology do not agree")

func (c *Charter) check(g *topology.Graph) error {
	for _, place := range append([]Place{c.Place}, c.Layout...) {
		for _, l := range []struct {
			spans []Span
			n     int
			what  string
		}{{place.Switches, len(g.Switches), "switches"}, {place.NICs, len(g.NICs), "NICs"}} {
			next := uint64(0)
			for _, s := range l.spans {
				if uint64(s.First) < next || uint64(s.First)+uint64(s.N) > uint64(l.n) {
					return fmt.Errorf("part %s has %s %d to %d, of %d: %w", place.Part, l.what, s.First, uint64(s.First)+uint64(s.N)-1, l.n, errPlace)
				}
				next = uint64(s.First) + uint64(s.N)
			}
		}
	}
	switch p := c.Place; {
	case p.Shared && (len(p.NICs) > 0 || len(p.Switches) != 1 || p.Switches[0].N != 1):
		return fmt.Errorf("part %s shares shards and is not one switch: %w", p.Part, errPlace)
	case c.Link.Inbox < 1:
		return fmt.Errorf("inboxes of %d frames: %w", c.Link.Inbox, errPlace)
	case c.Again > nic.MaxIncarnation:
		return fmt.Errorf("%d incarnations, at most %d: %w", c.Again, nic.MaxIncarnation, errPlace)
	}
	return nil
}

// layout is who is in which shard, as this part sees it.
func (c *Charter) layout(g *topology.Graph) (*bus.Layout, error) {
	var others []bus.PartShards
	for _, p := range c.Layout {
		if p.Part != c.Part {
			others = append(others, p.PartShards(g))
		}
	}
	return bus.NewLayout(c.Place.PartShards(g), others...)
}

// PartShards is the place as a [bus.Layout] has it.
func (p Place) PartShards(g *topology.Graph) bus.PartShards {
	s := bus.PartShards{First: p.Shard, N: p.Shards}
	for _, id := range p.SwitchIDs() {
		s.Nodes = append(s.Nodes, g.Switches[id].Name)
	}
	for _, id := range p.NICIDs() {
		s.Nodes = append(s.Nodes, g.NICs[id].Name)
	}
	return s
}

// build makes the nodes of the part on its links.
func (p *Part) build() error {
	c, g := &p.charter, p.graph
	fw, _, err := subnet.Firmware(c.Firmware, g)
	if err != nil {
		return fmt.Errorf("the fabric is of another release than this process: %w", err)
	}
	if c.NIC.Notices > 0 {
		n, ok := fw.(switching.Notifier)
		if !ok {
			return fmt.Errorf("the fabric is of another release than this process: firmware %s tells no sources of discards here", c.Firmware)
		}
		fw = n.Notifying()
	}
	cores := Cores{
		Graph: g, Firmware: fw, Switch: c.Switch, NIC: c.NIC, Link: c.Link, Seed: c.Seed, Epoch: c.Epoch, Again: c.Again,
		Number: uint64(c.Again), Program: func(id weft.SwitchID) *Program { return p.programs[id] },
	}
	if c.Place.Shared {
		cores.Number = c.Number
	}
	switches, nics := c.Place.SwitchIDs(), c.Place.NICIDs()
	p.programs = map[weft.SwitchID]*Program{}
	for _, id := range switches {
		p.programs[id] = NewProgram(fw)
	}
	for _, id := range nics {
		if leaf, _ := Leaf(g, id); leaf != nil && p.programs[leaf.Switch] == nil {
			p.programs[leaf.Switch] = NewProgram(fw)
		}
	}
	batch := c.Switch.Batch
	if fits := bus.Batch(p.links.MaxFrame(), c.Switch.VCs); batch == 0 || fits < batch {
		batch = min(fits, switchd.DefaultBatch)
	}
	m := MachineConfig{
		Graph: g, Transport: p.links, Clock: p.clock.Now, Pace: c.Link.Pace, Batch: batch, Inbox: c.Link.Inbox, Seed: c.Seed, Incarnation: c.Number,
		Interval: c.Link.Liveness.Interval, Still: c.Place.Shared, Watch: func(n weft.Node) switchd.Observer { return &watch{p.teller, n} },
	}
	n := &p.nodes
	n.bySwitch, n.byNIC, n.endOf = map[weft.SwitchID]*node{}, map[weft.NICID]*host{}, map[weft.End]int{}
	switchCores, nicCores, err := cores.MakeAll(switches, nics, nil)
	if err != nil {
		return err
	}
	for i, id := range switches {
		s := &node{id: id, core: switchCores[i], Program: p.programs[id]}
		n.switches, n.bySwitch[id] = append(n.switches, s), s
		m.Nodes, m.Cores = append(m.Nodes, id.Node()), append(m.Cores, s.core)
	}
	for i, id := range nics {
		nicCores[i].SetEra(c.Era)
		m.Nodes, m.Cores = append(m.Nodes, id.Node()), append(m.Cores, nicCores[i])
	}
	if p.machine, err = NewMachine(m); err != nil {
		return err
	}
	for _, s := range n.switches {
		s.Driver = p.machine.Driver(s.id.Node())
	}
	n.atPrograms = map[weft.SwitchID][]*host{}
	for i, id := range nics {
		h := &host{NIC: nicd.New(nicCores[i], p.machine.Driver(id.Node())), id: id}
		n.nics, n.byNIC[id] = append(n.nics, h), h
		h.Hold(c.Hold)
		if leaf, _ := Leaf(g, id); leaf != nil {
			n.atPrograms[leaf.Switch] = append(n.atPrograms[leaf.Switch], h)
		}
	}
	p.findEnds()
	p.orders.init(len(n.ends), p.links.Shards(), c)
	return nil
}

// findEnds lists the ends and links of the part.
func (p *Part) findEnds() {
	n, g := &p.nodes, p.graph
	for i, e := range p.charter.Place.Ends(g) {
		d, linked := Direction(g, e)
		n.endOf[e] = i
		n.ends = append(n.ends, end{
			End: e, driver: p.machine.Driver(e.Node), linked: linked, way: d, shards: [2]int{p.links.Shard(d.From), p.links.Shard(d.To)},
		})
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
		other, here := n.endOf[peer]
		switch {
		case !here:
			n.crossing = append(n.crossing, i)
		case g.Links[id].A == e.End:
			n.inside = append(n.inside, inside{id, i, other})
		}
	}
}

// lastWords is how long a part that was told to end waits until its last sum was asked for to its end; chosen by us.
const lastWords = 2 * time.Second

// Wait returns why when the part was told to end. The error is that of ctx when that ends first, or wraps [ErrAlone] or [ErrRefused].
func (p *Part) Wait(ctx context.Context) (why string, err error) {
	var tick <-chan time.Time
	if p.alone > 0 {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		tick = t.C
	}
	// Ticks are counted, not time: a process that was stopped has missed them, and that says nothing about who leads.
	for silent := 0; ; {
		select {
		case why := <-p.ended:
			p.log.Info("part ends", "part", p.charter.Part, "why", why)
			timer := time.NewTimer(lastWords)
			defer timer.Stop()
			select {
			case <-p.server.last:
			case <-timer.C: // whoever asked has gone
			case <-ctx.Done():
			}
			return why, nil
		case <-p.control.Done():
			return "", fmt.Errorf("part %s of fabric %s: %w; another process may be this part now", p.charter.Part, p.charter.Fabric, p.refused())
		case <-p.asked:
			silent = 0
		case <-tick:
			if silent++; silent > p.alone {
				return "", fmt.Errorf("part %s of fabric %s: %w: %d s have passed", p.charter.Part, p.charter.Fabric, ErrAlone, p.alone)
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// refused is why the broker lets the part in no more.
func (p *Part) refused() error {
	if err := p.control.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return ErrRefused // a password of an embedded broker
}

// Close ends the part without a word to anybody, and returns when nothing of it is left. Closing twice is closing once.
func (p *Part) Close() error {
	p.once.Do(func() {
		if p.stop != nil {
			p.stop()
			p.running.Wait() // the teller tells the last
		}
		if p.control != nil {
			p.failed = p.control.Close()
		}
		if p.links != nil {
			p.failed = errors.Join(p.failed, p.links.Close())
		}
	})
	return p.failed
}
