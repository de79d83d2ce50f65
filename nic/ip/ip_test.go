package ip_test

import (
	"net/netip"
	"slices"
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

func TestWhatASegmentSays(t *testing.T) {
	head := []byte{0x45, 0, 0, 45, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 64, 0, 1, 10, 64, 0, 4}
	tcp := []byte{0x9c, 0x40, 0, 80, 0, 0, 0, 7, 0, 0, 0, 9, 0x50, 0x18, 16, 0, 0, 0, 0, 0, 'h', 'e', 'l', 'l', 'o'}
	packet := append(slices.Clone(head), tcp...)
	s, ok := ip.ReadSegment(packet)
	require.True(t, ok)
	require.Equal(t, ip.Segment{
		From: netip.MustParseAddrPort("10.64.0.1:40000"), To: netip.MustParseAddrPort("10.64.0.4:80"), Seq: 7, Ack: 9,
		Bytes: 5,
	}, s)
	require.Equal(t, "TCP 10.64.0.1:40000 > 10.64.0.4:80 seq 7, ack 9", ip.Text(packet))
	six := append(make([]byte, 40), tcp...)
	six[0], six[5], six[6] = 0x60, byte(len(tcp)), 6
	six[40+13] = 2 // SYN
	copy(six[8:], ip.Address6(0).AsSlice())
	copy(six[24:], ip.Address6(3).AsSlice())
	s, ok = ip.ReadSegment(six)
	require.True(t, ok)
	require.True(t, s.Opens)
	require.EqualValues(t, 6, s.Bytes)
	require.Equal(t, "[fd77:6566:74::4]:80", s.To.String())
	for cut := range packet {
		_, ok := ip.ReadSegment(packet[:cut])
		require.False(t, ok, "%d bytes", cut)
	}
	packet[9] = 17
	require.Equal(t, "UDP 10.64.0.1:40000 > 10.64.0.4:80", ip.Text(packet))
	packet[9] = 1
	require.Equal(t, "ICMP to 10.64.0.4", ip.Text(packet))
	packet[9] = 47
	require.Equal(t, "protocol 47 to 10.64.0.4", ip.Text(packet))
	require.Empty(t, ip.Text(packet[:10]))
}

// Whatever comes is read or refused.
func FuzzText(f *testing.F) {
	f.Add([]byte{0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 10, 64, 0, 1, 10, 64, 0, 4})
	f.Add(append([]byte{0x60, 0, 0, 0, 0, 20, 6}, make([]byte, 53)...))
	f.Fuzz(func(t *testing.T, packet []byte) {
		if s, ok := ip.ReadSegment(packet); ok {
			require.LessOrEqual(t, int(s.Bytes), len(packet))
			require.Equal(t, s.To.Addr(), ip.Destination(packet))
		}
		ip.Text(packet)
	})
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
