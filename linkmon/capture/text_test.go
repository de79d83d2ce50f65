package capture

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
)

// A line has what a NIC and switches have written for those that route it, sub-headers with the
// names of switches and, as JSON, as fabricd explain takes them.
func TestALineHasTheRoutingFields(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "torus:4x3")
	wires, err := Wires(g, "s0.0", "s1.0")
	require.NoError(t, err)
	packet := Record{
		Kind: KindPacket, SrcName: "n0.0", DstName: "n3.1",
		Header: weft.Header{VC: 1, Seq: 7, Size: 256, Hops: 2, Fields: weft.NewFields()},
	}
	detour := packet
	detour.Header.Sub = weft.SubHeaders{
		weft.NewSubHeader(6).WithDeterministic(),
		weft.NewSubHeader(0).WithMisroute(0, 1, 2),
	}
	other := packet
	other.Header.PortField, other.Header.Misroute, other.Header.Path, other.Header.Layers = weft.PortFieldDown, 5, 2, 6
	other.Header.Route, _ = other.Header.Route.Push(4)
	other.Header.Traced, other.Header.Reroutes = true, 1

	const at = "12:00:00.000000  s0.0->s1.0        vc1  n0.0 > n3.1 #7  256 bytes, 2 hops"
	const line = `{"at":"2026-01-02T12:00:00Z","wire":"s0.0->s1.0","state":"up","vc":1,"src":"n0.0","dst":"n3.1","seq":7,"size":256,"hops":2`
	for _, x := range []struct {
		r          Record
		text, json string
	}{
		{packet, at, line + `}`},
		{detour, at + ", sub-headers s2.0,d;end,p1x2", line + `,"sub":"6,d;end,p1x2"}`},
		{
			other, at + ", 1 rerouted, port field down, path 2, layers 0b110, misroute 0b101, route p4, traced",
			line + `,"reroutes":1,"traced":true,"port_field":-2,"misroute":"101","path":2,"layers":"110","route":"p4"}`,
		},
	} {
		for asJSON, want := range map[bool]string{false: x.text, true: x.json} {
			var out bytes.Buffer
			text := NewText(&out, asJSON, g, Interfaces(g, "fabric lab", wires))
			require.NoError(t, text.Write(0, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), &x.r))
			require.NoError(t, text.Flush())
			require.Equal(t, want+"\n", out.String())
		}
	}
}
