package verify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/harness/virtual/world"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// around is what to verify of a routing of the static fault model.
func around(t *testing.T, spec, routing string, sets verify.Sets) verify.Config {
	t.Helper()
	g := topologytest.Parse(t, spec)
	e, err := subnet.ByName(routing)
	require.NoError(t, err)
	c := verify.Config{Graph: g, Name: routing, Sets: sets}
	c.Firmware, c.VCs, err = e.New(t.Context(), g)
	require.NoError(t, err)
	if e.Around != nil {
		c.Around = func(dead *subnet.Dead) (switching.Firmware, int, error) { return e.Around(t.Context(), g, dead) }
	}
	return c
}

// Which argument shows that nothing can deadlock, and where nothing keeps a ring from filling up,
// that something can.
func TestRingsOfToriDeadlockWithoutBubbleAndDateline(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, c := range []struct {
		topology, routing string
		cyclic            bool // the channel dependency graph
		escape            bool
		rings             int // that the proof needs
		passes            bool
	}{
		{"torus:5x5", "duato", true, true, 20, true},
		{"torus:5x5", "duato:ring=dateline", true, true, 0, true},
		{"torus:5x5", "duato:ring=free", true, true, 0, false},
		{"torus:5x5", "duato:adaptive=false", true, false, 20, true},
		{"torus:5x5", "dimension-order:ring=bubble", true, false, 20, true},
		{"torus:5x5", "dimension-order:ring=dateline", false, false, 0, true},
		{"torus:5x5", "dimension-order:ring=free", true, false, 0, false},
		{"torus:5x5", "direction-order:ring=bubble", true, false, 20, true},
		{"torus:5x5", "direction-order", false, false, 0, true},
		{"torus:5x5", "direction-order:ring=free", true, false, 0, false},
		{"torus:5x5", "duato:order=direction,ring=dateline", true, true, 0, true},
		{"torus:4x4", "duato:order=direction", true, true, 8, true}, // half way round a packet escapes upwards
		{"torus:4x4", "duato:order=direction,ring=free", true, true, 0, false},
		// from an even coordinate up, from an odd one down: no packet goes all of the ring on
		{"torus:4x4", "duato:ring=free", true, true, 0, true},
		{"torus:3x3x3", "duato", true, true, 0, true},
		{"torus:3x3x3", "duato:ring=free", true, true, 0, true}, // no way is two hops of one ring long
		{"ring:5", "duato", true, true, 2, true},
		{"ring:5", "duato:ring=free", true, true, 0, false},
		{"mesh:3x3", "duato:ring=free", true, true, 0, true},
	} {
		t.Run(c.topology+" "+c.routing, func(t *testing.T) {
			t.Parallel()
			r := run(t, around(t, c.topology, c.routing, verify.Sets{}))
			assert.Zero(t, r.Unconnected)
			assert.Equal(t, c.passes, r.Pass, "%v", r.Counter)
			assert.Equal(t, c.passes, r.CDGAcyclic)
			assert.Equal(t, c.cyclic, r.CyclicSets == 1)
			if c.cyclic {
				assert.Equal(t, c.escape, r.Extended.Escape)
				assert.Equal(t, c.rings, r.Extended.Rings)
				assert.Equal(t, uint64(1), r.Extended.Connected, "the escape channels lead everywhere")
			}
			if !c.passes {
				require.Equal(t, verify.Deadlock, r.Counter.What)
				assert.Len(t, r.Counter.Channels, radix(c.topology), "all of one ring")
				assert.Len(t, r.Counter.Pairs, radix(c.topology), "each of its channels is held by packets of some pair")
			}
		})
	}
}

// radix is the first size of a torus or a ring.
func radix(spec string) int {
	_, sizes, _ := strings.Cut(spec, ":")
	return int(sizes[0] - '0')
}

