package sweep

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/harness/measure"
)

func TestAnOpenStatementSaysWhatLeavesItOpenAndWhatWouldDecideIt(t *testing.T) {
	t.Parallel()
	near, wide, none := []measure.Result{ok(10.5), ok(10.5), ok(10.6)}, []measure.Result{ok(9), ok(12), ok(12)},
		[]measure.Result{bad(0)}
	tab := tableOf(t, near, none, wide, none)
	ten, eleven := 10.0, 11.0
	zero := map[string]Some{"faults": {"0"}}
	f := tab.finding(Check{Value: "accepted", Where: zero, Above: &ten})
	assert.Equal(t, "11.0 ± 4.3 at load 0.3, the worst open one of 2 points; holds at 2", f.Ours,
		"the worst is decided")
	assert.Equal(t, 56, f.Needs, "3 (4.3/1)², rounded up")
	f = tab.finding(Check{Value: "accepted", Where: zero, Below: &ten, Of: ofMean})
	assert.Equal(t, 25, f.Needs, "3 (2.22/0.77)²: it is about the mean of two points of three")
	f = tab.finding(Check{Value: "accepted", Where: zero, AtLeast: &eleven})
	assert.Zero(t, f.Needs, "none can be named of a value on its bound")

	tab = tableOf(t, []measure.Result{ok(9), ok(12), ok(15)}, none, wide, none)
	f = tab.finding(Check{Value: "accepted", Where: zero, Above: &ten})
	assert.Equal(t, 56, f.Needs, "all must be decided")
	f = tab.finding(Check{Value: "accepted", Where: zero, Above: &ten, Of: ofAny})
	assert.Equal(t, 42, f.Needs, "3 (7.45/2)²: one is enough")
	f.Needs = 1300
	assert.Equal(t, "open, about 1,300 samples would decide it", f.inWords())
}
