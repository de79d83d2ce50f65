package fabric_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

// tiny has two tiers of two switches, and four NICs.
const tiny = "kary-ntree:2,2"

// traceRig collects the hops of traced packets.
type traceRig struct {
	*harness.Harness
	views  []fabric.HopView
	last   uint64
	missed uint64
}

func newTraceRig(t *testing.T, options ...harness.Option) *traceRig {
	t.Helper()
	return &traceRig{Harness: harness.New(t, tiny, options...)}
}

func (r *traceRig) read() {
	for {
		views, last, missed := r.Fabric().Hops(r.last)
		r.missed += missed
		r.last = last
		if len(views) == 0 {
			return
		}
		r.views = append(r.views, views...)
	}
}

// await waits until something is told that is as wanted.
func (r *traceRig) await(want func(fabric.HopView) bool) (found fabric.HopView) {
	next := len(r.views)
	r.Eventually(func() error {
		r.read()
		for ; next < len(r.views); next++ {
			if found = r.views[next]; want(found) {
				return nil
			}
		}
		return fmt.Errorf("not told: %+v", r.views)
	})
	return found
}

func (r *traceRig) trace(src, dst string, count int) (fabric.Tracing, error) {
	g := r.Topology()
	a, err := g.NICByName(src)
	require.NoError(r.T(), err)
	b, err := g.NICByName(dst)
	require.NoError(r.T(), err)
	return r.Fabric().Trace(a, b, count)
}

// until waits until so many packets of a flow have ended.
func (r *traceRig) until(src, dst string, n int) {
	r.Eventually(func() error {
		if r.read(); len(r.ended(src, dst)) < n {
			return fmt.Errorf("%d have ended: %+v", len(r.ended(src, dst)), r.views)
		}
		return nil
	})
}

// ended is how the packets of a flow have ended.
func (r *traceRig) ended(src, dst string) (ends []string) {
	for _, v := range r.views {
		if v.Src == src && v.Dst == dst && v.End != "" {
			ends = append(ends, v.End)
		}
	}
	return ends
}

func delivered1(v fabric.HopView) bool { return v.End == fabric.EndDelivered }

// Live and in virtual time.
func TestATracedPacketTellsItsWayFromNICToNIC(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]harness.Option{
		"live": harness.Options(), "virtual": harness.Virtual(),
		"nats": live.OverNATS(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTraceRig(t, option)
			order, err := r.trace("n00", "n10", 1)
			require.NoError(t, err)
			require.Equal(t, fabric.Tracing{Sent: 1}, order)
			r.await(delivered1)
			require.Len(t, r.views, 5)
			age := 0.0
			for i, v := range r.views {
				assert.EqualValues(t, i+1, v.N)
				assert.Equal(t, []any{"n00", "n10", uint64(0)}, []any{v.Src, v.Dst, v.Seq})
				assert.GreaterOrEqual(t, v.Age, age)
				age = v.Age
			}
			from, first, top, leaf, to := r.views[0], r.views[1], r.views[2], r.views[3], r.views[4]
			assert.Equal(t, []any{"n00", true, -1, 0, "s1.0"},
				[]any{from.Node, from.Egress, from.In, from.Out, from.To})
			assert.Equal(t, []any{"s1.0", 0, "1: any live up port"}, []any{first.Node, first.In, first.Rule})
			assert.Equal(t, "n00 sends it to s1.0", from.Summary()[:20])
			require.Len(t, first.Candidates, 2)
			for i, k := range first.Candidates {
				assert.Equal(t, fmt.Sprintf("s0.%d", i), k.To)
				assert.Equal(t, []int{2, 2}, []int{k.Room, k.Credits})
				assert.Equal(t, k.Port == first.Out, k.Chosen)
			}
			assert.Equal(t, first.To, top.Node)
			assert.Equal(t, []any{"s1.1", "n10"}, []any{leaf.Node, leaf.To})
			assert.Equal(t, []any{"n10", 0, -1, fabric.EndDelivered}, []any{to.Node, to.In, to.Out, to.End})

			_, err = r.trace("n00", "n10", 0)
			require.ErrorContains(t, err, "trace 0 packets: expected 1 to 256")
			_, err = r.trace("n00", "n10", fabric.MaxTraced+1)
			require.ErrorContains(t, err, "expected 1 to 256")
			_, err = r.trace("n00", "n00", 1)
			require.ErrorContains(t, err, "from n00 to itself")
			_, err = r.Fabric().Trace(4, 0, 1)
			require.ErrorIs(t, err, fabric.ErrUnknown)
			_, err = r.Fabric().Trace(0, 4, 1)
			require.ErrorContains(t, err, "no such NIC")
			r.Fabric().Stop()
			_, err = r.trace("n00", "n10", 1)
			require.ErrorContains(t, err, "has been stopped")
		})
	}
}

