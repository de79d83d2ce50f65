package harness_test

import (
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness"
	switching "github.com/weft-fabric/weft/switch"
)

// clockwise is a routing function of one's own: for rings, always to the next switch, until the packet is where its NIC is.
// In the topology ring:n port 0 of a switch leads back, port 1 on, and port 2 to its NIC.
type clockwise struct{}

func (clockwise) Route(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	out, rule := weft.PortID(1), "clockwise"
	if uint32(sw.Place().Switch) == uint32(pkt.Dst) {
		out, rule = 2, "deliver"
	}
	if !sw.PortUp(out) {
		return switching.Discard("the link is dead")
	}
	return switching.To(sw, out, 0, pkt.Fields, rule)
}

// TestFirstFirmware is a first test of a firmware: a packet arrives; a link is cut and the packet ends by the rule meant for
// that; the link is back and so is the way. At the end every packet is accounted for.
func TestFirstFirmware(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", harness.Firmware(clockwise{}))

	path := h.RequireDelivered(h.Send("n0", "n2"))
	if len(path.Hops) != 3 {
		t.Errorf("expected 3 switches:\n%v", path)
	}
	h.Cut("s1", "s2")
	h.RequireDiscarded(h.Send("n0", "n2"), "the link is dead")
	h.RequireDelivered(h.Send("n2", "n1")) // by s3 and s0

	h.Restore("s1", "s2")
	h.RequireDelivered(h.Send("n0", "n2"))
	h.RequireLedger(harness.LostAtMost(0))
}
