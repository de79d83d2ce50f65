package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Both firmwares claim that any two links between switches may be dead. Every pair of the 128 is
// cut at one instant in a saturated fabric, stays so until packets generated since have arrived,
// and is repaired; then the fabric drains, and the ledger must balance with nothing discarded.
func TestEveryPairOfLinksCutAtOneInstantUnderLoadDiscardsNothing(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	every := testenv.Levels(1, 350, 350)
	spec, nics := loadedTree()
	if every > 1 {
		t.Logf("one pair of %d: WEFT_TEST=soak cuts all of them", every)
	}
	for name, f := range linkFirmware {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, spec, harness.Firmware(f), saturating(nics), harness.NICs(settings.NIC{QueueBytes: 1 << 10}))
			load := h.Fabric().Traffic()
			cut := func(l topology.Link) fault.Spec { return fault.Spec{Do: fault.VerbCut, A: l.Name} }
			links := betweenSwitches(h.Topology())
			n, done := 0, 0
			for i, a := range links {
				for _, b := range links[:i] {
					if n++; n%every != 0 {
						continue
					}
					done++
					require.NoError(t, h.Fabric().SetTraffic(load))
					more(h, 64)
					_, err := h.Fabric().Apply(t.Context(), cut(a), cut(b))
					require.NoError(t, err)
					more(h, 256)
					h.Heal()
					l := h.Quiesce()
					require.True(t, l.Balanced && l.Discarded == 0 && l.InFlight == 0, "%s and %s: %+v", a.Name, b.Name, l)
					fresh(h)
				}
			}
			require.Equal(t, len(links)*(len(links)-1)/2, n)
			require.NoError(t, h.Fabric().LossesExplained())
			require.NoError(t, h.Fabric().SetTraffic(load))
			more(h, 10_000)
			h.RequireLedger()
			require.Zero(t, h.Fabric().ReroutedInLastGeneration())
			t.Logf("%d pairs, %d re-routed", done, h.Fabric().Totals().Rerouted)
		})
	}
}
