package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

const interval = weft.Millisecond

var listening = link.Liveness{Interval: interval, Multiplier: 3}

// tick moves on to at and lets the switch do what is due.
func (r *rig) tick(at weft.Time) {
	r.now = at - 1
	r.call(func() { r.Tick(at, &r.out) })
}

// hello takes the frame without packets that port p owes, and reports whether it owed one.
func (r *rig) hello(p weft.PortID) bool {
	r.t.Helper()
	var f weft.Frame
	var out weft.Actions
	if !r.ports[p].end.Owes() {
		return false
	}
	require.True(r.t, r.Transmit(r.now, p, 0, &f, &out))
	require.Empty(r.t, f.Packets)
	_, err := r.neighbour[p].Receive(r.now, &f)
	require.NoError(r.t, err)
	return true
}

// settleAll lets every port send what it owes, so that all that follows is due to time.
func (r *rig) settleAll() {
	for p := range r.neighbour {
		r.settle(weft.PortID(p))
	}
}

func TestAnIdleLinkSaysHelloEveryInterval(t *testing.T) {
	r := newRig(t, 2, Config{Liveness: listening})
	r.settleAll()
	r.tick(r.now)
	for range 10 {
		for p := range weft.PortID(2) {
			r.grant(p) // the neighbour is there
			require.False(t, r.hello(p), "not before it is due")
		}
		due := r.look
		require.Equal(t, due, r.out.WakeAt)
		r.tick(due - 1)
		require.Empty(t, r.out.Owed)
		require.Equal(t, due, r.out.WakeAt)
		r.tick(due)
		require.Len(t, r.out.Owed, 1, "the ports came up at different times")
		require.True(t, r.hello(r.out.Owed[0]))
		r.tick(r.look)
		require.Len(t, r.out.Owed, 1)
		require.True(t, r.hello(r.out.Owed[0]))
		require.LessOrEqual(t, r.now-due, interval)
	}
	require.Empty(t, r.out.Changes)
}

func TestAFrameWithPacketsIsAHello(t *testing.T) {
	r := newRig(t, 2, Config{Liveness: listening, InputBuffer: 64, OutputBuffer: 64})
	r.settleAll()
	began := r.now
	for r.now < began+3*interval {
		r.now += interval / 3
		r.arrive(0, 0, 7, 1)
		_, ok := r.send(1)
		require.True(t, ok)
		r.grant(1)
		r.call(func() { r.Tick(r.now, &r.out) })
		require.NotContains(t, r.out.Owed, weft.PortID(1), "%v after the last", interval/3)
	}
}

// Hellos are not for the links with something to send: they go out of those that cannot send what
// they have.
func TestHellosPassPacketsThatWait(t *testing.T) {
	r := newRig(t, 2, Config{Liveness: listening, InputBuffer: 2, OutputBuffer: 4})
	r.settleAll()
	for range 2 {
		r.arrive(0, 0, 7, 1)
		r.send(1)
	}
	want := []uint64{r.arrive(0, 0, 7, 1), r.arrive(0, 0, 8, 1)}
	require.Zero(t, r.ports[1].end.Credits(0))
	require.False(t, r.hello(1))
	for range 5 {
		r.grant(0)
		r.grant(1)
		r.tick(r.now + interval)
		require.Contains(t, r.out.Owed, weft.PortID(1), "without a credit")
		require.True(t, r.hello(1))
	}
	r.free(1, 0)
	r.free(1, 0)
	require.Equal(t, want, r.sent(1), "and they have not been touched")
}

// The driver knows of packets and waits to pace them: it is told of the hello nevertheless.
func TestADriverThatPacesIsToldOfAHello(t *testing.T) {
	r := newRig(t, 2, Config{Liveness: listening})
	r.settleAll()
	a := r.arrive(0, 0, 7, 1)
	require.True(t, r.ports[1].ready)
	for range 3 {
		r.grant(0)
		r.grant(1)
		r.tick(r.now + interval)
		require.Contains(t, r.out.Owed, weft.PortID(1))
		require.True(t, r.hello(1))
		require.True(t, r.ports[1].ready, "there is still a packet")
		var f weft.Frame
		require.False(t, r.Transmit(r.now, 1, 0, &f, &r.out))
		require.True(t, r.out.More, "which a limit of 0 leaves")
	}
	require.Equal(t, []uint64{a}, r.sent(1))
}

func TestASilentNeighbourIsNoticedAndNamed(t *testing.T) {
	for _, requeue := range []bool{false, true} {
		r := newRig(t, 3, Config{
			Liveness: listening, Requeue: requeue, Firmware: (&scripted{route: firstLive(1, 2)}).value(),
		})
		r.settleAll()
		seq := r.arrive(0, 0, 7, 9)
		r.grant(1)
		heard := r.now
		for r.out.Reset(); len(r.out.Changes) == 0; {
			require.Less(t, r.now, heard+4*interval, "detection is at 3 intervals")
			r.grant(0)
			r.grant(2)
			r.tick(r.look)
			for p := range weft.PortID(3) {
				var f weft.Frame
				var out weft.Actions
				r.Transmit(r.now, p, 0, &f, &out)
			}
		}
		require.Equal(t, []weft.PortChange{{Port: 1, Why: weft.BySilence}}, r.out.Changes)
		require.GreaterOrEqual(t, r.now, heard+3*interval)
		require.Equal(t, link.Init, r.Snapshot().Ports[1].State)
		if requeue {
			require.Empty(t, r.out.Drops)
			require.Equal(t, []uint64{seq}, r.sent(2))
		} else {
			require.Len(t, r.out.Drops, 1)
			require.Equal(t, weft.LostQueued, r.out.Drops[0].Account)
		}
		require.Equal(t, link.Up, r.Snapshot().Ports[2].State, "its neighbour is there")
		r.tick(r.look)
		require.Empty(t, r.out.Changes, "reported once")
	}
}

