package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/link"
)

// orders is the lasting effect of the orders so far.
type orders struct {
	mu              sync.Mutex // serialises orders; the rest is guarded by it
	signals         []bool     // per end
	cut             map[LinkDirection]bool
	impaired        map[int]link.Impairment // by end; what is zero is not in it
	moves           moves
	traffic         TrafficOrder
	generation      uint16
	hold            bool
	carried         uint64
	lostConnections []bool // per connection: it is lost
}

func (o *orders) init(ends, connections int, c *Spec) {
	o.signals, o.lostConnections = make([]bool, ends), make([]bool, connections)
	o.cut, o.impaired = map[LinkDirection]bool{}, map[int]link.Impairment{}
	o.generation, o.hold = c.Generation, c.Hold
	o.traffic = TrafficOrder{Spec: nic.Traffic{}.String()}
	o.moves = moves{
		away: map[weft.SwitchID]bool{}, latest: map[weft.SwitchID]weft.Epoch{},
		released: map[weft.SwitchID]Released{}, handed: map[handed]link.Flow{},
	}
}

// plan is what a valid order names on this host.
type plan struct {
	cut, restored []weft.End // that send there
	impair        []int      // per entry, the end
	signals       []int      // likewise
	sources       []nic.Source
}

// end is the index of an end of the host.
func (p *Local) end(e End) (int, error) {
	i, ok := p.nodes.indexOf(e.End())
	if !ok {
		return 0, fmt.Errorf("port %d of %v: %w", e.Port, e.End().Node, errNot)
	}
	return i, nil
}

// sender is the end that sends on a way.
func (p *Local) sender(w LinkDirection) (from weft.End, err error) {
	if int(w.Link) >= len(p.graph.Links) {
		return from, fmt.Errorf("link %d: there are %d", w.Link, len(p.graph.Links))
	}
	l := p.graph.Links[w.Link]
	from, to := l.A, l.B
	if w.Back {
		from, to = to, from
	}
	_, a := p.nodes.indexOf(from)
	_, b := p.nodes.indexOf(to)
	if !a && !b {
		return from, fmt.Errorf("link %s: %w", l.Name, errNot)
	}
	return from, nil
}

// plan checks an order.
func (p *Local) plan(o *Order) (pl plan, err error) {
	var errs []error
	if o.After != nil && *o.After != p.carried {
		return pl, fmt.Errorf("%w: %d, not %d", ErrOvertaken, p.carried, *o.After)
	}
	linkEnds := func(list []LinkDirection) (ends []weft.End) {
		for _, w := range list {
			e, err := p.sender(w)
			ends, errs = append(ends, e), append(errs, err)
		}
		return ends
	}
	ends := func(n int, of func(i int) End) []int {
		list := make([]int, n)
		for i := range list {
			var err error
			if list[i], err = p.end(of(i)); err != nil {
				errs = append(errs, err)
			}
		}
		return list
	}
	hosts := func(id weft.NICID) {
		if p.nodes.byNIC[id] == nil {
			errs = append(errs, fmt.Errorf("nic %d: %w", id, errNot))
		}
	}
	pl.cut, pl.restored = linkEnds(o.Cut), linkEnds(o.Restored)
	pl.impair = ends(len(o.Impair), func(i int) End { return o.Impair[i].End })
	pl.signals = ends(len(o.Signals), func(i int) End { return o.Signals[i].End })
	ends(len(o.Await), func(i int) End { return o.Await[i].End })
	ends(len(o.Refuse), func(i int) End { return o.Refuse[i].End })
	errs = append(errs, p.planMoves(o)...)
	for _, id := range slices.Concat(o.Crash, o.Restart) {
		if p.nodes.bySwitch[id] == nil {
			errs = append(errs, fmt.Errorf("switch %d: %w", id, errNot))
		}
	}
	for _, n := range o.Notices {
		hosts(n.Src)
	}
	for _, list := range [][]MarkOrder{o.Mark, o.Unmark} {
		for _, m := range list {
			hosts(m.Src)
		}
	}
	for _, s := range o.Send {
		hosts(s.Src)
	}
	if o.Traffic != nil {
		var err error
		pl.sources, err = p.sources(o.Traffic)
		errs = append(errs, err)
	}
	return pl, errors.Join(errs...)
}

// sources are the traffic sources of all NICs of the fabric.
func (p *Local) sources(o *TrafficOrder) ([]nic.Source, error) {
	if o.Sources != nil {
		return o.Sources, nil
	}
	t, err := o.Traffic()
	if err != nil {
		return nil, err
	}
	draws := new(rand.PCG)
	if len(o.Draws) > 0 {
		if err := draws.UnmarshalBinary(o.Draws); err != nil {
			return nil, fmt.Errorf("draws of traffic %s: %w", o.Spec, err)
		}
	}
	c := &p.spec
	return t.Sources(nic.Over{
		NICs: len(p.graph.NICs), Rate: c.Link.Rate, PacketBytes: c.NIC.PacketBytes, TraceEvery: c.NIC.TraceEvery,
		Rand: rand.New(draws),
		Find: p.graph.NICByName,
	})
}

