package virtual_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/virtual"
	"github.com/weft-fabric/weft/switch/link"
)

// send has a NIC of a network send one packet.
func (n *network) send(t *testing.T, src, dst weft.NICID) {
	t.Helper()
	n.node[src.Node()].Do(func(now weft.Time, out *weft.Actions) {
		_, err := n.nics[src].Send(now, dst, 256, false, out)
		require.NoError(t, err)
	})
}

// With nothing in its way a packet needs at each switch the routing delay and, once in all, the
// time it takes to send: the switches pass on its first byte while the last is still coming.
func TestAPacketAloneTakesTheDelaysItMeets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dst  weft.NICID
		hops int
	}{{1, 1}, {4, 3}, {63, 5}} {
		n := newNetwork(t, "kary-ntree:4,3", "updown", "none")
		start := n.Now()
		n.send(t, 0, c.dst)
		done := runWhile(n.Engine, func() bool { return n.nics[c.dst].Stats().Delivered == 0 }, start+weft.Second)
		require.True(t, done)
		assert.Equal(t, weft.Time(c.hops)*cycle+2*cycle, n.Now()-start, "to %d", c.dst)
		assert.EqualValues(t, c.hops, n.nics[c.dst].Stats().Hops)
	}
}

func TestAFlowAloneHasTheRateOfALink(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, "kary-ntree:4,3", "updown", "none")
	for range 1000 {
		n.send(t, 0, 63)
	}
	n.Run(n.Now() + 100*cycle)
	before := n.nics[63].Stats().Delivered
	n.Run(n.Now() + 1000*cycle)
	assert.EqualValues(t, 500, n.nics[63].Stats().Delivered-before,
		"two cycles a packet, in spite of buffers of two packets")
}

func TestTheSameSeedGivesTheSameEvents(t *testing.T) {
	t.Parallel()
	const cycles = 200 * cycle
	run := func() (uint64, uint64) {
		n := newNetwork(t, "kary-ntree:4,3", "adaptive-link", "uniform:0.7")
		n.Run(n.Now() + cycles)
		return n.Hash(), n.Events()
	}
	hash, events := run()
	for range 3 {
		runtime.GC()
		h, e := run()
		assert.Equal(t, hash, h)
		assert.Equal(t, events, e)
	}
	n := newNetwork(t, "kary-ntree:4,3", "adaptive-link", "uniform:0.7")
	n.send(t, 0, 1)
	n.Run(n.Now() + cycles)
	assert.NotEqual(t, hash, n.Hash(), "one packet more")
}

func TestRunningInStepsIsTheSameAsRunningThrough(t *testing.T) {
	t.Parallel()
	whole := newNetwork(t, "kary-ntree:4,3", "deterministic-link", "uniform:1")
	parts := newNetwork(t, "kary-ntree:4,3", "deterministic-link", "uniform:1")
	until := whole.Now() + 300*cycle
	whole.Run(until)
	for parts.Now() < until {
		parts.Run(min(until, parts.Now()+cycle/7))
	}
	assert.Equal(t, whole.Hash(), parts.Hash())
}

func TestReadingAheadChangesNothing(t *testing.T) {
	t.Parallel()
	run := func(ahead bool) (hash, events uint64) {
		n := newNetwork(t, "kary-ntree:4,3", "adaptive-link", "uniform:0.7")
		if ahead {
			n.ReadAhead()
		}
		n.Run(n.Now() + 300*cycle)
		n.node[n.nodeOf(t, "s1.00")].Impair(0, link.Impairment{Delay: time.Microsecond}) // several frames on a wire
		n.Run(n.Now() + 300*cycle)
		return n.Hash(), n.Events()
	}
	hash, events := run(false)
	h, e := run(true)
	assert.Equal(t, hash, h)
	assert.Equal(t, events, e)
}

