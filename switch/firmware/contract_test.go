package firmware

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// legal reports whether a packet for dst may come in like this when nothing is dead.
func legal(t *weft.Tree, at Arrival, h *weft.Header) bool {
	fields := h.Fields
	fields.Route = weft.SourceRoute{}
	if at.VC != 0 || fields != weft.NewFields() {
		return false
	}
	if at.From == weft.RoleUp {
		return t.HasDown(h.Dst)
	}
	return !t.HasDown(h.Dst) || t.DownPort(h.Dst) != at.Port
}

// breach says how a decision breaks the contract of a firmware, or nothing.
func breach(v *switching.Still, at Arrival, h *weft.Header, vcs int, d Decision) string {
	t := v.At.Tree
	if d.Rule == "" {
		return "no rule"
	}
	for i, c := range d.Candidates {
		switch {
		case int(c.Port) >= v.At.Ports() || int(c.VC) >= vcs:
			return fmt.Sprintf("names %v %v", c.Port, c.VC)
		case !v.PortUp(c.Port):
			return fmt.Sprintf("names the dead port %v", c.Port)
		case v.At.Roles[c.Port] == weft.RoleNIC && (!t.HasDown(h.Dst) || t.DownPort(h.Dst) != c.Port):
			return fmt.Sprintf("names %v, which leads to another NIC", c.Port)
		case c.Port == at.Port && (at.From == weft.RoleUp || !t.HasDown(h.Dst)):
			return fmt.Sprintf("names the arrival port %v", c.Port)
		case i > 0 && c.Port <= d.Candidates[i-1].Port:
			return fmt.Sprintf("names %v twice or out of order", c.Port)
		}
	}
	if d.Write.Do && d.Turn != switching.UTurn && len(d.Candidates) > 0 {
		return "writes a register without a U-turn"
	}
	if v.Dead == (switching.PortSet{}) && legal(t, at, h) && (len(d.Candidates) == 0 || d.Turn != switching.Straight) {
		return "leaves the straight way without a fault"
	}
	return ""
}

// headers are packets for dst with the port field and vector that firmwares give them, and some
// that none does.
func headers(dst weft.NICID, vc weft.VC) []weft.Header {
	var hs []weft.Header
	for _, f := range []weft.Fields{
		weft.NewFields(),
		{PortField: weft.PortFieldDown},
		{PortField: 1},
		{PortField: 3, Misroute: 0b101},
		{PortField: weft.PortFieldNone, Misroute: 0b1111},
		{PortField: 4},
		{PortField: 32767, Misroute: 1 << 63},
		{PortField: -32768},
	} {
		hs = append(hs, weft.Header{Dst: dst, VC: vc, Fields: f})
	}
	return hs
}

// Every firmware that comes with Weft, at a switch of each tier of some trees (at soak the 4-ary
// 3-tree too), for every arrival, some destinations, headers right and wrong, and up to two dead
// ports of the switch.
func TestEveryFirmwareKeepsTheContract(t *testing.T) {
	specs := []string{"mport-tree:4,3", "kary-ntree:2,4", "leaf-spine:2,5,3", "kary-ntree:4,3"}
	for _, spec := range specs[:testenv.Levels(4, 3, 1)] {
		for _, e := range variants() {
			t.Run(spec+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				net := newTree(spec)
				fw := e
				for id, v := range net.views {
					if id > 0 && v.At.Tree.Tier == net.views[id-1].At.Tree.Tier && id%11 != 0 {
						continue // its neighbours will do
					}
					declared := len(fw.RegistersAt(v.At))
					ports := v.At.Ports()
					for a := range ports + 1 { // ports stands for none
						for b := a; b < ports+1; b++ {
							v.Dead[0] = (1<<a | 1<<b) & (1<<ports - 1)
							contractAt(t, v, fw, e, net.nics(), declared)
						}
					}
				}
			})
		}
	}
}

func contractAt(t *testing.T, v *switching.Still, fw Firmware, e Firmware, nics, declared int) {
	v.Registers = v.Registers[:declared]
	for p, role := range v.At.Roles {
		for vc := range weft.VC(e.NeedsVCs()) {
			at := Arrival{Port: weft.PortID(p), VC: vc, From: role}
			for dst := weft.NICID(0); int(dst) <= nics; dst += weft.NICID(1 + nics/12) { // the last may be nobody's
				for _, pkt := range headers(dst, vc) {
					if fw.Source != nil {
						pkt.Route = treeRoute(v.At.Tree, dst)
					}
					was := pkt
					d := fw.Route(&pkt, at, v)
					if wrong := breach(v, at, &pkt, e.NeedsVCs(), d); wrong != "" && int(dst) < nics {
						t.Fatalf("%s at %v, dead %b, arrival %+v, %+v: %s: %+v", e.Name, v.At.Name, v.Dead[0], at, pkt, wrong, d)
					}
					if d.Write.Do && d.Write.Index >= declared || pkt != was {
						t.Fatalf("%s at %v: register %d of %d; %+v was %+v", e.Name, v.At.Name, d.Write.Index, declared, pkt, was)
					}
				}
			}
		}
	}
	require.Equal(t, switching.Asked{Register: v.Asked.Register}, v.Asked, "looks at queues, random draws or the time")
}

