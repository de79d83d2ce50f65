package harness_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness"
)

func TestScratch(t *testing.T) {
	for range 2 {
		start := time.Now()
		h := harness.New(t, tree, harness.Virtual(), harness.Seed(3), harness.Traffic("uniform:0.5"))
		h.Cut("s0.00", "s1.00")
		h.RequireDelivered(h.Send("n100", "n000"))
		h.CutSilently("s0.01", "s1.01")
		h.Pause(30 * time.Millisecond)
		l := h.RequireLedger()
		hash, ok := h.Fabric().Hash()
		require.True(t, ok)
		fmt.Println(time.Since(start), h.Fabric().Now(), l.Injected, l.Lost, fmt.Sprintf("%x", hash))
	}
}