// Event by event, instant by instant, in windows and on several goroutines, with faults and links
// that lose and delay: packets and ports do the same.
func TestHowTheEngineGoesAboutItChangesNothing(t *testing.T) {
	t.Parallel()
	for _, delay := range []weft.Time{0, cycle / 3, 5 * cycle, weft.Nanosecond}[:testenv.Levels(4, 2, 2)] {
		run := func(workers int, steps bool) (hash, events, delivered uint64) {
			n := newNetworkOf(t, "kary-ntree:2,3", "adaptive-link", "uniform:0.7", virtual.Config{Seed: 3, Workers: workers},
				listening, delay)
			run := func(cycles weft.Time) {
				if until := n.Now() + cycles*cycle; steps {
					runWhile(n.Engine, func() bool { return true }, until)
				} else {
					n.Run(until)
				}
			}
			run(60)
			s := n.node[n.nodeOf(t, "s1.00")]
			n.At(n.Now()+33*cycle+1, func() { n.Cut(virtual.Port{Node: s, Port: 1}); s.Signal(1, false) })
			run(60)
			s.Impair(0, link.Impairment{Loss: 0.1, Delay: time.Microsecond, Rate: 100e6})
			run(80)
			s.Halt()
			run(60)
			s.Continue()
			run(80)
			d, _ := n.delivered()
			return n.Hash(), n.Events(), d
		}
		hash, events, delivered := run(1, false)
		require.Positive(t, delivered)
		for _, c := range []struct {
			workers int
			steps   bool
		}{{1, true}, {2, false}, {3, false}, {3, true}} {
			h, e, d := run(c.workers, c.steps)
			require.Equal(t, []uint64{hash, events, delivered}, []uint64{h, e, d}, "delay %v, %+v", delay, c)
		}
	}
}

func TestAPanicOfANodeIsOneOfWhoRunsTheEngine(t *testing.T) {
	t.Parallel()
	e := virtual.New(virtual.Config{Workers: 2})
	for i := range 2 {
		e.Add(broken{}, virtual.NodeConfig{Part: i}).Do(func(now weft.Time, out *weft.Actions) { out.WakeAt = now + 1000 })
	}
	defer func() { require.Contains(t, recover(), "broken\ngoroutine") }()
	e.Run(2000)
}

// broken is a core that fails.
type broken struct{ weft.Core }

func (broken) Ports() int { return 1 }

func (broken) Tick(weft.Time, *weft.Actions) { panic("broken") }

func TestNothingIsAllocatedOnceItRuns(t *testing.T) {
	n := newNetwork(t, fmt.Sprintf("kary-ntree:%d,3", testenv.Levels(4, 3, 2)), "deterministic-link", "uniform:0.5")
	n.Run(n.Now() + 20_000*cycle)
	_, before := n.delivered()
	per := testing.AllocsPerRun(5, func() { n.Run(n.Now() + 1000*cycle) })
	_, after := n.delivered()
	assert.Less(t, per/(float64(after-before)/6), 0.001, "allocations a packet-hop")
}

func TestACutLosesWhatIsOnTheWireAndWhatIsSent(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, "kary-ntree:2,2", "updown", "none")
	nic := virtual.Port{Node: n.node[weft.NICID(0).Node()]}
	n.send(t, 0, 2)
	n.Run(n.Now() + cycle/2) // on the way to the switch
	flying := 0
	n.Flying(nic, func(f *weft.Frame) { flying += len(f.Packets) })
	require.Equal(t, 1, flying)
	n.Cut(nic)
	n.send(t, 0, 2)
	n.Run(n.Now() + 100*cycle)
	assert.Zero(t, n.nics[2].Stats().Delivered)
	assert.EqualValues(t, 2, nic.Node.Stats().FramesLost)
	n.Restore(nic)
	for _, up := range []bool{false, true} { // without hellos, only a new start makes up for what is lost
		nic.Node.Signal(0, up)
	}
	n.send(t, 0, 2)
	n.Run(n.Now() + 100*cycle)
	assert.EqualValues(t, 1, n.nics[2].Stats().Delivered)
}

