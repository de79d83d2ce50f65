package rig

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Relay carries connections to an address until it is cut.
type Relay struct {
	Address string // to connect to, host:port

	mu      sync.Mutex
	to      string            // guarded by mu
	shut    bool              // guarded by mu
	conns   map[net.Conn]bool // guarded by mu
	running sync.WaitGroup
}

// NewRelay starts a relay, which ends with the test.
func NewRelay(t testing.TB, to string) *Relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &Relay{Address: l.Addr().String(), to: to, conns: map[net.Conn]bool{}}
	r.running.Go(func() { r.accept(l) })
	t.Cleanup(func() {
		_ = l.Close()
		r.Cut()
		r.running.Wait()
	})
	return r
}

// To sets the address that new connections are carried to.
func (r *Relay) To(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = address
}

func (r *Relay) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		r.carry(in)
	}
}

func (r *Relay) carry(in net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out, err := net.Dial("tcp", r.to)
	if err != nil || r.shut {
		_ = in.Close()
		if err == nil {
			_ = out.Close()
		}
		return
	}
	r.conns[in], r.conns[out] = true, true
	r.running.Go(func() { r.pass(in, out) })
	r.running.Go(func() { r.pass(out, in) })
}

// pass copies until one end goes.
func (r *Relay) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = from.Close(), to.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, from)
	delete(r.conns, to)
}

// Cut ends all connections, and lets none come again until Restore.
func (r *Relay) Cut() { r.drop(true) }

// Drop ends all connections; new ones are carried.
func (r *Relay) Drop() { r.drop(false) }

func (r *Relay) drop(shut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = shut
	for c := range r.conns {
		_ = c.Close()
	}
}

// Restore carries new connections again.
func (r *Relay) Restore() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = false
}
