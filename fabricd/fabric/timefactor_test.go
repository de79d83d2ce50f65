package fabric_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/leader"
)

// The clocks of all hosts go with the factor, and so does what the NICs inject; the next leader keeps it.
func TestAFabricGoesWithATimeFactor(t *testing.T) {
	t.Parallel()
	l := startHosts(t, 2, func(o *fabric.Options) { o.Link.Paced = true })
	require.Equal(t, leader.TimeFactor{Factor: 1}, l.Fabric.TimeFactor())
	l.load("uniform:0.05")
	for _, factor := range []float64{0.1, 0.5} {
		want := leader.TimeFactor{Factor: factor}
		require.NoError(t, l.Fabric.SetTimeFactor(want))
		require.Equal(t, want, l.Fabric.TimeFactor())
		began, from := time.Now(), l.Fabric.Now()
		l.more(200)
		passed := float64(l.Fabric.Now()-from) / float64(weft.FromDuration(time.Since(began)))
		require.InDelta(t, factor, passed, factor/20)
	}
	l.succeed()
	require.Equal(t, leader.TimeFactor{Factor: 0.5}, l.Fabric.TimeFactor())
	began, from := time.Now(), l.Fabric.Now()
	l.more(200)
	passed := float64(l.Fabric.Now()-from) / float64(weft.FromDuration(time.Since(began)))
	require.InDelta(t, 0.5, passed, 0.025)
	require.NoError(t, l.Fabric.SetTimeFactor(leader.TimeFactor{Factor: 1}))
	l.sound()

	said := 0
	for _, e := range l.Fabric.Events().Since(0) {
		if e.Kind == fabric.EventTimeFactor {
			said++
		}
	}
	require.Equal(t, 1, said, "the new leader's own")
	for _, wrong := range []float64{0, -1, 0.0001, 1000} {
		require.ErrorContains(t, l.Fabric.SetTimeFactor(leader.TimeFactor{Factor: wrong}), "give 0.001 to 100, 1 is the time of the machine")
	}
}
