package bus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
	"github.com/weft-fabric/weft/switch/wire/wiretest"
)

func TestNATSKeepsTheContractOfTransports(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	type kind struct {
		name  string
		exact bool // a subscription per direction
		open  func(t *testing.T) bus.NATSConfig
	}
	kinds := []kind{
		{name: "in-process", open: func(t *testing.T) bus.NATSConfig {
			return bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true})}
		}},
		{name: "one-shard", open: func(t *testing.T) bus.NATSConfig {
			return bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true}), Shards: 1}
		}},
		{name: "external/per-direction", exact: true, open: func(t *testing.T) bus.NATSConfig {
			b := bustest.Broker(t, bus.BrokerConfig{})
			return bus.NATSConfig{
				URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric), Shards: 4, Subscription: bus.PerDirection,
			}
		}},
	}
	for _, release := range natstest.Releases {
		kinds = append(kinds, kind{name: "outside/" + string(release), open: func(t *testing.T) bus.NATSConfig {
			return bus.NATSConfig{URL: natstest.Start(t, release).URL, Shards: 2}
		}})
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			if k.name == "outside/"+string(natstest.Debian) || k.name == "one-shard" {
				testenv.Long(t)
			}
			wiretest.Contract(t, k.exact, func(t *testing.T) wire.Transport { return openNATS(t, k.open(t)) })
		})
	}
}

// A receiver that gets no processor is owed hellos without end; packets find room beside them.
func TestHellosLeaveRoomForPackets(t *testing.T) {
	t.Parallel()
	memory := wire.NewMemory()
	events := new(recorder)
	nats := openNATS(t, bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true}), Shards: 1})
	nats.Watch(events.record)
	tried := attack.Tally(t, "hellos to a receiver that reads nothing")
	for name, tr := range map[string]wire.Transport{"memory": memory, "nats": nats} {
		t.Run(name, func(t *testing.T) {
			inbox, after := listen(t, tr, hop(0), 8), listen(t, tr, hop(1), 8)
			s := sender(t, tr, hop(0))
			ready(t, tr)
			arrived := func() { // what was sent before: links of a shard share its connection
				t.Helper()
				require.NoError(t, sender(t, tr, hop(1)).Send([]byte("fence")))
				require.Equal(t, "fence", next(t, after))
			}
			hello := wire.AppendFrame(nil, hop(0).Sum(), &weft.Frame{From: 1, VCs: 1})
			for range 20 {
				require.NoError(t, s.Send(hello))
				tried.Add(1)
			}
			arrived()
			require.Len(t, inbox, 4)
			packets := wire.AppendFrame(nil, hop(0).Sum(), &weft.Frame{From: 1, VCs: 1, Packets: make([]weft.Header, 1)})
			for range 4 {
				require.NoError(t, s.Send(packets))
			}
			arrived()
			require.Len(t, inbox, 8)
			require.EqualValues(t, 16, tr.Stats().Full)
			require.Empty(t, events.kinds(0), "nothing is lost that a hello does not make up for")
		})
	}
}
