package nic

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// rig is a NIC whose neighbour, a switch, the test plays.
type rig struct {
	t testing.TB
	*NIC
	now       weft.Time
	out       weft.Actions // of the last call
	neighbour link.End
}

func newDarkRig(t testing.TB, c Config) *rig {
	t.Helper()
	if c.NICs == 0 {
		c.NICs = 8
	}
	if c.Rand == nil {
		c.Rand = rand.NewPCG(1, uint64(c.ID))
	}
	n, err := New(c)
	require.NoError(t, err)
	r := &rig{t: t, NIC: n}
	r.neighbour = link.New(link.Config{VCs: n.cfg.VCs, Buffer: 2, Eager: true})
	r.out.Reset()
	return r
}

// newRig makes a NIC whose link is up.
func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	r := newDarkRig(t, c)
	r.connect()
	return r
}

func (r *rig) connect() {
	r.t.Helper()
	r.neighbour.Signal(r.now, true)
	r.out.Reset()
	r.Signal(r.now, 0, true, &r.out)
	for range 4 {
		if r.neighbour.Owes() {
			r.hand()
		}
		if r.end.Owes() {
			r.take(0)
		}
	}
	require.Equal(r.t, link.Up, r.Snapshot().State)
	require.Equal(r.t, link.Up, r.neighbour.State())
}

// hand lets the neighbour send a frame with the given packets.
func (r *rig) hand(packets ...weft.Header) {
	r.t.Helper()
	var f weft.Frame
	r.neighbour.Stamp(r.now, &f)
	for _, h := range packets {
		r.neighbour.Spend(h.VC)
	}
	f.Packets = packets
	r.out.Reset()
	r.Receive(r.now, 0, &f, &r.out)
	require.Empty(r.t, r.out.Faults)
}

// take lets the NIC transmit one frame of at most limit packets, which the neighbour takes.
func (r *rig) take(limit int) []weft.Header {
	r.t.Helper()
	var f weft.Frame
	r.out.Reset()
	if !r.Transmit(r.now, 0, limit, &f, &r.out) {
		return nil
	}
	_, err := r.neighbour.Receive(r.now, &f)
	require.NoError(r.t, err)
	at := f.Sent
	for _, h := range f.Packets {
		fresh, err := r.neighbour.Take(h.VC, at[h.VC])
		require.NoError(r.t, err)
		require.True(r.t, fresh)
		at[h.VC]++
	}
	if !r.end.Owes() && (r.queue.sendable(&r.end) == 0) {
		var none weft.Frame
		require.False(r.t, r.Transmit(r.now, 0, 1, &none, &r.out), "a driver asks until there is nothing more")
	}
	return f.Packets
}

func (r *rig) send(dst weft.NICID) uint64 {
	r.t.Helper()
	r.out.Reset()
	seq, err := r.Send(r.now, dst, 256, false, &r.out)
	require.NoError(r.t, err)
	return seq
}

func mustParse(t testing.TB, s string) Traffic {
	t.Helper()
	traffic, err := ParseTraffic(s)
	require.NoError(t, err)
	return traffic
}

// sources are those of the traffic over so many NICs, n0 and so on, whose links carry 1 byte per
// nanosecond.
func sources(t testing.TB, spec string, nics int, r Rand) []Source {
	t.Helper()
	list, err := mustParse(t, spec).Sources(over(nics, r))
	require.NoError(t, err)
	require.Len(t, list, nics)
	return list
}

func over(nics int, r Rand) Over {
	return Over{NICs: nics, Rate: 1e9, Rand: r, Find: func(name string) (weft.NICID, error) {
		for i := range nics {
			if name == fmt.Sprintf("n%d", i) {
				return weft.NICID(i), nil
			}
		}
		return 0, fmt.Errorf("no %s", name)
	}}
}
