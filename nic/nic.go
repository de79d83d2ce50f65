package nic

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/gammazero/deque"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Errors of Send.
var (
	ErrQueueFull = errors.New("send queue full")
	ErrNoSuchNIC = errors.New("no such NIC")
	ErrSize      = errors.New("unusable packet size")
)

// Defaults, from the papers' simulations (Dynamic Fault Tolerance in Fat Trees, section IX.A).
const (
	DefaultQueueBytes  = 1_300_000
	DefaultPacketBytes = 256
)

// Config of a NIC. Immutable once passed to New.
type Config struct {
	ID   weft.NICID
	NICs int  // how many there are in the fabric
	Rand Rand // one stream per NIC; owned by the NIC from then on

	VCs        int // virtual channels of its link, 1 to weft.MaxVCs; 0 means 1
	Buffer     int // packets per VC it can receive before they are taken, 1 to weft.MaxBuffer; 0 means 2
	QueueBytes int // bound of the send queue in bytes; 0 means DefaultQueueBytes

	// Source writes into the header of a packet what its way is, before it is sent; nil: nothing.
	// Its firmware may ask for that, see switching.Source. It changes fields, and how long the
	// packet is on the wire.
	Source func(h *weft.Header)
	// Addresses are those by which packets go to a NIC, as its firmware has them (see
	// switching.Firmware.Addresses): one is drawn when a packet is generated, none is drawn when there
	// is one alone, and without any the packet goes to address 0 and enters in VC 0. A VC that the
	// link does not have is taken for VC 0. nil: none for all. What it returns is not kept.
	Addresses func(dst weft.NICID) []weft.Address
	// HonourNotices is how long the source generates nothing for a destination after a notice that
	// it cannot be reached; 0: notices change nothing.
	HonourNotices weft.Time

	// Distance is how many switches a packet from src crosses on a shortest path to this NIC; nil:
	// not measured.
	Distance func(src weft.NICID) int

	// Latency is where latencies are recorded, in nanoseconds: a histogram made by NewLatency that
	// all NICs of a run in one goroutine share; nil: one of its own.
	Latency *hdrhistogram.Histogram
	// NoLatency records no latencies: whoever runs the NIC does.
	NoLatency bool
	// Unordered numbers packets per source, not per flow, and keeps no table of flows: in a fabric
	// of n NICs the memory of all is then in proportion to n, not n*n. Reordered, duplicate and
	// missing packets are not noticed.
	Unordered bool

	// Incarnation is how often this NIC was made before in the running fabric, on another host say,
	// at most MaxIncarnation. Its flows begin anew: it numbers its packets above those of all
	// incarnations before, and takes what comes first for the beginning.
	Incarnation uint32

	EagerCredits bool          // see link.Config.Eager
	Epoch        weft.Epoch    // of its link before the first; see link.Config.First
	Liveness     link.Liveness // of its link; the zero value notices no silence
}

// NIC is one NIC; it implements [weft.Core] with a single port, 0.
type NIC struct {
	// What every frame needs comes first, in two cache lines, then what every packet does: many NICs
	// are more than a processor's cache holds.
	end        link.End
	ready      bool // the driver knows that there may be something to transmit
	held       bool // nothing leaves the send queue
	generation uint16
	nextAt     weft.Time // when the source generates its next packet
	looked     weft.Time // when it generated what was due
	brim       int       // with more bytes in the send queue the source generates nothing
	queue      sendQueue

	to         Destinations // of the source; nil: it has a plan, or nothing
	number     uint64       // the next number of all, when Unordered; else the first of a flow
	traceEvery int          // of the source
	sizes      mix          // of the source
	process    process      // of the source
	cfg        Config
	stats      Stats

	generations generations
	plan        []Planned          // of the source, what is still to come
	began       weft.Time          // when the source was set: the plan's time 0
	sequence    tally              // per destination, how many packets there were; not when Unordered
	marks       map[weft.NICID]int // per destination, how many of the next packets are traced; nil: none
	// per destination, until when nothing is generated for it; not unless notices are honoured
	withheld table[weft.Time]
	flows    flows // per source; not when Unordered
	// per source, the first number heard of a flow that was on its way before; only with an
	// Incarnation
	bases table[uint64]

	carrier *carrier                      // nil: nobody has packets with a payload to send, or takes them
	latency *hdrhistogram.PackedHistogram // made at the first delivery, unless it is shared
}