// A rate that changes while a packet is on its way moves what is still to be sent of it, and those
// that wait behind it.
func TestAnImpairmentActsOnWhatIsOnItsWay(t *testing.T) {
	t.Parallel()
	arrives := func(change func(n *virtual.Node, p weft.PortID)) weft.Time {
		n := newNetwork(t, "kary-ntree:2,2", "updown", "none")
		peer, _, _ := n.g.Peer(weft.End{Node: weft.NICID(0).Node()})
		leaf, port := n.node[peer.Node], peer.Port
		leaf.Impair(port, link.Impairment{Rate: 250e3, Delay: time.Millisecond}) // to NIC 0, 1.024 ms a packet
		n.send(t, 1, 0)
		start := n.Now()
		n.Run(start + 100*weft.Microsecond)
		change(leaf, port)
		require.True(t, runWhile(n.Engine, func() bool { return n.nics[0].Stats().Delivered == 0 }, start+weft.Second))
		return n.Now() - start
	}
	slow := arrives(func(*virtual.Node, weft.PortID) {})
	assert.InDelta(t, float64(2024*weft.Microsecond), float64(slow), float64(5*weft.Microsecond))
	assert.Less(t, arrives(func(n *virtual.Node, p weft.PortID) { n.Impair(p, link.Impairment{}) }), 105*weft.Microsecond,
		"healed")
	assert.Greater(t, arrives(func(n *virtual.Node, p weft.PortID) {
		n.Impair(p, link.Impairment{Rate: 125e3, Delay: time.Millisecond})
	}), slow+800*weft.Microsecond)
}

func TestAnImpairmentLosesItsShareTheSameEachTime(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) uint64 {
		n := newNetworkThat(t, "kary-ntree:2,2", "updown", "none", seed,
			link.Liveness{Interval: 4 * cycle, Multiplier: 50}) // hellos make up for the credits that are lost
		n.node[weft.NICID(1).Node()].Impair(0, link.Impairment{Loss: 0.2})
		for range 1000 {
			n.send(t, 1, 0)
			n.Run(n.Now() + 10*cycle)
		}
		return n.nics[0].Stats().Delivered
	}
	first := run(1)
	assert.InDelta(t, 800, float64(first), 60)
	assert.Equal(t, first, run(1))
	assert.NotEqual(t, first, run(2))
}

// A packet takes most of the detection time. Hellos that are due leave meanwhile, so that the NIC
// does not take itself for absent and has no need to ask, before each packet, whether its link is
// still up.
func TestHellosLeaveWhilePacketsTakeLong(t *testing.T) {
	t.Parallel()
	const packets = 20
	interval := 100 * cycle
	n := newNetworkThat(t, "kary-ntree:2,2", "updown", "none", 1, link.Liveness{Interval: interval, Multiplier: 3})
	nic := n.node[weft.NICID(1).Node()]
	lasts := interval * 27 / 10
	nic.Impair(0, link.Impairment{Rate: 256 * float64(weft.Second) / float64(lasts), Delay: (10 * cycle).Duration()})
	for range packets {
		n.send(t, 1, 0)
	}
	start := n.Now()
	require.True(t, runWhile(n.Engine, func() bool { return n.nics[0].Stats().Delivered < packets },
		start+2*packets*lasts))
	assert.Less(t, n.Now()-start, (packets-1)*lasts+20*cycle)
	assert.EqualValues(t, packets, nic.Stats().FramesOut-nic.Stats().CreditFrames)
}

func TestATimerThatIsStoppedIsNeverCalled(t *testing.T) {
	t.Parallel()
	e := virtual.New(virtual.Config{})
	var called []int
	e.At(10, func() { called = append(called, 10); e.At(5, func() { called = append(called, 5) }) }) // past: now
	stopped := e.At(20, func() { called = append(called, 20) })
	e.At(20, func() { called = append(called, 21) })
	require.True(t, stopped.Stop())
	require.False(t, stopped.Stop())
	e.Run(100)
	assert.Equal(t, []int{10, 5, 21}, called)
	assert.EqualValues(t, 3, e.Events())
	assert.Equal(t, weft.Time(100), e.Now())
}

// runWhile runs the events that are due at until or before, as long as more says so before each
// event. It reports whether more ended it.
func runWhile(e *virtual.Engine, more func() bool, until weft.Time) (ended bool) {
	for more() {
		if !e.Step(until) {
			e.Run(until)
			return false
		}
	}
	return true
}
