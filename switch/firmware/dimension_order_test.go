package firmware

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// net is any topology whose switches stand still.
type net struct {
	*topology.Graph
	sw []*switching.Still
}

func newNet(spec string) *net {
	g, err := topology.Generate(spec)
	if err != nil {
		panic(err)
	}
	n := &net{Graph: g}
	for id := range g.Switches {
		n.sw = append(n.sw, &switching.Still{At: g.Place(weft.SwitchID(id)), Free: 2, Channels: 2})
	}
	return n
}

// step is what fw does with a packet for dst that came in at a port of a switch.
func (n *net) step(fw Firmware, in weft.End, vc weft.VC, dst weft.NICID) Decision {
	return n.stepBy(fw, in, vc, dst, weft.SubHeaders{})
}

// stepBy is step for a packet with sub-headers.
func (n *net) stepBy(fw Firmware, in weft.End, vc weft.VC, dst weft.NICID, sub weft.SubHeaders) Decision {
	v := n.sw[in.Node.Index]
	role := weft.RoleNone
	if int(in.Port) < v.At.Ports() {
		role = v.At.Roles[in.Port]
	}
	pkt := weft.Header{Dst: dst, VC: vc, Fields: weft.NewFields()}
	pkt.Sub = sub
	return fw.Route(&pkt, Arrival{Port: in.Port, VC: vc, From: role}, v)
}

// grids have dimensions of two, odd and even ones, one to four of them, and several NICs a switch.
var grids = []string{
	"mesh:8x8", "mesh:2x3x4", "mesh:5", "mesh:3x3,nics=2", "ring:3", "ring:8",
	"torus:4x4", "torus:5x5", "torus:8x8", "torus:2x6", "torus:4x4x4", "torus:2x2",
	"torus:3x2x3x2", "torus:6x3,nics=3", "torus:4x3,wrap=x", "torus:3x5x4,wrap=yz",
}

func TestDimensionOrderTakesOneShortestPathForEveryPairAndRaisesTheChannel(t *testing.T) {
	for _, spec := range grids {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			n, fw := newNet(spec), DimensionOrder()
			for src := range n.NICs {
				for dst := range n.NICs {
					if src != dst {
						n.shortest(t, fw, weft.NICID(src), weft.NICID(dst))
					}
				}
			}
		})
	}
}

func (n *net) shortest(t *testing.T, fw Firmware, src, dst weft.NICID) {
	at, _, _ := n.Peer(weft.End{Node: src.Node()})
	vc, last := weft.VC(0), -1
	for hops := 1; ; hops++ {
		d := n.step(fw, at, vc, dst)
		if len(d.Candidates) != 1 || hops > n.Distance(src, dst) {
			t.Fatalf("%d -> %d: at %v after %d hops: %+v", src, dst, at, hops, d)
		}
		c := d.Candidates[0]
		next, _, _ := n.Peer(weft.End{Node: at.Node, Port: c.Port})
		if !next.Node.IsSwitch() {
			require.Equal(t, dst.Node(), next.Node)
			require.Equal(t, n.Distance(src, dst), hops)
			return
		}
		number := fw.ChannelNumber(n.sw[at.Node.Index].At, c.Port, c.VC)
		if number <= last {
			t.Fatalf("%d -> %d: at %v: from channel %d to %d by %v %v (%s)", src, dst, at, last, number, c.Port, c.VC, d.Rule)
		}
		at, vc, last = next, c.VC, number
	}
}

// Whatever a packet's destination and however it came: no port or channel that is not there, no
// dead port, no other NIC; and of those that number channels, never back where it came from, and
// never a channel of a lower number.
func TestEveryFirmwareForGridsKeepsTheContract(t *testing.T) {
	for _, spec := range []string{
		"mesh:3x4", "ring:4", "torus:4x3,wrap=y", "torus:4x3",
		"torus:2x5,nics=2",
	}[:testenv.Levels(5, 3, 1)] {
		for _, e := range For(Grids) {
			t.Run(spec+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				n, fw := newNet(spec), e
				for id, v := range n.sw {
					for dead := range uint64(1) << v.At.Ports() {
						v.Dead[0] = dead
						for p := range weft.PortID(v.At.Ports()) {
							for vc := range weft.VC(4) {
								for dst := range weft.NICID(len(n.NICs) + 3) { // the last are nobody's
									n.contract(t, fw, weft.End{Node: weft.SwitchID(id).Node(), Port: p}, vc, dst)
								}
							}
						}
					}
				}
			})
		}
	}
}

