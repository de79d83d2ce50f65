package harness_test

import (
	"testing"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness"
	switching "github.com/weft-fabric/weft/switch"
)

// clockwise is a routing function of one's own: for rings, always to the next switch, until the
// packet is where its NIC is. In the topology ring:n port 0 of a switch leads back, port 1 on, and
// port 2 to its NIC.
func clockwise(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	out, rule := weft.PortID(1), "clockwise"
	if uint32(sw.Place().Switch) == uint32(pkt.Dst) {
		out, rule = 2, "deliver"
	}
	if !sw.PortUp(out) {
		return switching.Discard("the link is dead")
	}
	return switching.To(sw, out, 0, pkt.Fields, rule)
}

// TestFirstFirmware is a first test of a firmware: a packet arrives; a link is cut and the packet
// ends by the rule meant for that; the link is back and so is the way. At the end every packet is
// accounted for.
func TestFirstFirmware(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", harness.Firmware(switching.Firmware{Name: "clockwise", Route: clockwise}))

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

// TestFirstFirmwareForManySeeds tests it in virtual time, each time with another traffic: whatever
// is on its way when the link is cut, every packet is accounted for. A thousand seeds take a
// second.
func TestFirstFirmwareForManySeeds(t *testing.T) {
	t.Parallel()
	harness.Seeds(t, 100, "ring:4", func(h *harness.Harness) {
		h.Pause(10 * time.Millisecond)
		h.Cut("s1", "s2")
		h.Pause(10 * time.Millisecond)
		h.Restore("s1", "s2")
		h.RequireLedger()
	}, harness.Firmware(switching.Firmware{Name: "clockwise", Route: clockwise}), harness.Traffic("uniform:0.5"))
}

// t is that of the test; examples have none.
var t testing.TB

// A silent cut is one that only missing hellos tell of.
func ExampleHarness_CutSilently() {
	h := harness.New(t, "kary-ntree:2,3", harness.Liveness(50*time.Millisecond, 3), harness.Traffic("uniform:0.2"))
	cut := h.CutSilently("s0.00", "s1.00", harness.OneWay) // from s0.00 to s1.00; the way back is sound
	h.AwaitSeen(cut, 2)
	h.Heal()
	h.RequireLedger()
}

// A link that flaps is avoided while it is down.
func ExampleHarness_Flap() {
	h := harness.New(t, "kary-ntree:2,3", harness.Traffic("uniform:0.2"))
	h.Flap("s0.00", "s1.00", fault.Flap{Period: fault.Duration(200 * time.Millisecond), Count: 10})
	h.RequireDelivered(h.Send("n100", "n000"))
	h.Restore("s0.00", "s1.00") // or it ends by itself after ten periods
}

// What a call does not name stays as it is: the link loses a tenth of its packets both ways, and is
// slow one way.
func ExampleHarness_Impair() {
	h := harness.New(t, "kary-ntree:2,3")
	h.Impair("s0.00", "s1.00", fault.Impair{Loss: new(fault.Percent(10))})
	h.Impair("s0.00", "s1.00", fault.Impair{Delay: new(fault.Duration(5 * time.Millisecond))}, harness.OneWay)
	h.Send("n100", "n000")
	h.RequireLedger(harness.LostAtMost(1))
}

// Several faults at one instant: no end is told of anything before both links are cut and the
// switch is dead.
func ExampleHarness_Apply() {
	h := harness.New(t, "kary-ntree:2,3", harness.Requeue(), harness.Traffic("uniform:0.2"))
	h.Apply(
		fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"},
		fault.Spec{Do: fault.VerbCut, A: "s0.10-s1.00", Direction: fault.To, Silent: true},
		fault.Spec{Do: fault.VerbCrash, A: "s0.01", For: fault.Duration(time.Second)},
	)
	h.RequireLedger()
	for _, r := range h.Faults() {
		t.Log(r.Summary())
	}
}
