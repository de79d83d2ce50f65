package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

func TestWhatIsQueuedForALinkThatGoesDownIsLostAndNamed(t *testing.T) {
	for claim, c := range map[string]struct {
		why weft.Cause
		cut func(r *rig)
	}{
		"loss of signal": {weft.BySignal, func(r *rig) { r.cut(1) }},
		"a neighbour that restarts unnoticed": {weft.ByNeighbour, func(r *rig) {
			r.neighbour[1].Signal(r.now, false)
			r.neighbour[1].Signal(r.now, true)
			r.grant(1) // its hello
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			r := newRig(t, 3, Config{OutputBuffer: 3})
			seqs := r.fill(0, 1)
			other := r.arrive(0, 0, 7, 2)
			c.cut(r)
			var lost []uint64
			for _, d := range r.out.Drops {
				require.Equal(t, weft.LostQueued, d.Account)
				require.Equal(t, weft.PortID(1), d.Port)
				require.Empty(t, d.Rule)
				lost = append(lost, d.Header.Seq)
			}
			require.Equal(t, seqs, lost)
			require.Equal(t, []weft.PortChange{{Port: 1, Why: c.why}}, r.out.Changes)
			require.Equal(t, uint64(3), r.Stats().LostQueue)
			require.Equal(t, uint64(3), r.Snapshot().Ports[1].Lost)
			require.Equal(t, 1, r.Held())
			require.Equal(t, []uint64{other}, r.sent(2), "nothing else is lost")
			require.Empty(t, r.sent(1))

			if claim == "loss of signal" {
				r.connect(1)
			} else {
				r.settle(1)
			}
			require.Equal(t, []weft.PortChange{{Port: 1, Up: true}}, r.out.Changes)
			require.Equal(t, r.fill(0, 1)[:2], r.sent(1), "and after the repair all is as before")
		})
	}
}

func TestSignalThatChangesNothingReportsNothing(t *testing.T) {
	r := newDarkRig(t, 1, Config{})
	r.call(func() { r.Signal(r.now, 0, false, &r.out) })
	require.Empty(t, r.out.Changes)
	r.call(func() { r.Signal(r.now, 0, true, &r.out) })
	require.Empty(t, r.out.Changes, "up only when the neighbour has answered")
	require.Equal(t, []weft.PortID{0}, r.out.Ready, "a hello is owed")
	r.call(func() { r.Signal(r.now, 0, false, &r.out) })
	require.Empty(t, r.out.Changes)
	require.Equal(t, link.Down, r.Snapshot().Ports[0].State)
}

func TestACrashEmptiesTheSwitchAndAccountsForAll(t *testing.T) {
	r := newRig(t, 3, Config{
		VCs: 2, InputBuffer: 3, OutputBuffer: 1,
		Firmware: (&scripted{
			routes: map[weft.NICID]Decision{1: ways(1), 8: {
				Candidates: ways(2).Candidates, Write: RegisterWrite{Do: true, Value: 5},
			}},
			registers: []Register{{Name: "a", Width: 8, Expire: 100}},
		}).value(),
	})
	want := r.fill(0, 1)
	want = append(want, r.arrive(0, 0, 7, 1), r.arrive(0, 0, 7, 1), r.arrive(2, 1, 7, 1), r.arrive(0, 0, 7, 8))
	require.Equal(t, uint64(5), r.Snapshot().Registers[0].Value)
	r.call(func() { r.Crash(r.now, &r.out) })

	var lost []uint64
	for _, d := range r.out.Drops {
		require.Equal(t, weft.LostCrash, d.Account)
		lost = append(lost, d.Header.Seq)
	}
	require.ElementsMatch(t, want, lost)
	require.Len(t, r.out.Changes, 3)
	require.Equal(t, weft.Never, r.out.WakeAt)
	sn := r.Snapshot()
	require.Equal(t, uint64(len(want)), sn.Stats.LostCrash)
	require.Zero(t, sn.Held)
	require.Empty(t, sn.Blocked)
	require.Equal(t, []RegisterSnapshot{{Name: "a", Width: 8, Expire: 100, Expires: weft.Never}}, sn.Registers)
	for p, port := range sn.Ports {
		require.Equal(t, link.Down, port.State)
		for vc, v := range port.VCs {
			require.Zero(t, v.Input+v.Output+v.Credits+v.Epoch.Held, "p%d vc%d", p, vc)
		}
		require.Empty(t, r.sent(weft.PortID(p)))
	}

	for p := range weft.PortID(3) {
		r.neighbour[p].Signal(r.now, false)
		r.connect(p)
		require.Equal(t, 3, r.neighbour[p].Credits(0), "the whole buffer is there again")
	}
	require.Equal(t, r.fill(0, 1), r.sent(1))
}

func TestARegisterIsWrittenReadAndExpires(t *testing.T) {
	const expire = 50
	var read []uint64
	r := newRig(t, 3, Config{OutputBuffer: 1, InputBuffer: 4, Firmware: (&scripted{
		registers: []Register{{Name: "other", Width: 1}, {Name: "a", Width: 8, Expire: expire}},
	}).value()})
	write := false
	r.fw.route = func(_ *weft.Header, _ Arrival, sw View) Decision {
		read = append(read, sw.Register(1))
		d := ways(1)
		if sw.Register(1) == 0 && !write {
			d = ways(2)
		}
		d.Write = RegisterWrite{Do: write, Index: 1, Value: 6}
		return d
	}
	write = true
	r.arrive(0, 0, 7, 9)
	expires := r.now + expire
	require.Equal(t, expires, r.out.WakeAt)
	require.Equal(t, []RegisterSnapshot{
		{Name: "other", Width: 1, Expires: weft.Never},
		{Name: "a", Width: 8, Value: 6, Expire: expire, Expires: expires},
	}, r.Snapshot().Registers)
	write = false
	b := r.arrive(0, 0, 7, 9)
	require.Equal(t, []uint64{0, 6}, read)
	require.Equal(t, expires, r.out.WakeAt, "reading does not put it off")
	require.Equal(t, []uint64{b}, r.blocked())

	r.now = expires - 2
	r.call(func() { r.Tick(r.now, &r.out) })
	require.Equal(t, uint64(6), r.Snapshot().Registers[1].Value)
	require.Equal(t, []uint64{b}, r.blocked())
	require.Equal(t, expires, r.out.WakeAt)
	r.call(func() { r.Tick(r.now, &r.out) })
	require.Zero(t, r.Snapshot().Registers[1].Value)
	require.Equal(t, weft.Never, r.out.WakeAt)
	require.Equal(t, []uint64{b}, r.sent(2), "what waited is routed anew")
}

func TestEachWriteRestartsTheTimerOfARegister(t *testing.T) {
	r := newRig(t, 2, Config{OutputBuffer: 8, Firmware: (&scripted{
		registers: []Register{{Name: "a", Width: 8, Expire: 50}, {Name: "for ever", Width: 1}},
	}).value()})
	d := ways(1)
	d.Write = RegisterWrite{Do: true, Index: 0, Value: 1}
	r.fw.routes = map[weft.NICID]Decision{1: d}
	r.arrive(0, 0, 7, 1)
	r.now += 20
	r.arrive(0, 0, 7, 1)
	require.Equal(t, r.now+50, r.out.WakeAt)
	d.Write.Index = 1
	r.fw.routes[1] = d
	r.arrive(0, 0, 7, 1)
	require.Equal(t, weft.Never, r.Snapshot().Registers[1].Expires, "no expiry, no timer")
}
