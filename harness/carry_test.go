package harness_test

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic/nicd"
	"github.com/weft-fabric/weft/switch/wire"
)

// keeper takes what packets carry for a NIC, checks it, and frees it when the test takes it.
type keeper struct {
	nic *nicd.NIC

	mu   sync.Mutex
	came []weft.Header
}

func (k *keeper) Carried(packets []weft.Header) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.came = append(k.came, packets...)
}

func (k *keeper) Room() {}

// take checks that each payload is the one of its packet, and frees all.
func (k *keeper) take(t *testing.T) (n int) {
	k.mu.Lock()
	came := k.came
	k.came = nil
	k.mu.Unlock()
	bytes := 0
	for _, h := range came {
		data := k.nic.Payloads().Bytes(h.Payload)
		require.Len(t, data, int(h.Size)-weft.PayloadOverhead)
		require.Equal(t, uint64(h.Src)<<32|uint64(h.Dst), binary.BigEndian.Uint64(data))
		k.nic.Payloads().Free(h.Payload)
		bytes += int(h.Size)
	}
	if bytes > 0 {
		k.nic.Taken(bytes)
	}
	return len(came)
}

// What packets carry arrives as it was sent, and every buffer comes back: of packets that arrive,
// are lost on cut links, and are inside a switch that crashes.
func TestEveryPayloadArrivesWholeOrComesBack(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]harness.Option{
		"live": {harness.Seed(1)}, "virtual": {harness.Seed(1), harness.Virtual()},
	} {
		t.Run(name, func(t *testing.T) {
			h := harness.New(t, "kary-ntree:2,3", options...)
			nics := weft.NICID(len(h.Topology().NICs))
			keepers := make([]*keeper, nics)
			for id := range nics {
				keepers[id] = &keeper{nic: h.Fabric().LocalNIC(id)}
				keepers[id].nic.Attach(keepers[id])
			}
			sent, came := 0, 0
			data := make([]byte, weft.MaxPayload)
			send := func() {
				for src := range nics {
					dst := (src + 1 + weft.NICID(sent)%(nics-1)) % nics
					binary.BigEndian.PutUint64(data, uint64(src)<<32|uint64(dst))
					for _, size := range []int{8, 1500, weft.MaxPayload} {
						require.NoError(t, keepers[src].nic.Carry(dst, data[:size]))
						sent++
					}
				}
			}
			takeAll := func() {
				for _, k := range keepers {
					came += k.take(t)
				}
			}
			for range 5 {
				send()
				h.Pause(100 * time.Microsecond) // packets are on the links
				h.Cut("s0.00", "s1.00")
				send()
				h.Restore("s0.00", "s1.00")
				takeAll()
			}
			send()
			h.Pause(100 * time.Microsecond)
			h.Crash("s0.01")
			ledger := h.Quiesce()
			takeAll()
			require.EqualValues(t, sent, ledger.Injected)
			require.EqualValues(t, came, ledger.Delivered)
			require.Positive(t, came)
			if name == "virtual" { // live, a packet may be faster than a fault
				require.Positive(t, ledger.Lost)
			}
			require.True(t, ledger.Balanced)
			require.Zero(t, keepers[0].nic.Payloads().Held(), "%+v", ledger)
		})
	}
}

// A broker that takes no messages of the size of a large packet loses it, and all else gets
// through: frames are as small as it wants them. What is lost is counted, and its buffer comes
// back.
func TestABrokerOfSmallMessagesLosesOnlyWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "nats-server", "nats-server")
	broker := natstest.Start(t, natstest.Newest, "max_payload: 4000")
	h := harness.New(t, "kary-ntree:2,2", harness.Transport(func(t testing.TB) wire.Transport {
		return bustest.Links(t, bus.NATSConfig{URL: broker.URL})
	}), harness.Configure(func(o *fabric.Options) { o.TransportEvent = nil }))
	keepers := make([]*keeper, 4)
	for id := range keepers {
		keepers[id] = &keeper{nic: h.Fabric().LocalNIC(weft.NICID(id))}
		keepers[id].nic.Attach(keepers[id])
	}
	data, small, large := make([]byte, weft.MaxPayload), 0, 0
	for range 10 {
		for src := range keepers {
			dst := weft.NICID((src + 2) % 4)
			binary.BigEndian.PutUint64(data, uint64(src)<<32|uint64(dst))
			for _, size := range []int{100, 1500, 1500, 1500, 3000} {
				require.NoError(t, keepers[src].nic.Carry(dst, data[:size]))
				small++
			}
			require.NoError(t, keepers[src].nic.Carry(dst, data))
			large++
		}
	}
	ledger := h.Quiesce()
	came := 0
	for _, k := range keepers {
		came += k.take(t)
	}
	require.Equal(t, small, came)
	require.EqualValues(t, large, ledger.Lost, "%+v", ledger)
	require.True(t, ledger.Balanced)
	require.Zero(t, keepers[0].nic.Payloads().Held())
}