// Source is what a NIC generates by itself. [Traffic.Sources] makes the sources of all NICs of a
// fabric.
type Source struct {
	To         Destinations // nil: nothing but Plan
	Mean       weft.Time    // mean interval between packets, above 0
	Arrivals   Arrivals     // the process of that mean; Poisson unless given
	Bytes      int          // of each packet; 0 means DefaultPacketBytes
	Sizes      Sizes        // of packets, instead of Bytes
	Plan       []Planned    // without To: these packets, in the order of their times
	TraceEvery int          // every so many packets one is traced; 0 is none
}

// New returns a NIC whose link has no signal yet and which generates nothing. The error says what
// of cfg is not usable.
func New(cfg Config) (*NIC, error) {
	cfg.VCs = cmp.Or(cfg.VCs, 1)
	cfg.Buffer = cmp.Or(cfg.Buffer, 2)
	cfg.QueueBytes = cmp.Or(cfg.QueueBytes, DefaultQueueBytes)
	switch {
	case cfg.VCs < 1 || cfg.VCs > weft.MaxVCs:
		return nil, fmt.Errorf("nic %d: virtual channels must be 1 to %d, not %d", cfg.ID, weft.MaxVCs, cfg.VCs)
	case cfg.Buffer < 1 || cfg.Buffer > weft.MaxBuffer:
		return nil, fmt.Errorf("nic %d: buffer must be 1 to %d packets, not %d", cfg.ID, weft.MaxBuffer, cfg.Buffer)
	case cfg.NICs <= int(cfg.ID) || cfg.NICs > weft.MaxNIC:
		return nil, fmt.Errorf("nic %d: %w: there are %d, at most %d", cfg.ID, ErrNoSuchNIC, cfg.NICs, weft.MaxNIC)
	case cfg.QueueBytes < 1:
		return nil, fmt.Errorf("nic %d: the send queue must hold at least one byte, not %d", cfg.ID, cfg.QueueBytes)
	case cfg.HonourNotices < 0:
		return nil, fmt.Errorf("nic %d: notices must be honoured for 0 or longer, not %v", cfg.ID, cfg.HonourNotices)
	case cfg.Incarnation > MaxIncarnation:
		return nil, fmt.Errorf("nic %d: incarnation must be 0 to %d, not %d", cfg.ID, MaxIncarnation, cfg.Incarnation)
	case cfg.Rand == nil:
		return nil, fmt.Errorf("nic %d: a random source is required", cfg.ID)
	}
	if err := cfg.Liveness.Validate(); err != nil {
		return nil, fmt.Errorf("nic %d: %w", cfg.ID, err)
	}
	n := &NIC{
		cfg: cfg,
		end: link.New(link.Config{
			VCs: cfg.VCs, Buffer: cfg.Buffer, Eager: cfg.EagerCredits, First: cfg.Epoch, Liveness: cfg.Liveness,
		}),
		nextAt: weft.Never,
	}
	fifos := 1
	if cfg.Addresses != nil {
		fifos = cfg.VCs
	}
	n.queue.fifos = make([]deque.Deque[packet], fifos)
	n.number = firstNumber(cfg.Incarnation)
	if !cfg.Unordered {
		n.sequence, n.flows = tally{nics: cfg.NICs}, flows{nics: cfg.NICs}
		if cfg.Incarnation > 0 {
			n.bases = newTable[uint64](cfg.NICs)
		}
	}
	if cfg.HonourNotices > 0 {
		n.withheld = newTable[weft.Time](cfg.NICs)
	}
	return n, nil
}

