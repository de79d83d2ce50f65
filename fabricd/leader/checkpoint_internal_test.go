package leader

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// A flap that another leader began goes on where it is now.
func TestFlapGoesOnUnderAnotherLeader(t *testing.T) {
	t.Parallel()
	s := &State{now: weft.FromDuration(1037 * time.Millisecond)}
	f := &Fault{ID: 1, Spec: fault.Spec{
		Do:   fault.VerbFlap,
		Flap: &fault.Flap{Period: fault.Duration(10 * time.Millisecond)},
	}}
	next := s.changesLeft(f, weft.Second)
	e, ok := next()
	require.True(t, ok)
	assert.Equal(t, fault.Edge{At: 35 * time.Millisecond}, e, "it is up since then")
	e, _ = next()
	assert.Equal(t, fault.Edge{At: 40 * time.Millisecond, Down: true}, e)
	e, _ = next()
	assert.Equal(t, fault.Edge{At: 45 * time.Millisecond}, e)
}
