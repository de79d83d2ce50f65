package api

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
)

// viewsOf is what the stream and GET /links both tell of a link.
func viewsOf(states []fabric.LinkState) []LinkView {
	out := make([]LinkView, len(states))
	for i, l := range states {
		out[i] = LinkView{
			I: i, State: l.State, CutAB: l.CutAB, CutBA: l.CutBA, Flapping: l.Flapping, SuffersAB: l.SuffersAB,
			SuffersBA: l.SuffersBA,
			AUp:       l.AUp, BUp: l.BUp, HeldA: l.HeldA, HeldB: l.HeldB, Lost: l.LostWire + l.LostQueued,
		}
	}
	return out
}

func withoutRates(links []LinkView) []LinkView {
	out := slices.Clone(links)
	for i := range out {
		l := &out[i]
		l.RateAB, l.RateBA, l.LoadAB, l.LoadBA, l.QueuedAB, l.QueuedBA = 0, 0, 0, 0, 0, 0
	}
	return out
}

func TestSnapshotAndDeltasMakeTheStateThatLinksTell(t *testing.T) {
	t.Parallel()
	x := serveWeb(t, harness.Traffic("uniform:0.2"), harness.Liveness(50*time.Millisecond, 20))
	early, st := x.stream(""), State{}
	early.until(&st, func(*State) bool { return true })
	draw := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		_, err := x.Fabric().Apply(t.Context(), everyVerb[draw.IntN(4)], everyVerb[draw.IntN(len(everyVerb))])
		require.NoError(t, err)
	}
	x.RequireLedger() // nothing is on its way any more

	same := func(s *State) bool { return slices.Equal(viewsOf(x.Fabric().LinkStates()), withoutRates(s.Links)) }
	early.until(&st, same)
	require.Equal(t, viewsOf(get[[]fabric.LinkState](x, "/links")), withoutRates(st.Links))
	var late State
	x.stream("").until(&late, func(s *State) bool { // the reports of what was repaired are closed a second later
		return same(s) && s.Events[len(s.Events)-1].Seq == x.Fabric().Events().Last()
	})
	require.Equal(t, x.Fabric().Faults()[0].ID, late.Faults[0].ID)
	require.Len(t, late.Faults, len(x.Fabric().Faults()))
	require.Len(t, st.Faults, len(late.Faults))
	for i, w := range late.Switches {
		require.Equal(t, i, w.I)
		require.Equal(t, x.Fabric().SwitchState(x.Topology().Switches[i].ID), w.State)
	}
}

func TestTwoViewersGetTheSameFrames(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	x := serveWeb(t, harness.Traffic("uniform:0.2"))
	a, b := x.stream(""), x.stream("")
	frames, last := map[uint64]string{}, uint64(0) // of b, which came later
	for range 4 {
		f, err := b.next()
		require.NoError(t, err)
		last = f.Seq
		if f.Kind == KindDelta {
			frames[f.Seq] = string(encodeFrame(f))
		}
	}
	both := 0
	for seq := uint64(0); seq < last; {
		f, err := a.next()
		require.NoError(t, err)
		seq = f.Seq
		if other, ok := frames[seq]; ok {
			require.Equal(t, other, string(encodeFrame(f)))
			both++
		}
	}
	require.Equal(t, len(frames), both)
	require.Positive(t, both)
}

func TestAViewerThatComesBackGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	var st State
	first := x.stream("")
	first.until(&st, func(*State) bool { return true })
	first.close()
	x.order("/links/s0.0-s1.0/cut", "")
	again := x.stream(first.id)
	f, err := again.next()
	require.NoError(t, err)
	require.Equal(t, KindDelta, f.Kind)
	require.Equal(t, st.Seq+1, f.Seq)
	require.NoError(t, st.Apply(f))
	again.until(&st, func(s *State) bool { return s.Links[x.linkID()].CutAB == fabric.CutSignalled })

	for _, other := range []string{"otherrun-1", "nonsense", st.Run + "-x", st.Run + "-999999"} {
		f, err := x.stream(other).next()
		require.NoError(t, err)
		require.Equal(t, KindSnapshot, f.Kind, other)
	}
}

