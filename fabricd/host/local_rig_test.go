package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/hosttest"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// Local is a host in this process of all nodes of a topology, over links in memory.
type Local struct {
	hosttest.Host
	*host.Local

	live *host.Live
}

// newLocal makes a host of all nodes of a small tree, which do not run yet; its NICs take little.
// Its links have no hellos: in memory nothing is lost.
func newLocal(t testing.TB, change ...func(c *host.LocalConfig)) *Local {
	t.Helper()
	const routing = "adaptive-link"
	g := topologytest.Parse(t, "kary-ntree:2,2")
	fw, vcs, err := subnet.Firmware(t.Context(), routing, g)
	require.NoError(t, err)
	memory := wire.NewMemory()
	t.Cleanup(func() { require.NoError(t, memory.Close()) })
	live := &host.Live{Transport: memory, Clock: host.NewClock(0, nil)}
	c := host.LocalConfig{
		Spec: hosttest.Spec(t, g, routing), Graph: g, Firmware: fw, Runtime: live,
		Watch: func(weft.Node) switchd.Observer { return nil },
	}
	c.Spec.Placement, c.Spec.Switch.VCs, c.Spec.Liveness = hosttest.Divide(g, "")[0], vcs, settings.Liveness{}
	c.Spec.NIC.QueueBytes = 1024
	for _, f := range change {
		f(&c)
	}
	l, err := host.NewLocal(c)
	require.NoError(t, err)
	return &Local{hosttest.Host{Host: l, Spec: c.Spec, Graph: g, T: t}, l, live}
}

// Run has it run until the test ends.
func (l *Local) Run() {
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); l.live.NodeRuntime.Run(ctx) }()
	l.T.Cleanup(func() { end(); <-over })
}
