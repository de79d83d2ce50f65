package fabric

import (
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// maxHopEvents bounds the events of traced packets that are kept, of some 400 bytes each. A reader
// counts older ones as missed. Chosen by us: a thousand packets through a tree of three tiers.
const maxHopEvents = 4096

// hopEventKind is the kind of a traced packet's event.
type hopEventKind uint8

const (
	hopDecided hopEventKind = iota // a switch has decided
	hopEgress                      // it has left a NIC, or a switch after it waited for a credit
	hopArrived                     // it was delivered
	hopDropped                     // it has ended elsewhere
	hopLost                        // nobody has it any more: it was lost on a wire
)

// hopEvent is one event of a traced packet.
type hopEvent struct {
	kind       hopEventKind
	at         weft.Time
	node       weft.Node
	hop        weft.Hop     // of the other kinds: the header, and where it left or came in
	carries    weft.Carried // of one that left a NIC
	account    weft.Account
	rule       string
	candidates []weft.Candidate // storage of hop.Candidates
}

// traces keeps the latest events of traced packets. Cores call it under their locks, so it never
// waits for readers.
type traces struct {
	mu   sync.Mutex
	ring []hopEvent // guarded by mu; event n is at (n-1) % keptHops
	last uint64     // guarded by mu: number of the latest

	swept weft.Time // guarded by mu: when lost packets were last looked for
}

// add keeps the events of traced packets in a.
//
// Nearly always there are none: then it calls little, and the goroutines of nodes keep their small
// stacks.
func (t *traces) add(now weft.Time, node weft.Node, a *weft.Actions) {
	observed := len(a.Hops) + len(a.Egress) + len(a.Arrived)
	for i := range a.Drops {
		if a.Drops[i].Header.Traced {
			observed++
		}
	}
	if observed > 0 {
		t.append(now, node, a)
	}
}

// append keeps the events that add has found.
func (t *traces) append(now weft.Time, node weft.Node, a *weft.Actions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range a.Egress { // it made room for what was then decided
		l := &a.Egress[i]
		e := t.next(hopEgress, l.At, node)
		e.hop = weft.Hop{Out: l.Port, OutVC: l.VC, In: weft.NoPort, Waited: l.Queued, Header: l.Header}
		e.carries = l.Carries
	}
	for i := range a.Hops {
		e := t.next(hopDecided, a.Hops[i].At, node)
		e.hop = a.Hops[i]
		e.candidates = append(e.candidates[:0], e.hop.Candidates...)
		e.hop.Candidates = e.candidates
	}
	for i := range a.Arrived {
		t.next(hopArrived, now, node).hop = weft.Hop{InVC: a.Arrived[i].VC, Out: weft.NoPort, Header: a.Arrived[i]}
	}
	for i := range a.Drops {
		d := &a.Drops[i]
		if !d.Header.Traced || d.Account == weft.Discarded && node.IsSwitch() {
			continue // the decision to discard was told
		}
		e := t.next(hopDropped, now, node)
		e.hop = weft.Hop{In: d.Port, Out: weft.NoPort, Header: d.Header}
		if d.Account == weft.LostQueued {
			e.hop.In, e.hop.Out, e.hop.OutVC = weft.NoPort, d.Port, d.Header.VC
		}
		e.account, e.rule = d.Account, d.Rule
	}
}

// next is the place of the next event. The caller holds mu.
func (t *traces) next(kind hopEventKind, at weft.Time, node weft.Node) *hopEvent {
	t.last++
	if len(t.ring) < maxHopEvents {
		t.ring = append(t.ring, hopEvent{})
	}
	e := &t.ring[(t.last-1)%maxHopEvents]
	*e = hopEvent{kind: kind, at: at, node: node, candidates: e.candidates}
	return e
}

// after copies at most that many events after number seq, and says how many of them are no longer
// kept.
func (t *traces) after(seq uint64, most int) (list []hopEvent, first, missed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq >= t.last {
		return nil, t.last + 1, 0 // numbers may be of a fabric that ran before this one
	}
	first = seq + 1
	if oldest := t.last - uint64(len(t.ring)) + 1; first < oldest {
		missed, first = oldest-first, oldest
	}
	for n := first; n <= t.last && len(list) < most; n++ {
		e := t.ring[(n-1)%maxHopEvents]
		e.hop.Candidates = append([]weft.Candidate(nil), e.hop.Candidates...)
		e.candidates = nil
		list = append(list, e)
	}
	return list, first, missed
}

// flowPacket names a packet.
type flowPacket struct {
	src, dst weft.NICID
	seq      uint64
}

func packetOf(h *weft.Header) flowPacket { return flowPacket{h.Src, h.Dst, h.Seq} }

// sweepEvery is how often lost packets are looked for while somebody reads. patience is how long a
// packet must have been silent: short where its link is known to lose packets, else longer than a
// loaded machine holds one up. Chosen by us.
const (
	sweepEvery    = 250 * weft.Millisecond
	patienceLossy = 500 * weft.Millisecond
	patienceWell  = 3 * weft.Second
)

// maxWireTime bounds how long a packet on a slow link is waited for. Chosen by us: longer than
// anybody follows it.
const maxWireTime = time.Hour

// silent are the packets whose last event is a departure before now - patienceLossy, oldest first,
// with the numbers of those events; none if it was called a moment ago.
func (t *traces) silent(now weft.Time) (list []hopEvent, numbers []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == 0 || now < t.swept+sweepEvery {
		return nil, nil
	}
	t.swept = now
	const ended = 0 // in latest
	latest := map[flowPacket]uint64{}
	first := t.last - uint64(len(t.ring)) + 1
	for n := first; n <= t.last; n++ {
		e := &t.ring[(n-1)%maxHopEvents]
		p := packetOf(&e.hop.Header)
		if was, known := latest[p]; e.kind > hopEgress || e.hop.Out == weft.NoPort || known && was == ended {
			latest[p] = ended // a process may tell later what came before
			continue
		}
		latest[p] = n
	}
	for n := first; n <= t.last; n++ {
		e := &t.ring[(n-1)%maxHopEvents]
		if e.kind <= hopEgress && e.hop.Out != weft.NoPort && e.at < now-patienceLossy &&
			latest[packetOf(&e.hop.Header)] == n {
			c := *e
			c.hop.Candidates, c.candidates = nil, nil
			list, numbers = append(list, c), append(numbers, n)
		}
	}
	return list, numbers
}

// gone adds the event that the packet of event n is lost, unless it has had an event since.
func (t *traces) gone(now weft.Time, n uint64, e hopEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := max(n, t.last-uint64(len(t.ring))) + 1; k <= t.last; k++ {
		if packetOf(&t.ring[(k-1)%maxHopEvents].hop.Header) == packetOf(&e.hop.Header) {
			return
		}
	}
	g := t.next(hopLost, now, e.node)
	g.hop = weft.Hop{In: weft.NoPort, Out: e.hop.Out, OutVC: e.hop.OutVC, Header: e.hop.Header}
	g.account = weft.LostWire
}

// number is the number of the latest event.
func (t *traces) number() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// findLost looks now and then for traced packets that no node has any more, and adds their events:
// no node sees a packet get lost on a wire.
func (tr *tracing) findLost() {
	now := tr.Now()
	list, numbers := tr.traces.silent(now)
	if len(list) == 0 {
		return
	}
	for i, e := range list {
		from := weft.End{Node: e.node, Port: e.hop.Out}
		l, side, ok := tr.linkAt(from)
		if !ok {
			continue
		}
		patience := patienceWell
		well := false
		tr.read(func(s *leader.State) { well = s.IsWell(l.ID) })
		if !well {
			patience = patienceLossy
		}
		patience += tr.wireTime(tr.view(l).Suffers[side], &e.hop.Header)
		if e.at < now-patience && !tr.mayHold(e.node, &e.hop.Header) && !tr.mayHold(l.ends()[1-side].Node, &e.hop.Header) {
			tr.traces.gone(now, numbers[i], e)
		}
	}
}

// wireTime is twice the time that a packet like h may be on a link, which has at most as many
// packets on it as the other end has places.
func (tr *tracing) wireTime(s fault.Impairment, h *weft.Header) weft.Time {
	t := tr.opts.Link.Delay.Time() + s.Delay + s.Jitter
	rate := s.Rate
	if o := &tr.opts.Link; o.Paced && (rate == 0 || o.Rate < rate) {
		rate = o.Rate
	}
	if rate > 0 {
		bytes := float64(h.Size) * float64(tr.opts.Switch.VCs*tr.opts.Switch.InputBuffer)
		t += time.Duration(min(bytes/rate, maxWireTime.Seconds()) * float64(time.Second))
	}
	return 2 * weft.FromDuration(t)
}

// mayHold reports whether a packet may be inside a node. Of a switch on another host nobody can
// tell.
func (tr *tracing) mayHold(n weft.Node, h *weft.Header) bool {
	if !n.IsSwitch() {
		return false // a NIC tells when it sends a packet, and when it has it
	}
	return tr.hostOf(n).mayHold(weft.SwitchID(n.Index), h)
}
