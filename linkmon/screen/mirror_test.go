package screen

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

func TestTheTopologyIsReadAsTheAPIGivesIt(t *testing.T) {
	top := read(t, "kary-ntree:2,2")
	require.Equal(t, 2, top.Tiers())
	require.Len(t, top.Switches, 4)
	require.Len(t, top.NICs, 4)
	require.Len(t, top.Links, 8)
	s := top.Switch("s1.0")
	require.Len(t, top.Ports[s], 4)
	for i, p := range top.Ports[s] {
		require.Equal(t, i, p.Number)
		l := top.Links[p.Link]
		require.Equal(t, p.AtA, l.A == "s1.0")
		require.Equal(t, p.Switch, top.Switch(p.Peer))
	}
	require.Equal(t, -1, top.Switch("n00"))
	require.Equal(t, top.Link("s1.0-n00"), top.NICLinks[top.NIC("n00")])
	_, grid := top.Grid()
	require.False(t, grid)

	size, grid := read(t, "torus:4x3x2").Grid()
	require.True(t, grid)
	require.Equal(t, [3]int{4, 3, 2}, size)
	_, grid = read(t, "ring:5").Grid()
	require.False(t, grid)
	require.Zero(t, read(t, "irregular:8,12,1").Tiers())

	for bad, want := range map[string]string{
		`[`: "unexpected end of JSON input",
		`{"links":[{"id":"x","a":"s0","b":"s1"}]}`: "link x ends at \"s0\", which is not in it",
	} {
		_, err := readTopology([]byte(bad))
		require.EqualError(t, err, "topology of the fabric: "+want)
	}
}

// frames makes the frames of a run, one after the other.
type frames struct{ last api.Frame }

func (s *frames) next(kind string, change func(f *api.Frame)) api.Frame {
	f := s.last
	f.Kind, f.Seq, f.At = kind, f.Seq+1, f.At+0.25
	f.Links, f.Switches, f.Events, f.Faults, f.Deadlock = nil, nil, nil, nil, nil
	if change != nil {
		change(&f)
	}
	s.last = f
	return f
}

func TestDeltasReplaceWhatChangedAndASnapshotAll(t *testing.T) {
	m := newMirror(read(t, "kary-ntree:2,2"))
	require.False(t, m.Heard())
	s := &frames{last: api.Frame{Run: "one"}}
	require.False(t, m.Apply(s.next(api.KindDelta, nil)), "nothing came before")
	require.True(t, m.Apply(s.next(api.KindSnapshot, func(f *api.Frame) {
		f.Links = []api.LinkView{
			{I: 0, State: fabric.LinkCut, CutAB: "silent", CutBA: "silent", AUp: true, BUp: true},
			{I: 1, State: fabric.LinkUp},
		}
		f.Switches = []api.SwitchView{{I: 2, State: switchDown}}
		f.Deadlock = []api.ChannelView{{Link: 3}}
	})))
	require.Equal(t, linkSilent, m.Trouble(0))
	require.Equal(t, linkWell, m.Trouble(1), "a link that is well may leave out that its ends see it up")
	require.Equal(t, linkDeadlocked, m.Trouble(3))
	require.Equal(t, 3, m.SwitchesUp())

	require.True(t, m.Apply(s.next(api.KindDelta, func(f *api.Frame) {
		f.Links = []api.LinkView{{I: 0, State: fabric.LinkCut, CutAB: "silent"}, {I: 99}, {I: -1}}
	})))
	require.Equal(t, linkCut, m.Trouble(0), "the ends have noticed")
	require.Equal(t, linkWell, m.Trouble(3), "no deadlock any more")
	require.Equal(t, switchDown, m.Switches[2].State, "not in the frame: as it was")

	skipped := s.next(api.KindDelta, nil)
	require.False(t, m.Apply(s.next(api.KindDelta, nil)), "one is missing")
	require.True(t, m.Apply(skipped))
	require.True(t, m.Apply(s.next(api.KindSnapshot, nil)))
	require.Equal(t, [linkDeadlocked + 1]int{linkWell: 8}, m.Count())
	require.Equal(t, 4, m.SwitchesUp())

	other := s.next(api.KindDelta, nil)
	other.Run = "two"
	require.False(t, m.Apply(other))
}

