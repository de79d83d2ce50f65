package nic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

const interval = weft.Millisecond

var listening = link.Liveness{Interval: interval, Multiplier: 3}

func (r *rig) tick(at weft.Time) {
	r.now = at
	r.out.Reset()
	r.Tick(at, &r.out)
}

func TestAnIdleNICSaysHelloEveryInterval(t *testing.T) {
	r := newRig(t, Config{Liveness: listening})
	for range 10 {
		r.hand()
		due := r.end.Due()
		require.Equal(t, due, r.out.WakeAt)
		r.tick(due - 1)
		require.Empty(t, r.out.Owed)
		require.Equal(t, due, r.out.WakeAt)
		r.tick(due)
		require.Equal(t, []weft.PortID{0}, r.out.Owed)
		require.True(t, r.end.Owes())
		require.Empty(t, r.take(0))
		require.False(t, r.end.Owes())
		require.Equal(t, due+interval, r.end.Due())
	}
	require.Empty(t, r.out.Changes)
}

func TestTheHelloOfANICPassesPacketsThatWait(t *testing.T) {
	r := newRig(t, Config{Liveness: listening})
	for range 4 {
		r.send(1)
	}
	require.Len(t, r.take(9), 2, "all it has credits for")
	for range 5 {
		r.hand()
		r.tick(r.now + interval)
		require.Equal(t, []weft.PortID{0}, r.out.Owed)
		require.Empty(t, r.take(9), "a frame without packets")
		require.False(t, r.end.Owes())
	}
	r.neighbour.Free(0)
	r.hand()
	require.True(t, r.ready, "the driver knows of a packet, and may be waiting to pace it")
	r.tick(r.now + interval)
	require.Equal(t, []weft.PortID{0}, r.out.Owed)
	require.Empty(t, r.take(0))
	require.True(t, r.out.More, "the packet is still there")
	require.Len(t, r.take(9), 1)
}

func TestANICNoticesThatItsSwitchIsSilent(t *testing.T) {
	r := newRig(t, Config{Liveness: listening})
	r.send(1)
	r.send(1)
	r.take(1)
	r.hand()
	heard := r.now
	for r.out.Reset(); len(r.out.Changes) == 0; r.tick(r.end.Due()) {
		require.Less(t, r.now, heard+4*interval)
		var f weft.Frame
		r.Transmit(r.now, 0, 0, &f, &r.out)
		r.out.Reset()
	}
	require.Equal(t, []weft.PortChange{{Why: weft.BySilence}}, r.out.Changes)
	require.Equal(t, heard+3*interval, r.now)
	require.Equal(t, []weft.PortID{0}, r.out.Owed, "the hello of its new epoch")
	s := r.Snapshot()
	require.Equal(t, link.Init, s.State)
	require.Equal(t, 1, s.Queued, "the send queue waits")
	wire, lost := link.OnWire(s.Flow, r.neighbour.Flow())
	require.Zero(t, wire+lost, "what was sent has arrived")

	r.take(0) // takes the neighbour along
	require.Equal(t, link.Init, r.neighbour.State())
	r.hand()
	require.Equal(t, []weft.PortChange{{Up: true}}, r.out.Changes)
	require.Len(t, r.take(9), 1)
}

func TestANICWhoseLinkFlapsIsHeldDownAndLetGo(t *testing.T) {
	c := link.Liveness{Interval: interval, Multiplier: 3, Damping: link.Damping{
		HalfLife: 10 * interval, Suppress: 0.5, Reuse: 0.25, Max: 100 * interval,
	}}
	r := newRig(t, Config{Liveness: c})
	require.False(t, r.Snapshot().Suppressed)
	r.out.Reset()
	r.Signal(r.now, 0, false, &r.out)
	require.True(t, r.Snapshot().Suppressed)
	require.Equal(t, r.end.Due(), r.out.WakeAt, "even without signal")
	r.neighbour.Signal(r.now, false)
	r.neighbour.Signal(r.now, true)
	r.out.Reset()
	r.Signal(r.now, 0, true, &r.out)
	began := r.now
	for r.Snapshot().Suppressed {
		require.Less(t, r.now, began+c.Damping.Max)
		r.tick(r.end.Due())
		require.False(t, r.neighbour.State() == link.Up && r.Snapshot().Suppressed)
		for r.end.Owes() || r.neighbour.Owes() {
			if r.end.Owes() {
				r.take(0)
			}
			if r.neighbour.Owes() {
				r.hand()
			}
		}
	}
	require.Equal(t, link.Up, r.Snapshot().State)
	require.Equal(t, began+20*interval, r.now, "a penalty of 1 falls to a quarter in two half-lives")
}

func TestANICThatTakesAnothersPlaceBeginsAboveItsEpochs(t *testing.T) {
	r := newRig(t, Config{Epoch: 40})
	_, peer := r.neighbour.Epochs()
	require.EqualValues(t, 41, peer)
}

func TestANICRefusesAConfigurationOfLivenessThatCannotWork(t *testing.T) {
	_, err := New(Config{ID: 1, NICs: 2, Rand: rand.NewPCG(1, 1), Liveness: link.Liveness{Interval: -1, Multiplier: 3}})
	require.ErrorContains(t, err, "nic 1: interval between hellos")
}

func TestHellosOfANICAllocateNothing(t *testing.T) {
	r := newRig(t, Config{Liveness: listening})
	mine, peer := r.end.Epochs()
	in, sent := weft.Frame{From: peer, To: mine, VCs: 1}, weft.Frame{}
	hellos := 0
	round := func() {
		r.tick(r.now + interval)
		r.Receive(r.now, 0, &in, &r.out)
		for r.Transmit(r.now, 0, 2, &sent, &r.out) {
			hellos++
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(100, round))
	require.Equal(t, 102, hellos)
	require.Equal(t, link.Up, r.Snapshot().State)
}
