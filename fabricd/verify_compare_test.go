package main

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/verify"
)

func TestVerifyComparesWithUpDownTablesAndWithWhatIsPhysicallyPossible(t *testing.T) {
	t.Parallel()
	out, errs, _ := fabricd(t, "verify", "-t", "kary-ntree:2,3", "--routing", "deterministic-link", "--faults", "4", "--compare", "--json")
	require.Empty(t, errs)
	var r verify.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	for i, s := range r.ByFaults {
		require.True(t, s.Compared)
		assert.LessOrEqual(t, s.UpDown, s.Physical)
		assert.LessOrEqual(t, s.Connected, s.Physical)
		if i < 2 {
			assert.Equal(t, s.Sets, s.UpDown, "k-1 faults are none to up/down tables made anew")
		} else {
			assert.Less(t, s.UpDown, s.Physical)
		}
	}
	refused(t, "up/down routes are computed", "verify", "-t", "ring:4", "--compare")
}

// The NICs of a dead leaf switch are gone, and so are their pairs; the other pairs count.
func TestComparisonExcusesTheNICsOfDeadSwitches(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	compare, err := comparison(g)
	require.NoError(t, err)
	dead := func(text string) []verify.Element {
		set, err := parseSet(g, text)
		require.NoError(t, err)
		return set
	}
	gone, alone := dead("s2.00 s2.11"), dead("s2.00 s1.01-s2.01 s1.00-s2.01")
	roundabout := dead("s1.01-s2.00 s0.00-s1.00 s0.10-s1.10") // s2.00 to s2.10 only by s2.01
	var all sync.WaitGroup
	for range 4 { // the workers ask at once
		all.Go(func() {
			for range 50 {
				updown, physical := compare(gone)
				assert.True(t, updown && physical)
				updown, physical = compare(alone)
				assert.False(t, updown || physical)
				updown, physical = compare(roundabout)
				assert.False(t, updown)
				assert.True(t, physical)
			}
		})
	}
	all.Wait()
}
