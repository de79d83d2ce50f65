package wire_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestASelfProbeIsLateWhileTheTransportHoldsItUpAndRecovers(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	m := wire.NewMemory()
	defer m.Close()
	b, err := wire.NewSelfProbe(m, 5*time.Millisecond)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.Run(ctx) })
	defer running.Wait()
	defer cancel()
	const slack, within = 500 * time.Millisecond, time.Nanosecond
	late := func() bool { return b.Late(0, slack, within) }
	rig.Until(t, func() bool { return !late() })
	beat := wire.Direction{From: "beat-0", To: "beat-0", ToPort: 1}
	require.NoError(t, m.Cut(beat))
	rig.Until(t, late)
	require.NoError(t, m.Restore(beat))
	rig.Until(t, func() bool { return !late() }, "a lost beat is followed by another")
}
