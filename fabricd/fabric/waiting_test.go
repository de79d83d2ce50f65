package fabric_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// blind sees no link as down, so that packets wait for those that are.
type blind struct{ switching.View }

func (blind) PortUp(weft.PortID) bool { return true }

// unanswered answers only when released.
func unanswered(fw switching.Firmware, release <-chan struct{}) switching.Firmware {
	route := fw.Route
	fw.Batch = func(asks []*switching.Ask) func() {
		for _, k := range asks {
			k.Decision = route(&k.Packet, k.At, k.View)
			k.Decision.Candidates = slices.Clone(k.Decision.Candidates)
		}
		return func() { <-release }
	}
	return fw
}

func TestAPacketThatWaitsForASecondSaysForWhat(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	fw := firmware.DeterministicLink()
	unseeing, route, release := fw, fw.Route, make(chan struct{})
	unseeing.Route = func(h *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		return route(h, at, blind{sw})
	}
	for _, c := range []struct {
		firmware switching.Firmware
		waits    string
		end      func(h *harness.Harness)
	}{
		{
			unseeing, `^a packet from n\d+ to n\d+ has waited \d+\.\d s in s\d\.\d for the link to s\d\.\d, which is down$`,
			func(h *harness.Harness) { h.Heal() },
		},
		{
			unanswered(fw, release),
			`^a packet from n\d+ to n\d+ has waited \d+\.\d s in s\d\.\d for an answer of its firmware$`,
			func(*harness.Harness) { close(release) },
		},
	} {
		t.Run("", func(t *testing.T) {
			h := harness.New(t, "kary-ntree:2,2", harness.Firmware(c.firmware), harness.Traffic("uniform:0.01"))
			w := h.Fabric().WatchDeadlock()
			waiting := func() fabric.Wait {
				w.Cycle()
				return w.Waiting(h.Fabric().Now())
			}
			h.Cut("s0.0", "s1.0")
			h.Eventually(func() error {
				if wait := waiting(); !regexp.MustCompile(c.waits).MatchString(wait.String()) {
					return fmt.Errorf("it says %q", wait)
				} else if wait.Lasts < 3*weft.Second/2 {
					return fmt.Errorf("%v is too short a time to tell", wait.Lasts)
				}
				return nil
			})
			c.end(h)
			h.Eventually(func() error {
				if wait := waiting(); wait != (fabric.Wait{}) {
					return fmt.Errorf("it still says %q", wait)
				}
				return nil
			})
		})
	}
}
