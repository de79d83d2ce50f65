package verify

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/firmware"
)

// What is forgotten in the middle of a set for want of room is explored anew, and changes nothing.
func TestForgettingFlowsWithinASetChangesNothing(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	g := topologytest.Parse(t, "kary-ntree:3,2")
	for _, name := range []string{"adaptive-link", "deterministic-switch"} {
		e, _ := firmware.ByName(name)
		c := Config{Graph: g, Firmware: e, Sets: Sets{Kind: Any, Max: 3}}
		require.NoError(t, c.Sets.resolve(g))
		require.NoError(t, c.check())
		m, err := newModel(&c)
		require.NoError(t, err)
		keeps, forgets := newExplorer(m, nil), newExplorer(m, nil)
		forgets.limit = 0
		for i := uint64(0); i < c.Sets.total(); i += 7 {
			set := c.Sets.at(i)
			want, err := keeps.run(set)
			require.NoError(t, err)
			got, err := forgets.run(set)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s with %s", name, keeps.names(set))
			require.Zero(t, len(forgets.flows[0].states), "it forgets")
		}
	}
}

// Every bit of a vector that packets can set doubles what a switch can hold: refused beyond a
// bound, and not tried until memory ends.
func TestRegistersOfTooManyValuesAreRefused(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	g := topologytest.Parse(t, "kary-ntree:13,2")
	var set []Element
	for i := range 12 {
		l, err := ElementByName(g, fmt.Sprintf("s0.%d-s1.%d", i, i))
		require.NoError(t, err)
		set = append(set, l)
	}
	_, err := Run(context.Background(), Config{
		Graph: g, Firmware: firmware.AdaptiveLink{}.Firmware(),
		Sets: Sets{List: [][]Element{set}},
	})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "can hold more than 256 values: ask for fewer faults")
}
