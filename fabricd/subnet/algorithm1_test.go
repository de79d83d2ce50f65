package subnet_test

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// alike compares the table-driven switch with deterministic-link at one switch, for every arrival,
// VC and destination: the candidates, the rule and the kind of step.
type alike struct {
	g       *topology.Graph
	table   firmware.Firmware
	checked int
}

func newAlike(t *testing.T, g *topology.Graph) *alike {
	tables, err := subnet.Algorithm1(t.Context(), g, nil)
	require.NoError(t, err)
	return &alike{g: g, table: firmware.DeterministicTable{Tables: tables}.Firmware()}
}

func (a *alike) at(t *testing.T, one, other *switching.Still, dst weft.NICID, in weft.PortID) {
	pkt := weft.Header{Dst: dst, Fields: weft.NewFields()}
	for vc := range weft.VC(2) {
		at := switching.Arrival{Port: in, VC: vc, From: one.At.Roles[in]}
		want := firmware.DeterministicLink().Route(&pkt, at, one)
		got := a.table.Route(&pkt, at, other)
		same := got.Rule == want.Rule && got.Turn == want.Turn && got.Write == want.Write &&
			len(got.Candidates) == len(want.Candidates)
		for i := range want.Candidates {
			same = same && got.Candidates[i] == want.Candidates[i]
		}
		if !same {
			t.Fatalf("%s at %s, dead %b, arrival %+v, to %d: table %+v, deterministic-link %+v", a.g.Spec, one.At.Name, one.Dead,
				at, dst, got, want)
		}
		a.checked++
	}
}

// masks is every set of up to most dead ports of so many.
func masks(ports, most int) (list []uint64) {
	for m := range uint64(1) << ports {
		if bits.OnesCount64(m) <= most {
			list = append(list, m)
		}
	}
	return list
}

func TestTableDrivenSwitchDecidesAsDeterministicLinkEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec string
		most int // dead ports of the switch
	}{
		{"kary-ntree:2,3", 8},
		{"mport-tree:4,3", 8},
		{"kary-ntree:2,1", 8},
		{"kary-ntree:3,3", 8},
		{"kary-ntree:4,2", 8},
		{"mport-tree:8,2", 8},
		{"kary-ntree:4,3", 3},
	}[:testenv.N(7, 3)] {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, c.spec)
			a := newAlike(t, g)
			for _, s := range g.Switches {
				one, other := switching.Still{At: g.Place(s.ID)}, switching.Still{At: g.Place(s.ID)}
				for _, m := range masks(s.Ports, c.most) {
					one.Dead[0], other.Dead[0] = m, m
					for dst := range weft.NICID(len(g.NICs)) {
						for p := range weft.PortID(s.Ports) {
							a.at(t, &one, &other, dst, p)
						}
					}
				}
			}
			require.Positive(t, a.checked)
		})
	}
}

func TestTableDrivenSwitchDecidesAsDeterministicLinkInWideTrees(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for _, spec := range []string{"kary-ntree:32,2", "mport-tree:36,2", "kary-ntree:8,3"} {
		g := topologytest.Parse(t, spec)
		a := newAlike(t, g)
		draw := rand.New(rand.NewPCG(1, 2))
		for range testenv.Levels(50_000, 10_000, 2000) {
			s := g.Switches[draw.IntN(len(g.Switches))]
			one, other := switching.Still{At: g.Place(s.ID)}, switching.Still{At: g.Place(s.ID)}
			for left := draw.IntN(s.Ports + 1); left > 0; left-- {
				one.Dead.Add(weft.PortID(draw.IntN(s.Ports)))
			}
			other.Dead = one.Dead
			a.at(t, &one, &other, weft.NICID(draw.IntN(len(g.NICs))), weft.PortID(draw.IntN(s.Ports)))
		}
	}
}

// A file may take links away from a tree; the tables then name ports that lead nowhere, and the
// switch takes them for dead.
func TestTableDrivenSwitchDecidesAsDeterministicLinkWhereLinksAreMissing(t *testing.T) {
	t.Parallel()
	g, err := topology.Load("t.yaml",
		[]byte("generate: kary-ntree:3,2\nremove_links: [s0.0-s1.1, s0.1-s1.1, s0.2-s1.0]\n"))
	require.NoError(t, err)
	a := newAlike(t, g)
	for _, s := range g.Switches {
		one, other := switching.Still{At: g.Place(s.ID)}, switching.Still{At: g.Place(s.ID)}
		for _, m := range masks(s.Ports, 8) {
			one.Dead[0], other.Dead[0] = m, m
			for dst := range weft.NICID(len(g.NICs)) {
				for p, role := range g.Place(s.ID).Roles {
					if role != weft.RoleNone {
						a.at(t, &one, &other, dst, weft.PortID(p))
					}
				}
			}
		}
	}
}

