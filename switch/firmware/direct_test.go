package firmware

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// directs are the forms of Direct, with the VCs that they run with.
func directs() map[string]Direct {
	list := map[string]Direct{}
	for _, order := range []Order{DimensionFirst, DirectionFirst} {
		for _, ring := range []Ring{Bubble, Dateline, Free} {
			for _, adaptive := range []bool{false, true} {
				f := Direct{
					Order: order, Ring: ring, Adaptive: adaptive, SubPaths: 3, Deterministic: true,
					Misroutes: order == DirectionFirst,
				}
				list[fmt.Sprintf("%v,%v,adaptive=%v", order, ring, adaptive)] = f
			}
		}
	}
	return list
}

// trip is a packet under way, as the sub-headers that its NIC wrote have it. It is told the paper's
// rules anew, by coordinates.
type trip struct {
	t      *testing.T
	n      *net
	f      Direct
	dst    weft.NICID
	at     weft.End
	vc     weft.VC
	fields weft.Fields
	last   int // number of the last escape channel that was taken
}

// apart is the length of a shortest way between two coordinates, and whether it leads up and down.
func apart(g *weft.Grid, i int, from, to uint32) (hops int, up, down bool) {
	ahead, back := int(to)-int(from), int(from)-int(to)
	if g.Around(i) {
		size := int(g.Dims[i].Size)
		ahead, back = (ahead+size)%size, (back+size)%size
		return min(ahead, back), ahead > 0 && ahead <= back, back > 0 && back <= ahead
	}
	return max(ahead, back), ahead > 0, back > 0
}

// rank is the place of a direction in an order. Dimension order does not tell both directions of a
// dimension apart.
func (f *Direct) rank(p weft.PortID) int {
	switch {
	case f.Order == DimensionFirst:
		return int(p / 2)
	case p%2 == 1:
		return int(p / 2)
	}
	return len(dimensions) + int(p/2)
}

// number orders escape channels so that a packet that has taken one never asks for a lower one,
// nor, without bubble flow control, for the same one: by sub-path, direction, and with datelines by
// channel and coordinate.
func (tr *trip) number(c Candidate) int {
	g := tr.n.sw[tr.at.Node.Index].At.Grid
	i := int(c.Port / 2)
	left := max(0, c.Fields.Sub.Len()-1)
	n := (weft.MaxSubPaths-left)*2*len(dimensions) + tr.f.rank(c.Port)
	d := &g.Dims[i]
	at := d.At
	if c.Port%2 == 0 {
		at = d.Size - 1 - at
	}
	switch {
	case tr.f.Ring == Dateline && g.Around(i):
		return (n*2+int(c.VC)%2)*16 + int(at)
	case !g.Around(i):
		return n*2*16 + int(at)
	}
	return n * 2 * 16
}

// hop asks for the packet, checks what the answer may be, and takes one of the candidates at
// random. It reports false at the NIC.
func (tr *trip) hop(rnd *rand.Rand) (Decision, bool) {
	v := tr.n.sw[tr.at.Node.Index]
	g := v.At.Grid
	was := tr.fields
	pkt := weft.Header{Dst: tr.dst, VC: tr.vc, Fields: tr.fields}
	d := tr.f.route(&pkt, Arrival{Port: tr.at.Port, VC: tr.vc, From: v.At.Roles[tr.at.Port]}, v)
	if len(d.Candidates) == 0 {
		return d, false
	}
	require.Equal(tr.t, was, pkt.Fields, "it changes the packet")
	escapes := 0
	for _, c := range d.Candidates {
		rest := c.Fields
		rest.Sub = was.Sub
		require.Equal(tr.t, was, rest, "fields other than the sub-headers")
		require.True(tr.t, c.Fields.Sub.Valid())
		if v.At.Roles[c.Port] == weft.RoleNIC {
			require.Len(tr.t, d.Candidates, 1)
			continue
		}
		if adaptive := int(c.VC) >= tr.f.escapes(g); adaptive {
			require.True(tr.t, tr.f.Adaptive)
			require.Less(tr.t, int(c.VC), v.Channels)
			require.Zero(tr.t, c.Class)
			require.Zero(tr.t, c.Need)
			continue
		}
		escapes++
		n := tr.number(c)
		if along := tr.f.Ring != Dateline && g.Around(int(c.Port/2)); n < tr.last || n == tr.last && !along {
			tr.t.Fatalf("%v at %v: escape channel %d after %d (%s)", tr.f, tr.at, n, tr.last, d.Rule)
		}
		straight := tr.vc == c.VC && tr.at.Port == c.Port^1 && v.At.Roles[tr.at.Port] == weft.RolePeer
		require.Equal(tr.t, tr.f.Ring == Bubble && g.Around(int(c.Port/2)) && !straight, c.Need == 2)
	}
	c := d.Candidates[rnd.IntN(len(d.Candidates))]
	if v.At.Roles[c.Port] == weft.RolePeer {
		require.Equal(tr.t, 1, escapes, "every packet can escape")
		if int(c.VC) < tr.f.escapes(g) {
			tr.last = tr.number(c)
		}
	}
	tr.at, _, _ = tr.n.Peer(weft.End{Node: tr.at.Node, Port: c.Port})
	tr.vc, tr.fields = c.VC, c.Fields
	return d, tr.at.Node.IsSwitch()
}

