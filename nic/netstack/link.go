package netstack

import (
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// link is a port as the stack sees it. It implements [stack.LinkEndpoint].
type link struct {
	port Port
	mtu  uint32

	mu sync.RWMutex
	to stack.NetworkDispatcher // guarded by mu; nil: nobody
}

// WritePackets implements [stack.LinkWriter].
func (l *link) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	for n, packet := range list.AsSlice() {
		view := packet.ToView()
		send := l.port.TrySend
		if mustWait(view.AsSlice()) {
			send = l.port.Send
		}
		err := send(view.AsSlice())
		view.Release()
		if err != nil {
			return n, &tcpip.ErrNoBufferSpace{}
		}
	}
	return list.Len(), nil
}

// deliver gives a packet to the stack.
func (l *link) deliver(data []byte) {
	l.mu.RLock()
	to := l.to
	l.mu.RUnlock()
	protocol := header.IPv4ProtocolNumber
	if header.IPVersion(data) == header.IPv6Version {
		protocol = header.IPv6ProtocolNumber
	}
	if to != nil {
		packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(data)})
		to.DeliverNetworkPacket(protocol, packet)
		packet.DecRef()
	}
}

// Attach implements [stack.NetworkLinkEndpoint].
func (l *link) Attach(to stack.NetworkDispatcher) {
	l.mu.Lock()
	l.to = to
	l.mu.Unlock()
}

// IsAttached implements [stack.NetworkLinkEndpoint].
func (l *link) IsAttached() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.to != nil
}

// MTU implements [stack.NetworkLinkEndpoint].
func (l *link) MTU() uint32 { return l.mtu }

// SetMTU implements [stack.NetworkLinkEndpoint]; the MTU stays.
func (*link) SetMTU(uint32) {}

// MaxHeaderLength implements [stack.NetworkLinkEndpoint]: a link has no header of its own.
func (*link) MaxHeaderLength() uint16 { return 0 }

// LinkAddress implements [stack.NetworkLinkEndpoint]: there is none.
func (*link) LinkAddress() tcpip.LinkAddress { return "" }

// SetLinkAddress implements [stack.NetworkLinkEndpoint].
func (*link) SetLinkAddress(tcpip.LinkAddress) {}

// Capabilities implements [stack.NetworkLinkEndpoint]. A kernel may have the other end, so
// checksums are computed and checked.
func (*link) Capabilities() stack.LinkEndpointCapabilities { return 0 }

// Wait implements [stack.NetworkLinkEndpoint].
func (*link) Wait() {}

// ARPHardwareType implements [stack.NetworkLinkEndpoint].
func (*link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }

// AddHeader implements [stack.NetworkLinkEndpoint].
func (*link) AddHeader(*stack.PacketBuffer) {}

// ParseHeader implements [stack.NetworkLinkEndpoint].
func (*link) ParseHeader(*stack.PacketBuffer) bool { return true }

// Close implements [stack.NetworkLinkEndpoint].
func (*link) Close() {}

// SetOnCloseAction implements [stack.NetworkLinkEndpoint].
func (*link) SetOnCloseAction(func()) {}
