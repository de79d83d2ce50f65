package harness_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// link is the state of the link between s0.00 and s1.00.
func linkState(t *testing.T, h *harness.Harness) fabric.LinkState {
	t.Helper()
	for _, l := range h.Fabric().LinkStates() {
		if l.Link == "s0.00-s1.00" {
			return l
		}
	}
	t.Fatal("no link s0.00-s1.00")
	return fabric.LinkState{}
}

func TestEveryKindOfFaultIsSetAndHealed(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, tree, harness.Traffic("uniform:0.2"), harness.Liveness(50*time.Millisecond, 8))
	h.Eventually(delivered(h, 50))
	h.Cut("s0.00", "s1.00")
	assert.Equal(t, fabric.CutSignalled, linkState(t, h).CutAB)
	assert.Equal(t, []string{"s0.00-s1.00"}, h.Heal())

	silent := h.AwaitSeen(h.CutSilently("s0.00", "s1.00"), 2)
	assert.Equal(t, fault.BySilence, silent.Detected[0].How)
	assert.Equal(t, fabric.CutSilent, linkState(t, h).CutBA)
	h.Restore("s0.00", "s1.00")

	h.Flap("s0.00", "s1.00", fault.Flap{Period: fault.Duration(time.Hour)})
	assert.True(t, linkState(t, h).Flapping)
	h.Restore("s0.00", "s1.00")

	h.Impair("s0.00", "s1.00", fault.Impair{Loss: new(fault.Percent(30))})
	h.Impair("s0.00", "s1.00", fault.Impair{Delay: new(fault.Duration(time.Millisecond))}, harness.OneWay)
	assert.Equal(t, "loss 30%, delay 1ms", linkState(t, h).SuffersAB)
	assert.Equal(t, "loss 30%", linkState(t, h).SuffersBA)
	h.Restore("s0.00", "s1.00")

	h.Crash("s0.00", harness.For(time.Millisecond))
	h.Eventually(func() error {
		if down := h.Fabric().CrashedSwitches(); len(down) > 0 {
			return fmt.Errorf("%v", down)
		}
		return nil
	})
	out := h.Apply(
		fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00", Silent: true, Direction: fault.From},
		fault.Spec{Do: fault.VerbCrash, A: "s0.01"},
	)
	assert.Contains(t, out[1].Fault.SharedWith, out[0].Fault.ID)
	h.Heal()
	assert.True(t, linkState(t, h).Well())
	assert.Len(t, h.Faults(), 8)
	h.RequireLedger()
}

func TestOneWayIsFromTheEndNamedFirst(t *testing.T) {
	t.Parallel()
	h := harness.New(t, tree, harness.NoLiveness())
	h.Cut("s0.00", "s1.00", harness.OneWay)
	assert.Equal(t, []string{fabric.CutSignalled, ""}, []string{linkState(t, h).CutAB, linkState(t, h).CutBA})
	h.Cut("s1.00", "s0.00", harness.OneWay)
	assert.Equal(t, fabric.CutSignalled, linkState(t, h).CutBA)
	h.Restore("s1.00", "s0.00", harness.OneWay)
	assert.Equal(t, []string{fabric.CutSignalled, ""}, []string{linkState(t, h).CutAB, linkState(t, h).CutBA})
	h.Flap("s1.00", "s0.00", fault.Flap{Period: fault.Duration(time.Hour)}, harness.OneWay, harness.Silently)
	assert.Equal(t, fabric.CutSilent, linkState(t, h).CutBA)
}

func TestWithoutLivenessASilentCutIsNeverNoticed(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, "ring:4", routed("clockwise", clockwise), harness.Liveness(time.Millisecond, 2),
		harness.NoLiveness())
	h.CutSilently("s1", "s2")
	path := h.Path(h.Send("n0", "n2"))
	_, err := h.Fabric().Quiesce(t.Context())
	var stuck *fabric.StuckError
	require.ErrorAs(t, err, &stuck, "nobody knows that it is lost: %v", path)
	assert.Empty(t, h.Faults()[0].Detected)
}

func TestDampingHoldsAFlappingLinkDown(t *testing.T) {
	t.Parallel()
	h := harness.New(t, tree, harness.Damping(settings.Damping{HalfLife: "60s", Suppress: 3, Reuse: 1, Max: "600s"}))
	for range 4 {
		h.Cut("s0.00", "s1.00")
		h.Restore("s0.00", "s1.00")
	}
	s := linkState(t, h)
	assert.True(t, s.HeldA && s.HeldB, "%+v", s)
	assert.Equal(t, fabric.LinkComing, s.State)
}