// length is how many hops a packet takes from one switch to another by these sub-headers, 0 if it
// may not go by them: misroutes that lead off the edge or out of order, or all the way round.
func length(f *Direct, g *weft.Grid, from, to weft.SwitchID, sub weft.SubHeaders) (hops int) {
	at, _ := coordinatesOf(g, from)
	for k, h := range sub[:max(1, sub.Len())] {
		goal, _ := coordinatesOf(g, to)
		if k < sub.Len()-1 {
			goal, _ = coordinatesOf(g, h.To())
		}
		last, turned, astray := -1, weft.NoPort, 0
		for j := range weft.MaxMisroutes {
			p, n := h.Misroute(j)
			if n == 0 {
				continue
			}
			d := &g.Dims[p/2]
			last, turned, astray = f.rank(p), p, n
			switch size := int(d.Size); {
			case g.Around(int(p / 2)):
				if n >= size {
					return 0
				}
				at[p/2] = uint32((int(at[p/2]) + (2*int(p%2)-1)*n + size) % size)
			default:
				end := int(at[p/2]) + (2*int(p%2)-1)*n
				if end < 0 || end >= size {
					return 0
				}
				at[p/2] = uint32(end)
			}
			hops += n
		}
		free := f.Adaptive && !h.Deterministic()
		for i := range g.Dims {
			n, up, down := apart(g, i, at[i], goal[i])
			if up && down && !free { // one of the two
				up = (at[i]%2 == 0) != h.OtherWay(i)
				down = !up
			}
			if up && f.rank(g.Up(i)) < last || down && f.rank(g.Down(i)) < last {
				return 0
			}
			goesOn := turned == g.Up(i) && up || turned == g.Down(i) && (down && !up || down && !free)
			if goesOn && g.Around(i) && n+astray >= int(g.Dims[i].Size) {
				return 0
			}
			hops += n
		}
		at = goal
	}
	return hops
}

// randomSub are sub-headers that may make sense.
func randomSub(rnd *rand.Rand, f *Direct, g *weft.Grid, switches int) (sub weft.SubHeaders) {
	n := rnd.IntN(f.subPaths() + 1)
	for k := range n {
		h := weft.NewSubHeader(0)
		if k < n-1 {
			h = weft.NewSubHeader(weft.SwitchID(rnd.IntN(switches)))
		}
		if rnd.IntN(3) == 0 {
			h = h.WithDeterministic()
		}
		if rnd.IntN(3) == 0 {
			h = h.WithOtherWay(rnd.IntN(len(g.Dims)))
		}
		if f.Misroutes && rnd.IntN(2) == 0 {
			j := 0
			for _, up := range []int{1, 0} {
				for i := range g.Dims {
					if j < weft.MaxMisroutes && rnd.IntN(3) == 0 {
						h = h.WithMisroute(j, weft.PortID(2*i+up), 1+rnd.IntN(min(weft.MaxMisrouteHops, int(g.Dims[i].Size))))
						j++
					}
				}
			}
		}
		sub[k] = h
	}
	return sub
}

