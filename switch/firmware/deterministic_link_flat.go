package firmware

import "github.com/weft-fabric/weft"

// DeterministicLinkFlat takes every decision of [DeterministicLink], but has one virtual channel:
// the layer a packet is in is bit 0 of the misroute vector in its header, and packets of both
// layers share all queues. It is there to be measured: as Sem-Jacobsen, Skeie, Lysne, Duato:
// Dynamic Fault Tolerance in Fat Trees, section IX compares its methods with one channel each, and
// to show what the second layer is for. With one dead link no packets can wait for each other in a
// circle, with two they can.
func DeterministicLinkFlat() Firmware {
	return Firmware{
		Name: "deterministic-link-flat", On: Trees, VCs: 1, Tolerance: Tolerance{Links: true, One: true},
		About: "fat trees: deterministic-link with both layers in one virtual channel, to be measured: " +
			"two dead links can deadlock it",
		Route: deterministicLinkFlat, Check: checkUniform,
		// The decision depends on the arrival, on the layer, which a stranded packet still has as it
		// came, and on which links are dead, and no candidate is dead: what can wait in a circle can
		// without requeue.
		CheckRequeue: mayRequeue, DestinationBased: true, Cyclic: true, Notifies: true,
	}
}

// flatLayer is the bit of the misroute vector that says the re-routing layer.
const flatLayer = 1

func deterministicLinkFlat(pkt *weft.Header, at Arrival, sw View) Decision {
	at.VC = normalLayer
	if pkt.Misroute&flatLayer != 0 {
		at.VC = rerouteLayer
	}
	d := deterministicLink(pkt, at, sw)
	for i := range d.Candidates {
		c := &d.Candidates[i]
		c.Fields.Misroute &^= flatLayer
		if c.VC == rerouteLayer {
			c.Fields.Misroute |= flatLayer
		}
		c.VC = 0
	}
	return d
}