// Every pair is connected around every set of so few faults (at full a few drawn ones), by what the
// engine has computed and the firmware makes of it.
func TestWaysAroundFaultsConnectEveryPair(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, c := range []struct {
		topology, routing string
		most              int
	}{
		{"torus:3x3", "duato:mechanisms=I+D", 2},
		{"torus:3x3", "duato:mechanisms=Ix2,ring=dateline", 2},
		{"torus:3x3", "duato:mechanisms=I+M", 2},
		{"torus:3x3x3", "duato:mechanisms=I", 1},
		{"torus:3x3x3", "duato:mechanisms=M", 1},
		{"torus:3x3x3", "duato:mechanisms=I+D+M", 1},
		{"torus:4x4", "duato:mechanisms=I+D", 1},
		{"torus:5x5", "duato:mechanisms=I+D", 1},
		{"torus:5x5", "duato:mechanisms=I+D,ring=dateline", 1},
		{"mesh:3x3", "duato:mechanisms=I+D", 1},
		{"mesh:2x2x2", "duato:mechanisms=I+D", 1},
	} {
		t.Run(c.topology+" "+c.routing, func(t *testing.T) {
			t.Parallel()
			sets := verify.Sets{Kind: verify.Links, Min: c.most, Max: c.most, Samples: 12, Seed: 1}
			if testenv.Soak() {
				sets = verify.Sets{Kind: verify.Links, Max: c.most}
			}
			r := run(t, around(t, c.topology, c.routing, sets))
			assert.True(t, r.Pass, "%v\n%v", r, r.Counter)
			assert.True(t, r.CDGAcyclic)
			assert.Greater(t, r.FaultSets, uint64(10))
			assert.Equal(t, r.CyclicSets, r.Extended.Connected, "nor does a packet need its adaptive ways")
		})
	}
}

// One mechanism alone may not do, which is found pair by pair, and no deadlock.
func TestPairsForWhichThereIsNoWayAreDiscardedAtOnce(t *testing.T) {
	t.Parallel()
	r := run(t, around(t, "torus:3x3", "duato:mechanisms=D", verify.Sets{Kind: verify.Links, Min: 1, Max: 1}))
	assert.Equal(t, uint64(18), r.BadSets)
	assert.Zero(t, r.Deadlocks)
	require.Len(t, r.Discards, 1)
	assert.Equal(t, 1, len(r.Counter.Path))
	assert.Contains(t, r.Counter.String(), "nowhere")
}

// A corner that two dead links cut off is nobody's fault.
func TestPairsThatNothingJoinsAreNotJudgedWhereTheRoutingKnowsTheFaults(t *testing.T) {
	t.Parallel()
	c := around(t, "mesh:3x3", "duato:mechanisms=I+D", verify.Sets{})
	var corner []verify.Element
	for _, name := range []string{"s0.0-s1.0", "s0.0-s0.1"} {
		e, err := verify.ElementByName(c.Graph, name)
		require.NoError(t, err)
		corner = append(corner, e)
	}
	c.Sets = verify.Sets{List: [][]verify.Element{corner}}
	r := run(t, c)
	assert.True(t, r.Pass, "%v", r.Counter)
	assert.EqualValues(t, 8*7, r.Walks)
}

func TestARoutingThatKnowsTheFaultsKnowsNoneThatComeLater(t *testing.T) {
	t.Parallel()
	c := around(t, "mesh:3x3", "duato:mechanisms=I+D", verify.Sets{Max: 1})
	c.When = verify.Arriving
	_, err := verify.Run(t.Context(), c)
	require.ErrorIs(t, err, verify.ErrConfig)
}

// oneEscape is a firmware of two sub-paths with one escape channel for both.
func oneEscape(real switching.Firmware) switching.Firmware {
	const subPaths = 2
	fw := real
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if int(at.VC) < subPaths && at.From != weft.RoleNIC {
			at.VC = weft.VC(max(0, pkt.Sub.Len()-1)) // where it would be
		}
		d := real.Route(pkt, at, sw)
		for i := range d.Candidates {
			if c := &d.Candidates[i]; int(c.VC) < subPaths {
				c.VC = 0
			}
		}
		return d
	}
	return fw
}

// What goes on from an intermediate node would wait for what goes there, and the other way round.
func TestSubPathsNeedEscapeChannelsOfTheirOwn(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, ring := range []string{"bubble", "free"} {
		c := around(t, "torus:3x3", "duato:mechanisms=I+D,ring="+ring, verify.Sets{Kind: verify.Links, Max: 2})
		assert.True(t, run(t, c).Pass, "no way of this torus goes all around")
		own := c.Around
		c.Around = func(dead *subnet.Dead) (switching.Firmware, int, error) {
			fw, vcs, err := own(dead)
			return oneEscape(fw), vcs, err
		}
		r := run(t, c)
		assert.Zero(t, r.Unconnected)
		require.False(t, r.CDGAcyclic)
		assert.Positive(t, r.Deadlocks)
		require.Equal(t, verify.Deadlock, r.Counter.What, "%v", r.Counter)
		t.Log(r.Counter)
	}
}

