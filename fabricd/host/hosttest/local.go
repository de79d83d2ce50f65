package hosttest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// Local is a host in this process of all nodes of a topology, over links in memory.
type Local struct {
	Host
	*host.Local

	live *host.Live
}

// NewLocal makes one, which does not run yet. Its links have no hellos: in memory nothing is lost.
func NewLocal(t testing.TB, topology, routing string, change ...func(c *host.LocalConfig)) *Local {
	t.Helper()
	g := topologytest.Parse(t, topology)
	fw, vcs, err := subnet.Firmware(routing, g)
	require.NoError(t, err)
	memory, start := wire.NewMemory(), time.Now()
	t.Cleanup(func() { require.NoError(t, memory.Close()) })
	live := &host.Live{Transport: memory, Clock: func() weft.Time { return weft.FromDuration(time.Since(start)) }}
	c := host.LocalConfig{
		Spec: Spec(t, g, routing), Graph: g, Firmware: fw, Runtime: live,
		Watch: func(weft.Node) switchd.Observer { return nil },
	}
	c.Spec.Placement, c.Spec.Switch.VCs, c.Spec.Liveness = Divide(g, "")[0], vcs, settings.Liveness{}
	for _, f := range change {
		f(&c)
	}
	l, err := host.NewLocal(c)
	require.NoError(t, err)
	return &Local{Host{l, c.Spec, g, t}, l, live}
}

// Run has it run until the test ends.
func (l *Local) Run() {
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); l.live.NodeRuntime.Run(ctx) }()
	l.t.Cleanup(func() { end(); <-over })
}
