// Package ip carries packets of the Internet protocols through NICs: which addresses NICs have, and
// a [Port] by which a stack of a kernel, or of this process, sends and takes packets. A packet is a
// payload, from its IP header on.
package ip

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"

	"github.com/weft-fabric/weft"
)

// The networks of all fabrics. Chosen by us: the first is private and seldom in use (RFC 1918), the
// second is of unique local addresses (RFC 4193) and has "weft" in it.
var (
	Network4 = netip.MustParsePrefix("10.64.0.0/10")
	Network6 = netip.MustParsePrefix("fd77:6566:74::/64")
)

// Bounds of what one packet carries, in bytes.
const (
	DefaultMTU = 1500
	MinMTU     = 1280 // the least of IPv6 (RFC 8200, section 5)
	MaxMTU     = weft.MaxPayload
)

// CheckMTU says why a packet cannot carry so many bytes.
func CheckMTU(mtu int) error {
	if mtu < MinMTU || mtu > MaxMTU {
		return fmt.Errorf("an MTU is %d to %d bytes, not %d", MinMTU, MaxMTU, mtu)
	}
	return nil
}

// Address4 is the IPv4 address of a NIC.
func Address4(id weft.NICID) netip.Addr {
	b := Network4.Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+uint32(id)+1)
	return netip.AddrFrom4(b)
}

// Address6 is the IPv6 address of a NIC.
func Address6(id weft.NICID) netip.Addr {
	b := Network6.Addr().As16()
	binary.BigEndian.PutUint64(b[8:], uint64(id)+1)
	return netip.AddrFrom16(b)
}

// NICOf is the NIC that has an address, of so many.
func NICOf(a netip.Addr, nics int) (id weft.NICID, ok bool) {
	var n uint64
	switch {
	case Network4.Contains(a):
		b, base := a.As4(), Network4.Addr().As4()
		n = uint64(binary.BigEndian.Uint32(b[:]) - binary.BigEndian.Uint32(base[:]))
	case Network6.Contains(a):
		b := a.As16()
		n = binary.BigEndian.Uint64(b[8:])
	}
	if n == 0 || n > uint64(nics) {
		return 0, false
	}
	return weft.NICID(n - 1), true
}

// Destination is the address that a packet is for; it is not valid where the packet is none of IP.
func Destination(packet []byte) netip.Addr {
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(packet[16:20]))
	case len(packet) >= 40 && packet[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(packet[24:40]))
	}
	return netip.Addr{}
}

// WriteHosts writes a file of hosts, as /etc/hosts is, with the NICs of these names.
func WriteHosts(w io.Writer, names []string) error {
	text := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	for i, name := range names {
		id := weft.NICID(i)
		text += fmt.Sprintf("%s %s\n%s %s\n", Address4(id), name, Address6(id), name)
	}
	_, err := io.WriteString(w, text)
	return err
}
