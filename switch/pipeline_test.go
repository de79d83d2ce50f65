package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

func TestAPacketPassesTheStagesInOrder(t *testing.T) {
	fields := weft.Fields{PortField: 7, Misroute: 3}
	d := Decision{Candidates: []Candidate{{Port: 2, VC: 1, Fields: fields}}, Rule: "the rule", Turn: UTurn}
	r := newRig(t, 3, Config{
		VCs: 2, EagerCredits: true, Firmware: (&scripted{routes: map[weft.NICID]Decision{5: d}}).value(),
	})
	require.Equal(t, 2, r.neighbour[0].Credits(0))

	seq := r.arriveHeader(0, weft.Header{Src: 4, Dst: 5, Hops: 1, Traced: true, Fields: weft.NewFields()})
	require.Equal(t, []weft.NICID{5}, r.fw.asked, "route")
	require.Equal(t, []weft.Hop{{
		At: r.now, Switch: 0, In: 0, Out: 2, OutVC: 1, Rule: "the rule", Alternatives: 1,
		Before: weft.NewFields(), After: fields,
		Turned: true, Candidates: []weft.Candidate{{Port: 2, VC: 1, Chosen: true, Room: 2, Credits: 2}},
		Header: weft.Header{Src: 4, Dst: 5, Seq: seq, Hops: 1, Traced: true, Fields: weft.NewFields()},
	}}, r.out.Hops, "select and allocate")
	require.ElementsMatch(t, []weft.PortID{0, 2}, r.out.Ready, "the input owes a credit, the output has a packet")
	sn := r.Snapshot()
	require.Equal(t, Stats{Received: 1, Decisions: 1, Rerouted: 1, UTurns: 1}, sn.Stats)
	require.Equal(t, 1, sn.Held)
	require.Equal(t, 0, sn.Ports[0].VCs[0].Input, "transfer: out of the input")
	require.Equal(t, 1, sn.Ports[2].VCs[1].Output)
	require.Equal(t, 1, r.neighbour[0].Credits(0))
	r.settle(0)
	require.Equal(t, 2, r.neighbour[0].Credits(0), "the credit goes back on transfer, before the packet has left")

	require.Equal(t, 2, sn.Ports[2].VCs[1].Credits)
	h, ok := r.send(2)
	require.True(t, ok, "schedule")
	require.Equal(t, weft.Header{Src: 4, Dst: 5, Seq: seq, VC: 1, Hops: 2, Reroutes: 1, Traced: true, Fields: fields}, h,
		"transmit")
	sn = r.Snapshot()
	require.Equal(t, uint64(1), sn.Stats.Forwarded)
	require.Equal(t, 0, sn.Held)
	require.Equal(t, 1, sn.Ports[2].VCs[1].Credits, "a credit is spent")
}

func TestFirmwareSeesWhereThePacketCameInAndTheStateOfTheSwitch(t *testing.T) {
	saw := false
	r := newDarkRig(t, 3, Config{VCs: 2, OutputBuffer: 3, Firmware: (&scripted{
		route: func(_ *weft.Header, at Arrival, sw View) Decision {
			saw = true
			require.Equal(t, Arrival{Port: 1, VC: 1, From: weft.RolePeer}, at)
			require.True(t, sw.PortUp(1))
			require.False(t, sw.PortUp(2), "no signal")
			require.False(t, sw.PortUp(3), "there is none")
			require.Equal(t, 2, sw.Room(0, 0)+sw.Occupancy(1, 1)-1)
			require.Equal(t, 2, sw.Credits(0, 1))
			require.Zero(t, sw.Credits(2, 1))
			require.Equal(t, 3, sw.Place().Ports())
			require.Positive(t, sw.Now())
			require.NotEqual(t, sw.Draw(), sw.Draw())
			require.Empty(t, sw.Scratch())
			require.GreaterOrEqual(t, cap(sw.Scratch()), 6)
			return To(sw, 0, 0, weft.NewFields(), "x").As(Reroute)
		},
	}).value()})
	r.connect(0)
	r.connect(1)
	r.arrive(1, 1, 0, 0)
	require.True(t, saw)
	require.Equal(t, 3, r.Ports())
	require.Equal(t, "s0", r.Place().Name)
	require.Equal(t, uint64(1), r.Stats().Rerouted)
	require.Zero(t, r.Stats().UTurns)
}