// Order implements Host. The answer has counters only if the order asked for them.
func (p *Local) Order(ctx context.Context, o Order) (a OrderAnswer, err error) {
	p.mu.Lock()
	pl, err := p.plan(&o)
	if err == nil {
		err = p.do(&o, &pl, &a)
	}
	p.mu.Unlock()
	if err == nil && o.Counters != nil {
		a.Counters, err = p.Counters(ctx, *o.Counters)
	}
	return a, err
}

// do carries out a checked order. The caller holds mu. Errors come from the transport, or from NICs
// that refuse a source.
func (p *Local) do(o *Order, pl *plan, a *OrderAnswer) (err error) {
	if o.Clock != 0 && p.steer != nil {
		p.steer(o.Clock)
	}
	if o.TimeFactor > 0 && p.setFactor != nil {
		p.setFactor(o.TimeFactor)
	}
	if len(pl.cut)+len(pl.restored) > 0 { // else it has nothing to go through all its cuts for
		err = errors.Join(p.runtime.Cut(pl.cut), p.runtime.Restore(pl.restored))
	}
	for _, w := range o.Cut {
		p.cut[w] = true
	}
	for _, w := range o.Restored {
		delete(p.cut, w)
	}
	for i, im := range o.Impair {
		e := pl.impair[i]
		p.nodes.ends[e].driver.Impair(im.End.Port, im.Impair)
		if p.impaired[e] = im.Impair; im.Impair == (link.Impairment{}) {
			delete(p.impaired, e)
		}
	}
	p.await(o)
	p.refuse(o)
	err = errors.Join(err, p.release(o, a), p.take(o))
	for _, id := range o.Crash {
		s := p.nodes.bySwitch[id]
		s.Do(func(now weft.Time, out *weft.Actions) { s.core.Crash(now, out) })
	}
	p.signal(o, pl.signals)
	if o.Generation != nil {
		p.generation = *o.Generation
		for _, h := range p.nodes.nics {
			h.SetGeneration(p.generation)
		}
	}
	if o.Hold != nil {
		p.hold = *o.Hold
		for _, h := range p.nodes.nics {
			h.Hold(p.hold)
		}
	}
	for _, id := range o.Readdress {
		p.readdress(id)
	}
	if o.Traffic != nil {
		p.traffic = *o.Traffic
		for _, h := range p.nodes.nics {
			err = errors.Join(err, h.SetSource(pl.sources[h.id]))
		}
	}
	p.toNICs(o, a)
	p.carried++
	return err
}

// change gives an end signal or takes it.
type change struct {
	end int
	up  bool
}

// signal gives and takes signal. The caller holds mu.
func (p *Local) signal(o *Order, signals []int) {
	list := make([]change, 0, len(o.Signals))
	if o.SignalAll {
		unsignalled := map[int]bool{}
		for i, s := range o.Signals {
			unsignalled[signals[i]] = !s.Up
		}
		for i := range p.nodes.ends {
			if !p.signals[i] && !unsignalled[i] && !p.isAway(p.nodes.ends[i].Node) {
				list = append(list, change{i, true})
			}
		}
	}
	for i, s := range o.Signals {
		if e := signals[i]; !o.SignalAll || p.signals[e] || s.Up { // those that Light left out have none
			list = append(list, change{e, s.Up})
		}
	}
	for _, c := range list {
		p.signals[c.end] = c.up
	}
	list = slices.DeleteFunc(list, func(c change) bool {
		e := &p.nodes.ends[c.end]
		return !e.linked || p.connectionLost(e)
	})
	if o.SignalAll {
		p.setSignals(list)
		return
	}
	whole := make([][]change, len(o.Restart))
	for i, c := range list {
		if at := slices.IndexFunc(o.Restart,
			func(id weft.SwitchID) bool { return id.Node() == p.nodes.ends[c.end].Node }); at >= 0 {
			whole[at] = append(whole[at], c)
		} else {
			p.setNodeSignals(list[i : i+1])
		}
	}
	for _, list := range whole {
		p.setNodeSignals(list)
	}
}

// setSignals gives ends signal or takes it, in one step per node: see [switching.ReturnWait]. The
// caller holds mu.
func (p *Local) setSignals(list []change) {
	slices.SortStableFunc(list, func(a, b change) int { return a.end - b.end }) // the ends of a node are beside each other
	for len(list) > 0 {
		node, of := p.nodes.ends[list[0].end].Node, 1
		for of < len(list) && p.nodes.ends[list[of].end].Node == node {
			of++
		}
		p.setNodeSignals(list[:of])
		list = list[of:]
	}
}

