package fabric_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// failing is where firmwares come from that fail on packets to one NIC, as failing:n2.
func failing() subnet.Source {
	return subnet.Source{
		Name: "failing", Syntax: "NIC", Kept: func(string) bool { return true },
		Open: func(rest string) (firmware.Firmware, error) {
			fw := firmware.AdaptiveLink{}.Firmware()
			route := fw.Route
			fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
				if pkt.Dst == 2 {
					panic("it cannot count to " + strings.TrimPrefix(rest, "n"))
				}
				return route(pkt, at, sw)
			}
			return fw, nil
		},
	}
}

// A firmware that fails on another host is an event at the leader.
func TestAFirmwareThatFailsOnAnotherHostIsAnEvent(t *testing.T) {
	t.Parallel()
	l := startHosts(t, 2, func(o *fabric.Options) {
		fw, _, err := subnet.Firmware(t.Context(), "failing:n2", topologytest.Parse(t, smallTree))
		require.NoError(t, err)
		o.Firmware, o.Processes.Routing = fw, "failing:n2"
	})
	before := l.Fabric.Ledger().Discarded
	_, err := l.Fabric.Send(7, 2, false)
	require.NoError(t, err)
	l.until("the packet is discarded", func() bool { return l.Fabric.Ledger().Discarded > before })
	l.until("an event says so", func() bool {
		for _, e := range l.Fabric.Events().Since(0) {
			if e.Kind == fabric.EventFailed {
				require.Contains(t, e.Detail, "it cannot count to 2")
				require.Contains(t, e.Detail, "--routing 'failing:n2'")
				return true
			}
		}
		return false
	})
}
