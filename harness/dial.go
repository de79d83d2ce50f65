package harness

import (
	"context"
	"net"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
	"github.com/weft-fabric/weft/nic/netstack"
)

// MTU sets how many bytes a packet of [Harness.Net] has at most, IP header included:
// [ip.MinMTU] to [ip.MaxMTU], 1,500 unless given.
func MTU(bytes int) Option { return func(c *config) { c.mtu = bytes } }

// Net is the TCP and UDP stack of a NIC, until the test ends: for programs of the test that dial
// and listen by themselves, as http.Transport does with DialContext. Its methods may be called by
// any goroutine, and return their errors. The fabric must be live.
func (h *Harness) Net(nic string) *netstack.Stack {
	h.t.Helper()
	id := h.nicID(nic)
	if s := h.stacks[id]; s != nil {
		return s
	}
	if h.cfg.virtual {
		h.fail("harness: %s: connections have clocks of their own: leave Virtual out to dial and listen", nic)
	}
	s, err := netstack.New(netstack.Config{
		ID: id, Port: ip.Open(h.fabric.LocalNIC(id), id, len(h.Topology().NICs)), MTU: h.cfg.mtu,
		Lookup: h.Topology().NICByName,
	})
	if err != nil {
		h.fail("harness: %s: %v", nic, err)
	}
	if h.stacks == nil {
		h.stacks = map[weft.NICID]*netstack.Stack{}
	}
	h.stacks[id] = s
	return s
}

// Dial connects from a NIC through the fabric, as Dial("n000", "tcp", "n111:80"). The network is
// tcp, tcp4, tcp6, udp, udp4 or udp6; a NIC is named, or one of its addresses ([ip.Address4] and
// [ip.Address6]). What links lose, TCP sends again. The caller closes the connection.
func (h *Harness) Dial(nic, network, to string) net.Conn {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), h.cfg.patience)
	defer cancel()
	c, err := h.Net(nic).DialContext(ctx, network, to)
	if err != nil {
		h.fail("harness: %s: %v", nic, err)
	}
	return c
}

// Listen takes connections at a port of a NIC, as Listen("n111", "tcp", ":80"). The caller closes
// the listener.
func (h *Harness) Listen(nic, network, at string) net.Listener {
	h.t.Helper()
	l, err := h.Net(nic).Listen(network, at)
	if err != nil {
		h.fail("harness: %s: %v", nic, err)
	}
	return l
}
