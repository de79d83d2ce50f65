package fabric

import (
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// keptHops is how many tellings of traced packets are kept, some 400 bytes each; the oldest are forgotten, and counted as
// missed by whoever has not read them. Chosen by us: a thousand packets through a tree of three tiers.
const keptHops = 4096

// tellingKind says what was told of a traced packet.
type tellingKind uint8

const (
	toldHop     tellingKind = iota // a switch has decided
	toldLeft                       // it has left a NIC, or a switch after it waited for a credit
	toldArrived                    // it was delivered
	toldDropped                    // it has ended elsewhere
	toldGone                       // nobody has it any more: it was lost on a wire
)

// telling is one thing that was told of a traced packet.
type telling struct {
	kind    tellingKind
	at      weft.Time
	node    weft.Node
	hop     weft.Hop // of the other kinds: the header, and where it left or came in
	account weft.Account
	rule    string
	ways    []weft.Way // storage of hop.Candidates
}

// traces keeps what was latest told of traced packets. Cores call it under their locks, so it never waits for who reads.
type traces struct {
	mu   sync.Mutex
	ring []telling // guarded by mu; telling n is at (n-1) % keptHops
	last uint64    // guarded by mu: number of the latest

	swept weft.Time // guarded by mu: when lost packets were last looked for
}

// tell keeps what a tells of traced packets.
//
// Nearly always there is nothing to tell: then little is called, and goroutines of nodes keep their small stacks.
func (t *traces) tell(now weft.Time, node weft.Node, a *weft.Actions) {
	told := len(a.Hops) + len(a.Left) + len(a.Arrived)
	for i := range a.Drops {
		if a.Drops[i].Header.Traced {
			told++
		}
	}
	if told > 0 {
		t.keep(now, node, a)
	}
}

// keep keeps what tell was told.
func (t *traces) keep(now weft.Time, node weft.Node, a *weft.Actions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range a.Left { // it made room for what was then decided
		l := &a.Left[i]
		e := t.next(toldLeft, l.At, node)
		e.hop = weft.Hop{Out: l.Port, OutVC: l.VC, In: weft.NoPort, Waited: l.Queued, Header: l.Header}
	}
	for i := range a.Hops {
		e := t.next(toldHop, a.Hops[i].At, node)
		e.hop = a.Hops[i]
		e.ways = append(e.ways[:0], e.hop.Candidates...)
		e.hop.Candidates = e.ways
	}
	for i := range a.Arrived {
		t.next(toldArrived, now, node).hop = weft.Hop{InVC: a.Arrived[i].VC, Out: weft.NoPort, Header: a.Arrived[i]}
	}
	for i := range a.Drops {
		d := &a.Drops[i]
		if !d.Header.Traced || d.Account == weft.Discarded && node.IsSwitch() {
			continue // the decision to discard was told
		}
		e := t.next(toldDropped, now, node)
		e.hop = weft.Hop{In: d.Port, Out: weft.NoPort, Header: d.Header}
		if d.Account == weft.LostQueued {
			e.hop.In, e.hop.Out, e.hop.OutVC = weft.NoPort, d.Port, d.Header.VC
		}
		e.account, e.rule = d.Account, d.Rule
	}
}

// next is the place of the next telling. The caller holds mu.
func (t *traces) next(kind tellingKind, at weft.Time, node weft.Node) *telling {
	t.last++
	if len(t.ring) < keptHops {
		t.ring = append(t.ring, telling{})
	}
	e := &t.ring[(t.last-1)%keptHops]
	*e = telling{kind: kind, at: at, node: node, ways: e.ways}
	return e
}

// after copies at most so many tellings that follow number seq, and tells how many of them were forgotten.
func (t *traces) after(seq uint64, most int) (list []telling, first, missed uint64) {
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
		e := t.ring[(n-1)%keptHops]
		e.hop.Candidates = append([]weft.Way(nil), e.hop.Candidates...)
		e.ways = nil
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

// sweepEvery is how often lost packets are looked for while somebody reads, and patience how long a packet must not have
// been heard of: little where its link is known to lose packets, else longer than a loaded machine holds one up. Chosen by us.
const (
	sweepEvery    = 250 * weft.Millisecond
	patienceLossy = 500 * weft.Millisecond
	patienceWell  = 3 * weft.Second
)

// maxWireTime bounds how long a packet on a slow link is waited for. Chosen by us: longer than anybody follows it.
const maxWireTime = time.Hour

// silent are the packets that were last told to leave a node before now - patienceLossy, oldest first, with the numbers of
// those tellings; none when it was asked a moment ago.
func (t *traces) silent(now weft.Time) (list []telling, numbers []uint64) {
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
		e := &t.ring[(n-1)%keptHops]
		p := packetOf(&e.hop.Header)
		if was, told := latest[p]; e.kind > toldLeft || e.hop.Out == weft.NoPort || told && was == ended {
			latest[p] = ended // a process may tell later what came before
			continue
		}
		latest[p] = n
	}
	for n := first; n <= t.last; n++ {
		e := &t.ring[(n-1)%keptHops]
		if e.kind <= toldLeft && e.hop.Out != weft.NoPort && e.at < now-patienceLossy && latest[packetOf(&e.hop.Header)] == n {
			c := *e
			c.hop.Candidates, c.ways = nil, nil
			list, numbers = append(list, c), append(numbers, n)
		}
	}
	return list, numbers
}

// gone tells that the packet of telling n is nowhere, unless it has been heard of since.
func (t *traces) gone(now weft.Time, n uint64, e telling) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := max(n, t.last-uint64(len(t.ring))) + 1; k <= t.last; k++ {
		if packetOf(&t.ring[(k-1)%keptHops].hop.Header) == packetOf(&e.hop.Header) {
			return
		}
	}
	g := t.next(toldGone, now, e.node)
	g.hop = weft.Hop{In: weft.NoPort, Out: e.hop.Out, OutVC: e.hop.OutVC, Header: e.hop.Header}
	g.account = weft.LostWire
}