func TestAnImpairmentThatEndsDoesNotHoldUpWhatWasSentBeforeOrIsSentAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		impair fault.Impair
	}{
		{"delay", fault.Impair{Delay: new(fault.Duration(time.Hour))}},
		{"jitter", fault.Impair{Delay: new(fault.Duration(time.Hour)), Jitter: new(fault.Duration(time.Minute))}},
		{"rate", fault.Impair{Rate: new(fault.Rate(1))}},
	} {
		for _, silent := range []harness.Option{harness.NoLiveness(), harness.Liveness(50*time.Millisecond, 8)} {
			h := harness.New(t, "ring:4", routed("clockwise", clockwise), silent)
			if _, err := h.Fabric().Apply(t.Context(),
				fault.Spec{Do: fault.VerbImpair, A: "s0", B: "s1", Impair: &c.impair}); err != nil {
				require.ErrorContains(t, err, "too long beside the 400ms after which a neighbour counts as dead")
				continue
			}
			h.Send("n0", "n1")
			h.Send("n0", "n1")
			h.Eventually(func() error { // they are on their way, or the link is given up
				if l := h.Fabric().Ledger(); l.Waiting.Wires == 0 && l.Discarded == 0 && l.Lost == 0 {
					return fmt.Errorf("%+v", l)
				}
				return nil
			})
			h.Heal()
			h.RequireDelivered(h.Send("n0", "n1"))
			h.RequireLedger()
		}
	}
}

// requeues is clockwise, whose packets may be routed again: they never wait for each other in a
// ring with a link less.
var requeues = switching.Firmware{
	Name: "requeues", Route: clockwise, CheckRequeue: func(*weft.Place) error { return nil },
}

func TestRequeueSavesWhatIsQueuedForADeadLink(t *testing.T) {
	t.Parallel()
	for _, requeue := range []bool{false, true} {
		options := []harness.Option{harness.Firmware(requeues), harness.NoLiveness()}
		if requeue {
			options = append(options, harness.Requeue())
		}
		h := harness.New(t, "ring:4", options...)
		h.Impair("s1", "s2", fault.Impair{Rate: new(fault.Rate(1))}, harness.OneWay)
		for range 3 {
			h.Send("n0", "n2")
		}
		h.Eventually(func() error { // the first leaves at once, the next in minutes
			if n := h.Fabric().Switch(1).Ports[1].VCs[0].Output; n < 2 {
				return fmt.Errorf("%d packets are queued", n)
			}
			return nil
		})
		r := h.Cut("s1", "s2")
		assert.Equal(t, requeue, r.Requeued > 0, "%+v", r)
		assert.Equal(t, !requeue, r.LostQueued > 0, "%+v", r)
		h.Heal()
		h.RequireLedger()
	}
}

func TestFaultsThatCannotBeFailTheTest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		body func(h *harness.Harness)
		want string
	}{
		{
			"period", func(h *harness.Harness) { h.Flap("s0.00", "s1.00", fault.Flap{}) },
			"flap s0.00-s1.00, period 0s, down 50% of it: flap without a period",
		},
		{"nothing", func(h *harness.Harness) { h.Impair("s0.00", "s1.00", fault.Impair{}) }, "impair without a figure"},
		{
			"silent crash", func(h *harness.Harness) { h.Crash("s0.00", harness.Silently) },
			"silent crash: its neighbours lose signal",
		},
		{"direction", func(h *harness.Harness) { h.Crash("s0.00", harness.OneWay) }, "only a link has directions"},
		{
			"name", func(h *harness.Harness) { h.CutSilently("s0.00", "s1.0O") },
			`unknown switch or NIC "s1.0O": did you mean "s1.00"?`,
		},
		{
			"no change", func(h *harness.Harness) { h.Impair("s0.00", "s1.00", fault.Impair{Loss: new(fault.Percent)}) },
			"it is not impaired",
		},
		{"atomic", func(h *harness.Harness) {
			h.Apply(fault.Spec{Do: fault.VerbCrash, A: "s0.00"}, fault.Spec{Do: fault.VerbCrash, A: "s9.00"})
		}, `unknown switch "s9.00"`},
		{"never seen", func(h *harness.Harness) {
			h.AwaitSeen(h.Impair("s0.00", "s1.00", fault.Impair{Loss: new(fault.Percent(1))}), 1)
		}, "0 ends have found out, expected 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text, failed := failing(t, "TestMine", func(t testing.TB) {
				c.body(harness.New(t, tree, harness.Patience(200*time.Millisecond)))
			})
			assert.True(t, failed)
			assert.Contains(t, text, c.want)
			assert.Contains(t, text, "run it again")
		})
	}
}

func TestOverNATSFaultsDoWhatTheyDoInMemory(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	h := harness.New(t, tree, live.OverNATS(), harness.Traffic("uniform:0.2"), harness.Liveness(50*time.Millisecond, 8))
	h.Eventually(delivered(h, 50))
	h.AwaitSeen(h.CutSilently("s0.00", "s1.00", harness.OneWay), 2)
	h.Cut("s0.01", "s1.01", harness.For(20*time.Millisecond))
	h.Flap("s0.10", "s1.00", fault.Flap{Period: fault.Duration(20 * time.Millisecond), Count: 3})
	h.Impair("s0.11", "s1.01", fault.Impair{Delay: new(fault.Duration(time.Millisecond))})
	h.Eventually(delivered(h, h.Fabric().Ledger().Delivered+50))
	h.Heal()
	h.RequireLedger()
	require.Empty(t, h.Fabric().LinksDown())
}
