package bus

import (
	"bytes"
	"io"
	"net"
	"strconv"
)

// direct is the connection of a shard to the broker of this process. It hands out the messages that
// come, all of which are frames, and sends frames, itself: in the client library each takes a lock,
// a copy and an allocation more, and a second goroutine on either way. All else passes by, to and
// from the library.
type direct struct {
	*batcher
	deliver func(subject, frame []byte) // keeps neither
	hellos  [MaxConnections]hellos      // that wait, by the shard they are for; guarded by batcher.mu

	// For the library's goroutine that reads.
	buf  []byte
	have []byte // what has been read and not been handed on yet: a part of buf
	pass int    // bytes of have, or to come, that are the library's
}

// leastRead is how many bytes a read asks for at least.
const leastRead = 32 << 10

var (
	lineEnd   = []byte("\r\n")
	publish   = []byte("PUB ")
	message   = []byte("MSG ")
	withHeads = []byte("HMSG ")
)

func newDirect(b *batcher, deliver func(subject, frame []byte)) *direct {
	return &direct{batcher: b, deliver: deliver, buf: make([]byte, 2*leastRead)}
}

// Read reads what is not a message without headers.
func (d *direct) Read(p []byte) (int, error) {
	for {
		if n := min(d.pass, len(d.have), len(p)); n > 0 {
			copy(p, d.have[:n])
			d.have, d.pass = d.have[n:], d.pass-n
			return n, nil
		}
		if d.pass == 0 && d.take() {
			continue
		}
		if err := d.fill(); err != nil {
			return 0, err
		}
	}
}

// take looks at what begins with have: a message it delivers, and of all else it says how much
// passes. It reports false when more must be read first.
func (d *direct) take() bool {
	end := bytes.Index(d.have, lineEnd)
	if end < 0 {
		return false
	}
	line, head := d.have[:end], end+len(lineEnd)
	heads := bytes.HasPrefix(line, withHeads)
	if !heads && !bytes.HasPrefix(line, message) {
		d.pass = head
		return true
	}
	size, ok := number(line[bytes.LastIndexByte(line, ' ')+1:])
	all := head + size + len(lineEnd)
	switch {
	case !ok:
		d.pass = head // the library says what it is
		return true
	case heads:
		d.pass = all
		return true
	case len(d.have) < all:
		return false
	}
	subject := line[len(message):]
	if i := bytes.IndexByte(subject, ' '); i >= 0 {
		subject = subject[:i]
	}
	d.deliver(subject, d.have[head:head+size])
	d.have = d.have[all:]
	return true
}

// number reads a size.
func number(digits []byte) (n int, ok bool) {
	for _, c := range digits {
		if c < '0' || c > '9' || n > maxPayload {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, len(digits) > 0
}

// fill reads more.
func (d *direct) fill() error {
	if free := cap(d.have) - len(d.have); free < leastRead {
		if len(d.have) > len(d.buf)/2 {
			d.buf = make([]byte, 2*len(d.buf)) // bound: maxPayload
		}
		d.have = d.buf[:copy(d.buf, d.have)]
	}
	n, err := d.batcher.Read(d.have[len(d.have):cap(d.have)])
	d.have = d.have[:len(d.have)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// publishTo sends a message. It waits as Write does.
func (d *direct) publishTo(subject string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.waitForRoom(); err != nil {
		return err
	}
	d.closeHellos() // which were sent before
	d.add(subject, data)
	d.more.Signal()
	return nil
}

// add adds a message to what is written. The caller holds batcher.mu.
func (b *batcher) add(subject string, data []byte) {
	b.buf = append(append(append(b.buf, publish...), subject...), ' ')
	b.buf = append(strconv.AppendInt(b.buf, int64(len(data)), 10), lineEnd...)
	b.buf = append(append(b.buf, data...), lineEnd...)
}

// directly makes a connection of a shard to a broker of this process.
type directly struct {
	inProcess
	shard *shard
	to    *connection
}

// InProcessConn implements nats.InProcessConnProvider.
func (p directly) InProcessConn() (net.Conn, error) {
	c, err := p.broker.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	p.to.direct = newDirect(newBatcher(c, 0), p.shard.deliver)
	return p.to.direct, nil
}
