package firmware

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// treeTables are tables for a tree in which every switch sends packets for d up by ways(d), or has
// no entry for it.
func treeTables(t testing.TB, net *tree, ways func(s weft.SwitchID, d weft.NICID) []weft.PortID) *tables.Tables {
	var ports []int
	for _, v := range net.views {
		ports = append(ports, v.At.Ports())
	}
	lft, err := tables.NewTables(1, net.nics(), ports)
	require.NoError(t, err)
	for s := range weft.SwitchID(len(ports)) {
		for d := range weft.NICID(net.nics()) {
			var hops []tables.Hop
			for _, p := range ways(s, d) {
				hops = append(hops, tables.Hop{Port: p})
			}
			if hops == nil {
				continue
			}
			row, err := lft.AddChoices(s, [][]tables.Hop{hops})
			require.NoError(t, err)
			require.NoError(t, lft.Set(s, d, row))
		}
	}
	return lft
}

// Every arrival at every switch, with up to two dead ports: hybrid decides as its local firmware,
// but for where packets go up first.
func TestHybridsDecideAsTheirLocalFirmwareButOnTheWayUp(t *testing.T) {
	for _, spec := range []string{"mport-tree:4,3", "kary-ntree:2,3", "kary-ntree:4,3"}[:testenv.N(3, 1)] {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			net := newTree(spec)
			by := func(s weft.SwitchID, d weft.NICID) (list []weft.PortID) {
				tr := net.views[s].At.Tree
				for j := range tr.Ups() {
					if (int(d)+int(s)+j)%3 == 0 {
						list = append(list, tr.Up(j))
					}
				}
				if tr.HasDown(d) || len(list) == 0 && d%2 == 0 {
					list = append(list, weft.PortID(d)%weft.PortID(tr.Down)) // nonsense, which does not count
				}
				return list
			}
			tables := treeTables(t, net, by)
			tabled := 0
			for id, v := range net.views {
				if id > 0 && v.At.Tree.Tier == net.views[id-1].At.Tree.Tier && id%7 != 0 {
					continue
				}
				for a := range v.At.Ports() {
					for b := a; b < v.At.Ports(); b++ {
						v.Dead[0] = 1<<a | 1<<b
						if a == 0 && b == 1 {
							v.Dead[0] = 0
						}
						tabled += hybridsAt(t, net, v, weft.SwitchID(id), tables, by)
					}
				}
			}
			require.Positive(t, tabled)
		})
	}
}

func hybridsAt(t *testing.T, net *tree, v *switching.Still, id weft.SwitchID, tables *tables.Tables,
	by func(weft.SwitchID, weft.NICID) []weft.PortID,
) (tabled int) {
	tr := v.At.Tree
	for p, role := range v.At.Roles {
		for d := weft.NICID(0); int(d) < net.nics(); d += weft.NICID(1 + net.nics()/12) {
			var up []weft.PortID
			for _, q := range by(id, d) {
				if tr.UpIndex(q) >= 0 && v.PortUp(q) && role != weft.RoleUp && !tr.HasDown(d) {
					up = append(up, q)
				}
			}
			for vc := range weft.VC(2) {
				at := Arrival{Port: weft.PortID(p), VC: vc, From: role}
				pkt := packetFor(d, 0, 0)
				pkt.PortField, pkt.VC = weft.PortFieldNone, vc

				local := decision(DeterministicLink(), &pkt, at, v)
				got := decision(Hybrid{Tables: tables}.Firmware(), &pkt, at, v)
				if vc == 0 && len(up) > 0 {
					tabled++
					require.Equal(t, ruleTableUp, got.Rule)
					require.Equal(t, switching.Straight, got.Turn)
					require.Equal(t, up, portsOf(got, 0))
				} else {
					require.Equal(t, local, got)
				}
				if vc > 0 {
					continue
				}
				local = decision(AdaptiveLink{}.Firmware(), &pkt, at, v)
				got = decision(HybridAdaptive{Tables: tables}.Firmware(), &pkt, at, v)
				if len(up) > 0 {
					require.Equal(t, ruleTableUps, got.Rule)
					require.Equal(t, up, portsOf(got, 0))
					got.Rule = local.Rule
					for i := range got.Candidates {
						got.Candidates[i].Class = 0
					}
				}
				require.Equal(t, local, got)
			}
		}
	}
	return tabled
}

// decision is what a firmware decides, in storage of its own.
func decision(fw Firmware, pkt *weft.Header, at Arrival, v *switching.Still) Decision {
	d := fw.Route(pkt, at, v)
	d.Candidates = slices.Clone(d.Candidates)
	return d
}

// portsOf are the ports of the candidates of a class.
func portsOf(d Decision, class uint8) (list []weft.PortID) {
	for _, c := range d.Candidates {
		if c.Class == class {
			list = append(list, c.Port)
		}
	}
	return list
}

func TestHybridsNeedTreesAndTheirTables(t *testing.T) {
	net := newTree("kary-ntree:2,3")
	lft := treeTables(t, net, func(weft.SwitchID, weft.NICID) []weft.PortID { return nil })
	at := net.views[0].At
	for _, fw := range []Firmware{Hybrid{Tables: lft}.Firmware(), HybridAdaptive{Tables: lft}.Firmware()} {
		check := fw.Fits
		require.NoError(t, check(at, 2))
		require.ErrorContains(t, check(middle().At, 2), "routes trees only")
		require.NoError(t, fw.Requeues(at))
		require.True(t, fw.DestinationBased)

		next, err := fw.Patched(1, at, 2, &tables.Patch{
			From: 1, To: 2, Rows: []tables.PatchRow{{{1, 0}}}, Set: []tables.PatchSet{{At: 3, N: 1}},
		})
		require.NoError(t, err)
		require.Equal(t, fw.Name, next.Name)
		hop, ok := next.Program.Tables.Lookup(0, 3, 0, 0)
		require.True(t, ok)
		require.EqualValues(t, 1, hop.Port)
		_, ok = fw.Program.Tables.Lookup(0, 3, 0, 0)
		require.False(t, ok, "the one before is as it was")
	}
	two, one := Hybrid{Tables: lft}.Firmware(), HybridAdaptive{Tables: lft}.Firmware()
	require.ErrorContains(t, two.Fits(at, 1), "needs 2 virtual channels")
	require.NoError(t, one.Fits(at, 1))
	require.ErrorContains(t, Hybrid{}.Firmware().Check(at, 2), "has no forwarding tables")
	require.ErrorContains(t, HybridAdaptive{}.Firmware().Check(at, 2), "has no forwarding tables")
}

func TestHybridsRouteWithoutAllocating(t *testing.T) {
	net := newTree("kary-ntree:4,3")
	tables := treeTables(t, net, func(s weft.SwitchID, d weft.NICID) []weft.PortID {
		if tr := net.views[s].At.Tree; tr.Ups() > 0 {
			return []weft.PortID{tr.DefaultUp(d)}
		}
		return nil
	})
	v := still(placeOf(4, 3, 1, 0, 1))
	for _, fw := range []Firmware{Hybrid{Tables: tables}.Firmware(), HybridAdaptive{Tables: tables}.Firmware()} {
		pkt := packetFor(40, 0, 0)
		require.Zero(t, testing.AllocsPerRun(100, func() { fw.Route(&pkt, Arrival{Port: 1, From: weft.RoleDown}, v) }))
	}
}
