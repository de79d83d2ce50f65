package switching

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// firstLive is the decision for the first of the ports that is up. It writes the port into the
// header's fields and counts there, in Misroute, how often it was asked with what it wrote before.
func firstLive(ports ...weft.PortID) func(*weft.Header, Arrival, View) Decision {
	return func(pkt *weft.Header, at Arrival, sw View) Decision {
		for _, p := range ports {
			if sw.PortUp(p) {
				f := pkt.Fields
				f.PortField = int16(p)
				f.Misroute++
				return To(sw, p, at.VC, f, "first live")
			}
		}
		return Discard("none is live")
	}
}

// newRequeueRig is a rig whose firmware sends everything by the first live port of 1, 2, 3. Packets
// come in at port 0.
func newRequeueRig(t testing.TB, c Config) *rig {
	t.Helper()
	c.Requeue, c.Firmware = true, (&scripted{route: firstLive(1, 2, 3)}).value()
	if c.InputBuffer == 0 {
		c.InputBuffer = 8
	}
	return newRig(t, 4, c)
}

// headers is what port p transmits until it has no more.
func (r *rig) headers(p weft.PortID) (hs []weft.Header) {
	r.t.Helper()
	for h, ok := r.send(p); ok; h, ok = r.send(p) {
		hs = append(hs, h)
	}
	return hs
}

// stuff fills the output queue of port p with packets of other flows.
func (r *rig) stuff(p weft.PortID) (seqs []uint64) {
	r.t.Helper()
	was := r.fw.route
	r.fw.route = firstLive(p)
	seqs = r.fill(0, 50)
	r.fw.route = was
	return seqs
}

func (r *rig) strandedSeqs() (seqs []uint64) {
	for _, b := range r.Snapshot().Blocked {
		if b.Stranded {
			seqs = append(seqs, b.Header.Seq)
		}
	}
	require.Len(r.t, seqs, r.stranded, "counted and listed alike")
	return seqs
}

func TestWhatIsQueuedForADeadLinkLeavesByAnother(t *testing.T) {
	for claim, c := range map[string]struct {
		why weft.Cause
		cut func(r *rig)
	}{
		"loss of signal": {weft.BySignal, func(r *rig) { r.cut(1) }},
		"a neighbour that restarts unnoticed": {weft.ByNeighbour, func(r *rig) {
			r.neighbour[1].Signal(r.now, false)
			r.neighbour[1].Signal(r.now, true)
			r.grant(1)
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			r := newRequeueRig(t, Config{VCs: 2, OutputBuffer: 3})
			a, b := r.arrive(0, 0, 7, 9), r.arrive(0, 1, 7, 9)
			d := r.arrive(0, 0, 8, 9)
			require.Equal(t, 2, r.Snapshot().Ports[1].VCs[0].Output)
			c.cut(r)
			require.Empty(t, r.out.Drops)
			require.Equal(t, []weft.PortChange{{Port: 1, Why: c.why}}, r.out.Changes)
			require.Contains(t, r.out.Ready, weft.PortID(2))
			require.Equal(t, Stats{Received: 3, Decisions: 6, Requeued: 3}, r.Stats())
			require.Zero(t, r.Snapshot().Ports[1].Lost)
			require.Zero(t, r.ports[1].queued)
			require.Equal(t, 3, r.Held())

			f := weft.NewFields()
			f.PortField, f.Misroute = 2, 1
			require.ElementsMatch(t, []weft.Header{
				{Src: 7, Dst: 9, Seq: a, Hops: 1, Fields: f},
				{Src: 7, Dst: 9, Seq: b, VC: 1, Hops: 1, Fields: f},
				{Src: 8, Dst: 9, Seq: d, Hops: 1, Fields: f},
			}, r.headers(2), "one hop, and the fields of one decision: the first is as if it had not been")
			require.Zero(t, r.Held())
		})
	}
}

