package fabric

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// nobody has hosts that nobody reaches.
type nobody struct{ Hosts }

func (nobody) Reach(string) host.Host                          { return nil }
func (nobody) Revoke(string)                                   {}
func (nobody) Hear(func(name string, b host.EventBatch)) error { return nil }

// joined makes processes, of which nothing runs but what tests say of them, the first switches of a
// fabric.
func joined(t *testing.T, n int) (f *Fabric, list []*hostState) {
	t.Helper()
	f = newRing(t, withProcesses(nobody{}))
	for _, s := range f.switches[:n] {
		list = append(list, f.ownedBy(s, uint64(s.id)+2, firstEpoch))
	}
	return f, list
}

// linkTotal is how many packets went through an end.
type linkTotal struct{ sent, received uint64 }

// hears has h tell what has gone through its ends, in the order of p.cross.
func (h *hostState) hears(t *testing.T, at weft.Time, state linkend.State, through ...linkTotal) {
	t.Helper()
	s := host.Counters{Number: h.number, At: at, Up: []byte{0}}
	s.Incarnation, s.Seq = ledger.Incarnation(h.number), uint64(at)
	for i, e := range h.cross {
		end := ledger.Flow{End: e, Peer: ownNumber}
		if end.Flow.State = state; state == linkend.Up {
			s.Up[0] |= 1 << e.Port
		}
		if i < len(through) {
			end.Flow.Sent, end.Flow.Received = through[i].sent, through[i].received
			s.Counters.Switches.Received += through[i].received
			s.Counters.Switches.Forwarded += through[i].sent
		}
		s.Flows = append(s.Flows, end)
	}
	require.NoError(t, h.storeCounters(s))
}

// A process that leaves may have been asked just before, and its answer be taken up when its links
// are another's already.
func TestALateAnswerOfAProcessThatHasLeftChangesNoLink(t *testing.T) {
	t.Parallel()
	f, list := joined(t, 1)
	h := list[0]
	l, side, ok := f.linkAt(h.cross[0])
	require.True(t, ok)
	h.hears(t, 1, linkend.Up)
	require.True(t, f.view(l).Up[side])
	h.hears(t, 2, linkend.Down)
	require.False(t, f.view(l).Up[side])
	h.hears(t, 3, linkend.Up)

	f.inLoop(func(l loop) { f.attendance.vacate(l, h) })
	require.ErrorIs(t, h.storeCounters(host.Counters{Number: 2, At: 4, Up: []byte{0xff}}), errNumber)
	require.False(t, f.view(l).Up[side], "it is nobody's")
}

// The first answer of a host may come after what the host has told since it was asked: the next one
// corrects what the first says of links.
func TestTheFirstAnswerOfAHostComesLate(t *testing.T) {
	t.Parallel()
	f, list := joined(t, 1)
	h := list[0]
	l, side, _ := f.linkAt(h.cross[0])
	f.observers.takeEvents(h, host.EventBatch{Number: h.number, Upto: 4})
	require.NoError(t, h.storeCounters(host.Counters{Number: h.number, At: 1, Up: []byte{0}}))
	require.NoError(t, h.storeCounters(host.Counters{Number: h.number, At: 2, Up: []byte{0xff}, Observed: 4}))
	require.True(t, f.view(l).Up[side])
}

// What a host tells while the broker is away is lost, and it may tell nothing after that: its
// answers correct what is thought of its links all the same.
func TestWhatAHostToldIsLost(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, list := joined(t, 1)
	h := list[0]
	l, side, _ := f.linkAt(h.cross[0])
	require.NoError(t, h.storeCounters(host.Counters{Number: h.number, At: 1, Up: []byte{0}}))
	at := weft.Time(1)
	answers := func() bool {
		at++
		require.NoError(t, h.storeCounters(host.Counters{Number: h.number, At: at, Up: []byte{0xff}, Observed: 3}))
		return f.view(l).Up[side]
	}
	require.False(t, answers(), "it may be on its way")
	rig.Until(t, answers, "the link is up")
}