// number is that of the latest telling.
func (t *traces) number() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// findLost looks, now and then, for traced packets that nobody has any more, and tells of them: no node sees a packet get
// lost on a wire.
func (f *Fabric) findLost() {
	now := f.Now()
	list, numbers := f.traces.silent(now)
	if len(list) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, e := range list {
		from := weft.End{Node: e.node, Port: e.hop.Out}
		l, side, ok := f.linkAt(from)
		if !ok {
			continue
		}
		patience := patienceWell
		if !f.wellNow(l) {
			patience = patienceLossy
		}
		patience += f.wireTime(l.suffers[side], &e.hop.Header)
		if e.at < now-patience && !f.mayHold(e.node, &e.hop.Header) && !f.mayHold(l.ends()[1-side].Node, &e.hop.Header) {
			f.traces.gone(now, numbers[i], e)
		}
	}
}

// wireTime is twice as long as a packet like h may be on a link, which has no more packets at a time than the other end has places.
func (f *Fabric) wireTime(s fault.Impairment, h *weft.Header) weft.Time {
	t := f.opts.Link.Delay + s.Delay + s.Jitter
	rate := s.Rate
	if o := &f.opts.Link; o.Paced && (rate == 0 || o.Rate < rate) {
		rate = o.Rate
	}
	if rate > 0 {
		bytes := float64(h.Size) * float64(f.opts.Switch.VCs*f.opts.Switch.InputBuffer)
		t += time.Duration(min(bytes/rate, maxWireTime.Seconds()) * float64(time.Second))
	}
	return 2 * weft.FromDuration(t)
}

// wellNow reports whether nothing is wrong with l. The caller holds mu.
func (f *Fabric) wellNow(l *link) bool {
	return f.usable(l) && l.up[0].Load() && l.up[1].Load() && l.suffers[0].IsZero() && l.suffers[1].IsZero()
}

// mayHold reports whether a packet may be inside a node: of a part nobody can tell.
func (f *Fabric) mayHold(n weft.Node, h *weft.Header) bool {
	if !n.IsSwitch() {
		return false // a NIC tells when it sends a packet, and when it has it
	}
	return f.outpostOf(n).mayHold(weft.SwitchID(n.Index), h)
}
