package member_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// The U-turn switch that discards all that goes to the leaf that is cut off is a process, so every notice is told by it.
func TestASwitchThatIsAProcessTellsSourcesOfDiscards(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, embedded bool) {
		l := start(t, embedded, with("deterministic-link"), func(o *fabric.Options) { o.NIC.Notices = 100 * time.Millisecond })
		l.be("s2.01")
		l.load()
		l.do(fault.Spec{Do: fault.VerbCut, A: "s1.00", B: "s2.00"}, fault.Spec{Do: fault.VerbCut, A: "s1.01", B: "s2.00"})
		was := l.fabric.Totals()
		require.Eventually(t, func() bool {
			now := l.fabric.Totals()
			return now.Notices > was.Notices+20 && now.Withheld > was.Withheld+20
		}, patience, 5*time.Millisecond)
		l.more(100)
		l.do(fault.Spec{Do: fault.VerbHeal})
		l.allUp()
		l.settle()
		l.allPairs()
		assert.Zero(t, l.fabric.Totals().NoticesLost)
	})
}
