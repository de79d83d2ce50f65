package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// papers is a run of the model of the fat-tree experiments, see docs/explanation/measure.md, with a
// short window.
func papers(t testing.TB, routing string, load float64) Config {
	c := config(t, "kary-ntree:4,3", routing, load)
	c.CrossbarDelay, c.WireDelay, c.Window, c.Warmup.Batch = cycle, cycle, 1000, 300
	return c
}

// accepted is the mean over some fault sets, the same for every routing.
func accepted(t testing.TB, routing string, faults int) (mean float64) {
	samples := testenv.Levels(2, 1, 1)
	for seed := range uint64(samples) {
		c := papers(t, routing, 0.6)
		c.FaultCount, c.Seed = faults, seed
		r := measured(t, c)
		require.False(t, r.Deadlocked)
		require.True(t, r.Connected)
		mean += r.Accepted / float64(samples)
	}
	return mean
}

// The statements of the fat-tree paper about figure 9, saturated, with margins that two fault sets
// allow.
func TestTheMethodsComeInTheOrderOfThePaper(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	require.InDelta(t, 18, accepted(t, "deterministic-link", 0), 0.4, "about 18 packets a cycle")
	require.InDelta(t, 16.4, accepted(t, "adaptive-link", 0), 0.4, "slightly lower")
	eager := papers(t, "deterministic-link", 1)
	eager.Switch.EagerCredits = true
	require.InDelta(t, 20.6, measured(t, eager).Accepted, 0.4, "credits that come back sooner")
	ddrc, adlr, ddlr := accepted(t, DDRC, 1), accepted(t, "adaptive-link", 1), accepted(t, "deterministic-link-flat", 1)
	require.Greater(t, ddrc, 16.5, "a dead link costs up/down tables little")
	require.Greater(t, ddrc, adlr)
	require.Greater(t, adlr, 1.1*ddlr, "already for one fault, in one virtual channel")
	require.Greater(t, accepted(t, "adaptive-link", 3), 1.03*accepted(t, "deterministic-link", 3),
		"and with two layers from a few on")
}

// What the paper says is lost is what is queued: about 1.5 and 2.5 to 3 packets in the output
// queues at both ends.
func TestAdaptiveRoutingLosesTwiceAsMuchInQueues(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	samples := testenv.Levels(6, 3, 3)
	lost := func(routing string) (queued, wire float64) {
		c := papers(t, routing, 0.6)
		c.FaultCount, c.FaultSpacing, c.Window = 4, 200, 1
		c.Warmup.Tolerance = 1 // what comes after the faults does not matter
		for seed := range uint64(samples) {
			c.Seed = seed
			r := measured(t, c)
			require.InDelta(t, r.LostPerFault, r.LostQueuedPerFault+r.LostWirePerFault, 1e-9)
			queued += r.LostQueuedPerFault / float64(samples)
			wire += r.LostWirePerFault / float64(samples)
		}
		return queued, wire
	}
	ddlr, wire := lost("deterministic-link")
	adlr, _ := lost("adaptive-link")
	require.InDelta(t, 1.4, ddlr, 0.6)
	require.InDelta(t, 3, adlr, 0.5)
	require.InDelta(t, 0.45, wire, 0.25, "18 packets a cycle over 128 links, in both directions a cycle of each")
}