// Ports implements [weft.Core].
func (n *NIC) Ports() int { return 1 }

// SetGeneration marks the packets generated from now on; see weft.Header.Generation.
func (n *NIC) SetGeneration(generation uint16) { n.generation = generation }

// Notice tells that a packet of this NIC for dst was discarded, since dst cannot be reached now:
// the source generates nothing for it until Config.HonourNotices have passed since the latest
// notice. What is in the send queue goes all the same, and so does what Send is given: whoever
// calls it wants to know. The error wraps ErrNoSuchNIC.
func (n *NIC) Notice(now weft.Time, dst weft.NICID) error {
	if int(dst) >= n.cfg.NICs {
		return fmt.Errorf("nic %d: notice about nic %d: %w: there are %d", n.cfg.ID, dst, ErrNoSuchNIC, n.cfg.NICs)
	}
	n.stats.Notices++
	if n.cfg.HonourNotices > 0 {
		*n.withheld.at(dst) = now + n.cfg.HonourNotices
	}
	return nil
}

// Send puts one packet of size bytes for dst into the send queue and returns its number in its
// flow. The error wraps [ErrNoSuchNIC], [ErrSize] (1 to [weft.MaxPacket] bytes) or [ErrQueueFull].
func (n *NIC) Send(now weft.Time, dst weft.NICID, size int, traced bool, out *weft.Actions) (seq uint64, err error) {
	switch {
	case int(dst) >= n.cfg.NICs:
		return 0, fmt.Errorf("nic %d: send to nic %d: %w: there are %d", n.cfg.ID, dst, ErrNoSuchNIC, n.cfg.NICs)
	case size < 1 || size > weft.MaxPacket:
		return 0, fmt.Errorf("nic %d: send %d bytes: %w: 1 to %d", n.cfg.ID, size, ErrSize, weft.MaxPacket)
	case !n.generate(now, dst, uint32(size), traced):
		return 0, fmt.Errorf("nic %d: send to nic %d: %w (%d of %d bytes)", n.cfg.ID, dst, ErrQueueFull, n.queue.bytes,
			n.cfg.QueueBytes)
	}
	n.markSendable(out)
	n.wake(out)
	return n.nextNumber(dst) - 1, nil
}

// Tick implements [weft.Core]: it generates what the source owes up to now, and says hello or gives
// up on a silent neighbour.
func (n *NIC) Tick(now weft.Time, out *weft.Actions) {
	n.produce(now)
	lost, hello := n.end.Tick(now)
	if lost {
		out.Changes = append(out.Changes, weft.PortChange{Why: weft.BySilence})
	}
	n.markSendable(out)
	if hello {
		n.ready = true
		out.Owed = append(out.Owed, 0)
	}
	n.wake(out)
}

// wake sets when Tick is due.
func (n *NIC) wake(out *weft.Actions) { out.WakeAt = min(out.WakeAt, n.generatesAt(), n.end.Due()) }

// Signal implements [weft.Core]. The send queue waits while the link is down.
func (n *NIC) Signal(now weft.Time, _ weft.PortID, up bool, out *weft.Actions) {
	if n.end.Signal(now, up) {
		out.Changes = append(out.Changes, weft.PortChange{Why: weft.BySignal})
	}
	if n.end.Owes() {
		n.markReady(out)
	}
	n.wake(out)
}

