package host

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
)

// adder adds up the host's counters.
type adder struct {
	noticesLost atomic.Uint64

	mu      sync.Mutex        // serialises readings; the rest is guarded by it
	reading switching.Reading // storage
	nic     nic.Reading       // likewise
	flows   []link.Flow       // per end, as it was read last; of a link that is shared what passed within the host
	peers   map[string][]link.Incarnation
	seq     uint64
	// firstGeneration is the first that all NICs tell apart, as they were read last.
	firstGeneration int
}

// Counters implements Host.
func (p *Local) Counters(_ context.Context, r CountersRequest) (Counters, error) {
	s, err := p.counters(r, nil, nil)
	if err == nil && r.Applied {
		p.mu.Lock()
		s.Applied = p.applied()
		p.mu.Unlock()
	}
	return s, err
}

// End implements Host. The nodes stop for good, so that this last answer agrees with those of other
// hosts although packets are on their way.
func (p *Local) End(ctx context.Context, _ EndOrder) (Counters, error) {
	if p.halt != nil {
		p.halt()
	}
	return p.Counters(ctx, CountersRequest{Ends: true, Generations: true, Latency: true, Applied: true})
}

// Look reads all nodes of the host into two lists by number, and adds their counters up.
func (p *Local) Look(r CountersRequest, switches []switching.Reading, nics []nic.Reading) Counters {
	s, _ := p.counters(r, switches, nics) // it fails for latencies only
	return s
}

// counters adds up the host's counters, and keeps the readings that they are made of in lists by
// number; nil: nowhere.
func (p *Local) counters(r CountersRequest, switches []switching.Reading, nics []nic.Reading) (Counters, error) {
	p.adder.mu.Lock()
	defer p.adder.mu.Unlock()
	number := p.spec.Number
	if number == 0 { // a host in the process of its leader is what that says
		number = r.Number
	}
	s := Counters{
		Name: p.spec.Host, Number: number, First: p.spec.Epoch, At: p.runtime.Now(),
		Up: make([]byte, (len(p.nodes.ends)+7)/8),
	}
	p.adder.seq++
	s.Incarnation, s.Seq, s.Counters.Notices = ledger.Incarnation(number), p.adder.seq, p.adder.noticesLost.Load()
	s.Observed, s.Counters.Unpublished = p.observed() // before anything is read: what has changed by then shows
	p.meet(r.Peers)
	p.adder.firstGeneration = 0
	p.adder.flows = append(p.adder.flows[:0], make([]link.Flow, len(p.nodes.ends))...)
	for _, n := range p.nodes.switches {
		into := &p.adder.reading
		if switches != nil {
			into = &switches[n.id]
		}
		p.addSwitch(&s, n, r.Ends, into)
	}
	for _, h := range p.nodes.nics {
		into := &p.adder.nic
		if nics != nil {
			into = &nics[h.id]
		}
		p.addNIC(&s, h, &r, into)
	}
	s.forgetGenerations(p.adder.firstGeneration)
	if r.Ends {
		p.addHanded(&s)
	}
	p.addLinks(&s)
	s.sort()
	if r.Latency {
		all := nic.NewLatency()
		for _, h := range p.nodes.nics {
			h.MergeLatency(all)
		}
		data, err := encodeLatency(all)
		if err != nil {
			return s, err
		}
		s.Latency = data
	}
	s.Now = p.runtime.Now()
	return s, nil
}

// addSwitch reads a switch into r and adds it. The caller holds the adder's lock.
func (p *Local) addSwitch(s *Counters, n *node, ends bool, r *switching.Reading) {
	n.View(func() {
		n.core.Read(r)
		if r.Stats.Discarded > 0 {
			n.core.Discards(func(rule string, packets uint64) { s.discard(rule, packets) })
		}
		s.Timers = max(s.Timers, n.core.Timer())
		for i := range r.Ports {
			e := n.first + i
			if at := &p.nodes.ends[e]; at.peer == "" {
				p.adder.flows[e] = r.Ports[i].Flow
			} else if ends {
				s.cross(&r.Ports[i].Flow)
				n.core.Sessions(weft.PortID(i), p.peersOf(at), func(k link.Session) { p.addSession(s, e, k) })
			}
		}
	})
	s.Drivers = s.Drivers.Add(n.Stats())
	ledger.Add(&s.Counters.Switches, &r.Stats)
	s.Held += uint64(r.Held)
	s.Blocked += uint64(r.Blocked)
	if r.Stats.LostCrash > 0 {
		s.Crash = append(s.Crash, ledger.NodeLost{Switch: n.id, Packets: r.Stats.LostCrash})
	}
	for i := range r.Ports {
		port := &r.Ports[i]
		e := n.first + i
		if port.Lost > 0 {
			s.Queue = append(s.Queue, ledger.EndLost{End: p.nodes.ends[e].End, Packets: port.Lost})
		}
		s.addState(p, e, port.Flow.State, port.Suppressed)
	}
}