// setNodeSignals does so for the ends of one node, for a switch in one step; without ends it does
// nothing. The caller holds mu.
func (p *Local) setNodeSignals(list []change) {
	n := &p.nodes
	if len(list) == 0 {
		return
	}
	node := n.ends[list[0].end].Node
	if !node.IsSwitch() {
		for _, c := range list {
			n.ends[c.end].driver.Signal(n.ends[c.end].Port, c.up)
		}
		return
	}
	s := n.bySwitch[weft.SwitchID(node.Index)]
	s.Do(func(t weft.Time, out *weft.Actions) {
		for _, c := range list {
			s.core.Signal(t, n.ends[c.end].Port, c.up, out)
		}
	})
}

// isAway reports whether another host runs a switch of this host.
func (p *Local) isAway(n weft.Node) bool { return n.IsSwitch() && p.moves.away[weft.SwitchID(n.Index)] }

// connectionLost reports whether a connection that carries the link of an end is lost.
func (p *Local) connectionLost(e *end) bool {
	if !e.linked || !slices.Contains(p.lostConnections, true) {
		return false
	}
	lost := func(node string) bool {
		shard := p.shard(node)
		return shard >= 0 && p.lostConnections[shard] // of a node in another process nothing is known
	}
	return lost(p.graph.Name(e.Node)) || lost(e.beside)
}

// SetConnection notes that a connection was lost or is back. All links that it carries then lose or
// get signal.
func (p *Local) SetConnection(shard int, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []change
	for i := range p.nodes.ends {
		e := &p.nodes.ends[i]
		was := p.connectionLost(e)
		p.lostConnections[shard] = lost
		now := p.connectionLost(e)
		p.lostConnections[shard] = !lost
		if p.signals[i] && was != now {
			list = append(list, change{i, !now})
		}
	}
	p.lostConnections[shard] = lost
	p.setSignals(list)
}

// toNICs carries out what an order has for single NICs.
func (p *Local) toNICs(o *Order, a *OrderAnswer) {
	n := &p.nodes
	for _, x := range o.Notices {
		_ = n.byNIC[x.Src].Notice(x.Dst) // about a NIC that there is not: it changes nothing
	}
	for _, m := range o.Mark {
		busy, err := n.byNIC[m.Src].Mark(m.Dst, m.Count)
		a.Mark = append(a.Mark, MarkReply{busy, refusal(err)})
	}
	for _, m := range o.Unmark {
		a.MarksLeft = append(a.MarksLeft, n.byNIC[m.Src].Unmark(m.Dst, m.Count))
	}
	for _, s := range o.Send {
		seq, err := n.byNIC[s.Src].Send(s.Dst, s.Bytes, s.Traced)
		a.Sent = append(a.Sent, SendReply{seq, refusal(err)})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// HasNIC reports whether a NIC is in the host.
func (p *Local) HasNIC(id weft.NICID) bool { return p.nodes.byNIC[id] != nil }

// LoseNotice counts a notice that is lost on its way to a NIC of the host.
func (p *Local) LoseNotice() { p.adder.noticesLost.Add(1) }

// Notice hands a notice to a NIC of the host; one about a NIC that there is not changes nothing.
func (p *Local) Notice(n weft.Notice) {
	if h := p.nodes.byNIC[n.Src]; h != nil && int(n.Dst) < len(p.graph.NICs) {
		_ = h.Notice(n.Dst)
	}
}

// readdress makes the NICs of a switch use its present addresses.
func (p *Local) readdress(id weft.SwitchID) {
	for _, h := range p.nodes.atPrograms[id] {
		h.Readdress()
	}
}

// applied is what was done to the host. The caller holds mu.
func (p *Local) applied() *Applied {
	s := &Applied{
		Traffic: p.traffic, Generation: p.generation, Hold: p.hold, Orders: p.carried,
		Signals: make([]byte, (len(p.signals)+7)/8),
	}
	for i, signal := range p.signals {
		if signal {
			s.Signals[i>>3] |= 1 << (i & 7)
		}
		if im, ok := p.impaired[i]; ok {
			s.Impaired = append(s.Impaired, ImpairOrder{EndOf(p.nodes.ends[i].End), im})
		}
	}
	for w := range p.cut {
		s.Cut = append(s.Cut, w)
	}
	slices.SortFunc(s.Cut, LinkDirection.compare)
	s.Away = slices.Sorted(maps.Keys(p.moves.away))
	for _, n := range p.nodes.switches {
		if v := n.Now().Version; v != 0 {
			s.Versions = append(s.Versions, v)
		}
	}
	return s
}