func TestANICThatGeneratesThatFlowMarksItsOwnPackets(t *testing.T) {
	t.Parallel()
	r := newTraceRig(t, harness.Virtual(), harness.Traffic("uniform:0.5"))
	order, err := r.trace("n00", "n10", 3)
	require.NoError(t, err)
	require.Zero(t, order.Sent)
	r.until("n00", "n10", 3)
	for _, v := range r.views {
		require.Less(t, v.At, 1.0, "before the fabric sent any")
	}
	r.Pause(2 * time.Second)
	r.read()
	require.Len(t, r.ended("n00", "n10"), 3, "and none in their place")
}

func TestANICThatGeneratesAnotherFlowSendsThePacketsASecondLater(t *testing.T) {
	t.Parallel()
	r := newTraceRig(t, harness.Virtual(), harness.Traffic("transpose:0.1"))
	order, err := r.trace("n01", "n11", 2)
	require.NoError(t, err)
	require.Zero(t, order.Sent)
	r.Pause(900 * time.Millisecond)
	r.read()
	require.Empty(t, r.views)
	first := r.await(delivered1)
	require.Equal(t, []string{"n01", "n11"}, []string{first.Src, first.Dst})
	r.until("n01", "n11", 2)
}

func TestAReroutedHopNamesTheDeadPortAndTheFaultInForce(t *testing.T) {
	t.Parallel()
	r := newTraceRig(t, harness.NoLiveness())
	c := r.Cut("s0.0", "s1.1")
	var hop fabric.HopView
	for hop.Node == "" { // half of the packets go up to s0.0
		_, err := r.trace("n00", "n10", 1)
		require.NoError(t, err)
		r.await(func(v fabric.HopView) bool {
			if v.Rerouted && hop.Node == "" {
				hop = v
			}
			return v.End != ""
		})
	}
	require.Equal(t, "s0.0", hop.Node)
	require.Equal(t, []fabric.DeadPort{{Port: 1, Link: "s0.0-s1.1", Fault: fmt.Sprintf("cut, fault %d", c.ID)}}, hop.Dead)
	require.Contains(t, hop.Summary(), "REROUTED")
	require.Contains(t, hop.Summary(), "dead: p1, link s0.0-s1.1 (cut, fault 1)")
}

func TestAPacketLostOnAWireIsToldWithItsLinkAndFault(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r := newTraceRig(t, harness.NoLiveness(), harness.Patience(time.Minute))
	r.CutSilently("s1.1", "n10") // whichever way it comes
	_, err := r.trace("n00", "n10", 1)
	require.NoError(t, err)
	lost := r.await(func(v fabric.HopView) bool { return v.End != "" })
	require.Equal(t, []string{fabric.EndLost, "lost on the wire", "s1.1", "n10", "s1.1-n10", "cut silently, fault 1"},
		[]string{lost.End, lost.Detail, lost.Node, lost.To, lost.Link, lost.Fault})
	require.Equal(t, "lost on the wire from s1.1 to n10, on link s1.1-n10 (cut silently, fault 1)", lost.Summary())
	r.Heal()
	r.Pause(time.Second)
	r.read()
	require.Len(t, r.ended("n00", "n10"), 1, "it is told once")
}

