package ip_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
)

func TestEveryNICHasAddressesThatNameIt(t *testing.T) {
	for _, id := range []weft.NICID{0, 1, 254, 255, 256, weft.MaxNIC - 1} {
		for _, a := range []netip.Addr{ip.Address4(id), ip.Address6(id)} {
			got, ok := ip.NICOf(a, weft.MaxNIC)
			require.True(t, ok, "%v", a)
			require.Equal(t, id, got, "%v", a)
			_, ok = ip.NICOf(a, int(id))
			require.False(t, ok, "%v of %d", a, id)
		}
	}
	require.Equal(t, "10.64.1.0", ip.Address4(255).String())
	require.Equal(t, "fd77:6566:74::100", ip.Address6(255).String())
	for _, none := range []string{
		"10.64.0.0", "10.63.255.255", "fd77:6566:74::", "fd77:6566:75::1", "ff02::2", "224.0.0.1",
	} {
		_, ok := ip.NICOf(netip.MustParseAddr(none), weft.MaxNIC)
		require.False(t, ok, none)
	}
	_, ok := ip.NICOf(netip.Addr{}, weft.MaxNIC)
	require.False(t, ok)
}

func TestThePacketSaysWhereItGoes(t *testing.T) {
	four := make([]byte, 20)
	four[0] = 0x45
	copy(four[16:], ip.Address4(7).AsSlice())
	require.Equal(t, ip.Address4(7), ip.Destination(four))
	six := make([]byte, 40)
	six[0] = 0x60
	copy(six[24:], ip.Address6(7).AsSlice())
	require.Equal(t, ip.Address6(7), ip.Destination(six))
	for _, none := range [][]byte{nil, four[:19], six[:39], make([]byte, 60)} {
		require.False(t, ip.Destination(none).IsValid())
	}
}

func TestHostsHaveAllNICs(t *testing.T) {
	var text strings.Builder
	require.NoError(t, ip.WriteHosts(&text, []string{"n00", "n01"}))
	require.Contains(t, text.String(), "10.64.0.1 n00\n")
	require.Contains(t, text.String(), "fd77:6566:74::2 n01\n")
	require.Contains(t, text.String(), "127.0.0.1 localhost\n")
}

func TestWhichMTUsCanBe(t *testing.T) {
	for _, mtu := range []int{1280, 1500, 9000} {
		require.NoError(t, ip.CheckMTU(mtu))
	}
	for _, mtu := range []int{-1, 1279, 9001} {
		require.ErrorContains(t, ip.CheckMTU(mtu), "1280 to 9000")
	}
}