func TestEveryTroubleOfALinkHasAName(t *testing.T) {
	for want, l := range map[trouble]api.LinkView{
		linkWell:     {State: fabric.LinkUp},
		linkImpaired: {State: fabric.LinkUp, SuffersBA: "loss 1%"},
		linkFlapping: {State: fabric.LinkUp, Flapping: true, SuffersBA: "loss 1%"},
		linkComing:   {State: fabric.LinkUp, HeldA: true},
		linkDown:     {State: fabric.LinkDown},
		linkSilent:   {State: fabric.LinkCut, CutBA: fabric.CutSilent, AUp: true, BUp: true},
		linkCut:      {State: fabric.LinkCut, CutAB: fabric.CutSignalled, Flapping: true},
	} {
		require.Equal(t, want, troubleOf(l), want.String())
	}
	require.Equal(t, linkComing, troubleOf(api.LinkView{State: fabric.LinkComing}))
	require.Equal(t, linkCut, troubleOf(api.LinkView{State: fabric.LinkCut, CutBA: fabric.CutSilent, AUp: true}),
		"one end has noticed")
	require.Equal(t, "deadlock", linkDeadlocked.String())
}

func TestTheHistoryIsThatOfTheFabric(t *testing.T) {
	m := newMirror(read(t, "kary-ntree:2,2"))
	s := &frames{last: api.Frame{Run: "one"}}
	tells := func(n int) func(f *api.Frame) {
		return func(f *api.Frame) {
			f.History = make([]api.Point, n)
			for i := range f.History {
				f.History[i].At = f.At + float64(i)
			}
			f.Links = []api.LinkView{{I: 2, State: fabric.LinkUp, RateAB: 30, RateBA: 12}}
		}
	}
	require.True(t, m.Apply(s.next(api.KindSnapshot, tells(3))))
	require.True(t, m.Apply(s.next(api.KindDelta, tells(1))))
	require.Len(t, m.History, 4)
	require.Equal(t, []float32{42, 42}, m.Trail(2))
	soon := s.next(api.KindDelta, tells(0))
	soon.At, s.last.At = m.At+0.01, m.At+0.01
	require.True(t, m.Apply(soon))
	require.Len(t, m.Trail(2), 2, "a frame that an event brings is no point")
	for range maxHistory + 5 {
		require.True(t, m.Apply(s.next(api.KindDelta, tells(1))))
	}
	require.Len(t, m.History, maxHistory)
	require.Len(t, m.Trail(2), maxTrail)
	require.InDelta(t, m.At, m.History[maxHistory-1].At, 0.3)
	require.True(t, m.Apply(s.next(api.KindSnapshot, tells(2))))
	require.Len(t, m.History, 2, "a snapshot has all of it")

	s.last = api.Frame{Run: "two"}
	require.True(t, m.Apply(s.next(api.KindSnapshot, tells(0))))
	require.Empty(t, m.History)
	require.Equal(t, uint64(1), m.Seq)
}

func TestEventsAndReportsAreKeptOnceInOrderAndBounded(t *testing.T) {
	m := newMirror(read(t, "kary-ntree:2,2"))
	s := &frames{last: api.Frame{Run: "one"}}
	require.True(t, m.Apply(s.next(api.KindSnapshot, nil)))
	draw := rand.New(rand.NewPCG(1, 1))
	for i := range 3000 {
		require.True(t, m.Apply(s.next(api.KindDelta, func(f *api.Frame) {
			f.Events = []fabric.Event{{Seq: uint64(max(1, i-draw.IntN(3)))}, {Seq: uint64(i + 1)}}
			f.Faults = []fault.Report{{ID: i + 1, Rerouted: 1}, {ID: max(1, i-draw.IntN(500)), Rerouted: 2}}
		})))
	}
	require.Len(t, m.Events, maxEvents)
	for i, e := range m.Events[1:] {
		require.Equal(t, m.Events[i].Seq+1, e.Seq)
	}
	require.Len(t, m.Faults, maxFaults)
	for i, r := range m.Faults[1:] {
		require.Equal(t, m.Faults[i].ID+1, r.ID)
	}
	_, found := m.Fault(1)
	require.False(t, found)
	r, found := m.Fault(3000)
	require.True(t, found)
	require.Equal(t, uint64(1), r.Rerouted)
}

func TestALinkIsToldAsTheFabricTellsIt(t *testing.T) {
	m := newMirror(read(t, "kary-ntree:2,2"))
	s := &frames{last: api.Frame{Run: "one"}}
	i := m.Topology.Link("s0.0-s1.0")
	require.True(t, m.Apply(s.next(api.KindSnapshot, func(f *api.Frame) {
		f.Links = []api.LinkView{{I: i, State: fabric.LinkDown, CutAB: "silent", SuffersBA: "loss 1%"}}
		f.Switches = []api.SwitchView{
			{I: m.Topology.Switch("s1.0"), State: switchDown},
			{I: m.Topology.Switch("s0.0"), State: switchSuspect},
		}
	})))
	require.Equal(t, "cut s0.0 to s1.0, silent; s1.0 to s0.0 loss 1%; s1.0 is down; s0.0 does not answer",
		m.LinkState(i).Details())
}
