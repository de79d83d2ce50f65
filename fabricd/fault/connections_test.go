package fault

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// However many connections there were, the worst are named and all are counted.
func TestTheWorstConnectionsAreNamedAndAllCounted(t *testing.T) {
	var here, there Connections
	for i := range 30 {
		one := Connection{NIC: "n00", From: fmt.Sprint(i), Resent: uint64(i), Standstill: float64(i / 3)}
		if i%2 == 0 {
			here.Add(one)
		} else {
			there.Add(one)
		}
	}
	here.Merge(there)
	assert.Equal(t, 30, here.Count)
	assert.EqualValues(t, 29*30/2, here.Resent)
	assert.InDelta(t, 9, here.Longest, 0)
	assert.Len(t, here.Worst, MaxConnections)
	for i, c := range here.Worst {
		assert.Equal(t, fmt.Sprint(29-i), c.From)
	}
}
