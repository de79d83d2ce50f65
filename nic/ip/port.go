package ip

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/nic/nicd"
)

// ErrClosed tells that a port has been closed.
var ErrClosed = errors.New("the port is closed")

// Port sends and takes packets of IP by a NIC. What the NIC does not take now waits, so that
// nothing is lost for want of room. One goroutine calls Receive, any number may call Send.
type Port struct {
	nic    *nicd.NIC
	id     weft.NICID
	nics   int           // in the fabric
	room   chan struct{} // cap 1: the NIC may take packets again
	came   chan struct{} // cap 1: there is something in arrived
	closed chan struct{}
	strays atomic.Uint64

	mu sync.Mutex // taken under the lock of the NIC's core: no call is made while it is held
	// arrived are packets that nobody has taken. Bound: the NIC holds back at [nic.MostWaiting] bytes.
	arrived []weft.Header
	over    bool // it is closed: what comes is freed

	taking []weft.Header // owned by Receive

	recording sync.Mutex
	record    *Record // guarded by recording
	in, out   meter   // guarded by recording
}

// Open attaches a port to a NIC, which is number id of so many, in place of what was attached
// before.
func Open(n *nicd.NIC, id weft.NICID, nics int) *Port {
	p := &Port{
		nic: n, id: id, nics: nics, room: make(chan struct{}, 1), came: make(chan struct{}, 1),
		closed: make(chan struct{}), record: &Record{},
	}
	if before, ok := n.Record(p).(*Port); ok { // what was before is told of too
		before.recording.Lock()
		p.record, before.record = before.record, &Record{}
		before.recording.Unlock()
	}
	n.Attach(p)
	return p
}

// Carried implements switchd.Carrier.
func (p *Port) Carried(packets []weft.Header) {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		p.nic.Payloads().FreeOf(packets)
		return
	}
	p.arrived = append(p.arrived, packets...)
	p.mu.Unlock()
	poke(p.came)
}

// Room implements switchd.Carrier.
func (p *Port) Room() { poke(p.room) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Send sends one packet, which may be used again after it, and waits while the NIC holds back. A
// packet for no other NIC is left out and counted as a stray: stacks send to groups without being
// asked. The error is [ErrClosed], or tells that the packet is too large.
func (p *Port) Send(packet []byte) error {
	for waited := false; ; waited = true {
		err := p.TrySend(packet)
		if !errors.Is(err, nic.ErrQueueFull) {
			if waited {
				poke(p.room) // for others who wait
			}
			return err
		}
		select {
		case <-p.room:
		case <-p.closed:
			return ErrClosed
		}
	}
}

// TrySend is Send that does not wait: the error wraps [nic.ErrQueueFull] while the NIC holds back.
func (p *Port) TrySend(packet []byte) error {
	select {
	case <-p.closed:
		return ErrClosed
	default:
	}
	dst, ok := NICOf(Destination(packet), p.nics)
	if !ok || dst == p.id {
		p.strays.Add(1)
		return nil
	}
	if err := p.nic.Carry(dst, packet); err != nil {
		return err
	}
	p.recording.Lock()
	now := p.now()
	p.record.Sent(now, packet)
	p.out.add(now, uint64(len(packet)))
	p.recording.Unlock()
	return nil
}

func (p *Port) now() weft.Time { return p.nic.Now() }

// Since implements [nicd.Recorder].
func (p *Port) Since(from weft.Time) []nicd.Suffered {
	p.recording.Lock()
	defer p.recording.Unlock()
	return p.record.Since(p.now(), from)
}

// Connections are what the port's packets tell of connections of TCP, by the clock of the fabric.
func (p *Port) Connections() []Connection {
	p.recording.Lock()
	defer p.recording.Unlock()
	return p.record.Connections(p.now())
}

// Traffic is what the port has carried.
func (p *Port) Traffic() Traffic {
	p.recording.Lock()
	defer p.recording.Unlock()
	now := p.now()
	return Traffic{p.in.bytes, p.out.bytes, p.in.rate(now), p.out.rate(now)}
}

// Strays is how many packets were left out that were for no other NIC.
func (p *Port) Strays() uint64 { return p.strays.Load() }

// Receive waits until packets have come, and calls take with each, in order. take must not keep
// them. The error is [ErrClosed].
func (p *Port) Receive(take func(packet []byte)) error {
	select {
	case <-p.came:
	case <-p.closed:
		return ErrClosed
	}
	p.mu.Lock()
	p.arrived, p.taking = p.taking[:0], p.arrived
	p.mu.Unlock()
	bytes := 0
	for i := range p.taking {
		packet := p.nic.Payloads().Bytes(p.taking[i].Payload)
		p.recording.Lock()
		now := p.now()
		p.record.Came(now, packet)
		p.in.add(now, uint64(len(packet)))
		p.recording.Unlock()
		take(packet)
		bytes += int(p.taking[i].Size)
	}
	p.nic.Payloads().FreeOf(p.taking)
	if bytes > 0 {
		p.nic.Taken(bytes)
	}
	return nil
}

// Close detaches the port, which must not be open twice, and ends Send and Receive. What waits to
// be taken is dropped; the ledger has it as delivered.
func (p *Port) Close() {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	p.over = true
	left := p.arrived
	p.arrived = nil
	p.mu.Unlock()
	close(p.closed)
	p.recording.Lock()
	p.record.End()
	p.recording.Unlock()
	p.nic.Attach(nil)
	p.nic.Payloads().FreeOf(left)
}
