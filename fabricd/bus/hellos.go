package bus

import (
	"encoding/binary"

	"github.com/weft-fabric/weft/switch/wire"
)

// Hellos of links whose two ends are in this process travel together, by its broker: one message
// has those that leave at one time from one shard to another. They are [name, frame]..., each with
// its length before it; a name is what the subject of the link has after its shards. So nobody can
// say hello for a link on whose subject he may not publish, and what a direction that is cut would
// say is dropped by both ends, as its other frames are.

// anyHello ends the subjects of such messages.
var anyHello = []byte(noNode + ".0")

// mostHellos is how many bytes of them travel together, chosen by us.
const mostHellos = 32 << 10

// hellos are those that wait for company.
type hellos struct {
	subject string
	data    []byte // bound: mostHellos and one frame
}

var _ wire.HelloGatherer = (*NATS)(nil)

// SendHello implements [wire.HelloSender].
func (l *natsLink) SendHello(frame []byte) error { return l.send(frame, l.out.gather) }

// FlushHellos implements [wire.HelloGatherer].
func (t *NATS) FlushHellos(shard int) {
	if w := t.shards[shard].current.Load(); w != nil && w.direct != nil {
		w.direct.flushHellos()
	}
}

// gather has a hello of l wait for others, if it can travel with them.
func (s *shard) gather(l *natsLink, frame []byte) error {
	w := s.current.Load()
	if w == nil || w.direct == nil || l.in == nil || l.in.exact() || !l.here.Load() {
		return s.publish(l, frame)
	}
	if w.direct.gather(l.in, l.subject[:len(l.subject)-len(l.name)], l.name, frame) != nil {
		return wire.ErrDisconnected
	}
	return nil
}

func (d *direct) gather(to *shard, prefix, name string, frame []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.waitForRoom(); err != nil {
		return err
	}
	h := &d.hellos[to.index]
	if len(h.data) == 0 {
		h.subject = prefix + string(anyHello)
	}
	h.data = appendChunk(appendChunk(h.data, name), frame)
	if len(h.data) >= mostHellos {
		d.closeHellos()
		d.more.Signal()
	}
	return nil
}

// closeHellos has those that wait written next. The caller holds batcher.mu.
func (d *direct) closeHellos() {
	for i := range d.hellos {
		if h := &d.hellos[i]; len(h.data) > 0 {
			d.add(h.subject, h.data)
			h.data = h.data[:0]
		}
	}
}

func (d *direct) flushHellos() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closeHellos(); len(d.buf) > 0 {
		d.more.Signal()
	}
}

func appendChunk[T string | []byte](to []byte, chunk T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(chunk))), chunk...)
}

// eachHello calls f for those of a message whose subject begins with prefix: with the subject of
// the link, which f does not keep, and the frame. It reports whether all of the message was hellos.
func eachHello(prefix, data []byte, f func(subject, frame []byte)) bool {
	subject := append(make([]byte, 0, 128), prefix...)
	for len(data) > 0 {
		var chunks [2][]byte
		for i := range chunks {
			n, used := binary.Uvarint(data)
			if used <= 0 || n > uint64(len(data)-used) {
				return false
			}
			chunks[i], data = data[used:used+int(n)], data[used+int(n):]
		}
		f(append(subject, chunks[0]...), chunks[1])
	}
	return true
}

// deliverHellos hands out the hellos of a message.
func (s *shard) deliverHellos(prefix, data []byte) {
	if !eachHello(prefix, data, func(subject, frame []byte) { s.notify(s.deliverCopy(subject, frame)) }) {
		s.notify(s.deliverCopy(append(prefix, anyHello...), data)) // which nobody listens to
	}
}