func (n *net) contract(t *testing.T, fw Firmware, in weft.End, vc weft.VC, dst weft.NICID) {
	v := n.sw[in.Node.Index]
	d := n.step(fw, in, vc, dst)
	require.NotEmpty(t, d.Rule)
	for _, c := range d.Candidates {
		to, _, ok := n.Peer(weft.End{Node: in.Node, Port: c.Port})
		numbered := fw.ChannelNumber != nil
		switch from, _, _ := n.Peer(in); {
		case !ok || !v.PortUp(c.Port):
			t.Fatalf("for %d at %v %v: by the dead port %v", dst, in, vc, c.Port)
		case c.VC > max(1, vc):
			t.Fatalf("for %d at %v %v: in %v", dst, in, vc, c.VC)
		case !to.Node.IsSwitch() && to.Node != dst.Node():
			t.Fatalf("for %d at %v %v: to %v", dst, in, vc, to.Node)
		case numbered && to.Node.IsSwitch() && c.Port == in.Port:
			t.Fatalf("for %d at %v %v: back", dst, in, vc)
		case numbered && to.Node.IsSwitch() && from.Node.IsSwitch() &&
			(vc == 0 || vc == 1 && v.At.Grid.Around(int(in.Port)/2)):
			came := fw.ChannelNumber(n.sw[from.Node.Index].At, from.Port, vc)
			if goes := fw.ChannelNumber(v.At, c.Port, c.VC); goes <= came {
				t.Fatalf("for %d at %v %v: from channel %d to %d (%s)", dst, in, vc, came, goes, d.Rule)
			}
		}
	}
}

func TestFirmwaresForGridsRouteWithoutAllocating(t *testing.T) {
	n := newNet("torus:4x4x4")
	v := n.sw[21]
	v.Scratch()
	for _, e := range gridVariants() {
		fw, pkt := e, weft.Header{Fields: weft.NewFields()}
		pkt.Sub[0] = weft.NewSubHeader(0).WithMisroute(0, 1, 1).WithDeterministic()
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for p, role := range v.At.Roles {
				for pkt.Dst = range weft.NICID(64) {
					fw.Route(&pkt, Arrival{Port: weft.PortID(p), From: role}, v)
				}
			}
		}), e.Name)
	}
}

func TestFirmwaresForGridsRefusePlacesWhereTheyCannotRun(t *testing.T) {
	for _, e := range For(Grids) {
		check := e.Fits
		require.NoError(t, check(newNet("mesh:4x4").sw[0].At, e.NeedsVCs()), e.Name)
		require.ErrorContains(t, check(placeOf(4, 3, 1, 0, 1), 16), "torus:4x4", "%s: a tree", e.Name)
		require.ErrorContains(t, check(newNet("mesh:4x4").sw[0].At, e.NeedsVCs()-1), "virtual channels", "%s: too few",
			e.Name)
	}
	check := DimensionOrder().Check
	require.ErrorContains(t, check(newNet("torus:2x3").sw[0].At, 1),
		"needs 2 virtual channels, there are 1: raise the number")
	require.NoError(t, check(newNet("torus:2x3").sw[0].At, 2))
	require.NoError(t, check(newNet("torus:2x2").sw[0].At, 1), "there is no ring in it")
	for _, e := range For(Trees) {
		require.Error(t, e.Fits(newNet("mesh:4x4").sw[0].At, 16), e.Name)
	}
}

// With every pair sending as much, all links of a torus whose radix is a multiple of four carry as
// much, though a packet half way round has no choice; and the two virtual channels, roughly, as
// much.
func TestDimensionOrderSpreadsUniformTrafficEvenlyOverATorus(t *testing.T) {
	for _, spec := range []string{"torus:8x8", "torus:4x4x4", "ring:8"} {
		n, fw := newNet(spec), DimensionOrder()
		links, vcs := map[weft.End]int{}, [2]int{}
		for src := range n.NICs {
			for dst := range n.NICs {
				at, _, _ := n.Peer(weft.End{Node: weft.NICID(src).Node()})
				for vc := weft.VC(0); src != dst && at.Node.IsSwitch(); {
					c := n.step(fw, at, vc, weft.NICID(dst)).Candidates[0]
					if v := n.sw[at.Node.Index]; v.At.Roles[c.Port] == weft.RolePeer {
						links[weft.End{Node: at.Node, Port: c.Port}]++
						vcs[c.VC]++
					}
					at, _, _ = n.Peer(weft.End{Node: at.Node, Port: c.Port})
					vc = c.VC
				}
			}
		}
		var loads []int
		for _, load := range links {
			loads = append(loads, load)
		}
		for _, load := range loads {
			require.Equal(t, loads[0], load, spec)
		}
		require.InDelta(t, 0.5, float64(vcs[0])/float64(vcs[0]+vcs[1]), 0.1, "%s: %v", spec, vcs)
	}
}

