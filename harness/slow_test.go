package harness_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// slow is fw as it would be in another process. Before it answers it calls wait.
func slow(fw switching.Firmware, wait func()) switching.Firmware {
	route := fw.Route
	fw.Reads = switching.Asked{Queues: true}
	fw.Batch = func(asks []*switching.Ask) func() {
		decisions := make([]switching.Decision, len(asks))
		for i, k := range asks {
			decisions[i] = route(&k.Packet, k.At, k.View)
			decisions[i].Candidates = slices.Clone(decisions[i].Candidates) // they are in k.View.Scratch
		}
		return func() {
			wait()
			for i, k := range asks {
				k.Decision = decisions[i]
			}
		}
	}
	fw.Route = func(*weft.Header, switching.Arrival, switching.View) switching.Decision {
		panic("a switch asks by Batch")
	}
	return fw
}

// In virtual time a run with a firmware that is asked is, to the bit, that with one that is called.
func TestAFirmwareThatIsAskedIsTheSameInVirtualTime(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"deterministic-link", "adaptive-link", "adaptive-switch"} {
		fw, ok := firmware.ByName(name)
		require.True(t, ok)
		for seed := range uint64(testenv.N(3, 30)) {
			var hashes []uint64
			for _, fw := range []switching.Firmware{fw, slow(fw, func() {})} {
				h := harness.New(t, "kary-ntree:4,2", harness.Firmware(fw), harness.Seed(seed+1), harness.Virtual(),
					harness.Traffic("uniform:0.6"))
				h.Cut("s0.0", "s1.0")
				h.Pause(time.Millisecond)
				h.Crash("s0.1")
				h.Pause(time.Millisecond)
				h.Heal()
				h.Quiesce()
				hash, ok := h.Fabric().Hash()
				require.True(t, ok)
				hashes = append(hashes, hash)
			}
			require.Equal(t, hashes[0], hashes[1], "%s, seed %d", fw.Name, seed)
		}
	}
}

// Live, a switch goes on while its firmware thinks: it hears of faults, and other packets pass.
func TestASwitchGoesOnWhileItsFirmwareThinks(t *testing.T) {
	t.Parallel()
	var thinks atomic.Int64
	gate := make(chan struct{})
	fw := slow(firmware.DeterministicLink(), func() {
		thinks.Add(1)
		<-gate
	})
	h := harness.New(t, "kary-ntree:2,2", harness.Firmware(fw))
	p := h.Send("n00", "n11")
	h.Eventually(func() error {
		if thinks.Load() == 0 {
			return fmt.Errorf("nobody asks")
		}
		return nil
	})
	h.Cut("s0.0", "s1.0") // both ends see it, and the packet is asked about anew
	close(gate)
	path := h.RequireDelivered(p)
	assert.Contains(t, path.String(), "s0.1")
	h.RequireLedger()
	assert.Greater(t, thinks.Load(), int64(3))
}

// A packet for which there is no answer is discarded, which fails a test and says why.
func TestAFirmwareThatGivesNoAnswerFailsATest(t *testing.T) {
	t.Parallel()
	for name, how := range map[string][]harness.Option{"live": nil, "virtual": {harness.Virtual()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fw := slow(firmware.DeterministicLink(), func() {})
			answers := fw.Batch
			fw.Batch = func(asks []*switching.Ask) func() {
				decide := answers(asks)
				return func() {
					decide()
					for _, k := range asks {
						if k.Packet.Dst == 3 {
							k.Err = errors.New("./fw.py is silent: mend it")
						}
					}
				}
			}
			text, failed := failing(t, "TestMine", func(t testing.TB) {
				h := harness.New(t, "kary-ntree:2,2", append(how, harness.Firmware(fw))...)
				h.RequireDelivered(h.Send("n00", "n10"))
				h.RequireDiscarded(h.Send("n00", "n11"), switching.RuleNoAnswer)
				h.RequireLedger()
			})
			require.True(t, failed)
			assert.Contains(t, text,
				"at switch s1.0, in p0 vc0 from nic, with packet n00 -> n11 #0: ./fw.py is silent: mend it")
		})
	}
}