// What a switch has counted stays when a process hands it back, and when another joins.
func TestCountsOfProcessesAddUp(t *testing.T) {
	t.Parallel()
	f, list := joined(t, 1)
	h := list[0]
	s, e := h.sw, h.cross[0]
	h.hears(t, 1, linkend.Up, linkTotal{sent: 5, received: 3})
	for n := range uint64(3) {
		require.Equal(t, linkTotal{5 * (n + 1), 3 * (n + 1)}, h.wentThrough(e))
		require.Equal(t, 3*(n+1), f.Switch(s.id).Stats.Received)
		f.inLoop(func(l loop) { f.attendance.vacate(l, h) })
		require.Equal(t, linkTotal{5 * (n + 1), 3 * (n + 1)}, h.wentThrough(e))
		require.Equal(t, 5*(n+1), f.Switch(s.id).Ports[e.Port].Counters.Sent)
		f.ownedBy(s, n+3, firstEpoch+weft.Epoch(n))
		h.hears(t, 1, linkend.Up, linkTotal{sent: 5, received: 3})
	}
	now := switching.Snapshot{
		Ports:    make([]switching.PortSnapshot, len(f.Switch(s.id).Ports)),
		Discards: map[string]uint64{"x": 1},
	}
	now.Stats.Received = 4
	require.EqualValues(t, 13, s.snapshot(f.silentSwitch(s.id), &now).Stats.Received,
		"that of now, for what it has told last")
}

// wentThrough is what processes have told of an end.
func (h *hostState) wentThrough(e weft.End) linkTotal {
	n := linkTotalAt(h.linkTotals(0), e)
	return linkTotal{n.Sent, n.Received}
}

// An action is forgotten once nobody waits for it.
func TestActionsThatAreOverAreForgotten(t *testing.T) {
	t.Parallel()
	f := startRing(t)
	_, err := f.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s2", B: "s3"})
	require.NoError(t, err)
	f.read(func(st *leader.State) {
		for id := range 10 {
			require.False(t, st.Pending(id), "action %d", id)
		}
	})
}

// A switch may leave its home and come back any number of times: hosts are told of each of its
// incarnations until the ledger has put it away, and of the latest always.
func TestHostsAreToldOfIncarnationsUntilTheyArePutAway(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, list := joined(t, 1)
	h, random := list[0], rand.New(rand.NewPCG(1, 0))
	told := func() (lives []linkend.Incarnation) {
		for _, p := range f.local.peers() {
			if p.Host == h.name {
				lives = append(lives, p.Incarnation)
			}
		}
		return lives
	}
	all := slices.Clone(h.sw.allLives())
	for i := range 500 {
		number := uint64(i + 10)
		if all[len(all)-1].Number != ownNumber && random.IntN(3) > 0 {
			number = ownNumber
		}
		all = append(all, linkend.Incarnation{Number: number, First: h.sw.addLife(ledger.Incarnation(number))})
		if random.IntN(4) == 0 {
			gone := all[random.IntN(len(all))].Number
			if gone != ownNumber {
				f.inLoop(func(l loop) { l.forget([]uint64{gone}) })
				all = slices.DeleteFunc(all, func(k linkend.Incarnation) bool { return k.Number == gone && k != all[len(all)-1] })
			}
		}
		now := told()
		for j, k := range all[:len(all)-1] {
			require.Equal(t, k.Number, ownerOf(now, k.First+1), "life %d of %v: %v", j, all, now)
		}
		require.Zero(t, ownerOf(now, all[len(all)-1].First+1e6), "who comes later is not known yet")
		require.Equal(t, all[len(all)-1], now[len(now)-2])
		require.LessOrEqual(t, len(now), len(all)+1)
	}
	var own []uint64
	for _, k := range all[:len(all)-1] {
		if k.Number != ownNumber {
			own = append(own, k.Number)
		}
	}
	f.inLoop(func(l loop) { l.forget(own) })
	require.LessOrEqual(t, len(told()), 3, "times at home are one when all in between are put away")
}

// ownerOf is the number of the incarnation that an epoch is of; 0: of none that is named.
func ownerOf(list []linkend.Incarnation, epoch weft.Epoch) (number uint64) {
	for _, k := range list {
		if k.First < epoch {
			number = k.Number
		}
	}
	return number
}

// The last answer of a process that leaves is not lost without a word, when whoever attends to it
// has asked later: the ledger would take the process for one that lives.
func TestALastAnswerThatWasOvertaken(t *testing.T) {
	t.Parallel()
	_, list := joined(t, 1)
	h := list[0]
	h.hears(t, 20, linkend.Up)
	last := host.Counters{Number: h.number, At: 10}
	last.Incarnation, last.Seq, last.Final = ledger.Incarnation(h.number), 10, true
	require.ErrorIs(t, h.storeCounters(last), errLater)
	last.At, last.Seq = 30, 30
	require.NoError(t, h.storeCounters(last))
}
