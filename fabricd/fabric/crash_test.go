package fabric_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/testenv"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// neighbours requires that every other end of a switch's links is in the state given.
func neighbours(t *testing.T, h *harness.Harness, name string, want linkend.State) {
	t.Helper()
	id, err := h.Topology().SwitchByName(name)
	require.NoError(t, err)
	for p := range h.Topology().Switches[id].Ports {
		end, l, ok := h.Topology().Peer(weft.End{Node: id.Node(), Port: weft.PortID(p)})
		if !ok {
			continue
		}
		var got linkend.State
		if end.Node.IsSwitch() {
			got = h.Fabric().Switch(weft.SwitchID(end.Node.Index)).Ports[end.Port].State
		} else {
			got = h.Fabric().NIC(weft.NICID(end.Node.Index)).State
		}
		assert.Equal(t, want, got, "%s as %s sees it", h.Topology().Links[l].Name, h.Topology().Name(end.Node))
	}
}

func TestASwitchThatCrashesUnderLoadLosesWhatItHoldsAndComesBack(t *testing.T) {
	t.Parallel()
	for name, f := range linkFirmware {
		for kind, sw := range map[string]string{"top": "s0.00", "middle": "s1.10", "leaf": "s2.11"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t, smallTree, saturating(8), harness.Firmware(f))
				var crashed, wire, queued uint64
				saturated(h)
				for crashed == 0 { // at this load it holds packets nearly always
					more(h, 50)
					fault := h.Crash(sw)
					crashed, wire, queued = crashed+fault.LostCrash, wire+fault.LostWire, queued+fault.LostQueued
					neighbours(t, h, sw, linkend.Down)
					assert.Equal(t, "crash", fault.Kind)
					assert.Equal(t, sw, fault.Target)
					if kind != "leaf" { // a leaf takes a quarter of the NICs along, and the others wait behind packets for them
						more(h, 50)
					}
					h.Restart(sw)
					neighbours(t, h, sw, linkend.Up)
				}
				more(h, 50)
				l := h.RequireLedger()
				assert.Equal(t, []uint64{crashed, wire, queued}, []uint64{l.LostCrash, l.LostWire, l.LostQueued},
					"what the faults report")
				fresh(h)
				allPairs(t, h)
				assert.Zero(t, h.Fabric().ReroutedInLastGeneration())
			})
		}
	}
}

func TestALinkThatIsCutWhileItsSwitchIsDownStaysCutUntilItIsRestored(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree)
	h.Crash("s1.00")
	h.Cut("s0.00", "s1.00")
	h.Restart("s1.00")
	link, err := h.Topology().LinkBetween("s0.00", "s1.00")
	require.NoError(t, err)
	state := func() string { return h.Fabric().LinkStates()[link.ID].State }
	assert.Equal(t, fabric.LinkCut, state())
	h.Crash("s1.00")
	h.Restore("s0.00", "s1.00")
	assert.Equal(t, fabric.LinkDown, state())
	h.Restart("s1.00")
	assert.Equal(t, fabric.LinkUp, state())
	allPairs(t, h)
}

func TestUpDownDiscardsAtADeadDownLinkByItsRule(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, harness.FirmwareByName("updown"), loaded())
	more(h, 100)
	h.Cut("s0.00", "s1.00")
	const rule = "2: the down link is dead"
	h.Eventually(func() error {
		if h.Fabric().Ledger().DiscardedBy[rule] == 0 {
			return fmt.Errorf("nothing is discarded")
		}
		return nil
	})
	path := h.RequireDiscarded(h.Send("n100", "n000"), rule)
	assert.Equal(t, "s0.00", path.At)
	l := h.RequireLedger()
	assert.Equal(t, map[string]uint64{rule: l.Discarded}, l.DiscardedBy)
}

func TestANICWhoseLinkIsCutGetsNothingAndSendsWhenItIsBack(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for name, f := range linkFirmware {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, smallTree, harness.Firmware(f))
			h.Cut("n000", "s2.00")
			path := h.RequireDiscarded(h.Send("n111", "n000"), "deliver: the link to the NIC is dead")
			assert.Equal(t, "s2.00", path.At)
			var own []harness.Packet
			for range 3 {
				own = append(own, h.Send("n000", "n111"))
			}
			stuck := h.QuiesceStuck()
			assert.Equal(t, fabric.InFlight{Queues: 3}, stuck.Ledger.Waiting)
			assert.True(t, stuck.Ledger.Balanced)
			assert.Empty(t, stuck.Cycle)
			assert.ErrorContains(t, stuck, "nothing moves but 3 packets are left: 3 in send queues, 0 in switches, 0 on wires: "+
				"3 in the send queue of n000, which wait for the link to s2.00, which is down")

			h.Restore("n000", "s2.00")
			for _, p := range own {
				h.RequireDelivered(p)
			}
			h.RequireDelivered(h.Send("n111", "n000"))
			assert.EqualValues(t, 1, h.RequireLedger(harness.LostAtMost(0)).Discarded)
		})
	}
}
