package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	switching "github.com/weft-fabric/weft/switch"
)

// A packet from outside may be for a NIC that there is not: what is told of it must not fail too.
func TestAFailureOfFirmwareIsToldOfAnyPacket(t *testing.T) {
	t.Parallel()
	p := switching.RoutePanic{
		Switch: 1, Value: "a\n\tb", Packet: weft.Header{Src: 2, Dst: 1 << 31, Seq: 7, Fields: weft.NewFields()},
	}
	p.Dead.Add(1)
	p.Registers = []switching.RegisterSnapshot{{Name: "r", Value: 5}, {Name: "zero"}}
	require.Equal(t, "firmware failed on packet 7 of n2 to 2147483648, which is discarded: a; in b; "+
		"ask it again: fabricd explain --topology 'ring:4' "+
		"--routing 'mine' --switch s1 --in-port 0 --vc 0 --src n2 --dst 2147483648 --dead-ports 1 --state 'r=101'",
		Panicked(topologytest.Parse(t, "ring:4"), "mine", &p))
}
