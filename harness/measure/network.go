package measure

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/virtual"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// unorderedFrom is how many NICs there must be for them to keep no table of their flows, whose
// memory grows with the square. Packets out of order are then not counted.
const unorderedFrom = 2048

// network is the network of one run.
type network struct {
	cfg    Config // filled, with the virtual channels that the routing needs
	graph  *topology.Graph
	engine *virtual.Engine
	meters meters // per part
	part   []int  // per switch, of its node and those of its NICs

	firmware switching.Firmware
	// reconfigured is nil for a routing that is the same whatever is dead.
	reconfigured *reconfigured
	inForce      int64 // cycle at which the last of what it makes is loaded
	dead         subnet.Dead

	scratch     [][]switching.Candidate // per part, of its switches
	switches    []*switching.Switch
	nics        []*nic.NIC
	switchNodes []*virtual.Node
	nicNodes    []*virtual.Node
}

func newNetwork(c Config) *network {
	parts := max(1, c.Workers)
	return &network{
		cfg: c, graph: c.Topology, meters: newMeters(parts, c.Cycle), part: split(c.Topology, parts),
		engine: virtual.New(virtual.Config{Seed: c.Seed, Workers: parts}),
	}
}

// split has each tier of a tree, or all switches elsewhere, in parts of neighbours: switches are
// numbered so that those below one switch of the tier above the leaves, or of one plane, stand
// together.
func split(g *topology.Graph, parts int) []int {
	tiers := map[weft.Tier][]weft.SwitchID{}
	for _, s := range g.Switches {
		tier := weft.Tier(0)
		if t := g.Place(s.ID).Tree; t != nil {
			tier = t.Tier
		}
		tiers[tier] = append(tiers[tier], s.ID)
	}
	part := make([]int, len(g.Switches))
	for _, ids := range tiers {
		for i, id := range ids {
			part[id] = i * parts / len(ids)
		}
	}
	return part
}

// build makes the network, without signal on any link and without traffic.
func build(ctx context.Context, c Config) (*network, error) {
	n := newNetwork(c)
	if err := n.chooseFirmware(ctx); err != nil {
		return nil, err
	}
	if err := n.addSwitches(); err != nil {
		return nil, err
	}
	for _, m := range n.graph.NICs {
		cfg := c.NIC.Config(n.cfg.Switch)
		cfg.ID, cfg.NICs, cfg.Rand = m.ID, len(n.graph.NICs), weft.Stream(c.Seed, weft.StreamNIC, uint64(m.ID), 0)
		cfg.Source, cfg.Addresses = n.source(m.ID), n.addresses(m.ID)
		cfg.NoLatency, cfg.Unordered = true, len(n.graph.NICs) >= unorderedFrom
		core, err := nic.New(cfg)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		n.nics = append(n.nics, core)
		leaf, _ := n.graph.SwitchOf(m.ID)
		part := n.part[leaf]
		node := n.engine.Add(&tap{NIC: core, meter: n.meters[part]}, virtual.NodeConfig{Part: part})
		n.nicNodes = append(n.nicNodes, node)
	}
	rate := float64(c.BytesPerCycle) / float64(c.Cycle) * float64(weft.Second)
	for i := range n.graph.Links {
		l := &n.graph.Links[i]
		n.engine.Connect(n.port(l.A), n.port(l.B), link.Pace{Rate: rate, Delay: c.WireDelay.Duration()})
	}
	return n, nil
}

func (n *network) addSwitches() error {
	c := &n.cfg
	most := 0
	for _, s := range n.graph.Switches {
		most = max(most, n.graph.Place(s.ID).Ports())
	}
	n.scratch = make([][]switching.Candidate, len(n.meters))
	for i := range n.scratch {
		n.scratch[i] = make([]switching.Candidate, 0, most*c.Switch.VCs)
	}
	for _, s := range n.graph.Switches {
		cfg := c.Switch.Config()
		cfg.Place, cfg.Firmware, cfg.Scratch = n.graph.Place(s.ID), n.firmware, n.scratch[n.part[s.ID]]
		cfg.Rand = weft.Stream(c.Seed, weft.StreamSwitch, uint64(s.ID), 0)
		core, err := switching.New(cfg)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
		n.switches = append(n.switches, core)
		n.switchNodes = append(n.switchNodes, n.engine.Add(core, virtual.NodeConfig{
			Watch: n.meters[n.part[s.ID]], Part: n.part[s.ID],
			CutThrough: true, RoutingDelay: c.RoutingDelay, CrossbarDelay: c.CrossbarDelay,
		}))
	}
	return nil
}

