package switching

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestAPanicInRouteIsTheEndOfItsPacketAlone(t *testing.T) {
	var heard []RoutePanic
	r := newRig(t, 3, Config{
		Panicked: func(p RoutePanic) { heard = append(heard, p) },
		Firmware: (&scripted{route: func(pkt *weft.Header, _ Arrival, _ View) Decision {
			if pkt.Dst == 7 {
				panic("my mistake")
			}
			return ways(2)
		}}).value(),
	})
	seq := r.arrive(0, 0, 4, 7)
	require.Equal(t, []RoutePanic{{
		At: Arrival{Port: 0, From: weft.RolePeer}, Packet: weft.Header{
			Src: 4, Dst: 7, Seq: seq,
			Fields: weft.NewFields(),
		}, Value: "my mistake",
	}}, heard)
	require.Len(t, r.out.Drops, 1)
	require.Equal(t, weft.Discarded, r.out.Drops[0].Account)
	require.Equal(t, RulePanicked, r.out.Drops[0].Rule)
	require.Equal(t, 1, int(r.Snapshot().Discards[RulePanicked]))

	r.arrive(0, 0, 4, 5)
	_, ok := r.send(2)
	require.True(t, ok, "the next packet")
	require.Len(t, heard, 1)
}

func TestAPanicInRouteGoesOnWhenNobodyHears(t *testing.T) {
	r := newRig(t, 3, Config{
		Firmware: (&scripted{route: func(*weft.Header, Arrival, View) Decision { panic("my mistake") }}).value(),
	})
	require.PanicsWithValue(t, "my mistake", func() { r.arrive(0, 0, 4, 7) })
}

func TestARegisterThatIsNotDeclaredIsNamed(t *testing.T) {
	var heard []RoutePanic
	r := newRig(t, 3, Config{
		Panicked: func(p RoutePanic) { heard = append(heard, p) },
		Firmware: (&scripted{
			registers: []Register{{Name: "a", Width: 8}},
			route:     func(_ *weft.Header, _ Arrival, sw View) Decision { return ways(weft.PortID(sw.Register(1))) },
		}).value(),
	})
	r.arrive(0, 0, 4, 7)
	require.Len(t, heard, 1)
	require.Equal(t, "it reads register 1 of s0 and declares 1: declare it, or read another", heard[0].Value)
	require.Equal(t, RulePanicked, r.out.Drops[0].Rule)
}
