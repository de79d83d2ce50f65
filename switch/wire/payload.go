package wire

import (
	"sync"
	"sync/atomic"

	"github.com/tinylib/msgp/msgp"

	"github.com/weft-fabric/weft"
)

// Payloads are the buffers with what packets carry while they are in the nodes of one process.
// Whoever has a packet has its buffer, and frees it when the packet ends. Buffers are used again.
// The zero value has none. Safe for concurrent use.
type Payloads struct {
	mu   sync.Mutex
	free []weft.Payload // stack; guarded by mu
	held int            // guarded by mu
	// pages hold the buffers, a page for pageSize of them: buffer n, from 1, is in page
	// (n-1)/pageSize. A larger list takes the place of this one, whose pages stay.
	pages atomic.Pointer[[]*page]
}

const pageSize = 256

// page is some of the buffers. Whoever has a buffer may use it without a lock.
type page [pageSize]payload

type payload struct {
	data []byte
	held bool // guarded by Payloads.mu
}

// Put returns a buffer with a copy of data.
func (p *Payloads) Put(data []byte) weft.Payload {
	p.mu.Lock()
	if len(p.free) == 0 {
		p.grow()
	}
	id := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.held++
	b := p.at(id)
	b.held = true
	p.mu.Unlock()
	b.data = append(b.data[:0], data...)
	return id
}

// grow makes a page of buffers. The caller holds mu.
func (p *Payloads) grow() {
	var pages []*page
	if old := p.pages.Load(); old != nil {
		pages = *old
	}
	first := weft.Payload(len(pages)*pageSize + 1)
	pages = append(pages[:len(pages):len(pages)], new(page))
	p.pages.Store(&pages)
	for i := weft.Payload(pageSize); i > 0; i-- {
		p.free = append(p.free, first+i-1)
	}
}

func (p *Payloads) at(id weft.Payload) *payload {
	n := int(id) - 1
	return &(*p.pages.Load())[n/pageSize][n%pageSize]
}

// Bytes are what is in a buffer, until it is freed.
func (p *Payloads) Bytes(id weft.Payload) []byte { return p.at(id).data }

// Free gives a buffer back; 0 is none. Freeing one twice is our own bug, and panics.
func (p *Payloads) Free(id weft.Payload) {
	if id == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.at(id)
	if !b.held {
		panic("wire: BUG: payload freed twice")
	}
	b.held = false
	p.held--
	p.free = append(p.free, id)
}

// FreeOf frees what packets carry.
func (p *Payloads) FreeOf(packets []weft.Header) {
	for i := range packets {
		p.Free(packets[i].Payload)
		packets[i].Payload = 0
	}
}

// FreeDropped frees what packets carried that have ended.
func (p *Payloads) FreeDropped(drops []weft.Drop) {
	for i := range drops {
		p.Free(drops[i].Header.Payload)
		drops[i].Header.Payload = 0
	}
}

// Held is how many buffers packets have now: none when no packet is in flight.
func (p *Payloads) Held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// Load fills f.Payloads before f is encoded, from the buffers of its packets.
func (p *Payloads) Load(f *weft.Frame) {
	f.Payloads = f.Payloads[:0]
	for i := range f.Packets {
		var data []byte
		if id := f.Packets[i].Payload; id != 0 {
			data = p.Bytes(id)
		}
		f.Payloads = append(f.Payloads, data)
	}
}

// Unload puts f.Payloads, after f was decoded, into buffers of its packets.
func (p *Payloads) Unload(f *weft.Frame) {
	for i, data := range f.Payloads {
		if len(data) > 0 {
			f.Packets[i].Payload = p.Put(data)
		}
	}
	f.Payloads = f.Payloads[:0]
}

// Fit has f, with payloads, begin with as many of its packets as surely fit into maxFrame bytes, at
// least one, and returns the rest as a frame that follows it.
func Fit(f *weft.Frame, maxFrame int) (rest weft.Frame) {
	n, bytes := 0, emptyFrame+2*9*weft.MaxVCs+payloadHead
	for n < len(f.Packets) {
		bytes += MaxHeader + payloadHead + len(f.Payloads[n])
		if n > 0 && bytes > maxFrame {
			break
		}
		n++
	}
	rest = *f
	rest.Packets, f.Packets = f.Packets[n:], f.Packets[:n]
	rest.Payloads, f.Payloads = f.Payloads[n:], f.Payloads[:n]
	for i := range f.Packets {
		rest.Sent[f.Packets[i].VC]++
	}
	return rest
}

// payloadHead is the most bytes before the list of payloads, and before each.
const payloadHead = 5

// appendPayloads appends f.Payloads as an array of binary data.
func appendPayloads(dst []byte, f *weft.Frame) []byte {
	if len(f.Payloads) != len(f.Packets) {
		panic("wire: BUG: a frame with payloads has one for each packet")
	}
	dst = msgp.AppendArrayHeader(dst, uint32(len(f.Payloads)))
	for _, data := range f.Payloads {
		dst = msgp.AppendBytes(dst, data)
	}
	return dst
}

// payloads reads those of a frame, which stay where they are.
func (r *reader) payloads(f *weft.Frame) {
	r.array(fieldPayload, len(f.Packets), len(f.Packets))
	for i := range f.Packets {
		if r.bad {
			return
		}
		data, rest, err := msgp.ReadBytesZC(r.rest)
		switch {
		case err != nil:
			r.fail(fieldPayload, err)
		case len(data) > weft.MaxPayload || len(data) > int(f.Packets[i].Size):
			r.exceed(fieldPayload, int64(len(data)), min(weft.MaxPayload, int64(f.Packets[i].Size)))
		default:
			f.Payloads, r.rest = append(f.Payloads, data), rest
		}
	}
}