func TestWhereThereIsNoRoomPacketsWaitStrandedAndGoWhenRoomComes(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 2})
	first := r.stuff(2)
	a, b := r.arrive(0, 0, 7, 9), r.arrive(0, 0, 8, 9)
	stalls := r.stalls(0, 0)
	r.cut(1)
	require.Equal(t, []uint64{a, b}, r.strandedSeqs())
	require.Equal(t, stalls, r.stalls(0, 0), "they stall no input")
	blocked := r.Snapshot().Blocked
	require.Equal(t, []Output{{Port: 2}}, blocked[0].For)
	require.Equal(t, weft.PortID(0), blocked[0].In)
	require.Equal(t, Output{Port: 1}, blocked[0].At)
	require.Equal(t, 4, r.Held())
	require.Equal(t, 2, r.Snapshot().Ports[1].VCs[0].Output, "in the queue of the dead link")
	require.Zero(t, r.Snapshot().Ports[0].VCs[0].Input)
	require.Zero(t, r.Stats().Requeued)

	h, ok := r.send(2)
	require.True(t, ok)
	require.Equal(t, first[0], h.Seq)
	require.Equal(t, []uint64{b}, r.strandedSeqs())
	require.Equal(t, []uint64{first[1], a, b}, r.sent(2))
	require.Equal(t, uint64(2), r.Stats().Requeued)
	require.Zero(t, r.Held())
}

func TestSeveralStrandedPacketsOfOneFlowKeepTheirOrder(t *testing.T) {
	for _, buffer := range []int{2, 3, 4, 8} {
		for _, queueing := range []Queueing{VirtualOutput, FIFO} {
			r := newRequeueRig(t, Config{OutputBuffer: buffer, InputBuffer: 32, Queueing: queueing})
			first := r.stuff(2)
			var want []uint64
			for range buffer - buffer/3 { // some places stay free
				want = append(want, r.arrive(0, 0, 7, 9))
			}
			r.cut(1)
			require.Equal(t, want, r.strandedSeqs())
			want = append(want, r.arrive(0, 0, 7, 9), r.arrive(0, 0, 7, 9))
			require.Equal(t, append(first, want...), r.sent(2), "buffer %d", buffer)
		}
	}
}

func TestAPacketWaitsForTheStrandedOnesOfItsFlowThoughAnotherWayIsFree(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 1})
	r.stuff(2)
	a := r.arrive(0, 0, 7, 9)
	r.cut(1)
	r.fw.route = firstLive(3)
	b, c := r.arrive(0, 0, 7, 9), r.arrive(0, 0, 7, 9)
	require.Empty(t, r.sent(3), "%d waits for %d", b, a)
	require.Equal(t, 2, r.Snapshot().Ports[0].VCs[0].Input)
	other := r.arrive(0, 0, 8, 9)
	elsewhere := r.arrive(2, 0, 7, 9)
	require.Equal(t, []uint64{other, elsewhere}, r.sent(3), "another flow, and the flow by another input, do not")
	_, ok := r.send(2)
	require.True(t, ok)
	require.Equal(t, []uint64{a, b, c}, r.sent(3))
}

func TestAPacketGoesOnWhenTheStrandedOneOfItsFlowIsBackOnItsLink(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 1})
	r.stuff(2)
	a := r.arrive(0, 0, 7, 9)
	r.cut(1)
	b := r.arrive(0, 0, 7, 9)
	r.connect(1)
	require.Equal(t, []uint64{a, b}, r.sent(1))
}

