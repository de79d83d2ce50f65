package measure

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
)

// flight is a packet on its way through the network.
type flight struct{ generated, left weft.Time }

// meter sees every packet enter the network and end. It belongs to one run, and so to one
// goroutine.
//
// While a packet is on its way, its Injected is the number of its flight, so that when it left the
// send queue is known beside when it was generated; its NIC gets it back as it was. Nobody on the
// way looks at it.
type meter struct {
	flights []flight
	free    []uint32

	entered, delivered uint64 // since the start
	lostWire           uint64
	lostQueue          uint64
	lostCrash          uint64
	discarded          uint64

	batch, window span
	measuring     bool
	unit          weft.Time               // of both histograms
	latency       *hdrhistogram.Histogram // of the window
	network       *hdrhistogram.Histogram
}

// span is what happened in some stretch of time.
type span struct {
	entered, delivered uint64
	latency, network   float64 // sums, in picoseconds
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

func newMeter(cycle weft.Time) *meter {
	return &meter{
		unit:    max(1, cycle/latencyParts),
		latency: hdrhistogram.New(1, latencyMost, latencyDigits),
		network: hdrhistogram.New(1, latencyMost, latencyDigits),
	}
}

// inside is how many packets are in switches or on wires.
func (m *meter) inside() int { return len(m.flights) - len(m.free) }

// lost is how many packets faults have taken along.
func (m *meter) lost() uint64 { return m.lostWire + m.lostQueue + m.lostCrash }

// enter counts a packet that leaves its send queue.
func (m *meter) enter(now weft.Time, h *weft.Header) {
	f := flight{generated: h.Injected, left: now}
	m.entered++
	m.batch.entered++
	if m.measuring {
		m.window.entered++
	}
	if n := len(m.free); n > 0 {
		id := m.free[n-1]
		m.free = m.free[:n-1]
		m.flights[id] = f
		h.Injected = weft.Time(id)
		return
	}
	h.Injected = weft.Time(len(m.flights))
	m.flights = append(m.flights, f)
}

// end takes a packet off the books, and gives back when it was generated.
func (m *meter) end(h *weft.Header) flight {
	id := uint32(h.Injected)
	m.free = append(m.free, id)
	return m.flights[id]
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
	s.latency += float64(total)
	s.network += float64(inside)
	s.latencyMax = max(s.latencyMax, total)
	s.networkMax = max(s.networkMax, inside)
	s.hops += uint64(hops)
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
