package verify_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

// The paper numbers channels by the places in the testing sequence D, which each switch group may
// have its own of. Within a group it has to be one (Corollary 1).
func TestChannelsOfTablesAreNumberedByTheirTestingSequences(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	turned := func(place *weft.Place, by int) (d []int) {
		for i := range place.Tree.Ups() {
			d = append(d, (i+by)%place.Tree.Ups())
		}
		return d
	}
	for name, c := range map[string]struct {
		d     subnet.Sequence
		rises bool
	}{
		"port order":      {nil, true},
		"another order":   {func(p *weft.Place) []int { return turned(p, 2) }, true},
		"one per tier":    {func(p *weft.Place) []int { return turned(p, int(p.Tree.Tier)) }, true},
		"one per group":   {func(p *weft.Place) []int { return turned(p, p.Tree.W[min(1, 2-int(p.Tree.Tier))]) }, true},
		"many in a group": {func(p *weft.Place) []int { return turned(p, p.Tree.W[max(0, int(p.Tree.Tier)-1)]) }, false},
	} {
		for _, when := range []verify.When{verify.Before, verify.Arriving} {
			t.Run(fmt.Sprint(name, " ", when), func(t *testing.T) {
				t.Parallel()
				g := topologytest.Parse(t, "kary-ntree:3,3")
				tables, err := subnet.Algorithm1(t.Context(), g, c.d)
				require.NoError(t, err)
				most := 3 - int(when) // more than k-1, where that is quick
				r := run(t, verify.Config{
					Graph: g, Firmware: firmware.DeterministicTable{Tables: tables}.Firmware(), When: when,
					Sets: verify.Sets{Min: most, Max: most, Samples: testenv.Levels(300, 50, 50)},
				})
				require.NotNil(t, r.Numbering)
				assert.Equal(t, c.rises, *r.Numbering, "%v", r.Counter)
				assert.True(t, !c.rises || r.CDGAcyclic)
			})
		}
	}
}
