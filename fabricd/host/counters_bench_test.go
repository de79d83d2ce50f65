package host

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// BenchmarkCounters is what it costs to send, and to read, what a host of 1,000 switches has
// counted, each of them with four links to other hosts.
func BenchmarkCounters(b *testing.B) {
	n := uint64(1 << 40)
	s := Counters{Answer: ledger.Answer{Counted: ledger.Counted{Counters: ledger.Counters{
		Switches: switching.Stats{Received: n, Forwarded: n, Decisions: n},
		NICs:     nic.Stats{Injected: n, Delivered: n, Hops: 5 * n, Shortest: 5 * n},
	}}}, Up: make([]byte, 500)}
	for i := range weft.SwitchID(1000) {
		for port := range weft.PortID(4) {
			s.Flows = append(s.Flows, ledger.Flow{End: weft.End{Node: i.Node(), Port: port}, Peer: 2, Flow: link.Flow{
				State: link.Up, Mine: 1 << 21, Peer: 1 << 22, Sent: 1 << 30, Received: 1 << 31, Taken: 1 << 29,
				LastFrom: 1 << 21, LastTo: 1 << 22, LastSent: 1 << 28,
			}})
		}
	}
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		data, err = encode(&s)
		require.NoError(b, err)
		require.NoError(b, msgpack.Unmarshal(data, new(Counters)))
	}
	b.ReportMetric(float64(len(data)), "bytes")
}

// encode writes v as it travels, see package bus.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	enc.UseArrayEncodedStructs(true)
	enc.UseCompactInts(true)
	err := enc.Encode(v)
	return b.Bytes(), err
}