// Whatever the candidates that are taken and the sub-headers: the packet arrives after as many hops
// as they say, can always escape, and never asks for an escape channel below the one that it has
// taken, so that the extended dependency graph of the escape channels has no cycle but along rings
// with bubble flow control.
func TestDirectTakesEveryPairBySubHeadersAsLongAsTheySay(t *testing.T) {
	for _, spec := range []string{
		"mesh:5", "ring:3", "mesh:2x3x3", "torus:5x3,nics=2", "ring:8", "mesh:4x4", "torus:4x4",
		"torus:2x6", "torus:3x3x3", "torus:3x2x3x2",
	}[:testenv.Levels(10, 7, 3)] {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			n, rnd := newNet(spec), rand.New(rand.NewPCG(1, 2))
			refused := 0
			for name, f := range directs() {
				for src := range n.NICs {
					for dst := range n.NICs {
						if len(n.NICs) > 10 && rnd.IntN(3) > 0 { // a third of them for each form
							continue
						}
						start, _, _ := n.Peer(weft.End{Node: weft.NICID(src).Node()})
						v := n.sw[start.Node.Index]
						for _, s := range n.sw {
							s.Channels = f.escapes(v.At.Grid) + 2
						}
						sub := randomSub(rnd, &f, v.At.Grid, len(n.sw))
						if src%2 == 0 { // half of them without
							sub = weft.SubHeaders{}
						}
						tr := trip{t: t, n: n, f: f, dst: weft.NICID(dst), at: start, fields: weft.NewFields()}
						tr.fields.Sub = sub
						hops, d, more := 0, Decision{}, true
						for more {
							if d, more = tr.hop(rnd); more {
								hops++
							}
						}
						want := length(&f, v.At.Grid, weft.SwitchID(start.Node.Index), weft.SwitchID(dst/int(v.At.Grid.NICs)), sub)
						if len(d.Candidates) == 0 {
							refused++
							if want != 0 || d.Rule != ruleOrder && d.Rule != ruleRound && !dead(d.Rule) {
								t.Fatalf("%s: %d to %d by %q: %s, want %d hops", name, src, dst, sub, d.Rule, want)
							}
							continue
						}
						if hops != want || tr.at.Node != weft.NICID(dst).Node() {
							t.Fatalf("%s: %d to %d by %q: at %v after %d hops, want %d", name, src, dst, sub, tr.at, hops, want)
						}
						require.Equal(t, 0, max(0, tr.fields.Sub.Len()-1), "all popped")
					}
				}
			}
			t.Log(refused, "refused")
		})
	}
}

// dead reports whether a rule is that of a misroute over the edge.
func dead(rule string) bool {
	for via := range allDirectRules {
		for i := range dimensions {
			for up := range 2 {
				if rule == allDirectRules[via][i][up].misrouteDead {
					return true
				}
			}
		}
	}
	return false
}

// Adaptive packets are offered every shortest way and no other: the ports, by coordinates.
func TestDirectOffersEveryShortestWay(t *testing.T) {
	for _, spec := range []string{"mesh:4x3", "torus:4x4", "torus:3x5", "torus:4x2x3", "torus:3x2x3x2"} {
		n, f := newNet(spec), Direct{Adaptive: true}.Firmware()
		for s, v := range n.sw {
			v.Channels = 3
			for dst := range n.sw {
				d := n.step(f, weft.End{Node: weft.SwitchID(s).Node(), Port: v.At.Grid.NICPort(0)}, 0, weft.NICID(dst))
				var want, got switching.PortSet
				to, _ := coordinatesOf(v.At.Grid, weft.SwitchID(dst))
				for i := range v.At.Grid.Dims {
					_, up, down := apart(v.At.Grid, i, v.At.Grid.Dims[i].At, to[i])
					if up {
						want.Add(v.At.Grid.Up(i))
					}
					if down {
						want.Add(v.At.Grid.Down(i))
					}
				}
				lanes := map[weft.PortID]int{}
				for _, c := range d.Candidates {
					if c.Class == 0 && s != dst {
						got.Add(c.Port)
						lanes[c.Port]++
					}
				}
				require.Equal(t, want, got, "%s: %d to %d", spec, s, dst)
				for p, n := range lanes {
					require.Equal(t, 2, n, "both adaptive channels of %v", p)
				}
			}
		}
	}
}