func (s *Counters) discard(rule string, packets uint64) {
	i, ok := slices.BinarySearchFunc(s.Discards, rule,
		func(r ledger.Rule, rule string) int { return cmp.Compare(r.Name, rule) })
	if !ok {
		s.Discards = slices.Insert(s.Discards, i, ledger.Rule{Name: rule})
	}
	s.Discards[i].Packets += packets
}

// WrongNIC is the rule by which a NIC discards packets for another NIC.
func WrongNIC(name string) string { return "nic " + name + ": packet for another NIC" }

// cross counts the packets that have passed at a crossing end.
func (s *Counters) cross(f *link.Flow) {
	s.Sent, s.Received = s.Sent+f.Sent, s.Received+f.Received
}

// addSession adds a session of a crossing end. On a shared link a session with this host itself
// counts as inside. The caller holds the adder's lock.
func (p *Local) addSession(s *Counters, e int, k link.Session) {
	if k.Peer == link.Unnamed && p.nodes.ends[e].shared {
		k.Peer = 0
	}
	switch k.Peer {
	case 0: // it is not known yet who the neighbour was: it counts when it is
		s.Sent, s.Received = s.Sent-k.Flow.Sent, s.Received-k.Flow.Received
	case s.Number:
		p.adder.flows[e] = k.Flow
		s.Sent, s.Received = s.Sent-k.Flow.Sent, s.Received-k.Flow.Received
	default:
		s.Flows = append(s.Flows, ledger.Flow{End: p.nodes.ends[e].End, Peer: ledger.Incarnation(k.Peer), Flow: k.Flow})
	}
}

// sort puts lists into the order that the ledger wants.
func (s *Counters) sort() {
	slices.SortFunc(s.Queue, ledger.EndLost.Compare)
	slices.SortFunc(s.Wire, ledger.LinkLost.Compare)
}

// peersOf are the incarnations of the neighbour at a crossing end. The caller holds the adder's
// lock.
func (p *Local) peersOf(e *end) []link.Incarnation {
	if list := p.adder.peers[e.beside]; list != nil {
		return list // the node has moved
	}
	return p.adder.peers[e.peer]
}

// meet notes which incarnations the neighbours have. A question may be overtaken: of a neighbour
// that a later one knew more of, or that only a later one names, that counts. The caller holds the
// adder's lock.
func (p *Local) meet(peers []Peer) {
	if peers == nil {
		return
	}
	named := make(map[string][]link.Incarnation, len(p.adder.peers))
	for _, k := range peers {
		named[k.Host] = append(named[k.Host], k.Incarnation)
	}
	for name, list := range p.adder.peers {
		if of := named[name]; of == nil || link.KnowsMore(list, of) {
			named[name] = list
		}
	}
	p.adder.peers = named
}

// addState adds what an end makes of its link.
func (s *Counters) addState(p *Local, e int, state link.State, suppressed bool) {
	if state == link.Up {
		s.Up[e>>3] |= 1 << (e & 7)
	}
	if suppressed {
		s.HeldDown = append(s.HeldDown, EndOf(p.nodes.ends[e].End))
	}
}

// addNIC reads a NIC into r and adds it. The caller holds the adder's lock.
func (p *Local) addNIC(s *Counters, h *nicNode, want *CountersRequest, r *nic.Reading) {
	if at := &p.nodes.ends[h.end]; want.Ends && at.peer != "" {
		h.ReadSessions(r, p.peersOf(at), func(k link.Session) { p.addSession(s, h.end, k) })
		s.cross(&r.Flow)
	} else {
		h.Read(r)
		p.adder.flows[h.end] = r.Flow
	}
	s.Drivers = s.Drivers.Add(h.Driver.Stats())
	s.addNIC(p.graph.NICs[h.id].Name, &r.Stats)
	s.Queued += uint64(r.Queued)
	s.Timers = max(s.Timers, r.Timer)
	s.addState(p, h.end, r.Flow.State, r.Suppressed)
	if want.Generations {
		sn := h.Snapshot()
		s.addGenerationsOf(&sn)
		p.adder.firstGeneration = max(p.adder.firstGeneration, sn.FirstGeneration)
	}
}

// addLinks adds what the links inside the host have on their wires. The caller holds the adder's
// lock.
func (p *Local) addLinks(s *Counters) {
	for i := range p.nodes.inside {
		p.addLink(s, &p.nodes.inside[i])
	}
	for i := range p.nodes.shared {
		p.addLink(s, &p.nodes.shared[i])
	}
}