func TestNothingIsSentWithoutACredit(t *testing.T) {
	r := newRig(t, 2, Config{InputBuffer: 2, OutputBuffer: 4})
	var want []uint64
	for range 4 {
		want = append(want, r.arrive(0, 0, 9, 1))
	}
	require.Equal(t, want[:2], r.sent(1))
	require.Equal(t, uint64(1), r.stalls(1, 0)[StallNoCredit], "counted once")
	require.Empty(t, r.sent(1))
	require.Equal(t, uint64(1), r.stalls(1, 0)[StallNoCredit], "however often the driver asks")
	r.free(1, 0)
	require.Equal(t, []weft.PortID{1}, r.out.Ready, "a credit makes the port ready")
	require.Equal(t, want[2:3], r.sent(1))
	require.Equal(t, uint64(2), r.stalls(1, 0)[StallNoCredit], "it waits again")
	r.free(1, 0)
	require.Equal(t, want[3:], r.sent(1))
}

func TestAFrameTakesAsManyPacketsAsTheLimitAndTheCreditsAllow(t *testing.T) {
	r := newRig(t, 2, Config{InputBuffer: 3, OutputBuffer: 5})
	for range 5 {
		r.arrive(0, 0, 9, 1)
	}
	var f weft.Frame
	require.True(t, r.Transmit(r.now, 1, 2, &f, &r.out))
	require.Len(t, f.Packets, 2)
	require.Equal(t, uint64(0), f.Sent[0], "before this frame")
	require.True(t, r.Transmit(r.now, 1, 2, &f, &r.out))
	require.Len(t, f.Packets, 1)
	require.Equal(t, uint64(2), f.Sent[0])
	require.False(t, r.Transmit(r.now, 1, 2, &f, &r.out))
}

func TestARepeatedFrameIsTakenOnce(t *testing.T) {
	r := newRig(t, 2, Config{})
	var f weft.Frame
	r.neighbour[0].Stamp(r.now, &f)
	f.Packets = []weft.Header{{Dst: 1, Seq: 1}, {Dst: 1, Seq: 2}}
	for range 2 {
		r.call(func() { r.Receive(r.now, 0, &f, &r.out) })
	}
	require.Equal(t, []uint64{1, 2}, r.sent(1))
	require.Equal(t, link.Counters{Received: 2, Duplicates: 2}, r.Snapshot().Ports[0].Counters)
}

func TestBadInputIsAFaultAndTheRestOfTheFrameIsTaken(t *testing.T) {
	r := newRig(t, 2, Config{})
	receive := func(f weft.Frame) {
		r.call(func() { r.Receive(r.now, 0, &f, &r.out) })
	}
	var f weft.Frame
	r.neighbour[0].Stamp(r.now, &f)
	f.Packets = []weft.Header{{Dst: 1, VC: 1}, {Dst: 1, VC: 255}, {Dst: 1}}
	receive(f)
	require.Len(t, r.out.Faults, 2)
	for _, fault := range r.out.Faults {
		require.ErrorIs(t, fault.Err, link.ErrBadVC)
	}
	require.Equal(t, 1, r.Held())
	require.Equal(t, uint64(2), r.Snapshot().Ports[0].Counters.Violations)

	f.VCs = 2
	receive(f)
	require.ErrorIs(t, r.out.Faults[0].Err, link.ErrVCs)

	r = newRig(t, 2, Config{InputBuffer: 1, OutputBuffer: 1})
	r.fill(0, 1)
	f.Reset()
	r.neighbour[0].Stamp(r.now, &f)
	f.Packets = []weft.Header{{Dst: 1}, {Dst: 1}}
	receive(f)
	require.ErrorIs(t, r.out.Faults[0].Err, link.ErrOverflow, "the second, sent without a credit")
	require.Equal(t, 2, r.Held())
}

