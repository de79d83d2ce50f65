package firmware

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// legal reports whether a packet for dst may come in like this when nothing is dead.
func legal(t *weft.Tree, at Arrival, dst weft.NICID) bool {
	if at.From == weft.RoleUp {
		return t.HasDown(dst)
	}
	return !t.HasDown(dst) || t.DownPort(dst) != at.Port
}

// breach says how a decision breaks the contract of a firmware, or nothing.
func breach(v *fakeView, at Arrival, dst weft.NICID, vcs int, d Decision) string {
	t := v.place.Tree
	if d.Rule == "" {
		return "no rule"
	}
	for _, c := range d.Candidates {
		switch {
		case int(c.Port) >= v.place.Ports() || int(c.VC) >= vcs:
			return fmt.Sprintf("names %v %v", c.Port, c.VC)
		case !v.PortUp(c.Port):
			return fmt.Sprintf("names the dead port %v", c.Port)
		case v.place.Roles[c.Port] == weft.RoleNIC && (!t.HasDown(dst) || t.DownPort(dst) != c.Port):
			return fmt.Sprintf("names %v, which leads to another NIC", c.Port)
		case c.Port == at.Port && !strings.HasPrefix(d.Rule, "2:") && !strings.HasPrefix(d.Rule, "2b:"):
			return fmt.Sprintf("names the arrival port %v", c.Port)
		}
	}
	if v.dead == 0 && legal(t, at, dst) && (len(d.Candidates) == 0 || d.Turn != switching.Straight) {
		return "leaves the straight way without a fault"
	}
	return ""
}

// Every firmware that comes with Weft, at every switch of the 4-ary 3-tree, for every arrival, destination and up to two
// dead ports of the switch.
func TestEveryFirmwareKeepsTheContract(t *testing.T) {
	net := newTree(4, 3)
	for _, e := range Entries() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			fw := e.New()
			for _, shared := range net.views {
				v := newView(shared.place)
				ports := v.place.Ports()
				for a := range ports + 1 { // ports stands for none
					for b := a; b < ports+1; b++ {
						v.dead = (1<<a | 1<<b) & (1<<ports - 1)
						contractAt(t, v, fw, e, net.nics())
					}
				}
			}
		})
	}
}

func contractAt(t *testing.T, v *fakeView, fw Firmware, e Entry, nics int) {
	for p, role := range v.place.Roles {
		for vc := range weft.VC(e.VCs) {
			at := Arrival{Port: weft.PortID(p), VC: vc, From: role}
			for dst := range weft.NICID(nics) {
				pkt := weft.Header{Dst: dst, VC: vc, Fields: weft.NewFields()}
				if _, ok := fw.(Sourcer); ok {
					if vc == rerouteLayer && role != weft.RoleUp && !v.place.Tree.HasDown(dst) {
						continue // it has no route by which a packet comes like this
					}
					pkt.Route = treeRoute(v.place.Tree, dst)
				}
				d := fw.Route(&pkt, at, v)
				if wrong := breach(v, at, dst, e.VCs, d); wrong != "" {
					t.Fatalf("%s at %v, dead %b, arrival %+v, to %d: %s: %+v", e.Name, v.place.Name, v.dead, at, dst, wrong, d)
				}
			}
		}
	}
}

func TestEveryFirmwareRoutesWithoutAllocating(t *testing.T) {
	v := newView(placeOf(4, 3, 1, []int{0, 1}))
	for _, e := range Entries() {
		fw := e.New()
		for _, dead := range []uint64{0, 1 << 1, 1 << 5} {
			v.dead = dead
			pkt := weft.Header{Fields: weft.NewFields()}
			require.Zero(t, testing.AllocsPerRun(100, func() {
				for p, role := range v.place.Roles {
					for dst := range weft.NICID(64) {
						pkt.Dst = dst
						fw.Route(&pkt, Arrival{Port: weft.PortID(p), From: role}, v)
					}
				}
			}), e.Name)
		}
	}
}

func TestEveryFirmwareIsFoundByItsName(t *testing.T) {
	require.Equal(t, []string{"adaptive-link", "deterministic-link", "source-routed", "updown"}, Names())
	for _, name := range Names() {
		e, ok := ByName(name)
		require.True(t, ok)
		require.Equal(t, name, e.Name)
		require.NotEmpty(t, e.About)
	}
	_, ok := ByName("no such firmware")
	require.False(t, ok)
}

func TestEveryFirmwareRefusesPlacesWhereItCannotRun(t *testing.T) {
	for _, e := range Entries() {
		check := e.New().(Checker).Check
		tree := placeOf(4, 3, 1, []int{0, 1})
		require.NoError(t, check(tree, e.VCs), e.Name)
		require.ErrorContains(t, check(&weft.Place{Name: "mesh"}, e.VCs), "kary-ntree:4,3", "%s: not a tree", e.Name)
		require.ErrorContains(t, check(tree, e.VCs-1), "virtual channels", "%s: too few", e.Name)
	}
	wide := placeOf(65, 2, 1, []int{0})
	require.ErrorContains(t, AdaptiveLink{}.Check(wide, 1), "65 up ports")
}

func TestTheVectorsTimeoutIsConfigured(t *testing.T) {
	place := placeOf(4, 3, 1, []int{0, 1})
	require.Equal(t, []Register{{Name: RerouteVector, Width: 4, Expire: DefaultVectorTimeout}}, AdaptiveLink{}.Registers(place))
	require.Equal(t, weft.Second, AdaptiveLink{VectorTimeout: weft.Second}.Registers(place)[0].Expire)
}

func TestUpDownTakesAnotherChoiceOfTheWayUp(t *testing.T) {
	v := newView(placeOf(4, 3, 1, []int{0, 1}))
	fw := UpDown{Up: func(View, *weft.Header) int { return 2 }}
	pkt := weft.Header{Dst: 63}
	at := Arrival{From: weft.RoleDown}
	require.Equal(t, weft.PortID(6), fw.Route(&pkt, at, v).Candidates[0].Port)
	v.dead = 1 << 6
	require.Equal(t, weft.PortID(7), fw.Route(&pkt, at, v).Candidates[0].Port, "unless it is dead: the default, digit 3 of 63")
}
