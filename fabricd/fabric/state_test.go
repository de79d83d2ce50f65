package fabric_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// patient ends do not take a neighbour for dead because the machine is busy.
var patient = harness.Liveness(50*time.Millisecond, 8)

// stateOf is the state of s0.00-s1.00.
func stateOf(h *harness.Harness) fabric.LinkState {
	for _, l := range h.Fabric().LinkStates() {
		if l.Link == "s0.00-s1.00" {
			return l
		}
	}
	return fabric.LinkState{}
}

// settles waits until s0.00-s1.00 is in that state.
func settles(h *harness.Harness, state string, a, b bool) fabric.LinkState {
	h.Eventually(func() error {
		if s := stateOf(h); s.State != state || s.AUp != a || s.BUp != b {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	return stateOf(h)
}

func TestTheStateOfALinkSaysWhatWasDoneToEachDirectionAndWhatItsEndsMakeOfIt(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, smallTree, patient)
	for _, l := range h.Fabric().LinkStates() {
		require.True(t, l.Well() && l.AUp && l.BUp, "%+v", l)
	}
	for _, c := range []struct {
		silent    bool
		direction fault.Direction
		ab, ba    string
	}{
		{false, fault.Both, fabric.CutSignalled, fabric.CutSignalled},
		{false, fault.To, fabric.CutSignalled, ""},
		{false, fault.From, "", fabric.CutSignalled},
		{true, fault.Both, fabric.CutSilent, fabric.CutSilent},
		{true, fault.To, fabric.CutSilent, ""},
		{true, fault.From, "", fabric.CutSilent},
	} {
		h.Apply(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00", Silent: c.silent, Direction: c.direction})
		s := settles(h, fabric.LinkCut, false, false)
		assert.Equal(t, []string{c.ab, c.ba}, []string{s.CutAB, s.CutBA}, "%+v", c)
		assert.False(t, s.Well())
		h.Heal()
		assert.True(t, stateOf(h).Well())
	}

	h.Cut("s0.00", "s1.00", harness.OneWay)
	h.CutSilently("s1.00", "s0.00", harness.OneWay)
	s := stateOf(h)
	assert.Equal(t, []string{fabric.CutSignalled, fabric.CutSilent}, []string{s.CutAB, s.CutBA})
	h.Heal()

	h.Impair("s1.00", "s0.00", fault.Impair{Loss: new(fault.Percent(5)), Rate: new(fault.Rate(1e6))}, harness.OneWay)
	s = stateOf(h)
	assert.Equal(t, []string{"", "loss 5%, rate 1 MB/s", fabric.LinkUp}, []string{s.SuffersAB, s.SuffersBA, s.State})
	assert.False(t, s.Well(), "it is up, but suffers")
	h.Heal()

	h.Crash("s1.00")
	s = settles(h, fabric.LinkDown, false, false)
	assert.Empty(t, s.CutAB+s.CutBA)
	assert.False(t, s.Well())
	h.Heal()
	assert.True(t, settles(h, fabric.LinkUp, true, true).Well())
}

func TestAFlappingLinkSaysSoWhetherItIsDownOrUp(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, patient)
	h.Flap("s0.00", "s1.00", fault.Flap{Period: fault.Duration(40 * time.Millisecond)}, harness.OneWay)
	for range 2 {
		h.Eventually(func() error {
			if s := stateOf(h); s.State != fabric.LinkUp || !s.Flapping || s.CutAB != "" {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
		assert.False(t, stateOf(h).Well())
		h.Eventually(func() error {
			if s := stateOf(h); s.CutAB != fabric.CutSignalled || !s.Flapping || s.CutBA != "" {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
	}
	h.Restore("s0.00", "s1.00")
	assert.True(t, stateOf(h).Well())
}

func TestARepairDoesNotWaitForALinkThatDampingHoldsDownAndSaysSo(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, patient,
		harness.Damping(settings.Damping{HalfLife: "60s", Suppress: 1.5, Reuse: 1, Max: "600s"}))
	cut := fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00"}
	restore := fault.Spec{Do: fault.VerbRestore, A: "s0.00-s1.00"}
	h.Apply(cut)
	assert.Empty(t, h.Apply(restore)[0].Note, "once is not flapping")
	h.Apply(cut)
	other := fault.Spec{Do: fault.VerbCut, A: "s0.01-s1.01"}
	h.Apply(other)
	out := h.Apply(restore, fault.Spec{Do: fault.VerbRestore, A: "s0.01-s1.01"})
	assert.Equal(t, "s0.00-s1.00 has flapped: damping keeps it down for now", out[0].Note)
	assert.Empty(t, out[1].Note, "it has not")
	s := stateOf(h)
	assert.True(t, s.HeldA && s.HeldB && !s.AUp && !s.BUp, "%+v", s)
	assert.Equal(t, fabric.LinkComing, s.State)
	assert.False(t, s.Well())
}

func TestDampingWorksWithoutHellosToo(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, harness.NoLiveness(),
		harness.Damping(settings.Damping{HalfLife: "60s", Suppress: 0.5, Reuse: 0.25, Max: "600s"}))
	h.Cut("s0.00", "s1.00")
	h.Restore("s0.00", "s1.00")
	assert.True(t, stateOf(h).HeldA)
}

func TestEndingTheImpairmentOfASoundLinkDoesNothing(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, patient)
	last := h.Fabric().Events().Last()
	sound := fault.Impair{
		Loss: new(fault.Percent), Delay: new(fault.Duration), Jitter: new(fault.Duration),
		Rate: new(fault.Rate),
	}
	spec := fault.Spec{Do: fault.VerbImpair, A: "s0.00-s1.00", Impair: &sound}
	assert.False(t, h.Apply(spec)[0].Changed)
	assert.Equal(t, last, h.Fabric().Events().Last())
	h.Impair("s0.00", "s1.00", fault.Impair{Loss: new(fault.Percent(5))}, harness.OneWay)
	assert.True(t, h.Apply(spec)[0].Changed)
	assert.True(t, stateOf(h).Well())
}

func TestTheStateOfALinkKeepsItsNamesInJSON(t *testing.T) {
	t.Parallel()
	h := harness.New(t, "ring:3", harness.Firmware(switching.Firmware{Name: "clockwise", Route: clockwise}))
	data, err := json.Marshal(h.Fabric().LinkStates()[0])
	require.NoError(t, err)
	require.JSONEq(t,
		`{"link":"s0-s1","a":"s0","a_port":1,"b":"s1","b_port":0,"state":"up","cut_ab":"","cut_ba":"","flapping":false,
		"suffers_ab":"","suffers_ba":"","a_up":true,"b_up":true,"held_a":false,"held_b":false,
		"sent_ab":0,"sent_ba":0,"lost_wire":0,"lost_queued":0}`, string(data))
}
