package bus_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/tables"
)

// travels has a value with something in every field go to another process and back.
func travels[T any](t *testing.T) {
	t.Helper()
	var zero, v T
	rig.Fill(&v, 1)
	for _, v := range []T{zero, v} {
		got, err := bus.Travel(bus.SubjectSwitch, v)
		require.NoError(t, err, "%T", v)
		require.True(t, reflect.DeepEqual(v, got), "%T arrives as something else", v)
	}
}

// All that leaders, hosts, agents and managers say to each other arrives as it was: a field that
// does not, or is new and of a type that cannot, fails here.
func TestWhatHostsSayTravels(t *testing.T) {
	t.Parallel()
	travels[host.CountersRequest](t)
	travels[host.Counters](t)
	travels[host.Order](t)
	travels[host.OrderAnswer](t)
	travels[host.ReadRequest](t)
	travels[host.Readings](t)
	travels[host.NodeRequest](t)
	travels[host.Nodes](t)
	travels[host.LoadOrder](t)
	travels[host.LoadAnswer](t)
	travels[host.EndOrder](t)
	travels[host.EventBatch](t)
	travels[host.Spec](t)
	travels[cluster.HostedSpec](t)
	travels[cluster.Room](t)
	travels[fabric.Ports](t)
	travels[fabric.Round](t)
	travels[fault.Reconfiguration](t)
	travels[manager.Spec](t)
	travels[tables.Patch](t)
	travels[bus.Offer](t)
}

// Whatever a process sends is read or refused, and takes no memory that it has not sent.
func FuzzWhatHostsSay(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x93, 0xcf, 1, 2, 3, 4, 5, 6, 7, 8, 0xdf, 0x7f, 0xff, 0xff, 0xff, 0xc6, 0x7f, 0xff, 0xff, 0xff})
	f.Add([]byte("\x93\xcf\x01\x02\x03\x04\x04\xe8\a\b\xff\xdd\xdd\xdd\xdd\x7f\xff\xff\xff\xc6\x7f\xdf\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{
			new(host.Counters), new(host.Order), new(host.Readings), new(host.Nodes), new(host.LoadOrder),
			new(host.EventBatch),
		} {
			_ = bus.Read(data, v)
		}
	})
}