func TestAPacketThatASwitchHoldsIsNotTakenForLost(t *testing.T) {
	t.Parallel()
	r := newTraceRig(t, harness.Virtual(), harness.NoLiveness())
	r.CutSilently("s1.1", "n10")
	_, err := r.trace("n00", "n10", 4) // there are credits for two
	require.NoError(t, err)
	for range 20 {
		r.Pause(500 * time.Millisecond)
		r.read()
	}
	require.Equal(t, []string{fabric.EndLost, fabric.EndLost}, r.ended("n00", "n10"))
}

func TestAPacketOnASlowLinkIsNotTakenForLost(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	r := newTraceRig(t, harness.NoLiveness())
	r.Apply(fault.Spec{Do: fault.VerbImpair, A: "s1.1-n10", Impair: &fault.Impair{Rate: new(fault.Rate(200))}})
	_, err := r.trace("n00", "n10", 1)
	require.NoError(t, err)
	v := r.await(func(v fabric.HopView) bool { return v.End != "" })
	require.Equal(t, fabric.EndDelivered, v.End)
	require.Greater(t, v.Age, 1e6, "256 bytes take longer than others are waited for")
}

func TestADiscardedPacketTellsTheRule(t *testing.T) {
	t.Parallel()
	r := newTraceRig(t, harness.Firmware(firmware.None()))
	_, err := r.trace("n00", "n10", 1)
	require.NoError(t, err)
	end := r.await(func(v fabric.HopView) bool { return v.End != "" })
	require.Equal(t, []any{fabric.EndDiscarded, "s1.0", -1}, []any{end.End, end.Node, end.Out})
	require.NotEmpty(t, end.Rule)
	require.Contains(t, end.Summary(), "discards it  rule "+end.Rule)
	r.Quiesce()
	r.read()
	require.Len(t, r.ended("n00", "n10"), 1, "it is told once")
}

func TestPacketsInACrashedSwitchAreToldToBeLostThere(t *testing.T) {
	t.Parallel()
	r := newTraceRig(t, harness.Virtual(), harness.Traffic("hotspot:1,hot=1,share=1"), harness.TraceEvery(1),
		harness.Links(settings.Link{Rate: 100_000, Paced: true}))
	r.Pause(200 * time.Millisecond)
	crash := r.Crash("s0.0")
	require.Positive(t, crash.LostCrash)
	r.Pause(time.Millisecond)
	r.read()
	lost := uint64(0)
	for _, v := range r.views {
		if v.Detail == weft.LostCrash.String() {
			require.Equal(t, []string{fabric.EndLost, "s0.0"}, []string{v.End, v.Node})
			lost++
		}
	}
	require.Equal(t, crash.LostCrash, lost)
}

// What is kept has a bound, and whoever reads too late is told what it missed.
func TestTheOldestTellingsAreForgottenAndCounted(t *testing.T) {
	t.Parallel()
	r := newTraceRig(t, harness.Virtual(), harness.Traffic("uniform:0.5"), harness.TraceEvery(1))
	for r.Fabric().LastHop() < 6000 {
		r.Pause(100 * time.Millisecond)
	}
	require.NoError(t, r.Fabric().StopTraffic())
	r.Quiesce()
	views, last, missed := r.Fabric().Hops(0)
	require.Len(t, views, 256)
	require.Equal(t, views[255].N, last)
	require.Equal(t, r.Fabric().LastHop()-4096, missed)
	require.Equal(t, missed+1, views[0].N)
	for i, v := range views {
		require.Equal(t, views[0].N+uint64(i), v.N)
	}
	views, last, missed = r.Fabric().Hops(1 << 60)
	require.Empty(t, views)
	require.Equal(t, r.Fabric().LastHop(), last)
	require.Zero(t, missed)
}