func TestEverySettingReachesTheNetwork(t *testing.T) {
	t.Parallel()
	base := config(t, "kary-ntree:2,3", "adaptive-link", 0.9)
	base.Window, base.Warmup.Skip, base.FaultCount = 500, true, 3
	seen := map[string]string{measured(t, base).Hash: "nothing"}
	for name, change := range map[string]func(c *Config){
		"eager credits":       func(c *Config) { c.Switch.EagerCredits = true },
		"first in, first out": func(c *Config) { c.Switch.Queueing = "fifo" },
		"random selection":    func(c *Config) { c.Switch.Selection = "random" },
		"selection in turn":   func(c *Config) { c.Switch.Selection = "round-robin" },
		"waiting for one":     func(c *Config) { c.Switch.Waiting = "one" },
		"requeue":             func(c *Config) { c.Switch.Requeue = true },
		"input buffer":        func(c *Config) { c.Switch.InputBuffer = 3 },
		"output buffer":       func(c *Config) { c.Switch.OutputBuffer = 3 },
		"send queue":          func(c *Config) { c.NIC.QueueBytes = 512 },
		"packets":             func(c *Config) { c.NIC.PacketBytes = 255 },
		"rate":                func(c *Config) { c.BytesPerCycle = 127 },
		"cycle":               func(c *Config) { c.Cycle = 513 * weft.Nanosecond },
		"wire":                func(c *Config) { c.WireDelay = weft.Nanosecond },
		"routing delay":       func(c *Config) { c.RoutingDelay = 1 },
		"crossbar delay":      func(c *Config) { c.CrossbarDelay = 1 },
		"seed":                func(c *Config) { c.Seed++ },
	} {
		c := base
		change(&c)
		hash := measured(t, c).Hash
		require.NotContains(t, seen, hash, name)
		seen[hash] = name
	}
	base.Switch.VCs, base.Switch.InputBuffer, base.Traffic = 2, 3, nic.Traffic{}
	n, err := build(t.Context(), base.Filled())
	require.NoError(t, err)
	require.NoError(t, n.start())
	n.engine.Run(100 * cycle)
	for _, s := range n.switches {
		for p, port := range s.Snapshot().Ports {
			if _, _, ok := n.graph.Peer(weft.End{Node: s.Place().Switch.Node(), Port: weft.PortID(p)}); ok {
				require.Len(t, port.VCs, 2)
				require.Equal(t, 3, port.VCs[1].Credits, "%s port %d: of its neighbour, switch or NIC", s.Place().Name, p)
			}
		}
	}
}

// One NIC sends to another, over wires of 3 cycles: two packets fill the buffer at an end, and the
// first credit is back when the first packet, its 2 cycles and both ways over the wire have passed:
// 2 packets in 8 cycles. Half of the credits come 2 later.
func TestEagerCreditsComeBackFromNICsAndSwitchesAtOnce(t *testing.T) {
	t.Parallel()
	for eager, want := range map[bool]float64{true: 2. / 8, false: 2. / 10} {
		c := config(t, "kary-ntree:2,1", "updown", 1)
		c.Traffic = nic.Traffic{Pattern: "incast", Load: 1, To: "n0"}
		c.WireDelay, c.Switch.EagerCredits = 3*cycle, eager
		require.InDelta(t, want, measured(t, c).Accepted, 0.005, "eager: %v", eager)
	}
}

// Faults upset a network that was steady: it gets time to become so again, 4 batches of 500 cycles
// at the least.
func TestTheWindowBeginsWhenTheNetworkIsSteadyAgain(t *testing.T) {
	t.Parallel()
	c := config(t, "kary-ntree:2,3", "adaptive-link", 0.3)
	require.EqualValues(t, 2000, measured(t, c).WarmupCycles)
	c.FaultCount, c.FaultSpacing = 2, 700
	r := measured(t, c)
	require.True(t, r.Stable)
	require.GreaterOrEqual(t, r.WarmupCycles, int64(2000+700+2000))
	c.Warmup.Skip = true
	require.EqualValues(t, 700, measured(t, c).WarmupCycles)
}

// What is called a deadlock is one: the packets are still there, in the same places, long after.
// Wires are so long that credits and packets on their way are often all that is missing to one.
func TestPacketsFoundInADeadlockNeverMoveAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		c := around(t)
		c.WireDelay, c.Seed = 40*cycle, seed
		n, err := build(t.Context(), c.Filled())
		require.NoError(t, err)
		require.NoError(t, n.start())
		l := newLookout(n, weft.Never)
		found := func() bool { l.cycle = l.find(); return l.cycle != nil }
		for at := weft.Time(0); !found(); at += 5 * cycle {
			n.engine.Run(at)
			require.Less(t, at, 100_000*cycle)
		}
		is, waiting := l.String(), fromSwitches(n)
		n.engine.Run(n.engine.Now() + 5000*cycle)
		require.True(t, found())
		require.Equal(t, is, l.String())
		require.Equal(t, waiting, fromSwitches(n))
	}
}

