package up

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/switch/link"
)

func TestHellosDampingAndRequeueAreThoseOfTheFlags(t *testing.T) {
	flags := upFlags{settings: settings.Settings{Topology: "kary-ntree:2,2", Firmware: "updown", Traffic: "none"}}
	o, err := flags.options(t.Context(), io.Discard)
	require.NoError(t, err)
	require.Equal(t, link.Liveness{Multiplier: fabric.DefaultMultiplier}, o.Link.Liveness, "the fabric chooses by its size")
	require.False(t, o.Link.NoLiveness || o.Switch.Requeue)

	flags.settings.Liveness = settings.Liveness{Interval: "7ms", Multiplier: 5, Damping: settings.Damping{HalfLife: "1s"}}
	flags.settings.Switch.Requeue = true
	o, err = flags.options(t.Context(), io.Discard)
	require.NoError(t, err)
	require.Equal(t, link.Liveness{Interval: 7 * weft.Millisecond, Multiplier: 5, Damping: link.Damping{
		HalfLife: weft.Second, Suppress: 3, Reuse: 1, Max: 4 * weft.Second,
	}}, o.Link.Liveness)
	require.True(t, o.Switch.Requeue)

	flags.settings.Liveness.Interval = "0"
	o, err = flags.options(t.Context(), io.Discard)
	require.NoError(t, err)
	require.True(t, o.Link.NoLiveness)
	require.Positive(t, o.Link.Liveness.Damping.HalfLife, "a signalled cut is a loss, too")
}
