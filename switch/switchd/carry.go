package switchd

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/wire"
)

// Carrier takes what packets carry that a NIC receives. It is called under the core's lock, in
// order: it must return at once and must not call the driver. The payloads of packets are its own
// from then on, the slice is not.
type Carrier interface {
	Carried(packets []weft.Header)
	// Room tells that the NIC takes packets again after it has refused one.
	Room()
}

// Attach has packets with payloads go to c, in place of who had them before; nil: to nobody.
func (d *Driver) Attach(c Carrier) {
	d.lock()
	d.carrier = c
	d.mu.Unlock()
}

// Payloads are the buffers with what packets of this node carry.
func (d *Driver) Payloads() *wire.Payloads { return d.cfg.Payloads }

// carry gives payloads to whoever takes them. The caller holds the lock.
func (d *Driver) carry(out *weft.Actions) {
	switch {
	case d.carrier == nil:
		d.cfg.Payloads.FreeOf(out.Carried)
		return
	case len(out.Carried) > 0:
		d.carrier.Carried(out.Carried)
	}
	if out.Room {
		d.carrier.Room()
	}
}

// dispatchParts sends a frame with payloads, as several where the transport does not take it whole.
// The caller holds s.mu.
func (d *Driver) dispatchParts(s *sender, to wire.Sender, k *work, sum wire.LinkSum, due, now weft.Time) {
	d.cfg.Payloads.Load(&k.frame)
	for rest := k.frame; len(rest.Packets) > 0; {
		part := rest
		rest = wire.Fit(&part, d.cfg.MaxFrame)
		d.dispatchFrame(s, to, k, &part, sum, due, now)
	}
	d.cfg.Payloads.FreeOf(k.frame.Packets)
}