// fromSwitches are the packets that wait in input queues of links between switches, per switch.
func fromSwitches(n *network) [][]weft.Header {
	all := make([][]weft.Header, len(n.switches))
	for i, s := range n.switches {
		for _, b := range s.Snapshot().Blocked {
			if s.Place().Roles[b.In] != weft.RoleNIC {
				all[i] = append(all[i], b.Header)
			}
		}
	}
	return all
}

// bouncing goes clockwise, and back where the link ahead is dead: packets then go to and fro for
// ever.
func bouncing(g *topology.Graph) switching.Firmware {
	fw := clockwise(g)
	on := fw.Route
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		d := on(pkt, at, sw)
		if at.From != weft.RoleNIC && len(d.Candidates) == 1 && !sw.PortUp(d.Candidates[0].Port) {
			return switching.To(sw, at.Port, 0, pkt.Fields, "back")
		}
		return d
	}
	return fw
}

func TestPacketsThatGoToAndFroForEverConnectNobody(t *testing.T) {
	t.Parallel()
	c := config(t, "ring:4", "", 0.01)
	c.Firmware = bouncing(c.Topology)
	c.Faults = []Fault{{Link: "s2-s3", Before: true}}
	c.Window, c.Warmup.Skip = 100, true
	require.False(t, measured(t, c).Connected)
}

// Four dead links of one switch group, one more than R_m is proven for, which leave all connected:
// packets that make U-turns in the group wait for each other. Any three of them do no harm.
func TestMisroutingDeadlocksBeyondItsGuarantee(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	links := []string{"s1.20-s2.23", "s1.23-s2.23", "s1.22-s2.22", "s1.21-s2.20"}
	for without := testenv.Levels(0, 3, 3); without <= len(links); without++ {
		c := papers(t, "misroute-vector", 1)
		c.Hunt, c.MostCycles, c.Warmup.Skip = true, 4000, true
		for i, name := range links {
			if i != without {
				c.Faults = append(c.Faults, Fault{Link: name, Before: true})
			}
		}
		r := measured(t, c)
		require.True(t, r.Connected)
		require.Equal(t, without == len(links), r.Deadlocked, "%v", c.Faults)
		if r.Deadlocked {
			require.Regexp(t, `^(s[12]\.2\d -> s[12]\.2\d vc0(, )?)+$`, r.Cycle, "within the group")
		}
	}
}

// What a blocked packet waits for decides how often adaptive re-routing deadlocks with more than
// k-1 dead links (figure 12).
func TestPacketsThatWaitForOneCandidateDeadlockWhereThoseThatWaitForAllDoNot(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	deadlocks := func(waiting string) (n int) {
		for seed := range uint64(6) {
			c := papers(t, "adaptive-link", 0.625)
			c.FaultCount, c.Seed, c.Switch.Waiting = 10, seed, waiting
			c.Hunt, c.MostCycles, c.Warmup.Skip = true, 20_000, true
			if measured(t, c).Deadlocked {
				n++
			}
		}
		return n
	}
	all, one := deadlocks("all"), deadlocks("one")
	require.Greater(t, one, all+1)
}

// In the 2-ary 6-tree a dead link leaves its switch one port. Near the leaves that one is
// overloaded, what waits for it backs up, and packets that may choose go round it.
func TestInAThinTreeUpDownTablesAreBestOnlyFarFromTheLeaves(t *testing.T) {
	t.Parallel()
	testenv.Nightly(t)
	with := func(link, routing string) float64 {
		c := papers(t, routing, 0.625)
		topo := config(t, "kary-ntree:2,6", routing, 0.625)
		c.Topology, c.Traffic = topo.Topology, topo.Traffic
		c.Faults, c.Window = []Fault{{Link: link}}, 5000
		return measured(t, c).Accepted
	}
	top, leaf := "s0.00000-s1.00000", "s4.00000-s5.00000"
	require.Greater(t, with(top, DDRC), 1.1*with(top, "adaptive-link"))
	require.Less(t, with(leaf, DDRC), 0.97*with(leaf, "adaptive-link"))
}
