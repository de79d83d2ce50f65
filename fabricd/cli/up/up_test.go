package up

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/switch/link"
)

func TestHellosDampingAndRequeueAreThoseOfTheFlags(t *testing.T) {
	flags := upFlags{
		topology: "kary-ntree:2,2", routing: "updown", traffic: "none", rate: 1, hello: fabric.DefaultInterval.Duration(), multiplier: 3,
	}
	o, err := flags.options(io.Discard)
	require.NoError(t, err)
	require.Equal(t, link.Liveness{Multiplier: 3}, o.Link.Liveness, "the fabric chooses by its size")
	require.False(t, o.Link.NoLiveness || o.Switch.Requeue)

	flags.hello, flags.helloGiven, flags.multiplier, flags.dampingHalf, flags.requeue = 7*time.Millisecond, true, 5, time.Second, true
	o, err = flags.options(io.Discard)
	require.NoError(t, err)
	require.Equal(t, link.Liveness{Interval: 7 * weft.Millisecond, Multiplier: 5, Damping: link.Damping{
		HalfLife: weft.Second, Suppress: 3, Reuse: 1, Max: 4 * weft.Second,
	}}, o.Link.Liveness)
	require.True(t, o.Switch.Requeue)

	flags.hello = 0
	o, err = flags.options(io.Discard)
	require.NoError(t, err)
	require.True(t, o.Link.NoLiveness)
	require.Positive(t, o.Link.Liveness.Damping.HalfLife, "a signalled cut is a loss, too")
}
