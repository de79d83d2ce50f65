package measure

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
)

// flight is a packet on its way through the network.
type flight struct{ generated, left weft.Time }

// meter sees packets enter the network and end, at the nodes of one worker of the engine, whose
// goroutine it belongs to.
//
// While a packet is on its way, its Injected is the number of its flight, so that when it left the
// send queue is known beside when it was generated; its NIC gets it back as it was. Nobody on the
// way looks at it. The flight goes along with the packet: the meter at which the packet ends has it
// for the next that enters there.
type meter struct {
	counts
	all    meters
	number int // of all

	flights [maxFlights / flightsChunk]*[flightsChunk]flight // never moved, since other meters read what they are given
	made    int
	free    []weft.Time

	markedAt      weft.Time // packets that entered until then are marked
	marked        int       // marked ones that entered here, less those that ended here
	batch, window span
	measuring     bool
	unit          weft.Time               // of both histograms
	latency       *hdrhistogram.Histogram // of the window
	network       *hdrhistogram.Histogram
}

const (
	flightsChunk = 1 << 12
	maxFlights   = 1 << 26 // at one time, of those that entered at one worker
)

// counts are packets since the start.
type counts struct{ entered, delivered, lostWire, lostQueue, lostCrash, discarded uint64 }

// lost is how many packets faults have taken along.
func (c *counts) lost() uint64 { return c.lostWire + c.lostQueue + c.lostCrash }

// inside is how many packets are in switches or on wires.
func (c *counts) inside() int { return int(c.entered - c.delivered - c.lost() - c.discarded) }

// meters are those of a run.
type meters []*meter

func newMeters(n int, cycle weft.Time) meters {
	all := make(meters, n)
	for i := range all {
		all[i] = &meter{
			all: all, number: i,
			unit: max(1, cycle/latencyParts), markedAt: weft.Never,
			latency: hdrhistogram.New(1, latencyMost, latencyDigits),
			network: hdrhistogram.New(1, latencyMost, latencyDigits),
		}
	}
	return all
}

// counts are those of all meters.
func (all meters) counts() (sum counts) {
	for _, m := range all {
		sum.entered += m.entered
		sum.delivered += m.delivered
		sum.lostWire += m.lostWire
		sum.lostQueue += m.lostQueue
		sum.lostCrash += m.lostCrash
		sum.discarded += m.discarded
	}
	return sum
}

// mark marks the packets that are inside now, and those that enter at this time.
func (all meters) mark(now weft.Time) {
	for _, m := range all {
		m.markedAt = now
	}
}

// marked is how many of the marked packets are inside.
func (all meters) marked() (sum int) {
	for _, m := range all {
		sum += m.marked
	}
	return sum
}

// batch is what happened since it was called last.
func (all meters) batch() (sum span) {
	for _, m := range all {
		sum.merge(&m.batch)
		m.batch = span{}
	}
	return sum
}

// open begins the window.
func (all meters) open() {
	for _, m := range all {
		m.window, m.batch, m.measuring = span{}, span{}, true
		m.latency.Reset()
		m.network.Reset()
	}
}

// window is what happened in it, and has the first meter hold the histograms of all.
func (all meters) window() (sum span) {
	for i, m := range all {
		sum.merge(&m.window)
		if i > 0 {
			all[0].latency.Merge(m.latency) // of one shape: nothing is dropped
			all[0].network.Merge(m.network)
		}
	}
	return sum
}

// span is what happened in some stretch of time.
type span struct {
	entered, delivered uint64
	latency, network   weft.Time // sums
	latencyMax         weft.Time
	networkMax         weft.Time
	hops               uint64
}

// Latencies are recorded in parts of a cycle, of which DefaultCycle has one for each nanosecond, up
// to 2 * 10^9 cycles and to three significant digits.
const (
	latencyParts  = DefaultCycle / weft.Nanosecond
	latencyMost   = 1_000_000_000_000
	latencyDigits = 3
)

