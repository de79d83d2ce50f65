package fabric

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/wire"
)

// newRing is a fabric of four switches and NICs in this process, which has not started.
func newRing(tb testing.TB, options ...func(*Options)) *Fabric {
	tb.Helper()
	g := topologytest.Parse(tb, "ring:4")
	fw, _, err := subnet.Firmware(tb.Context(), "updn", g)
	require.NoError(tb, err)
	o := Options{Topology: g, Firmware: fw, Transport: wire.NewMemory()}
	for _, option := range options {
		option(&o)
	}
	f, err := New(o)
	require.NoError(tb, err)
	return f
}

// startRing starts such a fabric, until the test is over.
func startRing(tb testing.TB, options ...func(*Options)) *Fabric {
	tb.Helper()
	f := newRing(tb, options...)
	require.NoError(tb, f.Start(tb.Context()))
	tb.Cleanup(f.Stop)
	return f
}

// withProcesses has switches of a ring run in processes, which are reached so.
func withProcesses(hosts Hosts) func(*Options) {
	return func(o *Options) { o.Processes = &ProcessOptions{Fabric: "lab", Routing: "updn", Hosts: hosts} }
}