// A firmware with a bug must not bring the switch down, nor lose the packet without a trace.
func TestADecisionThatTheSwitchCannotFollowDiscardsByName(t *testing.T) {
	none := func(named, rule string) string {
		return "firmware names " + named + ", and the switch has 2 ports and 1 VCs (rule " + rule + "): " +
			"name one that there is, from 0"
	}
	for _, c := range []struct {
		claim string
		d     Decision
		rule  string
	}{
		{"no such port", ways(2), none("p2 vc0", "scripted")},
		{"no port at all", ways(weft.NoPort), none("p- vc0", "scripted")},
		{"one good and one bad", ways(1, 9), none("p9 vc0", "scripted")},
		{"no such VC", Decision{Candidates: []Candidate{{Port: 1, VC: 1}}, Rule: "r"}, none("p1 vc1", "r")},
		{
			"no such register",
			Decision{Candidates: ways(1).Candidates, Rule: "r", Write: RegisterWrite{Do: true, Index: 1}},
			"firmware writes register 1, and declares 1 (rule r): declare it, or write another",
		},
		{"discarded on purpose", Discard("4: no way"), "4: no way"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			var heard []RoutePanic
			fw := &scripted{
				routes: map[weft.NICID]Decision{1: c.d}, registers: []Register{{Name: "a", Width: 1}},
			}
			r := newRig(t, 2, Config{
				EagerCredits: true, Firmware: fw.value(), Panicked: func(p RoutePanic) { heard = append(heard, p) },
			})
			r.arriveHeader(0, weft.Header{Dst: 1, Traced: true})
			require.Len(t, r.out.Drops, 1)
			require.Equal(t, weft.Discarded, r.out.Drops[0].Account)
			require.Equal(t, c.rule, r.out.Drops[0].Rule)
			if c.rule != c.d.Rule {
				require.Len(t, heard, 1, "the firmware has failed")
				require.Equal(t, c.rule, heard[0].Value)
			}
			require.Equal(t, map[string]uint64{c.rule: 1}, r.Snapshot().Discards)
			require.Equal(t, uint64(1), r.Stats().Discarded)
			require.Equal(t, weft.NoPort, r.out.Hops[0].Out)
			require.Zero(t, r.Held())
			r.settle(0)
			require.Equal(t, 2, r.neighbour[0].Credits(0), "its place is free again")
		})
	}
}

func TestAPacketThatLoopsIsDiscarded(t *testing.T) {
	r := newRig(t, 2, Config{})
	r.arriveHeader(0, weft.Header{Dst: 1, Hops: weft.MaxHops - 1})
	require.Empty(t, r.out.Drops)
	r.arriveHeader(0, weft.Header{Dst: 1, Hops: weft.MaxHops})
	require.Equal(t, "looping: too many hops", r.out.Drops[0].Rule)
}

func TestAFirmwareMayBoundTheHopsOfItsPackets(t *testing.T) {
	const top = weft.MaxHops - 1 // where no lower bound counts
	for most, last := range map[int]uint16{7: 6, 1: 0, 0: top, -1: 0, weft.MaxHops: top, 1 << 20: top} {
		r := newRig(t, 2, Config{})
		fw := r.fw.value()
		fw.MostHops = most
		s, err := New(Config{Place: r.place, Firmware: fw, Rand: r.cfg.Rand})
		require.NoError(t, err)
		r.most = s.most
		r.arriveHeader(0, weft.Header{Dst: 1, Hops: last})
		require.Empty(t, r.out.Drops, "%d", most)
		r.arriveHeader(0, weft.Header{Dst: 1, Hops: last + 1})
		require.Equal(t, RuleLooping, r.out.Drops[0].Rule, "%d", most)
	}
}