func TestEveryFirmwareRoutesWithoutAllocating(t *testing.T) {
	v := still(placeOf(4, 3, 1, 0, 1))
	for _, e := range For(Trees) {
		fw := e
		for _, dead := range []uint64{0, 1 << 1, 1 << 5} {
			v.Dead[0] = dead
			pkt := weft.Header{Fields: weft.NewFields()}
			require.Zero(t, testing.AllocsPerRun(100, func() {
				for p, role := range v.At.Roles {
					for dst := range weft.NICID(64) {
						pkt.Dst = dst
						fw.Route(&pkt, Arrival{Port: weft.PortID(p), From: role}, v)
					}
				}
			}), e.Name)
		}
	}
}

// What a firmware decides may depend on where a packet goes, on how it came and on its fields, and
// on nothing else of it.
func TestDestinationBasedFirmwaresLookAtNothingElse(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	net := newTree("kary-ntree:3,4")
	for _, e := range variants() {
		fw := e
		require.True(t, fw.DestinationBased, e.Name)
		for range testenv.Levels(5000, 1000, 500) {
			v := net.views[rnd.IntN(len(net.views))]
			v.Dead[0] = rnd.Uint64() & rnd.Uint64()
			p := weft.PortID(rnd.IntN(v.At.Ports()))
			at := Arrival{Port: p, VC: weft.VC(rnd.IntN(e.NeedsVCs())), From: v.At.Roles[p]}
			pkts := headers(weft.NICID(rnd.IntN(net.nics())), at.VC)
			pkt := pkts[rnd.IntN(len(pkts))]
			d := fw.Route(&pkt, at, v)
			d.Candidates = append([]Candidate(nil), d.Candidates...)
			pkt.Src, pkt.Seq, pkt.Size = weft.NICID(rnd.Uint32()), rnd.Uint64(), rnd.Uint32()
			pkt.Injected = weft.Time(rnd.Int64())
			pkt.Hops, pkt.Reroutes, pkt.Generation, pkt.Traced = uint16(rnd.Uint32()), uint16(rnd.Uint32()),
				uint16(rnd.Uint32()), true
			again := fw.Route(&pkt, at, v)
			again.Candidates = append([]Candidate(nil), again.Candidates...)
			require.Equal(t, d, again, e.Name)
		}
	}
}

func TestEveryFirmwareIsFoundByItsName(t *testing.T) {
	var names []string
	for _, f := range All() {
		names = append(names, f.Name)
		e, ok := ByName(f.Name)
		require.True(t, ok)
		require.Equal(t, f.Name, e.Name)
		require.NotEmpty(t, e.About)
	}
	require.True(t, slices.IsSorted(names), "as help lists them")
	require.Len(t, slices.Compact(slices.Clone(names)), len(names), "each is another")
	_, ok := ByName("no such firmware")
	require.False(t, ok)
}

func TestEveryFirmwareRefusesPlacesWhereItCannotRun(t *testing.T) {
	wide := placeOf(65, 2, 1, 0)
	for _, e := range For(Trees) {
		check := e.Fits
		tree := placeOf(4, 3, 1, 0, 1)
		require.NoError(t, check(tree, e.NeedsVCs()), e.Name)
		require.ErrorContains(t, check(&weft.Place{Name: "mesh"}, e.NeedsVCs()), "kary-ntree:4,3", "%s: not a tree", e.Name)
		require.ErrorContains(t, check(tree, e.NeedsVCs()-1), "virtual channels", "%s: too few", e.Name)
		if e.Symmetric {
			require.ErrorContains(t, check(wide, 1), "65 up ports", e.Name)
		} else {
			require.NoError(t, check(wide, e.NeedsVCs()), e.Name)
		}
	}
	require.ErrorContains(t, AdaptiveLink{Vector: VectorInHeader}.Firmware().Check(placeOf(4, 3, 1, 0, 1), 1),
		"misroute-vector")
}

// 32 up ports and 64 down ports at the top: the widest trees that the vectors are meant for.
func TestEveryFirmwareRoutesInWideTrees(t *testing.T) {
	for _, spec := range []string{"kary-ntree:32,2", "mport-tree:64,2"} {
		net := newTree(spec)
		dst := weft.NICID(net.nics() - 1)
		for _, e := range For(Trees) {
			fw := e
			if e.Tolerance.Most(net.k) > 0 {
				top, port := net.next(net.leafOf(dst), net.views[net.leafOf(dst)].At.Tree.Up(31))
				net.die(element{{Node: weft.SwitchID(top).Node(), Port: port}})
			}
			require.NoError(t, fw.Fits(net.views[0].At, e.NeedsVCs()), e.Name)
			require.Empty(t, newWalk(net, fw, dst).from(net.start(fw, 0, dst), -1), e.Name)
			net.heal()
		}
	}
}

func (t *tree) leafOf(nic weft.NICID) int {
	sw, _ := t.leaf(nic)
	return sw
}

func TestUpDownTakesAnotherChoiceOfTheWayUp(t *testing.T) {
	v := still(placeOf(4, 3, 1, 0, 1))
	fw := UpDown{Up: func(View, *weft.Header) int { return 2 }}.Firmware()
	pkt := weft.Header{Dst: 63}
	at := Arrival{From: weft.RoleDown}
	require.Equal(t, weft.PortID(6), fw.Route(&pkt, at, v).Candidates[0].Port)
	v.Dead.Add(6)
	require.Equal(t, weft.PortID(7), fw.Route(&pkt, at, v).Candidates[0].Port,
		"unless it is dead: the default, digit 3 of 63")
}