func TestACutIsSeenAtOnceAndSoIsItsReport(t *testing.T) {
	t.Parallel()
	x := serveWeb(t, harness.Traffic("uniform:0.2"))
	s, st := x.stream(""), State{}
	s.until(&st, func(*State) bool { return true })
	x.order("/links/s0.0-s1.0/cut", `{"silent":true}`)
	was := x.server.stream.seq()
	s.until(&st, func(s *State) bool {
		l := s.Links[x.linkID()]
		return l.CutAB == fabric.CutSilent && l.AUp && l.State == fabric.LinkCut && len(s.Faults) == 1
	})
	require.LessOrEqual(t, st.Seq, was+2, "the next frame but for one that is under way when the link is cut")
	x.order("/heal", "")
	s.until(&st, func(s *State) bool { return s.Links[x.linkID()].State == fabric.LinkUp && s.Faults[0].RestoredAt > 0 })
	require.Equal(t, "uniform:0.2", st.Traffic)
}

// seq is the number of the latest frame.
func (s *Stream) seq() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Seq
}

// filled is a stream to which frames are added by hand.
func filled(s *served, frames int) *Stream {
	stream, smp := NewStream(s.Fabric()), newSampling(s.Fabric())
	for range frames {
		stream.add(smp.frame(true))
	}
	return stream
}

func TestAViewerThatIsTooSlowGetsASnapshot(t *testing.T) {
	t.Parallel()
	s := serve(t)
	stream, smp := filled(s, 1), newSampling(s.Fabric())
	v := stream.Watch("")
	defer v.Close()
	next := func() (f Frame) {
		_, data, err := v.Next(t.Context())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &f))
		return f
	}
	require.Equal(t, KindSnapshot, next().Kind)
	for range maxFrames {
		stream.add(smp.frame(true))
	}
	require.Equal(t, uint64(2), next().Seq, "so many are kept")
	for range maxFrames {
		stream.add(smp.frame(true))
	}
	f := next()
	require.Equal(t, KindSnapshot, f.Kind)
	require.Equal(t, uint64(2*maxFrames+1), f.Seq)
	require.Len(t, stream.frames, maxFrames)
	require.Len(t, f.Links, len(s.Topology().Links))
	stream.add(smp.frame(true))
	require.Equal(t, f.Seq+1, next().Seq)
}

func TestFramesBeyondTheBytesThatAreKeptAreForgotten(t *testing.T) {
	t.Parallel()
	s := serve(t)
	stream := filled(s, 1)
	one := common{Frame: Frame{Links: make([]LinkView, 1)}}
	large := step{Frame: Frame{Kind: KindDelta, Links: make([]LinkView, maxFrameBytes/one.size()/3)}, counters: true}
	for range 10 {
		stream.add(large)
		require.LessOrEqual(t, stream.bytes, maxFrameBytes)
	}
	require.Len(t, stream.frames, 3)
}

func TestNothingIsReadWhileNobodyWatches(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	s := serve(t, harness.Traffic("uniform:0.2"))
	stream := s.server.Stream()
	v := stream.Watch("")
	_, _, err := v.Next(t.Context())
	require.NoError(t, err)
	v.Close()
	was := stream.seq()
	for i := range 4 { // each change, and each of these times, is a frame to who watches
		if s.Cut("s0.0", "s1.0"); i < 3 {
			<-time.After(frameEvery)
			s.Restore("s0.0", "s1.0")
		}
	}
	require.LessOrEqual(t, stream.seq(), was+1, "but for one that was under way when he left")

	v = stream.Watch("")
	defer v.Close()
	_, data, err := v.Next(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(data), `"cut_ab":"signalled"`, "who comes then sees what is now")
}

