package harness_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// All 48 switches of a fat tree take a new firmware, one after the other under load, live over NATS
// and in virtual time. Nothing is lost or discarded, and each runs the new one in the end. Under the
// race detector 48 take minutes, and a tree of 12 runs the same code.
func TestARollingUpgradeUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	tree := "kary-ntree:4,3"
	if testenv.Race {
		tree = "kary-ntree:2,3"
	}
	for name, way := range map[string]harness.Option{"nats": live.OverNATS(), "virtual": harness.Virtual()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, tree, way, harness.FirmwareByName("adaptive-link"),
				harness.Traffic("uniform:0.4"), harness.NoLiveness())
			next := firmware.AdaptiveSwitch{}.Firmware()
			for _, s := range h.Topology().Switches {
				before := h.Fabric().Switch(s.ID).Stats.Decisions
				h.Load(s.Name, next)
				require.Equal(t, next.Name, h.Fabric().RoutingOf(s.ID))
				h.Eventually(func() error { // it decides by the new one
					if n := h.Fabric().Switch(s.ID).Stats.Decisions - before; n < 5 {
						return fmt.Errorf("%d packets since", n)
					}
					return nil
				})
			}
			l := h.RequireLedger(harness.NoneDiscarded, harness.LostAtMost(0))
			assert.Greater(t, l.Delivered, uint64(testenv.N(1000, 100)))
		})
	}
}

// A switch goes on with what its registers held, by their names, and NICs send as the firmware of
// their switch says.
func TestALoadedFirmwareTakesOverRegistersAndSources(t *testing.T) {
	t.Parallel()
	for name, way := range everyWay {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, "ring:4", way, harness.Firmware(counting("old", 1)))
			h.RequireDelivered(h.Send("n0", "n1"))
			h.RequireDelivered(h.Send("n0", "n1"))
			h.Load("s0", counting("new", 10))
			h.RequireDelivered(h.Send("n0", "n1"))
			assert.EqualValues(t, 12, h.Fabric().Switch(0).Registers[1].Value, "two by the old, and ten by the new")
			h.RequireDiscarded(h.Send("n0", "n2"), "written by the new")
			h.RequireLedger()
		})
	}
}

// counting counts packets in a register, by so much each. The new form has it elsewhere, and its
// NICs write into packets for n2.
func counting(name string, by uint64) switching.Firmware {
	fw := switching.Firmware{Name: name, On: switching.Grids}
	index := int(by / 10)
	fw.Registers = func(*weft.Place) []switching.Register {
		return []switching.Register{{Name: "spare", Width: 8}, {Name: "count", Width: 32}}[1-index:]
	}
	fw.Route = func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
		if pkt.Misroute == 7 {
			return switching.Discard("written by the new")
		}
		d := clockwise(pkt, at, sw)
		d.Write = switching.RegisterWrite{Do: true, Index: index, Value: sw.Register(index) + by}
		return d
	}
	if index == 1 {
		fw.Source = func(_ *weft.Place, _ weft.PortID, h *weft.Header) {
			if h.Dst == 2 {
				h.Misroute = 7
			}
		}
	}
	return fw
}
