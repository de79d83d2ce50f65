package fabric_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

const ring6 = "ring:6"

// shorter is the port of the shorter way around a ring of six, half way round the way up.
func shorter(s, d int) weft.PortID {
	if (d-s+6)%6 <= 3 {
		return 1
	}
	return 0
}

// along is the port of the way that never goes around the end.
func along(s, d int) weft.PortID {
	if s < d {
		return 1
	}
	return 0
}

// aroundTheEnd reports whether the shorter way is.
func aroundTheEnd(s, d int) bool { return shorter(s, d) != along(s, d) }

// ringTables are tables of a ring of six: per address a way, in every layer.
func ringTables(t *testing.T, vcs int, ways ...func(vc weft.VC, s, d int) weft.PortID) *tables.Tables {
	g := topologytest.Parse(t, ring6)
	ports := make([]int, 6)
	for i := range ports {
		ports[i] = g.Switches[i].Ports
	}
	lft, err := tables.NewTablesOf(tables.TablesShape{VCs: vcs, NICs: 6, Paths: len(ways), PerLayer: true, Ports: ports})
	require.NoError(t, err)
	for i := range 6 * 6 * vcs * len(ways) {
		s, d, vc, path := i%6, i/6%6, weft.VC(i/36%vcs), i/36/vcs
		p := weft.PortID(2) // to its NIC
		if s != d {
			p = ways[path](vc, s, d)
		}
		row, err := lft.AddRow(weft.SwitchID(s), []tables.Hop{{Port: p, VC: tables.SameVC}})
		require.NoError(t, err)
		require.NoError(t, lft.SetAddress(weft.SwitchID(s), vc, weft.NICID(d), path, row))
	}
	return lft
}

func assigned(t *testing.T, vcs, paths int, of func(s, d int) []weft.Address) *tables.Assignment {
	a, err := tables.NewAssignment(6, 6, vcs, paths,
		func(s weft.SwitchID, d weft.NICID) []weft.Address { return of(int(s), int(d)) })
	require.NoError(t, err)
	return a
}

func minimal(_ weft.VC, s, d int) weft.PortID { return shorter(s, d) }

// dateline has packets that go around the end in layer 1, and the others in layer 0.
func dateline(s, d int) []weft.Address {
	if aroundTheEnd(s, d) {
		return []weft.Address{{VC: 1}}
	}
	return []weft.Address{{}}
}

// layeredFirmware forwards in a ring of six without deadlock, in each of the ways that there are.
func layeredFirmware(t *testing.T) map[string]switching.Firmware {
	two := ringTables(t, 2, minimal)
	return map[string]switching.Firmware{
		"layered": firmware.Layered{Tables: two, Assignment: assigned(t, 2, 1, dateline)}.Firmware(),
		"several addresses": firmware.Layered{
			Tables: ringTables(t, 2, func(_ weft.VC, s, d int) weft.PortID { return along(s, d) }, minimal),
			Assignment: assigned(t, 2, 2, func(s, d int) []weft.Address {
				a := dateline(s, d)[0]
				a.Path = 1
				if aroundTheEnd(s, d) {
					return []weft.Address{{}, a} // the long way in layer 0, or the short one
				}
				return []weft.Address{a}
			}),
		}.Firmware(),
		"adaptive": firmware.LayeredAdaptive{Tables: two, Assignment: assigned(t, 2, 1, func(s, d int) []weft.Address {
			if !aroundTheEnd(s, d) && s/3 == d/3 {
				return []weft.Address{{Layers: 3}, {Layers: 3, VC: 1}} // moving between layers
			}
			return dateline(s, d)
		})}.Firmware(),
		"escaping": firmware.Escaping{
			Tables: ringTables(t, 3, func(vc weft.VC, s, d int) weft.PortID {
				if vc == 0 {
					return along(s, d)
				}
				return shorter(s, d)
			}),
			Assignment: assigned(t, 3, 1,
				func(int, int) []weft.Address { return []weft.Address{{Layers: 6, VC: 1}, {Layers: 6, VC: 2}} }),
		}.Firmware(),
	}
}