// enter counts a packet that leaves its send queue.
func (m *meter) enter(now weft.Time, h *weft.Header) {
	m.entered++
	m.batch.entered++
	if now <= m.markedAt {
		m.marked++
	}
	if m.measuring {
		m.window.entered++
	}
	if len(m.free) == 0 {
		m.flights[m.made/flightsChunk] = new([flightsChunk]flight)
		for i := range flightsChunk {
			m.free = append(m.free, weft.Time(m.number)<<32|weft.Time(m.made+flightsChunk-1-i))
		}
		m.made += flightsChunk
	}
	id := m.free[len(m.free)-1]
	m.free = m.free[:len(m.free)-1]
	*m.flight(id) = flight{generated: h.Injected, left: now}
	h.Injected = id
}

func (m *meter) flight(id weft.Time) *flight {
	return &m.all[id>>32].flights[uint32(id)/flightsChunk][uint32(id)%flightsChunk]
}

// end takes a packet off the books, and gives back when it was generated and left.
func (m *meter) end(h *weft.Header) flight {
	m.free = append(m.free, h.Injected)
	f := *m.flight(h.Injected)
	if f.left <= m.markedAt {
		m.marked--
	}
	return f
}

// deliver counts a packet that has come to its NIC.
func (m *meter) deliver(now weft.Time, h *weft.Header) {
	f := m.end(h)
	h.Injected = f.generated
	m.delivered++
	total, inside := now-f.generated, now-f.left
	m.batch.add(total, inside, h.Hops)
	if m.measuring {
		m.window.add(total, inside, h.Hops)
		_ = m.latency.RecordValue(min(int64(total/m.unit), latencyMost)) // in range
		_ = m.network.RecordValue(min(int64(inside/m.unit), latencyMost))
	}
}

func (s *span) add(total, inside weft.Time, hops uint16) {
	s.delivered++
	s.latency += total
	s.network += inside
	s.latencyMax = max(s.latencyMax, total)
	s.networkMax = max(s.networkMax, inside)
	s.hops += uint64(hops)
}

// merge adds what happened elsewhere in the same time.
func (s *span) merge(o *span) {
	s.entered += o.entered
	s.delivered += o.delivered
	s.latency += o.latency
	s.network += o.network
	s.latencyMax = max(s.latencyMax, o.latencyMax)
	s.networkMax = max(s.networkMax, o.networkMax)
	s.hops += o.hops
}

// loseWire counts the packets of a frame that was on a wire that was cut.
func (m *meter) loseWire(f *weft.Frame) {
	for i := range f.Packets {
		m.end(&f.Packets[i])
		m.lostWire++
	}
}

// Observe implements virtual.Observer: it counts packets that end in a switch.
func (m *meter) Observe(_ weft.Time, a *weft.Actions) {
	for i := range a.Drops {
		d := &a.Drops[i]
		switch d.Account {
		case weft.LostQueued:
			m.lostQueue++
		case weft.LostCrash:
			m.lostCrash++
		case weft.Discarded:
			m.discarded++
		}
		m.end(&d.Header)
	}
}

// tap is a NIC with the meter at its link.
type tap struct {
	*nic.NIC
	meter *meter
}

// Transmit implements [weft.Core].
func (t *tap) Transmit(now weft.Time, p weft.PortID, limit int, f *weft.Frame, out *weft.Actions) bool {
	any := t.NIC.Transmit(now, p, limit, f, out)
	if any {
		for i := range f.Packets {
			t.meter.enter(now, &f.Packets[i])
		}
	}
	return any
}

// Receive implements [weft.Core].
func (t *tap) Receive(now weft.Time, p weft.PortID, f *weft.Frame, out *weft.Actions) {
	for i := range f.Packets {
		t.meter.deliver(now, &f.Packets[i])
	}
	t.NIC.Receive(now, p, f, out)
}