func TestClientsOverTheBrokerGetTheSameState(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	x := serveWeb(t, harness.Traffic("uniform:0.2"))
	x.server.stream.page = 700 // so that there are pages
	x.order("/links/s0.0-s1.0/cut", "")
	x.order("/switches/s1.1/crash", "")
	ctx, stop := context.WithTimeout(t.Context(), rig.Patience)
	defer stop()
	var st State
	deltas := 0
	err := x.dial(false).Frames(ctx, func(f Frame) error {
		require.Zero(t, f.Pages)
		require.NoError(t, st.Apply(f))
		if f.Kind == KindDelta {
			deltas++
		}
		if deltas == 1 {
			_, err := x.Fabric().Heal(t.Context())
			require.NoError(t, err)
		}
		if deltas > 4 && slices.Equal(viewsOf(x.Fabric().LinkStates()), withoutRates(st.Links)) {
			return context.Canceled
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, st.Faults, 2)
}

func TestAClientIsToldWhenTheFabricIsGone(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	x := serve(t)
	c := x.dial(false)
	err := c.Frames(t.Context(), func(Frame) error {
		x.broker.Shutdown()
		return nil
	})
	require.Error(t, err)
	require.NotErrorIs(t, err, context.Canceled)
}

func TestPagesPutTogetherAreTheFrame(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	draw := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f := Frame{Kind: KindDelta, Run: "r", Seq: 7, Traffic: "none"}
		for i := range draw.IntN(300) {
			f.Links = append(f.Links, LinkView{I: i, State: fabric.LinkUp, RateAB: float64(draw.IntN(1000))})
		}
		for i := range draw.IntN(100) {
			f.Switches = append(f.Switches, SwitchView{I: i, State: fabric.SwitchUp})
		}
		for i := range draw.IntN(30) {
			f.Faults = append(f.Faults, fault.Report{ID: i + 1, Detected: []fault.Detection{}, DiscardedBy: map[string]uint64{}})
		}
		const limit = 4096
		var j join
		list := pages(f, limit)
		for i, data := range list {
			require.LessOrEqual(t, len(data), limit)
			var p Frame
			require.NoError(t, json.Unmarshal(data, &p))
			got, whole, err := j.add(p)
			require.NoError(t, err)
			require.Equal(t, i == len(list)-1, whole)
			if whole {
				require.Equal(t, string(encodeFrame(f)), string(encodeFrame(got)))
			}
		}
	}
	var j join
	_, _, err := j.add(Frame{Page: 1, Pages: 3})
	require.ErrorContains(t, err, "pages are missing")
	for _, second := range []Frame{
		{Page: 2, Pages: 3, Seq: 7},
		{Page: 1, Pages: 3, Seq: 8},
		{Page: 1, Pages: 2, Seq: 7},
		{Page: 1, Pages: 3, Seq: 7, Run: "other"},
	} {
		var j join
		_, whole, err := j.add(Frame{Pages: 3, Seq: 7})
		require.NoError(t, err)
		require.False(t, whole)
		_, _, err = j.add(second)
		require.ErrorContains(t, err, "pages are missing", "%+v", second)
	}
}

func TestAStateTakesNoFrameThatDoesNotFollow(t *testing.T) {
	t.Parallel()
	var st State
	require.Error(t, st.Apply(Frame{Kind: KindDelta, Run: "a", Seq: 1}))
	require.NoError(t, st.Apply(Frame{Kind: KindSnapshot, Run: "a", Seq: 3, Links: []LinkView{{State: "up"}}}))
	require.Error(t, st.Apply(Frame{Kind: KindDelta, Run: "a", Seq: 5}))
	require.Error(t, st.Apply(Frame{Kind: KindDelta, Run: "b", Seq: 4}))
	require.ErrorContains(t, st.Apply(Frame{Kind: KindDelta, Run: "a", Seq: 4, Links: []LinkView{{State: "cut"}, {I: 1}}}),
		"link 1: there are 1")
	require.Equal(t, "up", st.Links[0].State, "nor a part of it")
	require.NoError(t, st.Apply(Frame{Kind: KindDelta, Run: "a", Seq: 4, Links: []LinkView{{State: "cut"}}}))
	require.Equal(t, "cut", st.Links[0].State)
	require.Equal(t, KindSnapshot, st.Kind)
}

func TestWhatIsTracedIsInTheStreamAndOnlyOnce(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	x.Send("n00", "n10") // of before anybody watched
	x.RequireLedger()    // all is told
	s, st := x.stream(""), State{}
	s.until(&st, func(*State) bool { return true })
	x.order("/trace", `{"src":"n00","dst":"n11","count":2}`)
	var views []HopView
	s.until(&st, func(st *State) bool {
		views = append(views, st.Hops...)
		ends := 0
		for _, h := range views {
			if h.End == fabric.EndDelivered {
				ends++
			}
		}
		return ends == 2
	})
	for i, h := range views {
		require.Equal(t, [2]string{"n00", "n11"}, [2]string{h.Src, h.Dst})
		if i > 0 {
			require.Equal(t, views[i-1].N+1, h.N)
		}
	}
	require.Contains(t, []string{"s1.0", "s0.0", "s0.1", "s1.1"}, views[1].Node)
	f, err := x.stream("").next()
	require.NoError(t, err)
	require.Empty(t, f.Hops, "a snapshot has none of the past")
}

func TestHopsThatAreNotKeptForTheStreamAreCounted(t *testing.T) {
	t.Parallel()
	s := serve(t)
	f, smp := s.Fabric(), newSampling(s.Fabric())
	const kept = 4096 // by the fabric
	for f.LastHop() <= kept {
		_, err := f.Trace(0, 2, fabric.MaxTraced)
		require.NoError(t, err)
		s.RequireLedger() // all is told
	}
	d := smp.frame(true)
	require.Equal(t, f.LastHop()-kept, d.Hops[0].Missed)
	require.Equal(t, f.LastHop()-kept+1, d.Hops[0].N)
	require.Zero(t, smp.frame(true).Hops[0].Missed)
}

func TestRatesAndLoadsOfLinksAddUpToThoseOfTheFabric(t *testing.T) {
	t.Parallel()
	x := serveWeb(t, harness.Traffic("uniform:0.5"))
	s, st := x.stream(""), State{}
	links := x.Topology().Links
	s.until(&st, func(s *State) bool { // two readings at least, and not in the middle of a change
		var rate, load float64
		for i, l := range links {
			if !l.B.Node.IsSwitch() {
				rate += s.Links[i].RateAB
				load += s.Links[i].LoadAB
			}
		}
		off := rate/s.Sample.DeliveredRate - 1 // a rate may be off by a tenth
		capacity := float64(fabric.DefaultRate) / nic.DefaultPacketBytes
		return s.Sample.DeliveredRate > 500 && off < 0.12 && off > -0.12 && math.Abs(load-rate/capacity) < 0.01 &&
			s.Sample.Latency.P50 > 0 // read each second, later than rates
	})
	require.Positive(t, st.Totals.Delivered)
	require.Equal(t, st.Ledger.Delivered, st.Totals.Delivered)
}

func TestALinkIsToldAnewWhenAViewerWouldSeeTheDifference(t *testing.T) {
	t.Parallel()
	was := LinkView{I: 3, State: fabric.LinkUp, AUp: true, RateAB: 100, LoadAB: 0.1, RateBA: 50}
	for want, changes := range map[bool][]func(v *LinkView){
		false: {
			func(*LinkView) {},
			func(v *LinkView) { v.RateAB, v.LoadAB = 108, 0.108 },
			func(v *LinkView) { v.RateBA = 46 },
		},
		true: {
			func(v *LinkView) { v.RateAB, v.LoadAB = 115, 0.115 },
			func(v *LinkView) { v.RateBA = 0 },
			func(v *LinkView) { v.RateAB = 108; v.QueuedBA = 1 },
			func(v *LinkView) { v.Lost = 1 },
			func(v *LinkView) { v.State, v.CutAB = fabric.LinkCut, fabric.CutSilent },
			func(v *LinkView) { v.AUp = false },
		},
	} {
		for i, change := range changes {
			v := was
			change(&v)
			require.Equal(t, want, linkChanged(&v, &was), "%v %d: %+v", want, i, v)
		}
	}
}

// The stream tells who manages a fabric of InfiniBand.
func TestTheStreamTellsWhoManages(t *testing.T) {
	t.Parallel()
	x := serveWeb(t)
	m := Management{Managers: []string{"opensm 1 at n00: master, priority 5"}, Ports: map[string]int{"active": 16}}
	x.server.Managed(func() *Management { return &m })
	stream := x.stream("")
	for told := false; !told; { // until a frame tells of it
		f, err := stream.next()
		require.NoError(t, err)
		if told = f.Sample.Management != nil; told {
			require.Equal(t, m, *f.Sample.Management)
		}
	}
}
