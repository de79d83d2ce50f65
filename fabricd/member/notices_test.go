package member_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// The switch that discards all that goes to the leaf that is cut off from elsewhere is a process,
// so it tells those notices: the U-turn switch, or with source routing the one that finds no U-turn
// left to splice in.
func TestASwitchThatIsAProcessTellsSourcesOfDiscards(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for fw, name := range map[string]string{"deterministic-link": "s2.01", "source-routed": "s1.01"} {
		t.Run(fw, func(t *testing.T) {
			t.Parallel()
			if fw != "source-routed" {
				testenv.Long(t)
			}
			tellSources(t, fw == "source-routed", fw, name)
		})
	}
}

func tellSources(t *testing.T, embedded bool, fw, name string) {
	l := start(t, embedded, with(fw), func(o *fabric.Options) { o.NIC.Notices = "100ms" })
	l.startSwitch(name)
	l.Load("uniform:0.05")
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.00", B: "s2.00"}, fault.Spec{Do: fault.VerbCut, A: "s1.01", B: "s2.00"})
	was := l.Fabric.Totals()
	rig.Until(t, func() bool {
		now := l.Fabric.Totals()
		return now.Notices > was.Notices+20 && now.Withheld > was.Withheld+20
	})
	l.More(100)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	l.AllUp()
	l.settle()
	l.allPairs()
	assert.Zero(t, l.Fabric.Totals().NoticesLost)
}