func TestLayeredFirmwaresCarryFullLoadWithABalancedLedger(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	packets := testenv.Levels(5000, 1000, 500)
	for name, fw := range layeredFirmware(t) {
		for _, nats := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,nats=%v", name, nats), func(t *testing.T) {
				t.Parallel()
				vcs := 2
				if name == "escaping" {
					vcs = 3
				}
				options := []harness.Option{harness.Firmware(fw), harness.VCs(vcs), saturating(6), harness.Buffers(1, 1)}
				if nats {
					options = append(options, live.OverNATS())
				}
				h := harness.New(t, ring6, options...)
				saturated(h)
				more(h, uint64(packets))
				l := h.RequireLedger(harness.NoneDiscarded)
				assert.Zero(t, l.Lost)
				assert.Empty(t, h.Fabric().Deadlock())
				if name == "layered" {
					assert.Zero(t, h.Fabric().Totals().Reordered, "one address a pair keeps the order")
				}
				allPairs(t, h)
			})
		}
	}
}

func TestARingThatIsMinimalInOneLayerDeadlocksLiveToo(t *testing.T) {
	t.Parallel()
	fw := firmware.Layered{
		Tables:     ringTables(t, 1, minimal),
		Assignment: assigned(t, 1, 1, func(int, int) []weft.Address { return []weft.Address{{}} }),
	}.Firmware()
	h := harness.New(t, ring6, saturating(6), harness.Firmware(fw), harness.Buffers(1, 1))
	h.Eventually(func() error {
		if len(h.Fabric().Deadlock()) == 0 {
			return fmt.Errorf("no deadlock after %d packets", delivered(h))
		}
		return nil
	})
	require.Len(t, h.QuiesceStuck().Cycle, 6)
}

func TestAPacketTellsTheAddressThatItWasSentTo(t *testing.T) {
	t.Parallel()
	for _, mode := range []harness.Option{harness.Virtual(), live.OverNATS()} {
		fw := firmware.Layered{
			Tables:     ringTables(t, 2, func(_ weft.VC, s, d int) weft.PortID { return along(s, d) }, minimal),
			Assignment: assigned(t, 2, 2, func(int, int) []weft.Address { return []weft.Address{{Path: 1, VC: 1, Layers: 2}} }),
		}.Firmware()
		h := harness.New(t, ring6, mode, harness.Firmware(fw), harness.VCs(2), harness.Traffic("none"))
		path := h.RequireDelivered(h.Send("n5", "n0"))
		require.Equal(t, []string{"s5", "s0"}, path.Switches())
		for _, hop := range path.Hops {
			assert.Equal(t, weft.VC(1), hop.InVC)
			assert.Equal(t, weft.Fields{PortField: weft.PortFieldNone, Path: 1, Layers: 2}, hop.After)
		}
	}
}

// Tables that loop keep no packet for ever, and use up no credits.
func TestTablesThatLoopEndTheirPackets(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]harness.Option{"virtual": harness.Virtual(), "live": harness.Options()} {
		fw := firmware.Layered{
			Tables: ringTables(t, 1, func(_ weft.VC, s, d int) weft.PortID {
				if d == 0 && s > 1 {
					return shorter(s, 3) // s2 and s3 send them to each other
				}
				return along(s, d)
			}),
			Assignment: assigned(t, 1, 1, func(int, int) []weft.Address { return []weft.Address{{}} }),
		}.Firmware()
		h := harness.New(t, ring6, mode, harness.Firmware(fw), harness.Traffic("none"))
		path := h.RequireDiscarded(h.Send("n5", "n0"), switching.RuleLooping)
		assert.Len(t, path.Hops, fw.MostHops+1, name)
		h.RequireDelivered(h.Send("n1", "n0"))
		h.RequireLedger()
	}
}
