package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestOverNATSThreeLinksAreCutUnderLoadAndHeal(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	spec, _ := loadedTree()
	names := []string{"s0.00-s1.00", "s1.11-s2.12", "s0.21-s1.31"} // those of scenarios/heal.yaml
	if spec == three {
		names = names[:2] // as many as a 3-ary tree bears
	}
	for name, f := range linkFirmware {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, spec, live.OverNATS(), harness.Firmware(f), loaded())
			more(h, 100)
			var set []topology.Link
			for _, name := range names {
				l, err := h.Topology().LinkByName(name)
				require.NoError(t, err)
				set = append(set, l)
				cut(h, l)
				more(h, 100)
			}
			for _, l := range set {
				restore(h, l)
			}
			more(h, 100)
			fresh(h)
			healed(t, h)
			allPairs(t, h)
			assert.Zero(t, h.Fabric().ReroutedInLastGeneration())
		})
	}
}

func TestOverNATSASwitchThatCrashesUnderLoadComesBack(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	spec, _ := loadedTree()
	h := harness.New(t, spec, live.OverNATS(), harness.Firmware(linkFirmware["adaptive-link"]), loaded())
	more(h, 100)
	fault := h.Crash("s0.12")
	more(h, 100)
	h.Restart("s0.12")
	more(h, 100)
	assert.Equal(t, fault.Lost(), h.RequireLedger().Lost)
	fresh(h)
	allPairs(t, h)
}
