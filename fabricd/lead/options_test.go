package lead

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/switch/link"
)

func TestHellosDampingAndRequeueAreThoseOfTheSettings(t *testing.T) {
	p := newProcess(Config{Settings: settings.Settings{Topology: "kary-ntree:2,2", Routing: "updown", Traffic: "none"}},
		nil)
	o, err := p.options(t.Context())
	require.NoError(t, err)
	require.Equal(t, link.Liveness{Multiplier: fabric.DefaultMultiplier}, o.Liveness.Detector(),
		"the fabric chooses by its size")
	require.False(t, o.Liveness.Interval.Off() || o.Switch.Requeue)

	p.Settings.Liveness = settings.Liveness{Interval: "7ms", Multiplier: 5, Damping: settings.Damping{HalfLife: "1s"}}
	p.Settings.Switch.Requeue = true
	o, err = p.options(t.Context())
	require.NoError(t, err)
	require.Equal(t, link.Liveness{Interval: 7 * weft.Millisecond, Multiplier: 5, Damping: link.Damping{
		HalfLife: weft.Second, Suppress: 3, Reuse: 1, Max: 4 * weft.Second,
	}}, o.Liveness.Detector())
	require.True(t, o.Switch.Requeue)

	p.Settings.Liveness.Interval = "0"
	o, err = p.options(t.Context())
	require.NoError(t, err)
	require.True(t, o.Liveness.Interval.Off())
	require.Positive(t, o.Liveness.Detector().Damping.HalfLife, "a signalled cut is a loss, too")
}
