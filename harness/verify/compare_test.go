package verify

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// The NICs of a dead leaf switch are gone, and so are their pairs; the other pairs count.
func TestComparisonExcusesTheNICsOfDeadSwitches(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	compare, err := CompareUpDown(g)
	require.NoError(t, err)
	dead := func(text string) []Element {
		var set []Element
		for name := range strings.FieldsSeq(text) {
			e, err := ElementByName(g, name)
			require.NoError(t, err)
			set = append(set, e)
		}
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