// gridVariants are the firmwares for grids, and some with options that none of them sets.
func gridVariants() []Firmware {
	all := Direct{Adaptive: true, Order: DirectionFirst, SubPaths: 3, Deterministic: true, Misroutes: true}
	dateline := all
	dateline.Ring, dateline.SubPaths = Dateline, 2
	return append(
		For(Grids),
		named("dimension-order-bubble", 1, Direct{}.Firmware()),
		named("duato-mechanisms", 4, all.Firmware()),
		named("duato-dateline", 5, dateline.Firmware()),
	)
}

// TestGridDecisions compares decisions with testdata/<firmware>.txt. The command is
//
//	route on=torus:4x4 at=s1.2 in=(s0.2) [vc=1] dst=n3.3 [sub=(5;end)] [dead=(s2.2)]
//
// for one packet at a switch that came from a neighbour there, with sub-headers, and dead ports by
// the neighbours they lead to; a port also by its number, as p3. It prints where the candidates
// lead, by class, their channels, how many places they need, what is left of the sub-headers, and
// the rule.
func TestGridDecisions(t *testing.T) {
	for _, e := range gridVariants() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			nets := map[string]*net{}
			datadriven.RunTest(t, "testdata/"+e.Name+".txt", func(t *testing.T, d *datadriven.TestData) string {
				var on, at, in, dst string
				var vc int
				d.ScanArgs(t, "on", &on)
				d.ScanArgs(t, "at", &at)
				d.ScanArgs(t, "in", &in)
				d.ScanArgs(t, "dst", &dst)
				d.MaybeScanArgs(t, "vc", &vc)
				if nets[on] == nil {
					nets[on] = newNet(on)
				}
				n := nets[on]
				node, err := n.NodeByName(at)
				require.NoError(t, err)
				to, err := n.NodeByName(dst)
				require.NoError(t, err)
				v := n.sw[node.Index]
				v.Dead, v.Channels = switching.PortSet{}, e.NeedsVCs()
				var sub weft.SubHeaders
				for _, a := range d.CmdArgs {
					if a.Key == "sub" {
						sub = subOf(t, strings.Join(a.Vals, ","))
					}
					for _, s := range a.Vals {
						if a.Key == "dead" {
							v.Dead.Add(n.portTo(t, node, s))
						}
					}
				}
				from := weft.End{Node: node, Port: n.portTo(t, node, in)}
				return n.show(node, n.stepBy(e, from, weft.VC(vc), weft.NICID(to.Index), sub))
			})
		})
	}
}

// show prints a decision.
func (n *net) show(at weft.Node, d Decision) string {
	if len(d.Candidates) == 0 {
		return "discard (" + d.Rule + ")\n"
	}
	var b strings.Builder
	for i, c := range d.Candidates {
		if i > 0 && c.Class > d.Candidates[i-1].Class {
			b.WriteString("or ")
		}
		peer, _, _ := n.Peer(weft.End{Node: at, Port: c.Port})
		b.WriteString(n.Name(peer.Node) + " " + c.VC.String() + " ")
		if c.Need > 0 {
			b.WriteString("needs " + strconv.Itoa(int(c.Need)) + " ")
		}
	}
	if sub := d.Candidates[0].Fields.Sub; sub.Len() > 0 {
		b.WriteString("left " + sub.String() + " ")
	}
	return b.String() + "(" + d.Rule + ")\n"
}

// portTo is the port of a switch to the neighbour of that name, or of that number.
func (n *net) portTo(t *testing.T, at weft.Node, name string) weft.PortID {
	t.Helper()
	if p, err := strconv.Atoi(strings.TrimPrefix(name, "p")); err == nil {
		return weft.PortID(p)
	}
	for p := range weft.PortID(n.sw[at.Index].At.Ports()) {
		if peer, _, ok := n.Peer(weft.End{Node: at, Port: p}); ok && n.Name(peer.Node) == name {
			return p
		}
	}
	require.Fail(t, "no such neighbour", name)
	return 0
}
