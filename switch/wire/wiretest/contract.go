package wiretest

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
)

// Contract checks that a transport keeps the contract of [wire.Transport]. open opens one, on which
// every event fails the test, and closes it when the test ends. exact says that frames of
// directions that nobody listens to do not arrive.
func Contract(t *testing.T, exact bool, open func(t *testing.T) wire.Transport) {
	for claim, check := range map[string]func(*testing.T, wire.Transport){
		"order and no loss": checkOrder, "cut and restore": checkCut, "cut is exact": checkCutExact,
		"close": checkClose, "names": checkNames, "send keeps nothing": checkSendKeepsNothing,
		"unlisten": func(t *testing.T, tr wire.Transport) { checkUnlisten(t, tr, exact) },
		"shards":   checkShards,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// Concurrent senders on many directions; each direction arrives whole and in order.
func checkOrder(t *testing.T, tr wire.Transport) {
	const links, frames = 8, 2000
	inboxes := make([]chan wire.Message, links)
	for i := range links {
		inboxes[i] = Listen(t, tr, Hop(i), frames)
	}
	Ready(t, tr)
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range links {
		s := Sender(t, tr, Hop(i))
		wg.Go(func() {
			frame := make([]byte, 8)
			for n := range frames {
				binary.BigEndian.PutUint64(frame, uint64(n))
				if err := s.Send(frame); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range links {
		for n := range frames {
			require.Equal(t, uint64(n), binary.BigEndian.Uint64([]byte(Next(t, inboxes[i]))), "on %v", Hop(i))
		}
	}
	wg.Wait()
	s := tr.Stats()
	require.Equal(t, wire.Stats{Sent: links * frames, SentBytes: links * frames * 8, Delivered: links * frames}, s)
}

// One direction can be cut alone; cuts do not count.
func checkCut(t *testing.T, tr wire.Transport) {
	there, back := Hop(0), Hop(0).Reverse()
	inThere, inBack := Listen(t, tr, there, 10), Listen(t, tr, back, 10)
	sThere, sBack := Sender(t, tr, there), Sender(t, tr, back)
	Ready(t, tr)
	require.NotEqual(t, "by nobody", tr.Enforcement().String())
	require.NoError(t, tr.Restore(there), "restoring what is whole does nothing")
	require.NoError(t, sThere.Send([]byte("before")))
	require.Equal(t, "before", Next(t, inThere))

	require.NoError(t, tr.Cut(there))
	require.NoError(t, tr.Cut(there, there))
	require.NoError(t, sThere.Send([]byte("into the cut")))
	require.NoError(t, sBack.Send([]byte("the other way")))
	require.Equal(t, "the other way", Next(t, inBack))
	require.NoError(t, tr.Restore(there))
	require.NoError(t, sThere.Send([]byte("after")))
	require.Equal(t, "after", Next(t, inThere), "the first to arrive after the cut")
	require.Equal(t, uint64(1), tr.Stats().Cut)
	require.Equal(t, uint64(4), tr.Stats().Sent)

	require.NoError(t, tr.Cut(there, back))
	require.NoError(t, tr.Cut())
	require.NoError(t, tr.Restore(back, there))
	require.NoError(t, sBack.Send([]byte("again")))
	require.Equal(t, "again", Next(t, inBack))
}

// When Cut returns, nothing more enters the inbox, however fast somebody sends; when Restore
// returns, sends get through.
func checkCutExact(t *testing.T, tr wire.Transport) {
	d := Hop(0)
	const frames = 200_000 // fewer than NATSConfig.Pending, since no credits hold this sender back
	inbox := Listen(t, tr, d, frames)
	s := Sender(t, tr, d)
	Ready(t, tr)
	stop, sending := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for n := range frames {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Send([]byte("x")); err != nil {
				t.Error(err)
				return
			}
			if n == 100 {
				close(sending)
			}
		}
	})
	<-sending
	for range 20 {
		require.NoError(t, tr.Cut(d))
		have := len(inbox)
		require.NoError(t, tr.Cut(Hop(1))) // takes a while
		require.Len(t, inbox, have)
		require.NoError(t, tr.Restore(d, Hop(1)))
	}
}

func checkClose(t *testing.T, tr wire.Transport) {
	inbox := Listen(t, tr, Hop(0), 100)
	s := Sender(t, tr, Hop(0))
	Ready(t, tr)
	for range 50 {
		require.NoError(t, s.Send([]byte("x")))
	}
	require.NoError(t, tr.Close())
	have := len(inbox)
	require.NoError(t, tr.Close())
	require.ErrorIs(t, s.Send([]byte("x")), wire.ErrClosed)
	require.ErrorIs(t, tr.Listen(Hop(1), inbox), wire.ErrClosed)
	require.ErrorIs(t, tr.Cut(Hop(0)), wire.ErrClosed)
	_, err := tr.Sender(Hop(1))
	require.ErrorIs(t, err, wire.ErrClosed)
	require.Len(t, inbox, have, "nothing is delivered after Close")
	require.Equal(t, uint64(1), tr.Stats().Errors)
}

func checkNames(t *testing.T, tr wire.Transport) {
	inbox := Listen(t, tr, Hop(0), 1)
	require.ErrorIs(t, tr.Listen(Hop(0), inbox), wire.ErrListening)
	other := Hop(0)
	other.To = "elsewhere"
	require.ErrorIs(t, tr.Cut(other), wire.ErrDirection)
	for _, d := range []wire.Direction{
		{},
		{From: "a", To: ""},
		{From: "a.*", To: "b"},
		{From: "a b", To: "c"},
		{From: "a", To: "b", FromPort: weft.MaxPorts},
		{From: "a", To: "b", ToPort: weft.NoPort},
		{From: "a_b", To: "c"},
	} {
		require.ErrorIs(t, tr.Listen(d, inbox), wire.ErrName, "%v", d)
	}
	// Names of real fabrics, some alike but for the dot.
	for _, node := range []string{"s1.03", "s1-03", "s10.3", "n000", "N000"} {
		d := wire.Direction{From: node, To: "x", FromPort: 255, ToPort: 255}
		in := Listen(t, tr, d, 1)
		Ready(t, tr)
		require.NoError(t, Sender(t, tr, d).Send([]byte(node)))
		require.Equal(t, node, Next(t, in))
	}
}

// What somebody else listens to is counted where it is heard, enters no inbox, and can be taken
// back.
func checkUnlisten(t *testing.T, tr wire.Transport, exact bool) {
	inbox, marker := Listen(t, tr, Hop(0), 10), Listen(t, tr, Hop(0).Reverse(), 10)
	s := Sender(t, tr, Hop(0))
	Ready(t, tr)
	require.NoError(t, s.Send([]byte("ours")))
	require.Equal(t, "ours", Next(t, inbox))
	require.NoError(t, tr.Unlisten(Hop(0)))
	require.NoError(t, tr.Unlisten(Hop(0)), "twice is once")
	Ready(t, tr)
	require.NoError(t, s.Send([]byte("theirs")))
	other := wire.Direction{From: "s0", To: "s1", FromPort: 2, ToPort: 2} // of the same nodes, so on the same connections
	behind := Listen(t, tr, other, 1)
	Ready(t, tr)
	require.NoError(t, Sender(t, tr, other).Send([]byte("behind")))
	require.Equal(t, "behind", Next(t, behind))
	require.Empty(t, inbox)
	want := uint64(1)
	if exact {
		want = 0 // the broker does not send it here
	}
	require.Equal(t, want, tr.Stats().Elsewhere)
	require.Zero(t, tr.Stats().Unknown)
	require.NoError(t, tr.Listen(Hop(0), marker), "another inbox, even")
	Ready(t, tr)
	require.NoError(t, s.Send([]byte("ours again")))
	require.Equal(t, "ours again", Next(t, marker))

	never := wire.Direction{From: "s0", To: "x", FromPort: 3}
	require.NoError(t, tr.Unlisten(never), "of what was never listened to")
	require.ErrorIs(t, tr.Unlisten(wire.Direction{}), wire.ErrName)
}

func checkShards(t *testing.T, tr wire.Transport) {
	used := make(map[int]bool)
	for i := range 100 {
		used[tr.Shard(Hop(i).From)] = true
	}
	require.Len(t, used, tr.Shards())
	require.Equal(t, wire.MaxFrame, tr.MaxFrame())
	tr.Watch(nil)
	tr.Watch(func(e wire.Event) { t.Errorf("event: %v", e) })
}

func checkSendKeepsNothing(t *testing.T, tr wire.Transport) {
	inbox := Listen(t, tr, Hop(0), 100)
	s := Sender(t, tr, Hop(0))
	Ready(t, tr)
	frame := make([]byte, 0, 100)
	for i := range 100 {
		frame = fmt.Appendf(frame[:0], "frame %d", i)
		require.NoError(t, s.Send(frame))
	}
	clear(frame)
	for i := range 100 {
		require.Equal(t, fmt.Sprintf("frame %d", i), Next(t, inbox))
	}
}
