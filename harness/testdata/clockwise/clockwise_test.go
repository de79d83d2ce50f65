package clockwise_test

import (
	"testing"
	"time"

	"example.com/clockwise"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/verify"
)

// A packet arrives. A link is cut, and the packet is discarded by the rule meant for that. The link
// is back, and the packet arrives again. No packet is unaccounted for.
func TestACut(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", harness.Firmware(clockwise.New()))

	h.RequireDelivered(h.Send("n0", "n2"))
	h.RequirePath("n0", "n2", "s0", "s1", "s2")

	h.Cut("s1", "s2")
	h.RequireDiscarded(h.Send("n0", "n2"), "the link is dead")
	h.RequireDelivered(h.Send("n2", "n1")) // by s3 and s0

	h.Restore("s1", "s2")
	h.RequireDelivered(h.Send("n0", "n2"))
	h.RequireLedger(harness.LostAtMost(0))
}

// The same under traffic, in virtual time, with the seeds 1 to 100: each is another run.
func TestACutUnderTraffic(t *testing.T) {
	t.Parallel()
	harness.Seeds(t, 100, "ring:4", func(h *harness.Harness) {
		h.Pause(10 * time.Millisecond)
		h.Cut("s1", "s2")
		h.Pause(10 * time.Millisecond)
		h.Restore("s1", "s2")
		h.RequireLedger()
	}, harness.Firmware(clockwise.New()), harness.Traffic("uniform:0.5"))
}

// Without a fault every packet arrives and no two can wait for each other for ever: every state that
// a packet can come to is looked at.
func TestIsProven(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse("ring:4")
	if err != nil {
		t.Fatal(err)
	}
	r, err := verify.Run(t.Context(), verify.Config{Graph: g, Firmware: clockwise.New()})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Pass {
		t.Errorf("%v\n%v", r, r.Counter)
	}
}
