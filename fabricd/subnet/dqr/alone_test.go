package dqr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// A path that has been found decides what the next one costs: the turns that it needed are there
// from then on. Searched all at once, the sources of a destination enabled turns on both sides of a
// dead link, and the way back had none left in one mesh of seven.
func TestEndToEndEverySingleFaultOfAMeshIsTolerated(t *testing.T) {
	t.Parallel()
	n := testenv.Levels(10, 7, 5)
	g := topologytest.Parse(t, fmt.Sprintf("mesh:%dx%d", n, n))
	for _, turns := range []dqr.Turns{dqr.SingleTurn, dqr.AllTurns} {
		t.Run(fmt.Sprint(turns), func(t *testing.T) {
			t.Parallel()
			r := begin(t, xy(t, g), dqr.Options{Path: dqr.EndToEnd, Turns: turns})
			for _, l := range g.Links {
				if !l.BetweenSwitches() {
					continue
				}
				fresh := r.Clone()
				res := fail(t, fresh, l.ID)
				assert.True(t, res.Tolerated(), l.Name)
			}
		})
	}
}