func TestDampingHoldsALinkDownAndReleasesIt(t *testing.T) {
	for claim, every := range map[string]weft.Time{"with hellos": interval, "without": 0} {
		t.Run(claim, func(t *testing.T) {
			c := link.Liveness{
				Interval: every, Multiplier: 3,
				Damping: link.Damping{HalfLife: 10 * interval, Suppress: 1.5, Reuse: 0.5, Max: 100 * interval},
			}
			r := newRig(t, 2, Config{Liveness: c})
			r.settleAll()
			restart := func() { // of the neighbour at 1, which the switch learns of its hello
				r.neighbour[1].Signal(r.now, false)
				r.neighbour[1].Signal(r.now, true)
				r.grant(1)
			}
			restart()
			require.False(t, r.Snapshot().Ports[1].Suppressed)
			r.settle(1)
			require.Equal(t, link.Up, r.Snapshot().Ports[1].State)
			restart()
			require.True(t, r.Snapshot().Ports[1].Suppressed)
			require.NotEqual(t, weft.Never, r.out.WakeAt, "it is to be released")
			r.settle(1)
			require.Equal(t, link.Init, r.Snapshot().Ports[1].State)
			require.Equal(t, link.Init, r.neighbour[1].State(), "held down at both ends")
			began := r.now
			for r.Snapshot().Ports[1].Suppressed {
				require.Less(t, r.now, began+c.Damping.Max)
				r.tick(r.look)
				r.grant(0)
				r.settle(1)
			}
			require.Greater(t, r.now, began+10*interval)
			require.Equal(t, link.Up, r.Snapshot().Ports[1].State, "and it comes up without anybody's help")
			require.Equal(t, link.Up, r.neighbour[1].State())
		})
	}
}

func TestACrashedSwitchSaysWhenItsDampingEnds(t *testing.T) {
	r := newRig(t, 2, Config{Liveness: link.Liveness{
		Damping: link.Damping{HalfLife: interval, Suppress: 0.5, Reuse: 0.25, Max: 10 * interval},
	}})
	r.call(func() { r.Crash(r.now, &r.out) })
	require.Equal(t, r.look, r.out.WakeAt)
	require.NotEqual(t, weft.Never, r.out.WakeAt)
	require.True(t, r.Snapshot().Ports[0].Suppressed)
	r.tick(r.look)
	require.False(t, r.Snapshot().Ports[0].Suppressed)
	require.Equal(t, weft.Never, r.out.WakeAt)
}

func TestAPortWithoutSignalSaysNothing(t *testing.T) {
	r := newDarkRig(t, 2, Config{Liveness: listening})
	r.tick(weft.Second)
	require.Empty(t, r.out.Owed)
	require.Equal(t, weft.Never, r.out.WakeAt)
	r.connect(0)
	r.cut(0)
	r.tick(2 * weft.Second)
	require.Empty(t, r.out.Owed)
	require.Empty(t, r.out.Changes)
	require.Equal(t, weft.Never, r.out.WakeAt)
}

func TestAConfigurationOfLivenessIsChecked(t *testing.T) {
	place := &weft.Place{Name: "s1", Roles: make([]weft.Role, 4)}
	c := Config{Place: place, Firmware: (&scripted{}).value(), Rand: newRig(t, 1, Config{}).cfg.Rand}
	c.Liveness.Interval = -1
	_, err := New(c)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "switch s1: interval between hellos")
}

func TestASwitchThatTakesAnothersPlaceBeginsAboveItsEpochs(t *testing.T) {
	r := newRig(t, 1, Config{Epoch: 40})
	require.Equal(t, weft.Epoch(41), r.Snapshot().Ports[0].Mine)
}

func TestHellosAllocateNothing(t *testing.T) {
	r := newRig(t, 2, Config{Liveness: listening})
	r.settleAll()
	mine, peer := r.ports[1].end.Epochs()
	in, sent := weft.Frame{From: peer, To: mine, VCs: 1}, weft.Frame{}
	hellos := 0
	round := func() {
		r.now += interval
		r.out.Reset()
		r.Tick(r.now, &r.out)
		r.Receive(r.now, 1, &in, &r.out)
		for r.Transmit(r.now, 1, 4, &sent, &r.out) {
			hellos++
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(100, round))
	require.Equal(t, 102, hellos)
	require.Equal(t, link.Up, r.ports[1].end.State())
}