// bothWays runs a scenario live, over links in memory, and in virtual time.
func bothWays(t *testing.T, f format.File, more ...firmware.Firmware) (results []scenario.Result) {
	t.Helper()
	text, err := format.Write(f)
	require.NoError(t, err)
	m := wire.NewMemory()
	defer m.Close()
	for _, r := range []scenario.Runner{{Transport: m}, {Runtime: func() fabric.Runtime { return world.New() }}} {
		s, err := scenario.Load(t.Context(), "deadlock.yaml", text, more...)
		require.NoError(t, err, string(text))
		res, err := r.Run(t.Context(), s)
		require.NoError(t, err)
		results = append(results, res)
	}
	return results
}

// The deadlock that verify finds where a ring may fill up happens in a fabric, live and in virtual
// time, and there it is named by the same channels. With the bubble all packets arrive.
func TestTheDeadlockOfARingWithoutBubbleHappens(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	c := around(t, "ring:7", "duato:ring=free", verify.Sets{})
	counter := found(t, c)
	f, err := counter.Scenario(c, c.Name)
	require.NoError(t, err)
	f.Duration = "200ms"
	for _, res := range bothWays(t, f) {
		assert.False(t, res.Pass)
		require.Equal(t, []string{"drain"}, res.Broken, "%v", res.Failed)
		assert.Contains(t, res.Failed[0], "deadlock: ")
		assert.Contains(t, res.Failed[0], "s0 -> s6 vc")
		assert.Contains(t, res.Failed[0], "s1 -> s0 vc")
		assert.True(t, res.Ledger.Balanced)
		assert.Positive(t, res.Ledger.InFlight)
	}
	f.Routing = "duato:ring=bubble"
	for _, res := range bothWays(t, f) {
		assert.True(t, res.Pass, "%v", res.Failed)
		assert.EqualValues(t, len(counter.Pairs)*128, res.Ledger.Delivered)
	}
}

// What no mechanism leads around is discarded by its first switch, as verify says, when a subnet
// manager has computed what verify explored. With a mechanism more the packet arrives.
func TestAPairWithoutAWayIsReplayedWithAManager(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	c := around(t, "torus:3x3", "duato:mechanisms=I", verify.Sets{Min: 2, Max: 2})
	counter := found(t, c)
	require.Equal(t, verify.Unconnected, counter.What)
	f, err := counter.Scenario(c, c.Name)
	require.NoError(t, err)
	for _, res := range bothWays(t, f) {
		assert.False(t, res.Pass)
		require.NotEmpty(t, res.Faults)
		assert.Equal(t, map[string]uint64{counter.Path[0].Rule: 1}, res.Ledger.DiscardedBy)
		var without []string // a manager that hears of one of the links first does so in a round of the other's
		for _, fault := range res.Faults {
			require.NotNil(t, fault.Reconfiguration)
			without = append(without, fault.Reconfiguration.Without...)
		}
		assert.Contains(t, without, "s1.0 to s0.0")
	}
	f.Routing = "duato:mechanisms=I+D"
	for _, res := range bothWays(t, f) {
		assert.True(t, res.Pass, "%v", res.Failed)
	}
}

// Packets that wait for two places where there is one are in a deadlock too.
func TestADeadlockOfPacketsThatWaitForTwoPlacesIsNamed(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	fw := oneWay{enter: []uint8{2}, along: 2}.firmware()
	c := verify.Config{Graph: topologytest.Parse(t, "ring:5"), Firmware: fw, VCs: 1}
	counter := found(t, c)
	f, err := counter.Scenario(c, "two")
	require.NoError(t, err)
	f.Duration = "200ms"
	for _, res := range bothWays(t, f, fw) {
		require.Contains(t, res.Broken, "drain")
		assert.Contains(t, res.Failed[0], "deadlock: ")
		assert.Contains(t, res.Failed[0], "s4 -> s0 vc0")
	}
}
