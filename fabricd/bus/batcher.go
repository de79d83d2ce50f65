package bus

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

// maxBatched is how many bytes a batcher takes in before it has whoever writes wait, chosen by us:
// more than a connection of thousands of links has to say at one instant.
const maxBatched = 1 << 20

// mostTurns is how often a batcher lets others have their turn before it writes, as long as they
// have had something to send; chosen by measuring: from the first to the second the throughput of a
// line grows by a tenth.
const mostTurns = 4

// batcher is a connection that writes together what several goroutines have to send. The client
// library writes as soon as one of them has published, and holds its lock meanwhile: on a busy
// connection that is a system call for each frame, here, and then for each frame a wake-up and a
// system call at the server. A batcher takes what it is given, and a goroutine of its own writes it
// once those that can run now have had their turn: on an idle connection that is at once, and the
// busier the machine the more goes into one write.
type batcher struct {
	net.Conn
	patience time.Duration // without a byte taken, until the connection counts as broken
	done     chan struct{} // closed by run when it ends

	mu     sync.Mutex
	more   sync.Cond // there is something to write, or closed
	room   sync.Cond // there is room, or failed
	buf    []byte    // guarded by mu; bound: maxBatched and one Write
	failed error     // guarded by mu: what a write has ended with
	closed bool      // guarded by mu
}

// newBatcher begins to write together what is written to c; patience 0: however long that takes.
// Closing it closes c, once what was written has left, for which it gives it no more than
// closeTimeout, and ends its goroutine.
func newBatcher(c net.Conn, patience time.Duration) *batcher {
	b := &batcher{Conn: c, patience: patience, done: make(chan struct{})}
	b.more.L, b.room.L = &b.mu, &b.mu
	go b.run()
	return b
}

// Write takes p and returns. The error is that of a write before. It waits only when maxBatched
// bytes have not left yet, no longer than the connection is alive.
func (b *batcher) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.waitForRoom(); err != nil {
		return 0, err
	}
	b.buf = append(b.buf, p...)
	b.more.Signal()
	return len(p), nil
}

// waitForRoom returns when less than maxBatched bytes wait. The caller holds b.mu.
func (b *batcher) waitForRoom() error {
	for len(b.buf) >= maxBatched && b.failed == nil && !b.closed {
		b.room.Wait()
	}
	switch {
	case b.failed != nil:
		return b.failed
	case b.closed:
		return net.ErrClosed
	}
	return nil
}

// SetWriteDeadline does nothing: Write does not wait for the other side, see patience.
func (b *batcher) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline is for reading.
func (b *batcher) SetDeadline(t time.Time) error { return b.Conn.SetReadDeadline(t) }

// Close implements net.Conn.
func (b *batcher) Close() error {
	b.mu.Lock()
	b.closed = true
	b.more.Signal()
	b.room.Broadcast()
	b.mu.Unlock()
	hangs := time.AfterFunc(closeTimeout, func() { _ = b.Conn.Close() })
	defer hangs.Stop()
	<-b.done
	return b.Conn.Close()
}

// run writes until the connection is closed, or broken.
func (b *batcher) run() {
	defer close(b.done)
	var out []byte
	for {
		b.mu.Lock()
		for len(b.buf) == 0 && !b.closed {
			b.more.Wait()
		}
		for n, turns := 0, 0; len(b.buf) > n && turns < mostTurns; turns++ {
			n = len(b.buf)
			b.mu.Unlock()
			runtime.Gosched() // others may have something to send too
			b.mu.Lock()
		}
		out, b.buf = b.buf, out[:0]
		b.room.Broadcast()
		b.mu.Unlock()
		if len(out) == 0 {
			return // closed, and nothing came in the meantime
		}
		if err := b.write(out); err != nil {
			b.fail(err)
			return
		}
	}
}

// write writes all of p, or returns an error when the other side takes nothing of it for too long.
func (b *batcher) write(p []byte) error {
	for len(p) > 0 {
		if b.patience > 0 {
			if err := b.Conn.SetWriteDeadline(time.Now().Add(b.patience)); err != nil {
				return err
			}
		}
		n, err := b.Conn.Write(p)
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
		p = p[n:]
	}
	return nil
}

// fail ends the connection: what follows would come after a gap. A side that has closed it may have
// said why, as a server does that refuses a certificate: that can be read for connectTimeout.
func (b *batcher) fail(err error) {
	b.mu.Lock()
	b.failed = err
	b.buf = nil
	b.room.Broadcast()
	b.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = b.Conn.Close() // has nats.go, which reads, see it
		return
	}
	time.AfterFunc(connectTimeout, func() { _ = b.Conn.Close() }) // for who reads and sees nothing of it
}

// inProcess makes connections to a broker of this process.
type inProcess struct{ broker *Broker }

// InProcessConn implements nats.InProcessConnProvider. A pipe to our own server does not hang.
func (p inProcess) InProcessConn() (net.Conn, error) {
	c, err := p.broker.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	return newBatcher(c, 0), nil
}
