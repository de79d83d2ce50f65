package wire_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	wiretest.Contract(t, false, func(*testing.T) wire.Transport { return wire.NewMemory() })
}

func TestMemoryDoesNotAllocate(t *testing.T) {
	m := wire.NewMemory()
	inbox := wiretest.Listen(t, m, wiretest.Hop(0), 1)
	s := wiretest.Sender(t, m, wiretest.Hop(0))
	frame := make([]byte, 256)
	require.Less(t, testing.AllocsPerRun(1000, func() {
		if err := s.Send(frame); err != nil {
			t.Error(err)
		}
		(<-inbox).Release()
	}), 1.0)
}

// Only our own code can fill an inbox in memory.
func TestMemoryFullInboxIsABug(t *testing.T) {
	t.Parallel()
	m := wire.NewMemory()
	wiretest.Listen(t, m, wiretest.Hop(0), 1)
	s := wiretest.Sender(t, m, wiretest.Hop(0))
	frame := wire.AppendFrame(nil, wiretest.Hop(0).Sum(), &weft.Frame{From: 1, VCs: 1, Packets: make([]weft.Header, 1)})
	require.NoError(t, s.Send(frame))
	require.PanicsWithValue(t, "wire: BUG: s0:p1>s1:p0: inbox of 1 frames is full; its capacity must cover the credits "+
		"of the link",
		func() { _ = s.Send(frame) })
	require.NoError(t, s.Send([]byte("garbage")), "of which nobody said that there is room for it")
	require.NoError(t, m.Ready(context.Background()))
	require.NoError(t, wiretest.Sender(t, m, wiretest.Hop(1)).Send([]byte("x")))
	bytes := uint64(2*len(frame) + len("garbage") + 1)
	require.Equal(t, wire.Stats{Sent: 4, SentBytes: bytes, Delivered: 1, Full: 2, Unknown: 1}, m.Stats())
}