func (p *Local) addLink(s *Counters, l *inside) {
	a, b := &p.adder.flows[l.a], &p.adder.flows[l.b]
	wireAB, lostAB := link.OnWire(*a, *b)
	wireBA, lostBA := link.OnWire(*b, *a)
	s.Wires += wireAB + wireBA
	if lostAB+lostBA > 0 {
		// One end was read before the other, and the link may have come up in between: then what
		// the later one had sent by its time seems lost. A receiver that is read after the sender
		// tells for sure.
		_, lostAB = link.OnWire(*a, p.readFlow(s.Number, l.b))
		_, lostBA = link.OnWire(*b, p.readFlow(s.Number, l.a))
	}
	if lostAB+lostBA > 0 {
		s.Wire = append(s.Wire, ledger.LinkLost{Link: l.id, Wire: [2]uint64{lostAB, lostBA}})
	}
}

// readFlow reads an end of a link inside this host, of that number; on a link that is shared, what
// passed within the host. The caller holds the adder's lock.
func (p *Local) readFlow(number uint64, e int) (f link.Flow) {
	at := &p.nodes.ends[e]
	if at.peer == "" {
		return p.ReadEnd(at.End).Flow
	}
	take := func(k link.Session) {
		if k.Peer == number {
			f = k.Flow
		}
	}
	if !at.Node.IsSwitch() {
		p.nodes.byNIC[weft.NICID(at.Node.Index)].ReadSessions(&nic.Reading{}, p.peersOf(at), take)
		return f
	}
	n := p.nodes.bySwitch[weft.SwitchID(at.Node.Index)]
	n.View(func() { n.core.Sessions(at.Port, p.peersOf(at), take) })
	return f
}

// Read implements Host.
func (p *Local) Read(_ context.Context, what ReadRequest) (Readings, error) {
	if what.VCs {
		return p.readVCs(), nil
	}
	r := Readings{
		Number: p.spec.Number, At: p.runtime.Now(), Switches: make([]SwitchRead, len(p.nodes.switches)),
		NICs: make([]NICRead, len(p.nodes.nics)),
	}
	for i, n := range p.nodes.switches {
		r.Switches[i].Switch = n.id
		n.View(func() { n.core.Read(&r.Switches[i].Reading) })
		for k := range r.Switches[i].Reading.Ports {
			forget(&r.Switches[i].Reading.Ports[k].Flow)
		}
	}
	for i, h := range p.nodes.nics {
		r.NICs[i].NIC = h.id
		h.Read(&r.NICs[i].Reading)
		forget(&r.NICs[i].Reading.Flow)
	}
	return r, nil
}

// forget removes from f what viewers do not need, which is most of what would travel. What compares
// the ends of a link is in Counters.
func forget(f *link.Flow) { *f = link.Flow{State: f.State, Sent: f.Sent, Received: f.Received} }

// readVCs reads the virtual channels of all switches.
func (p *Local) readVCs() Readings {
	r := Readings{Number: p.spec.Number, At: p.runtime.Now(), VCs: make([]VCRead, len(p.nodes.switches))}
	for i, n := range p.nodes.switches {
		r.VCs[i].Switch = n.id
		n.View(func() { r.VCs[i].VCs = n.core.SumVCs() })
	}
	return r
}

// Nodes implements Host. The error names a node that is not in the host.
func (p *Local) Nodes(_ context.Context, r NodeRequest) (a Nodes, err error) {
	a.Number, a.At = p.spec.Number, p.runtime.Now()
	var drivers []switchd.Stats
	for _, id := range r.Switches {
		n := p.nodes.bySwitch[id]
		if n == nil {
			return a, errNotHosted(id.Node())
		}
		flows := make([]link.Flow, n.core.Ports())
		n.View(func() {
			a.Switches = append(a.Switches, n.core.Snapshot())
			for i := range flows {
				flows[i] = n.core.Flow(weft.PortID(i))
			}
		})
		a.Flows, drivers = append(a.Flows, flows), append(drivers, n.Stats())
	}
	for _, id := range r.NICs {
		h := p.nodes.byNIC[id]
		if h == nil {
			return a, errNotHosted(id.Node())
		}
		a.NICs, drivers = append(a.NICs, h.Snapshot()), append(drivers, h.Driver.Stats())
	}
	a.Drivers = drivers
	for _, from := range r.Since {
		a.Suffered = append(a.Suffered, p.suffered(from))
	}
	return a, nil
}

// suffered is what connections on NICs suffered since a moment.
func (p *Local) suffered(from weft.Time) (all fault.Connections) {
	for _, h := range p.nodes.nics {
		r := h.Recorder()
		if r == nil {
			continue
		}
		for _, c := range r.Since(from) {
			all.Add(fault.Connection{
				NIC: p.graph.Name(h.id.Node()), From: c.From.String(), To: c.To.String(), Resent: c.Resent,
				Standstill: c.Still.Duration().Seconds(),
			})
		}
	}
	return all
}

func (w LinkDirection) compare(o LinkDirection) int {
	if w.Link == o.Link && w.Back != o.Back {
		if o.Back {
			return -1
		}
		return 1
	}
	return cmp.Compare(w.Link, o.Link)
}