func TestPacketsOfALinkThatComesBackLeaveByItAsTheyWouldHave(t *testing.T) {
	r := newRequeueRig(t, Config{VCs: 2, OutputBuffer: 2})
	r.fw.route = func(pkt *weft.Header, at Arrival, sw View) Decision {
		d := firstLive(1, 2)(pkt, at, sw).As(Reroute)
		d.Candidates[0].VC = 1
		return d
	}
	for range 2 {
		was := r.fw.route
		r.fw.route = func(pkt *weft.Header, _ Arrival, sw View) Decision { return To(sw, 2, 1, pkt.Fields, "stuff") }
		r.arrive(3, 1, 90, 50)
		r.fw.route = was
	}
	a := r.arriveHeader(0, weft.Header{Src: 7, Dst: 9, Hops: 4, Reroutes: 2, Fields: weft.NewFields()})
	rerouted := r.Stats().Rerouted
	r.cut(1)
	require.Equal(t, weft.Header{Src: 7, Dst: 9, Seq: a, Hops: 4, Reroutes: 2, Fields: weft.NewFields()},
		r.Snapshot().Blocked[0].Header, "as it arrived")
	require.Equal(t, []uint64{a}, r.strandedSeqs())
	r.connect(1)
	require.Empty(t, r.strandedSeqs())
	require.Contains(t, r.out.Ready, weft.PortID(1))
	f := weft.NewFields()
	f.PortField, f.Misroute = 1, 1
	require.Equal(t, []weft.Header{{Src: 7, Dst: 9, Seq: a, VC: 1, Hops: 5, Reroutes: 3, Fields: f}}, r.headers(1))
	require.Zero(t, r.Stats().Requeued)
	require.Equal(t, rerouted, r.Stats().Rerouted)
}

func TestAFlappingLinkLeavesPacketsAsTheyWere(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 3})
	r.stuff(2)
	want := []uint64{r.arrive(0, 0, 7, 9), r.arrive(0, 0, 7, 9), r.arrive(0, 0, 8, 9)}
	for range 5 {
		r.cut(1)
		require.Equal(t, want, r.strandedSeqs())
		r.connect(1)
		require.Empty(t, r.strandedSeqs())
	}
	for i, h := range r.headers(1) {
		require.Equal(t, want[i], h.Seq)
		require.Equal(t, uint16(1), h.Hops)
		require.Equal(t, int16(1), h.Fields.PortField)
	}
	require.Equal(t, 3, r.Held(), "what stands before the other way")
}

func TestWithoutRequeueNothingIsStranded(t *testing.T) {
	r := newRig(t, 3, Config{Firmware: (&scripted{route: firstLive(1, 2)}).value()})
	r.arrive(0, 0, 7, 9)
	r.cut(1)
	require.Len(t, r.out.Drops, 1)
	require.Equal(t, weft.LostQueued, r.out.Drops[0].Account)
}

func TestRequeueIsRefusedWhereTheFirmwareDoesNotBearIt(t *testing.T) {
	place := &weft.Place{Name: "s3", Roles: make([]weft.Role, 4)}
	_, err := New(Config{
		Place: place, Rand: rand.NewPCG(1, 2), Requeue: true, Firmware: Firmware{Name: "passing", Route: passing},
	})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "switch s3")
	require.ErrorContains(t, err, "passing does not say that packets may be routed a second time")
	require.ErrorContains(t, err, "run it without requeue")
	why := errors.New("bubbles")
	_, err = New(Config{
		Place: place, Rand: rand.NewPCG(1, 2), Requeue: true, Firmware: (&scripted{refuse: why}).value(),
	})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorIs(t, err, why)
	_, err = New(Config{Place: place, Rand: rand.NewPCG(1, 2), Firmware: (&scripted{refuse: why}).value()})
	require.NoError(t, err, "nobody asked")
}

func TestRequeueAllocatesNothing(t *testing.T) {
	r := newRequeueRig(t, Config{OutputBuffer: 3})
	r.stuff(2)
	r.arrive(0, 0, 7, 9)
	r.arrive(0, 0, 8, 9)
	mine, _ := r.ports[1].end.Epochs()
	var f weft.Frame
	round := func() {
		r.now++
		r.out.Reset()
		r.Signal(r.now, 1, false, &r.out)
		r.Signal(r.now, 1, true, &r.out)
		mine++
		f = weft.Frame{From: 1, To: mine, VCs: 1}
		r.Receive(r.now, 1, &f, &r.out)
	}
	round()
	require.Equal(t, link.Up, r.ports[1].end.State())
	decisions := r.Stats().Decisions
	require.Zero(t, testing.AllocsPerRun(100, round))
	require.Less(t, decisions+200, r.Stats().Decisions, "both are routed anew each time")
}
