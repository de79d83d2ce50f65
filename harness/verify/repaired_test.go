package verify_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

var fiveFunctions = []string{
	"deterministic-link", "deterministic-switch", "adaptive-link", "adaptive-switch",
	"misroute-vector",
}

// Faults that come and go are withstood as long as no more than k-1 elements were ever dead in a
// packet's life. No more than k-1 at a time is not enough, for none of the functions.
func TestAtMostKMinus1AtATimeIsNotEnoughWhenFaultsComeAndGo(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for _, name := range fiveFunctions {
		for _, tree := range []struct {
			on string
			k  int
		}{{"kary-ntree:2,2", 2}, {"kary-ntree:2,3", 2}, {"kary-ntree:3,2", 3}} {
			t.Run(name+" "+tree.on, func(t *testing.T) {
				t.Parallel()
				config := verify.Config{
					Graph: topologytest.Parse(t, tree.on), Firmware: named(t, name),
					When: verify.Flapping,
				}
				config.Sets = verify.Sets{Max: tree.k - 1}
				r := run(t, config)
				assert.True(t, r.Pass, "%s\n%v", r, r.Counter)

				config.Sets, config.AtOnce = verify.Sets{Max: tree.k}, tree.k-1
				r = run(t, config)
				require.NotNil(t, r.Counter, "%s", r)
				assert.Equal(t, verify.Unconnected, r.Counter.What)
				assert.Len(t, r.Counter.Faults, tree.k)
				for _, s := range r.Counter.Path {
					assert.Less(t, len(s.Dead), tree.k, "at one moment")
				}
				assert.Equal(t, tree.k-1, r.AtOnce)
			})
		}
	}
}

// A fault that was repaired before a packet set out is nothing to a function that keeps no state in
// the switches. The re-route vector still has its bit: with those of repaired faults and k-1 dead
// links a packet is discarded that has a way.
func TestAStaleVectorBreaksTheKMinus1Guarantee(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for name, stale := range map[string]bool{
		"deterministic-link": false, "deterministic-switch": false, "misroute-vector": false, "adaptive-switch-header": false,
		"adaptive-link": true, "adaptive-link-digit": true, "adaptive-switch": true, "adaptive-switch-digit": true,
	} {
		for k, on := range map[int]string{2: "kary-ntree:2,3", 3: "kary-ntree:3,2"} {
			t.Run(name+" "+on, func(t *testing.T) {
				t.Parallel()
				r := run(t, verify.Config{
					Graph: topologytest.Parse(t, on), Firmware: named(t, name),
					When: verify.Repaired, Sets: verify.Sets{Max: k}, AtOnce: k - 1,
				})
				if !stale {
					assert.True(t, r.Pass, "%s\n%v", r, r.Counter)
					return
				}
				require.NotNil(t, r.Counter, "%s", r)
				assert.Equal(t, verify.Unconnected, r.Counter.What)
				assert.Len(t, r.Counter.Faults, k)
				last := r.Counter.Path[len(r.Counter.Path)-1]
				assert.Contains(t, last.Rule, "every up port is dead or in the re-route vector")
				assert.Less(t, len(last.Dead), k)
			})
		}
	}
}

// With all of a set dead at once, what was repaired adds nothing to what is there: the same sets
// pass.
func TestFaultsThatWereNeverRepairedAreAsBefore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"deterministic-link", "misroute-vector", "updown"} {
		before := run(t, verify.Config{
			Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: named(t, name),
			Sets: verify.Sets{Max: 2},
		})
		repaired := run(t, verify.Config{
			Graph: topologytest.Parse(t, "kary-ntree:2,3"), Firmware: named(t, name),
			Sets: verify.Sets{Max: 2}, When: verify.Repaired,
		})
		assert.Equal(t, before.Pass, repaired.Pass, name)
		assert.Equal(t, before.BadSets > 0, repaired.BadSets > 0, name)
		assert.GreaterOrEqual(t, repaired.Unconnected, before.Unconnected, name)
	}
}

func TestAtOnceIsForFaultsThatGo(t *testing.T) {
	t.Parallel()
	for when, ok := range map[verify.When]bool{
		verify.Before: false, verify.Arriving: false, verify.Flapping: true,
		verify.Repaired: true,
	} {
		_, err := verify.Run(context.Background(), verify.Config{
			Graph: topologytest.Parse(t, "kary-ntree:2,2"), Firmware: firmware.DeterministicLink(),
			Sets: verify.Sets{Max: 1}, When: when, AtOnce: 1,
		})
		if ok {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, verify.ErrConfig)
		}
	}
}

func named(t *testing.T, name string) firmware.Firmware {
	t.Helper()
	e, ok := firmware.ByName(name)
	require.True(t, ok, name)
	return e
}
