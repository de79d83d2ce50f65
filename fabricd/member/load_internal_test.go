package member

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/firmware"
)

// many is a patch that no message has room for.
func many(to uint64) *firmware.Patch {
	p := &firmware.Patch{Switch: 3, From: 1, To: to}
	for d := range weft.NICID(40_000) {
		p.Addresses = append(p.Addresses, firmware.PatchAddresses{Dst: d, N: 1, List: []weft.Address{{VC: weft.VC(d % 2)}}})
	}
	return p
}

func TestALargePatchTravelsInPartsThatBrokersTake(t *testing.T) {
	orders, err := LoadOrders(many(2))
	require.NoError(t, err)
	require.Greater(t, len(orders), 2)
	var l loader
	for i, o := range orders {
		require.LessOrEqual(t, len(o.Data)*4/3, 900_000)
		got, err := l.add(o)
		require.NoError(t, err)
		if i < len(orders)-1 {
			require.Nil(t, got)
			continue
		}
		require.Equal(t, many(2), got)
	}
	require.Zero(t, l, "nothing is kept")
}

func TestPartsOutOfOrderAreRefusedAndForgotten(t *testing.T) {
	orders, err := LoadOrders(many(2))
	require.NoError(t, err)
	other, err := LoadOrders(many(3))
	require.NoError(t, err)
	long := orders[1]
	long.Data = make([]byte, maxPart+1)
	more := orders[1]
	more.Parts = 99
	for name, list := range map[string][]LoadOrder{
		"from the middle":  {orders[1]},
		"one is missing":   {orders[0], orders[2]},
		"one twice":        {orders[0], orders[1], orders[1]},
		"of another patch": {orders[0], other[1]},
		"too long":         {orders[0], long},
		"of other parts":   {orders[0], more},
		"no parts":         {{}},
		"too many":         {{Parts: maxParts + 1}},
	} {
		var l loader
		var err error
		for _, o := range list {
			_, err = l.add(o)
		}
		require.ErrorIs(t, err, errParts, name)
		require.Zero(t, l, name)
	}
	var l loader
	for range 2 { // begun anew, and after a whole one
		_, err = l.add(orders[1])
		require.ErrorIs(t, err, errParts)
		for _, o := range orders {
			_, err = l.add(o)
			require.NoError(t, err)
		}
	}
	_, err = l.add(LoadOrder{Parts: 1, Data: []byte("{")})
	require.ErrorIs(t, err, firmware.ErrPatch)
}

func TestAPatchThatIsTooLargeForAnyProcessIsNotSent(t *testing.T) {
	p := many(2)
	p.Addresses = slices.Repeat(p.Addresses, 30)
	_, err := LoadOrders(p)
	require.ErrorContains(t, err, "use a routing with fewer addresses")
}