// chooseFirmware makes the firmware and settles the number of virtual channels.
func (n *network) chooseFirmware(ctx context.Context) error {
	least := 1
	var err error
	if n.reconfigured, err = n.cfg.reconfigured(ctx); err != nil {
		return err
	}
	if n.cfg.ddrc() {
		n.firmware, err = n.reconfigured.make(nil)
	} else {
		n.firmware, least, err = n.cfg.named(ctx)
	}
	if err != nil {
		return err
	}
	n.cfg.Switch.VCs = cmp.Or(n.cfg.Switch.VCs, least)
	if n.cfg.RegisterExpire != 0 && n.firmware.Registers != nil {
		n.firmware = expiring(n.firmware, weft.Time(max(0, n.cfg.RegisterExpire))*n.cfg.Cycle)
	}
	return nil
}

// expiring is a firmware whose registers are zeroed after another time.
func expiring(fw switching.Firmware, expire weft.Time) switching.Firmware {
	declared := fw.Registers
	fw.Registers = func(place *weft.Place) []switching.Register {
		of := declared(place)
		for i := range of {
			of[i].Expire = expire
		}
		return of
	}
	return fw
}

// source is what the firmware has a NIC write into its packets.
func (n *network) source(id weft.NICID) func(h *weft.Header) {
	leaf, port := n.graph.SwitchOf(id)
	place := n.graph.Place(leaf)
	if !n.firmware.Writes() {
		return nil
	}
	return func(h *weft.Header) { n.firmware.Write(place, port, h) } // that of now
}

// addresses are those that the firmware has a NIC choose among.
func (n *network) addresses(id weft.NICID) func(dst weft.NICID) []weft.Address {
	leaf, port := n.graph.SwitchOf(id)
	if n.firmware.Addresses == nil {
		return nil
	}
	place, of := n.graph.Place(leaf), n.firmware.Addresses
	return func(dst weft.NICID) []weft.Address { return of(place, port, dst) }
}

func (n *network) node(id weft.Node) *virtual.Node {
	if id.IsSwitch() {
		return n.switchNodes[id.Index]
	}
	return n.nicNodes[id.Index]
}

func (n *network) port(e weft.End) virtual.Port {
	return virtual.Port{Node: n.node(e.Node), Port: e.Port}
}

// start brings all links up but those of what is dead from the beginning, and starts the traffic.
func (n *network) start() error {
	for i := range n.graph.Links {
		if l := &n.graph.Links[i]; !n.dead.Cuts(l) {
			n.node(l.A.Node).Signal(l.A.Port, true)
			n.node(l.B.Node).Signal(l.B.Port, true)
		}
	}
	n.reload()
	sources, err := n.cfg.Traffic.Sources(n.cfg.Over(weft.Stream(n.cfg.Seed, weft.StreamTraffic, 0, 0)))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for i, m := range n.nics {
		n.nicNodes[i].Do(func(now weft.Time, out *weft.Actions) { err = m.SetSource(now, sources[i], out) })
		if err != nil {
			return fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	return nil
}

// Over is the network of a configuration that is [Config.Filled] as traffic sees it.
func (c *Config) Over(r nic.Rand) nic.Over {
	return nic.Over{
		NICs: len(c.Topology.NICs), Rate: float64(c.BytesPerCycle) * float64(weft.Second) / float64(c.Cycle),
		PacketBytes: c.NIC.PacketBytes, Rand: r, Find: c.Topology.NICByName,
	}
}

// kill has a link or a switch die now: what is on its wires is lost, and whoever is at the other
// end loses signal at once.
func (n *network) kill(d death) {
	n.leaveOut(d)
	n.reconfigure()
	if !d.Switch {
		n.cut(&n.graph.Links[d.ID])
		return
	}
	sw := n.switches[d.ID]
	n.switchNodes[d.ID].Do(sw.Crash)
	for p := range weft.PortID(sw.Ports()) {
		if _, id, ok := n.graph.Peer(weft.End{Node: weft.SwitchID(d.ID).Node(), Port: p}); ok {
			n.cut(&n.graph.Links[id])
		}
	}
}

// leaveOut has tables that are computed from now on do without a link or a switch.
func (n *network) leaveOut(d death) {
	if d.Switch {
		n.dead.AddSwitch(weft.SwitchID(d.ID))
	} else {
		n.dead.AddLink(weft.LinkID(d.ID))
	}
}

func (n *network) cut(l *topology.Link) {
	for _, end := range []weft.End{l.A, l.B} {
		n.engine.Flying(n.port(end), n.meters[0].loseWire)
		n.engine.Cut(n.port(end))
	}
	n.node(l.A.Node).Signal(l.A.Port, false)
	n.node(l.B.Node).Signal(l.B.Port, false)
}

// reconfigure has what does without what is dead loaded, now or when the configuration says.
func (n *network) reconfigure() {
	if n.reconfigured == nil {
		return
	}
	if n.cfg.ReconfigureAfter == 0 {
		n.reload()
		return
	}
	at := n.engine.Now() + weft.Time(n.cfg.ReconfigureAfter)*n.cfg.Cycle
	n.engine.At(at, n.reload)
	n.inForce = int64(at / n.cfg.Cycle)
}
