package around_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/around"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// discarding is the firmware with dead=discard.
func discarding(t *testing.T) switching.Firmware {
	t.Helper()
	fw := around.New()
	if fw.Name += ":dead=discard"; !fw.Options[0].Set("discard") {
		t.Fatal("the option dead does not take discard")
	}
	return fw
}

// Live: a packet arrives, turns back at a link that is cut, and passes it when it is there again.
func TestACut(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", harness.Firmware(around.New()))
	h.RequireDelivered(h.Send("n0", "n2"))
	h.RequirePath("n0", "n2", "s0", "s1", "s2")

	h.Cut("s1", "s2")
	path := h.RequireDelivered(h.Send("n0", "n2"))
	if got := strings.Join(path.Switches(), " "); got != "s0 s1 s0 s3 s2" {
		t.Errorf("the packet took %s", got)
	}

	h.Restore("s1", "s2")
	h.RequireDelivered(h.Send("n0", "n2"))
	h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
}

func TestAPacketIsDiscardedAtACut(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:4", harness.Firmware(discarding(t)))
	h.Cut("s1", "s2")
	h.RequireDiscarded(h.Send("n0", "n2"), "the link is dead")
	h.RequireDelivered(h.Send("n2", "n1")) // by s3 and s0
	h.RequireLedger()
}

// A cut under traffic, in virtual time, with the seeds 1 to 300: each is another run.
func TestACutUnderTraffic(t *testing.T) {
	t.Parallel()
	harness.Seeds(t, 300, "ring:4", func(h *harness.Harness) {
		h.Pause(10 * time.Millisecond)
		h.Cut("s1", "s2")
		h.Pause(10 * time.Millisecond)
		h.Restore("s1", "s2")
		h.RequireLedger(harness.NoneDiscarded)
	}, harness.Firmware(around.New()), harness.Traffic("uniform:0.3"))
}

// Switch after switch takes the firmware in place of one that discards, under traffic. None is
// lost, and then packets turn back at a cut.
func TestARollingUpgrade(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:6", harness.Firmware(discarding(t)), harness.Traffic("uniform:0.3"))
	for _, s := range h.Topology().Switches {
		h.Load(s.Name, around.New())
		h.Pause(10 * time.Millisecond)
	}
	h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
	h.Cut("s1", "s2")
	h.RequireDelivered(h.Send("n0", "n2"))
}

// Every pair is connected with any one link dead, and no packets can wait for each other for ever:
// every state that a packet can come to is looked at.
func TestIsProven(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse("ring:6")
	if err != nil {
		t.Fatal(err)
	}
	r, err := verify.Run(t.Context(), verify.Config{
		Graph: g, Firmware: around.New(), Sets: verify.Sets{Max: 1, Kind: verify.Links},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Pass {
		t.Errorf("%v\n%v", r, r.Counter)
	}
}

// Counterexamples of bugs that are mended stay as scenarios. This is go run ./cmd/fabricd run
// --virtual.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scenarios:", err)
	}
	if err := cli.Firmware(around.New)(); err != nil {
		t.Fatal(err)
	}
	fabricd := cli.Command()
	fabricd.SetArgs(append([]string{"run", "--virtual"}, files...))
	if err := fabricd.Execute(); err != nil {
		t.Error(err)
	}
}
