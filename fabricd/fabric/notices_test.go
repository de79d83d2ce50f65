package fabric_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// notifying are the firmwares that can tell the source of a discard. Those for one fault do not
// discard where there are two: their packets go round.
func notifying(t *testing.T) map[string]switching.Firmware {
	all := map[string]switching.Firmware{}
	for _, fw := range firmware.All() {
		if fw.Notifies && !fw.Tolerance.One {
			all[fw.Name] = fw
		}
	}
	return all
}

// cutOff cuts the leaf of n000 and n001 off, both its up links being k dead links of one switch
// group.
func cutOff(h *harness.Harness) {
	h.Cut("s1.00", "s2.00")
	h.Cut("s1.01", "s2.00")
}

// unreachable counts the packets discarded so far by the rules of which sources are told.
func unreachable(h *harness.Harness) uint64 {
	by := h.Fabric().Ledger().DiscardedBy
	n := uint64(0)
	for rule, discarded := range by {
		if strings.Contains(rule, "every up port") {
			n += discarded
		}
	}
	return n
}

// Sources stop sending to where nobody can be reached, and other destinations go on; in memory and
// over NATS, each firmware over one of them but at soak.
func TestSourcesThatAreToldOfDiscardsSendElsewhereOnly(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	all := notifying(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		for _, nats := range []bool{false, true} {
			if !testenv.Soak() && nats != (i%2 == 1) {
				continue
			}
			t.Run(fmt.Sprintf("%s,nats=%v", name, nats), func(t *testing.T) {
				t.Parallel()
				// The leaf is cut off by k dead links, with which functions of one virtual channel
				// may deadlock (Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat
				// Trees, section VII.G): no queue is to fill here.
				options := []harness.Option{
					harness.Firmware(f), shortQueues, harness.Buffers(256, 256), harness.Notices(time.Hour),
					harness.Traffic("uniform:0.3"),
				}
				if nats {
					options = append(options, live.OverNATS())
				}
				h := harness.New(t, smallTree, options...)
				more(h, 100)
				require.Zero(t, h.Fabric().Totals().Notices, "nobody is cut off")
				cutOff(h)
				others := h.Topology().NICs[2:]
				h.Eventually(func() error {
					for _, n := range others {
						if s := h.Fabric().NIC(n.ID).Stats; s.Withheld < 10 {
							return fmt.Errorf("%s has withheld %d packets", n.Name, s.Withheld)
						}
					}
					return nil
				})
				h.Eventually(func() error { // once what was under way has ended
					before := unreachable(h)
					more(h, 300) // of packets for n000 and n001 there would be a hundred
					if fresh := unreachable(h) - before; fresh > 0 {
						return fmt.Errorf("%d more were discarded", fresh)
					}
					return nil
				})
				h.RequireLedger()
				assert.NotZero(t, unreachable(h))
				assert.NotZero(t, h.Fabric().Totals().Withheld)
				assert.Zero(t, h.Fabric().Totals().NoticesLost)
			})
		}
	}
}

// After the time the source tries again, is told again, and after the repair traffic flows again.
func TestASourceTriesAgainAndFlowsAfterTheRepair(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	h := harness.New(t, smallTree, harness.FirmwareByName("deterministic-link"), shortQueues,
		harness.Notices(50*time.Millisecond), harness.Traffic("uniform:0.3"))
	cutOff(h)
	for range 3 {
		was := h.Fabric().Totals()
		h.Eventually(func() error {
			if now := h.Fabric().Totals(); now.Notices < was.Notices+20 || now.Withheld < was.Withheld+20 {
				return fmt.Errorf("since %d notices and %d withheld there are %d and %d", was.Notices, was.Withheld, now.Notices,
					now.Withheld)
			}
			return nil
		})
	}
	h.Heal()
	at := h.Fabric().NIC(0).Stats.Delivered
	h.Eventually(func() error {
		if n := h.Fabric().NIC(0).Stats.Delivered - at; n < 100 {
			return fmt.Errorf("n000 has received %d packets", n)
		}
		return nil
	})
	h.RequireLedger()
	allPairs(t, h)
}

// A discard that is not told of, as without the option, is repeated for ever.
func TestWithoutNoticesNobodyIsTold(t *testing.T) {
	t.Parallel()
	h := harness.New(t, smallTree, harness.Firmware(firmware.DeterministicLink()), shortQueues,
		harness.Traffic("uniform:0.3"))
	cutOff(h)
	h.Eventually(func() error {
		if n := unreachable(h); n < 200 {
			return fmt.Errorf("%d were discarded", n)
		}
		return nil
	})
	h.RequireLedger()
	assert.Zero(t, h.Fabric().Totals().Notices)
	assert.Zero(t, h.Fabric().Totals().Withheld)
}

func TestNoticesNeedAFirmwareThatSendsThem(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse(smallTree)
	require.NoError(t, err)
	m := wire.NewMemory()
	defer func() { require.NoError(t, m.Close()) }()
	o := fabric.Options{
		Topology: g, Firmware: firmware.UpDown{}.Firmware(), Transport: m,
		NIC: settings.NIC{Notices: "1s"},
	}
	_, err = fabric.New(o)
	require.ErrorContains(t, err, "notices: firmware updown tells no sources of discards: leave notices off, or choose "+
		"one that does, as adaptive-link")
	o.NIC.Notices = "-1ns"
	_, err = fabric.New(o)
	require.ErrorContains(t, err, "nic.notices: expected 0s to 24h0m0s, found -1ns")
}

// Source routing, live: every pair with k-1 dead links of each kind, under load; and where the top
// has twice the down ports.
func TestSourceRoutedPacketsAreSplicedAroundDeadLinks(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, c := range []struct {
		spec string
		nats bool
		cuts [][2]string
	}{
		{"kary-ntree:4,3", true, [][2]string{{"s0.00", "s1.00"}, {"s1.11", "s2.12"}, {"s0.21", "s1.31"}}},
		{"kary-ntree:4,3", false, [][2]string{{"s1.11", "s2.12"}, {"s1.10", "s2.12"}, {"s1.13", "s2.12"}}},
		{"mport-tree:6,3", false, [][2]string{{"s0.00", "s1.50"}, {"s1.51", "s2.50"}}},
	} {
		t.Run(fmt.Sprintf("%s,nats=%v", c.spec, c.nats), func(t *testing.T) {
			t.Parallel()
			// A machine with much else to do has no time for hellos, and no cut here is silent.
			options := []harness.Option{harness.FirmwareByName("source-routed"), loaded(), harness.NoLiveness()}
			if c.nats {
				options = append(options, live.OverNATS())
			}
			h := harness.New(t, c.spec, options...)
			more(h, 100)
			for _, l := range c.cuts {
				h.Cut(l[0], l[1])
				more(h, 100)
			}
			healed(t, h)
			allPairs(t, h)
			assert.NotZero(t, h.Fabric().Totals().UTurns)
			h.Heal()
			allPairs(t, h)
		})
	}
}