// Whatever is dead around a switch: no dead port is named, and a packet is discarded exactly when
// the link of its escape is dead.
func TestDirectDiscardsExactlyThoseThatCannotEscape(t *testing.T) {
	for name, f := range directs() {
		for _, spec := range []string{"torus:4x4", "mesh:3x3"} {
			n := newNet(spec)
			for s, v := range n.sw {
				if s%4 != 0 { // its neighbours will do
					continue
				}
				v.Channels = f.escapes(v.At.Grid) + 1
				for dst := range n.sw {
					in := weft.End{Node: weft.SwitchID(s).Node(), Port: v.At.Grid.NICPort(weft.NICID(s))}
					v.Dead = switching.PortSet{}
					all := n.step(f.Firmware(), in, 0, weft.NICID(dst)).Candidates
					escape := all[len(all)-1].Port
					for dead := range uint64(1) << v.At.Ports() {
						v.Dead[0] = dead
						d := n.step(f.Firmware(), in, 0, weft.NICID(dst))
						require.Equal(t, v.PortUp(escape), len(d.Candidates) > 0, "%s on %s: %d to %d, dead %b: %s", name, spec, s, dst,
							dead, d.Rule)
						for _, c := range d.Candidates {
							require.True(t, v.PortUp(c.Port))
						}
					}
					v.Dead = switching.PortSet{}
				}
			}
		}
	}
}

// Frames come from outside: no sub-headers, arrival or destination may make a switch panic, or send
// a packet where there is nothing.
func FuzzDirectTakesAnySubHeaders(f *testing.F) {
	f.Add(uint64(weft.Nowhere), uint64(0), uint64(0), uint8(0), uint8(0), uint16(3), uint8(0))
	f.Add(uint64(weft.NewSubHeader(7)), uint64(weft.NewSubHeader(0).WithMisroute(0, 1, 2)), uint64(0), uint8(1), uint8(2),
		uint16(5), uint8(7))
	f.Add(^uint64(0), ^uint64(0), ^uint64(0), uint8(4), uint8(15), ^uint16(0), uint8(255))
	nets := []*net{newNet("torus:4x3"), newNet("mesh:2x3x3,nics=2"), newNet("ring:5")}
	f.Fuzz(func(t *testing.T, a, b, c uint64, in, vc uint8, dst uint16, form uint8) {
		fw := Direct{
			Order: Order(form & 1), Ring: Ring(form >> 1 & 3 % 3), Adaptive: form&8 != 0, SubPaths: int(form >> 4 & 3),
			Deterministic: form&64 != 0, Misroutes: form&128 != 0,
		}
		for _, n := range nets {
			for s, v := range n.sw {
				v.Channels = fw.escapes(v.At.Grid) + 1
				port := weft.PortID(in) % weft.PortID(v.At.Ports())
				sub := weft.SubHeaders{weft.SubHeader(a), weft.SubHeader(b), weft.SubHeader(c)}
				d := n.stepBy(fw.Firmware(), weft.End{Node: weft.SwitchID(s).Node(), Port: port}, weft.VC(vc),
					weft.NICID(dst), sub)
				require.NotEmpty(t, d.Rule)
				for _, k := range d.Candidates {
					require.True(t, v.PortUp(k.Port))
					require.True(t, v.At.Roles[k.Port] == weft.RoleNIC || int(k.VC) < v.Channels)
				}
			}
		}
	})
}