// Receive implements [weft.Core]: every packet is taken at once, so the NIC never blocks the
// fabric.
func (n *NIC) Receive(now weft.Time, _ weft.PortID, f *weft.Frame, out *weft.Actions) {
	v, err := n.end.Receive(now, f)
	if err != nil {
		out.Faults = append(out.Faults, weft.Fault{Err: err})
	}
	if v.Lost {
		out.Changes = append(out.Changes, weft.PortChange{Why: weft.ByNeighbour})
	}
	if v.CameUp {
		out.Changes = append(out.Changes, weft.PortChange{Up: true})
	}
	if v.Accept && len(f.Packets) > 0 {
		var before [weft.MaxVCs]uint16 // packets of this frame, per VC; at most weft.MaxBatch
		for i := range f.Packets {
			h := &f.Packets[i]
			if int(h.VC) >= n.cfg.VCs {
				_, err := n.end.Take(h.VC, 0) // refuses and counts it
				out.Faults = append(out.Faults, weft.Fault{Err: err})
				continue
			}
			fresh, err := n.end.Take(h.VC, f.Sent[h.VC]+uint64(before[h.VC]))
			before[h.VC]++
			if err != nil {
				out.Faults = append(out.Faults, weft.Fault{Err: err})
			}
			if fresh {
				n.deliver(cmp.Or(f.At, now), h, out)
				if n.carrier == nil || !n.carrier.keeps(h.VC) {
					n.end.Free(h.VC)
				}
			}
		}
	}
	if !n.ready {
		n.markSendable(out)
		if n.end.Owes() {
			n.markReady(out)
		}
	}
	n.wake(out)
}

// Exempt implements [weft.Core].
func (n *NIC) Exempt(now weft.Time, _ weft.PortID) { n.end.Exempt(now) }

// LinksDue implements [weft.Core].
func (n *NIC) LinksDue() weft.Time { return n.end.SuspectAt() }

// Transmit implements [weft.Core]. Packets enter the fabric in the virtual channel of their
// address.
func (n *NIC) Transmit(now weft.Time, _ weft.PortID, limit int, f *weft.Frame, out *weft.Actions) bool {
	if n.full() {
		n.produce(now) // before there is room
	}
	n.end.Resume(now)
	sendable := n.sendable()
	batch := min(limit, sendable)
	if batch == 0 && !n.end.Owes() {
		n.ready = sendable > 0
		out.More = n.ready
		n.wake(out)
		return false
	}
	f.Reset()
	if !n.end.Stamp(now, f) {
		batch = 0
	}
	for range batch {
		vc := weft.VC(0)
		if len(n.queue.fifos) > 1 {
			vc = n.queue.turn(&n.end)
		}
		p := n.queue.fifos[vc].PopFront()
		n.queue.popped(vc, p.size)
		n.end.Spend(vc)
		out.Since = max(out.Since, p.injected)
		traced := p.traced || len(n.marks) > 0 && n.marked(p.dst)
		f.Packets = append(f.Packets, weft.Header{
			Src: n.cfg.ID, Dst: p.dst, Seq: p.seq, Injected: p.injected, Size: p.size, VC: vc, Generation: p.generation,
			Traced: traced, Fields: weft.NewFields(),
		})
		h := &f.Packets[len(f.Packets)-1]
		h.Path, h.Layers = p.path, p.layers
		if p.carries {
			h.Payload = n.queue.payloads[vc].PopFront()
			f.Carrying++
			n.carrier.left(p.size, out)
		}
		if n.cfg.Source != nil {
			n.cfg.Source(h)
		}
		if traced {
			out.Egress = append(out.Egress, weft.Egress{At: now, VC: vc, Queued: now - p.injected, Header: *h})
		}
	}
	n.ready = sendable > batch || n.end.Owes()
	out.More = n.ready
	n.wake(out)
	return true
}

func (n *NIC) markSendable(out *weft.Actions) {
	if !n.ready && n.sendable() > 0 {
		n.markReady(out)
	}
}

// sendable is how many packets may go.
func (n *NIC) sendable() int {
	if n.held {
		return 0
	}
	return n.queue.sendable(&n.end)
}

func (n *NIC) markReady(out *weft.Actions) {
	if !n.ready {
		n.ready = true
		out.Ready = append(out.Ready, 0)
	}
}

// Preload reads what a frame needs, see package harness/virtual.
func (n *NIC) Preload(weft.PortID) uint64 {
	return uint64(n.nextAt) + n.number + n.stats.Injected + n.end.Preload()
}

// PreloadNext reads what that leads to.
func (n *NIC) PreloadNext(weft.PortID) uint64 { return 0 }
