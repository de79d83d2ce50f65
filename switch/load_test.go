package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// load has the switch forward by another firmware.
func (r *rig) load(fw Firmware, version uint64) {
	r.t.Helper()
	r.call(func() { require.NoError(r.t, r.Load(r.now, fw, version, &r.out)) })
}

func to(routes map[weft.NICID]Decision) *scripted { return &scripted{routes: routes} }

func TestPacketsThatArriveAfterALoadGoByTheNewTables(t *testing.T) {
	r := newRig(t, 3, Config{Version: 1})
	require.EqualValues(t, 1, r.Snapshot().Version)
	first := r.arrive(0, 0, 7, 1)
	r.load(to(map[weft.NICID]Decision{1: ways(2)}).value(), 2)
	second := r.arrive(0, 0, 8, 1)
	require.Equal(t, []uint64{first}, r.sent(1), "it was in the output queue already, and stays there")
	require.Equal(t, []uint64{second}, r.sent(2))
	require.EqualValues(t, 2, r.Snapshot().Version)
	require.EqualValues(t, 2, r.version)
}

func TestBlockedPacketsAreRoutedAnewAtALoad(t *testing.T) {
	r := newRig(t, 4, Config{InputBuffer: 8, OutputBuffer: 2})
	waiting := r.fill(0, 1)
	r.fw.routes[9], r.fw.routes[8], r.fw.routes[7] = ways(1), ways(1), ways(1)
	moves, stays, ends := r.arrive(0, 0, 5, 9), r.arrive(0, 0, 5, 8), r.arrive(0, 0, 5, 7)
	behind := r.arrive(0, 0, 5, 9) // of the first one's flow
	require.Equal(t, []uint64{moves, stays, ends}, r.blocked())

	r.load(to(map[weft.NICID]Decision{9: ways(2), 8: ways(1)}).value(), 2)
	require.Equal(t, []weft.PortID{2}, r.out.Ready)
	require.Equal(t, []weft.Drop{{Account: weft.Discarded, Port: 0, Rule: "no route", Header: r.out.Drops[0].Header}},
		r.out.Drops)
	require.Equal(t, ends, r.out.Drops[0].Header.Seq)
	require.Equal(t, []uint64{stays}, r.blocked())
	require.Equal(t, []uint64{moves, behind}, r.sent(2))
	require.Equal(t, append(waiting, stays), r.sent(1))
	require.Zero(t, r.Held())
}

func TestAStrandedPacketIsRoutedAnewAtALoad(t *testing.T) {
	fw := to(map[weft.NICID]Decision{1: ways(1), 2: ways(2)})
	r := newRig(t, 4, Config{Firmware: fw.value(), Requeue: true})
	seq := r.arrive(0, 0, 7, 1)
	r.fill(0, 2)
	fw.routes[1] = ways(2) // full
	r.cut(1)
	require.Equal(t, []uint64{seq}, r.blocked())
	require.True(t, r.Snapshot().Blocked[0].Stranded)
	r.load(to(map[weft.NICID]Decision{1: ways(3)}).value(), 2)
	require.Empty(t, r.blocked())
	require.Equal(t, []uint64{seq}, r.sent(3))
}

func TestRegistersOutliveALoadOfTheSameFirmware(t *testing.T) {
	fw := &scripted{registers: []Register{{Name: "a", Width: 8, Expire: 100}, {Name: "b", Width: 8}}}
	fw.route = func(pkt *weft.Header, _ Arrival, _ View) Decision {
		d := ways(1)
		d.Write = RegisterWrite{Do: true, Index: int(pkt.Dst), Value: 5}
		return d
	}
	r := newRig(t, 2, Config{Firmware: fw.value()})
	r.arrive(0, 0, 7, 0)
	r.arrive(0, 0, 7, 1)
	was := r.Snapshot().Registers
	r.load((&scripted{registers: fw.registers}).value(), 2)
	require.Equal(t, was, r.Snapshot().Registers)
	require.Equal(t, was[0].Expires, r.out.WakeAt)

	// Another firmware has them elsewhere, or with another timer, or of another width.
	b, wide := fw.registers[1], fw.registers[0]
	b.Expire, wide.Width = 40, 9
	r.load((&scripted{registers: []Register{b, wide}}).value(), 3)
	now := r.Snapshot().Registers
	require.Equal(t, RegisterSnapshot{Name: "b", Width: 8, Value: 5, Expire: 40, Expires: r.now + 40}, now[0])
	require.Zero(t, now[1].Value)
	r.load((&scripted{registers: fw.registers}).value(), 4)
	require.EqualValues(t, 5, r.Snapshot().Registers[1].Value)
	require.Equal(t, weft.Never, r.Snapshot().Registers[1].Expires)

	r.load((&scripted{registers: []Register{fw.registers[1], {Name: "c", Width: 8}}}).value(), 5)
	now = r.Snapshot().Registers
	require.EqualValues(t, 5, now[0].Value)
	require.Zero(t, now[1].Value)
}

func TestALoadOfWhatTheSwitchCannotRunChangesNothing(t *testing.T) {
	r := newRig(t, 2, Config{Version: 1})
	r.call(func() {
		require.ErrorIs(t, r.Load(r.now, Firmware{Route: r.fw.Route, Check: picky}, 2, &r.out), errPicky)
	})
	bad := &scripted{registers: []Register{{Name: "wide", Width: 65}}}
	r.call(func() { require.ErrorIs(t, r.Load(r.now, bad.value(), 2, &r.out), ErrConfig) })
	seq := r.arrive(0, 0, 7, 1)
	require.Equal(t, []uint64{seq}, r.sent(1))
	require.EqualValues(t, 1, r.version)
}

func TestTheBoundOfHopsIsThatOfTheLatestTables(t *testing.T) {
	r := newRig(t, 2, Config{})
	old := weft.Header{Dst: 1, Hops: 1, Fields: weft.NewFields()}
	r.arriveHeader(0, old)
	require.Empty(t, r.out.Drops)
	fw := to(map[weft.NICID]Decision{1: ways(1)}).value()
	fw.MostHops = 1 // it knows that packets cross one switch only
	r.load(fw, 2)
	r.arriveHeader(0, old)
	require.Equal(t, RuleLooping, r.out.Drops[0].Rule)
}
