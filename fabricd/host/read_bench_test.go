package host

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// BenchmarkRead is what it costs to send, and to read, what a look reads of a host that runs a
// 4-ary 3-tree.
func BenchmarkRead(b *testing.B) {
	var r Readings
	read := func() link.Flow {
		f := link.Flow{
			State: link.Up, Mine: 1 << 16, Peer: 1 << 16, Sent: 1 << 20, Received: 1 << 20, Taken: 1 << 20,
			LastFrom: 1 << 16, LastTo: 1 << 16, LastSent: 1 << 20,
		}
		forget(&f)
		return f
	}
	for i := range weft.SwitchID(48) {
		s := SwitchRead{Switch: i}
		s.Reading.Stats = switching.Stats{Received: 1 << 24, Forwarded: 1 << 24, Decisions: 1 << 24}
		for range 8 {
			s.Reading.Ports = append(s.Reading.Ports, switching.PortReading{Flow: read(), Queued: 3})
		}
		s.Reading.Registers = make([]uint64, 8)
		r.Switches = append(r.Switches, s)
	}
	for i := range weft.NICID(64) {
		stats := nic.Stats{Injected: 1 << 20, Delivered: 1 << 20, Hops: 1 << 22, Shortest: 1 << 22}
		r.NICs = append(r.NICs, NICRead{i, nic.Reading{Stats: stats, Flow: read()}})
	}
	var data []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		data, err = encode(&r)
		require.NoError(b, err)
		require.NoError(b, msgpack.Unmarshal(data, new(Readings)))
	}
	b.ReportMetric(float64(len(data)), "bytes")
}
