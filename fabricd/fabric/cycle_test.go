package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// A deadlock of switches on other hosts is found also while nobody else looks at them.
func TestADeadlockOnOtherHostsIsFound(t *testing.T) {
	t.Parallel()
	l := startHosts(t, 2, func(o *fabric.Options) {
		o.Topology = topologytest.Parse(t, "ring:6")
		fw, _, err := subnet.Firmware(t.Context(), "minimal-hop", o.Topology)
		require.NoError(t, err)
		o.Firmware, o.Processes.Routing, o.Hosts = fw, "minimal-hop", onHosts(o.Topology, 2)
		o.Link.Rate = 25_600_000
	})
	w := l.Fabric.WatchDeadlock()
	require.Empty(t, w.Cycle())
	l.load("uniform:1")
	l.until("a deadlock is found", func() bool { return len(w.Cycle()) > 0 })
	require.Contains(t, w.Cycle().String(), "and round again")
	require.NoError(t, l.Fabric.StopTraffic())
}
