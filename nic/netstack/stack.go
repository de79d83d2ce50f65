// Package netstack has TCP and UDP on a NIC without any kernel: programs of this process dial and
// listen through the fabric. The stack is gVisor's.
package netstack

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic/ip"
)

// Config of a stack. ID, Port and Lookup are required.
type Config struct {
	ID     weft.NICID
	Port   Port                                  // of that NIC; the stack closes it
	MTU    int                                   // bytes of a packet, see [ip.CheckMTU]; 0: [ip.DefaultMTU]
	Lookup func(name string) (weft.NICID, error) // of a NIC
}

// Port is what a stack sends and takes packets by; [ip.Port] is one.
type Port interface {
	Send(packet []byte) error    // waits for room
	TrySend(packet []byte) error // does not
	Receive(take func(packet []byte)) error
	Close()
}

// Stack is TCP and UDP on a NIC. Its methods may be called by several goroutines.
type Stack struct {
	cfg     Config
	stack   *stack.Stack
	running sync.WaitGroup // what takes packets from the port
	close   func()
}

// card is the number of the one interface of a stack.
const card = 1

// New starts a stack, which ends with Close.
func New(cfg Config) (*Stack, error) {
	if cfg.MTU == 0 {
		cfg.MTU = ip.DefaultMTU
	}
	if err := ip.CheckMTU(cfg.MTU); err != nil {
		return nil, err
	}
	s := &Stack{cfg: cfg, stack: stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{
			tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6,
		},
		HandleLocal: true,
	})}
	s.close = sync.OnceFunc(s.end)
	if err := s.configure(); err != nil {
		s.close()
		return nil, fmt.Errorf("stack of NIC %d: %s", cfg.ID, err)
	}
	return s, nil
}

func (s *Stack) configure() tcpip.Error {
	l := &link{port: s.cfg.Port, mtu: uint32(s.cfg.MTU)}
	sack, control := tcpip.TCPSACKEnabled(true), tcpip.CongestionControlOption("cubic")
	// RACK, gVisor's default, is off: with it a connection that loses packets may stop sending for good,
	// and one whose packets are reordered sends more than twice as many of them again.
	recovery := tcpip.TCPRecovery(0)
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &control, &recovery} {
		if err := s.stack.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return err
		}
	}
	if err := s.stack.CreateNIC(card, l); err != nil {
		return err
	}
	routes := []tcpip.Route{}
	for _, of := range []struct {
		protocol tcpip.NetworkProtocolNumber
		address  netip.Addr
		network  netip.Prefix
	}{
		{ipv4.ProtocolNumber, ip.Address4(s.cfg.ID), ip.Network4},
		{ipv6.ProtocolNumber, ip.Address6(s.cfg.ID), ip.Network6},
	} {
		with := tcpip.AddressWithPrefix{Address: address(of.address), PrefixLen: of.network.Bits()}
		if err := s.stack.AddProtocolAddress(card, tcpip.ProtocolAddress{Protocol: of.protocol, AddressWithPrefix: with},
			stack.AddressProperties{}); err != nil {
			return err
		}
		routes = append(routes, tcpip.Route{Destination: with.Subnet(), NIC: card})
	}
	s.stack.SetRouteTable(routes)
	s.running.Go(func() {
		for s.cfg.Port.Receive(l.deliver) == nil {
		}
	})
	return nil
}

// Close ends the stack and its port. Connections that are open break off.
func (s *Stack) Close() { s.close() }

// endTime is how long the NIC may take to take what the ends of connections tell their peers.
// Chosen by us.
const endTime = time.Second

func (s *Stack) end() {
	over := make(chan struct{})
	go func() { s.stack.Close(); close(over) }()
	select {
	case <-over:
	case <-time.After(endTime): // the NIC holds back, and who waits to send holds a connection
	}
	s.cfg.Port.Close() // who waits to send goes on
	<-over
	s.running.Wait()
	s.stack.Wait()
}

// DialContext connects to an address, as "n111:80", as [net.Dialer] does: over tcp, tcp4, tcp6,
// udp, udp4 or udp6.
func (s *Stack) DialContext(ctx context.Context, network, to string) (net.Conn, error) {
	transport, protocol, at, err := s.resolve(network, to)
	if err == nil && at.Addr == (tcpip.Address{}) {
		err = fmt.Errorf("which NIC? name it, as n000:80")
	}
	if err == nil && transport == "tcp" {
		return gonet.DialContextTCP(ctx, s.stack, at, protocol)
	}
	if err == nil {
		return gonet.DialUDP(s.stack, nil, &at, protocol)
	}
	return nil, fmt.Errorf("dial %s %s: %w", network, to, err)
}

// Listen takes connections over tcp, tcp4 or tcp6 at a port, as ":80"; port 0 is one that is free.
// Over tcp alone these are of IPv4 and IPv6.
func (s *Stack) Listen(network, at string) (net.Listener, error) {
	transport, protocol, local, err := s.resolve(network, at)
	if err == nil && transport != "tcp" {
		err = net.UnknownNetworkError(network)
	}
	if err == nil {
		return gonet.ListenTCP(s.stack, local, protocol)
	}
	return nil, fmt.Errorf("listen %s %s: %w", network, at, err)
}

// ListenPacket takes datagrams over udp, udp4 or udp6 at a port.
func (s *Stack) ListenPacket(network, at string) (net.PacketConn, error) {
	transport, protocol, local, err := s.resolve(network, at)
	if err == nil && transport != "udp" {
		err = net.UnknownNetworkError(network)
	}
	if err == nil {
		return gonet.DialUDP(s.stack, &local, nil, protocol)
	}
	return nil, fmt.Errorf("listen %s %s: %w", network, at, err)
}

// resolve reads an address. One without a host is of all addresses of the NIC.
func (s *Stack) resolve(network, text string) (
	transport string, p tcpip.NetworkProtocolNumber, at tcpip.FullAddress, err error,
) {
	six := false
	switch network {
	case "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6":
		transport, six = network[:3], network[3:] == "6"
	default:
		return "", 0, at, net.UnknownNetworkError(network)
	}
	host, service, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, at, err
	}
	number, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return "", 0, at, fmt.Errorf("a port is 0 to 65535, not %q", service)
	}
	at = tcpip.FullAddress{NIC: card, Port: uint16(number)}
	if host == "" {
		if six || network == transport {
			return transport, ipv6.ProtocolNumber, at, nil
		}
		return transport, ipv4.ProtocolNumber, at, nil
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		id, err := s.cfg.Lookup(host)
		if err != nil {
			return "", 0, at, err
		}
		if a = ip.Address4(id); six {
			a = ip.Address6(id)
		}
	}
	if at.Addr = address(a); a.Is4() {
		return transport, ipv4.ProtocolNumber, at, nil
	}
	return transport, ipv6.ProtocolNumber, at, nil
}

func address(a netip.Addr) tcpip.Address {
	if a.Is4() {
		return tcpip.AddrFrom4(a.As4())
	}
	return tcpip.AddrFrom16(a.As16())
}

// mustWait reports whether whoever sends a packet waits for room: TCP does, which sends from
// goroutines of its own. What the stack answers at once, it sends in the goroutine that takes
// packets, which must not wait, or two stacks would wait for each other; and datagrams may be lost.
func mustWait(packet []byte) bool {
	s, ok := ip.ReadSegment(packet)
	return ok && !s.Reset
}