// Any testing sequence will do that is the same in a whole switch group: first in it is not the
// port numbered 0.
func TestTablesOfAnySequenceConnectEveryPairWithUpToKMinus1DeadLinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec string
		d    []int
	}{
		{"kary-ntree:2,3", []int{1, 0}},
		{"kary-ntree:3,2", []int{2, 0, 1}},
		{"kary-ntree:3,2", []int{1, 2, 0}},
		{"mport-tree:6,2", []int{2, 1, 0}},
	} {
		t.Run(fmt.Sprint(c.spec, c.d), func(t *testing.T) {
			t.Parallel()
			g := topologytest.Parse(t, c.spec)
			tables, err := subnet.Algorithm1(t.Context(), g, func(place *weft.Place) []int {
				if place.Tree.Tier == 0 {
					return nil
				}
				return c.d
			})
			require.NoError(t, err)
			leaf := g.Switches[len(g.Switches)-1].ID
			require.Equal(t, g.Place(leaf).Tree.Up(c.d[0]), tables.Sequence(leaf)[0])
			fw := firmware.DeterministicTable{Tables: tables}.Firmware()
			f := newFabric(g)
			turned := 0
			f.faultSets(len(c.d)-1, func() {
				for src, dst := range pairs(g) {
					w := f.send(fw, src, dst)
					if w.lost != "" {
						t.Fatalf("%d -> %d with %+v dead: %s", src, dst, f.dead, w.lost)
					}
					if w.upAgain {
						turned++
					}
				}
			})
			require.Positive(t, turned, "no packet met a fault")
		})
	}
}

func TestTablesOfLargeTreesAreSmall(t *testing.T) {
	g := topologytest.Parse(t, "mport-tree:36,2") // 648 NICs
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := subnet.Algorithm1(t.Context(), g, nil); err != nil {
			t.Fatal(err)
		}
	})
	require.Less(t, allocated, 10_000.0, "rows are shared by the destinations that are forwarded alike")
}

func TestAlgorithm1RefusesWhatItCannotFill(t *testing.T) {
	t.Parallel()
	_, err := subnet.Algorithm1(t.Context(), topologytest.Parse(t, "torus:4x4"), nil)
	require.ErrorContains(t, err, "torus:4x4 is none: choose such a topology, as kary-ntree:4,3")
	for want, d := range map[string][]int{
		"s1.0 has 1 ports, it has 2 up ports":   {0},
		"testing sequence of switch 2":          {1, 1}, // s1.0
		"no up port 2: its up ports are 0 to 1": {0, 2},
	} {
		_, err := subnet.Algorithm1(t.Context(), topologytest.Parse(t, "kary-ntree:2,2"), func(place *weft.Place) []int {
			if place.Tree.Tier == 0 {
				return nil
			}
			return d
		})
		require.ErrorContains(t, err, want)
	}
}

func ExampleAlgorithm1() {
	g, err := topology.Parse("kary-ntree:2,2")
	if err != nil {
		fmt.Println(err)
		return
	}
	tables, err := subnet.Algorithm1(context.Background(), g, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	leaf, err := g.SwitchByName("s1.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, vc := range []weft.VC{0, 1} { // n10 is not below: from up port p2 packets make a U-turn
		for in := range weft.PortID(4) {
			hop, _ := tables.Lookup(leaf, 2, in, vc)
			fmt.Printf("in %v %v out %v %v\n", in, vc, hop.Port, hop.VC)
		}
	}
	// Output:
	// in p0 vc0 out p2 vc0
	// in p1 vc0 out p2 vc0
	// in p2 vc0 out p3 vc1
	// in p3 vc0 out p2 vc1
	// in p0 vc1 out p2 vc0
	// in p1 vc1 out p2 vc0
	// in p2 vc1 out p3 vc1
	// in p3 vc1 out p- vc1
}
