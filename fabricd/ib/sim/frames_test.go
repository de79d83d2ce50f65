package sim

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any bytes are an order, a datagram or neither; what is taken is written as it was read.
func FuzzFrames(f *testing.F) {
	o := order{client: 3, kind: orderConnect, length: 44}
	o.setConnected(7, "H-0000000000100000")
	f.Add(o.bytes())
	d := make([]byte, packetSize)
	d[30], d[packetMAD] = 1, 1 // 256 bytes of version 1
	f.Add(d)
	f.Add(d[:packetMAD])
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := parseOrder(b); err == nil {
			require.Equal(t, b, o.bytes())
			require.NotContains(t, o.connect().node, "\x00")
		}
		if d, err := parsePacket(b); err == nil {
			again, err := parsePacket(packetBytes(&d))
			require.NoError(t, err)
			require.Equal(t, d, again)
			require.True(t, bytes.Equal(b[packetMAD:], d.MAD[:]))
		}
	})
}