func TestDirectSaysWhatItNeeds(t *testing.T) {
	torus, mesh := newNet("torus:4x3").sw[5].At, newNet("mesh:4x3").sw[5].At
	for _, c := range []struct {
		f           Direct
		torus, mesh int // VCs
	}{
		{Direct{}, 1, 1},
		{Direct{Ring: Dateline}, 2, 1},
		{Direct{Ring: Free, Adaptive: true}, 2, 2},
		{Direct{Adaptive: true, SubPaths: 2}, 3, 3},
		{Direct{Adaptive: true, SubPaths: 4}, 5, 5},
		{Direct{Adaptive: true, SubPaths: 3, Ring: Dateline}, 7, 4},
	} {
		for place, need := range map[*weft.Place]int{torus: c.torus, mesh: c.mesh} {
			fw := c.f.Firmware()
			require.NoError(t, fw.Fits(place, need))
			require.ErrorContains(t, fw.Fits(place, need-1), "raise the number", "%+v", c.f)
		}
	}
	require.ErrorContains(t, Direct{SubPaths: 5}.Firmware().Check(torus, 16), "room for 4 sub-paths, not for 5")
	require.ErrorContains(t, Direct{Misroutes: true}.Firmware().Check(torus, 16), "choose order=direction")
	_, err := switching.New(switching.Config{
		Place: torus, Firmware: Direct{}.Firmware(), Rand: rand.NewPCG(1, 2), OutputBuffer: 1,
	})
	require.ErrorContains(t, err, "waits for 2 free places in an output queue, and the output buffer is of 1 packets: "+
		"raise it")
	_, err = switching.New(switching.Config{
		Place: mesh, Firmware: Direct{}.Firmware(), Rand: rand.NewPCG(1, 2), OutputBuffer: 1,
	})
	require.NoError(t, err)
	require.ErrorContains(t, Direct{}.Firmware().CheckRequeue(torus), "choose ring=dateline")
	require.NoError(t, Direct{}.Firmware().CheckRequeue(mesh), "no rings")
	require.NoError(t, Direct{Ring: Dateline}.Firmware().CheckRequeue(torus))
	require.Equal(t, weft.MaxHops, Direct{}.Firmware().MostHops)
	require.Equal(t, 5, Direct{Diameter: 4}.Firmware().MostHops)
	require.Equal(t, 2*(4+24)+1, Direct{Diameter: 4, SubPaths: 2, Misroutes: true}.Firmware().MostHops)
}

func TestNICsWriteTheWaysOfTheirSwitch(t *testing.T) {
	n := newNet("ring:4,nics=2")
	fw := Direct{Adaptive: true, SubPaths: 2, Ways: waysOf(t, tables.Way{Dst: 3, Sub: subOf(t, "2;end")})}.Firmware()
	for d, want := range map[weft.NICID]string{0: "", 5: "", 6: "2;end", 7: "2;end"} {
		h := weft.Header{Dst: d, Fields: weft.NewFields()}
		fw.Source(n.sw[1].At, 0, &h)
		require.Equal(t, want, h.Sub.String())
		fw.Source(n.sw[2].At, 0, &h)
		require.Empty(t, h.Sub.String(), "from elsewhere, and when it runs again")
	}
}

func TestSubHeadersTakeWhatTheMechanismsInUseNeed(t *testing.T) {
	for _, c := range []struct {
		f    Direct
		sub  string
		want int
	}{
		{Direct{}, "", 0},
		{Direct{Adaptive: true}, "nowhere", 0},
		{Direct{SubPaths: 2}, "", 1},                                                 // I
		{Direct{SubPaths: 2}, "3;end", 3},                                            // 2 I, an address
		{Direct{SubPaths: 3}, "3;4;end", 5},                                          // 3 I, two addresses
		{Direct{Deterministic: true}, "end,d", 1},                                    // D
		{Direct{Misroutes: true, Order: DirectionFirst}, "end,p1x1", 3},              // 18 bits
		{Direct{SubPaths: 2, Deterministic: true}, "3;end,d", 3},                     // 2 (I, D), an address
		{Direct{SubPaths: 2, Deterministic: true, Misroutes: true}, "", 3},           // 20 bits
		{Direct{SubPaths: 2, Deterministic: true, Misroutes: true}, "3,p1x1;end", 7}, // 40 bits, an address
	} {
		require.Equal(t, c.want, c.f.headerBytes(&weft.Fields{Sub: subOf(t, c.sub)}), "%+v %q", c.f, c.sub)
	}
}

func BenchmarkDirect(b *testing.B) {
	n := newNet("torus:8x8x8")
	v := n.sw[100]
	v.Channels = 5
	for _, c := range []struct {
		name string
		f    Direct
		sub  string
	}{
		{"adaptive", Direct{Adaptive: true, SubPaths: 2}, ""},
		{"intermediate", Direct{Adaptive: true, SubPaths: 2}, "300;end"},
		{"fixed", Direct{Adaptive: true, SubPaths: 2, Deterministic: true}, "end,d"},
		{"misroute", Direct{Adaptive: true, SubPaths: 2, Misroutes: true, Order: DirectionFirst}, "end,p1x1"},
		{"order", Direct{}, ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			pkt := weft.Header{Dst: 511, Fields: weft.NewFields()}
			pkt.Sub = subOf(b, c.sub)
			fw := c.f.Firmware()
			for b.Loop() {
				fw.Route(&pkt, Arrival{Port: 6, From: weft.RoleNIC}, v)
			}
		})
	}
}
