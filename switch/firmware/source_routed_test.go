package firmware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// routedTrees are small enough for every set of up to k-1 dead links.
var routedTrees = []string{
	"kary-ntree:2,3", "kary-ntree:3,2", "kary-ntree:2,4", "mport-tree:4,3", "mport-tree:6,2",
	"leaf-spine:2,5,3", "leaf-spine:3,2,1",
}

// stillTree is a tree whose switches stand still.
type stillTree struct {
	*topology.Graph
	sw []*switching.Still
}

func newStillTree(t *testing.T, spec string) *stillTree {
	g := topologytest.Parse(t, spec)
	s := &stillTree{Graph: g}
	for id := range g.Switches {
		s.sw = append(s.sw, &switching.Still{At: g.Place(weft.SwitchID(id))})
	}
	return s
}

func (s *stillTree) k() int { return s.sw[0].At.Tree.K }

// routed is a packet at a port of a switch, with what is left of its route.
type routed struct {
	at    weft.End
	vc    weft.VC
	route weft.SourceRoute
}

// next is the packet after it has left by a candidate.
func (s *stillTree) next(r routed, c Candidate) routed {
	peer, _, _ := s.Peer(weft.End{Node: r.at.Node, Port: c.Port})
	return routed{peer, c.VC, c.Fields.Route}
}

// sent is a packet as its NIC sends it.
func (s *stillTree) sent(src, dst weft.NICID) routed {
	leaf, _, _ := s.Peer(weft.End{Node: src.Node()})
	h := weft.Header{Src: src, Dst: dst, Fields: weft.NewFields()}
	SourceRouted().Source(s.sw[leaf.Node.Index].At, leaf.Port, &h)
	return routed{leaf, normalLayer, h.Route}
}

// route asks fw about a packet.
func (s *stillTree) route(fw Firmware, r routed, dst weft.NICID) Decision {
	v := s.sw[r.at.Node.Index]
	pkt := weft.Header{Dst: dst, VC: r.vc, Fields: weft.NewFields()}
	pkt.Route = r.route
	return fw.Route(&pkt, Arrival{Port: r.at.Port, VC: r.vc, From: v.At.Roles[r.at.Port]}, v)
}

// number is the number of the channel out of p.
func (s *stillTree) number(at weft.End, p weft.PortID, vc weft.VC) int {
	return SourceRouted().ChannelNumber(s.sw[at.Node.Index].At, p, vc)
}

// came is the number of the channel by which a packet came, -1 when a NIC sent it.
func (s *stillTree) came(r routed) int {
	peer, _, _ := s.Peer(r.at)
	if !peer.Node.IsSwitch() {
		return -1
	}
	return s.number(peer, peer.Port, r.vc)
}

// dead calls f with every set of at most so many dead links between switches.
func (s *stillTree) dead(most int, f func(set []string)) {
	var pick func(from int, set []string)
	pick = func(from int, set []string) {
		f(set)
		if len(set) == most {
			return
		}
		for i := from; i < len(s.Links); i++ {
			l := s.Links[i]
			if !l.A.Node.IsSwitch() || !l.B.Node.IsSwitch() {
				continue
			}
			for _, e := range []weft.End{l.A, l.B} {
				s.sw[e.Node.Index].Dead.Add(e.Port)
			}
			pick(i+1, append(set[:len(set):len(set)], l.Name))
			for _, e := range []weft.End{l.A, l.B} {
				s.sw[e.Node.Index].Dead.Remove(e.Port)
			}
		}
	}
	pick(0, nil)
}

// Every pair, with every set of up to k-1 dead links: delivered, each hop in a higher channel, and
// through the same ports in the same layers by the same rules as with R^link_deterministic.
func TestSourceRoutedGoesAsDeterministicLinkWithUpToKMinus1DeadLinks(t *testing.T) {
	for _, spec := range routedTrees {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			s := newStillTree(t, spec)
			turns := map[switching.Turn]int{}
			s.dead(s.k()-1, func(set []string) {
				for src := range weft.NICID(len(s.NICs)) {
					for dst := range weft.NICID(len(s.NICs)) {
						if src != dst {
							s.walk(t, src, dst, set, turns)
						}
					}
				}
			})
			require.Positive(t, turns[switching.Reroute])
			require.Positive(t, turns[switching.UTurn])
		})
	}
}

func (s *stillTree) walk(t *testing.T, src, dst weft.NICID, set []string, turns map[switching.Turn]int) {
	r := s.sent(src, dst)
	for last := -1; ; {
		d := s.route(SourceRouted(), r, dst)
		if len(d.Candidates) != 1 {
			t.Fatalf("%d -> %d with %v dead: at %v: %s", src, dst, set, r, d.Rule)
		}
		c := d.Candidates[0] // before the storage is used again
		same := s.route(DeterministicLink(), r, dst)
		o := same.Candidates[0]
		if o.Port != c.Port || o.VC != c.VC || same.Turn != d.Turn || same.Rule != d.Rule {
			t.Fatalf("%d -> %d with %v dead: at %v: %v %v (%s), not %v %v (%s)", src, dst, set, r, c.Port, c.VC, d.Rule, o.Port,
				o.VC, same.Rule)
		}
		turns[d.Turn]++
		next := s.next(r, c)
		if !next.at.Node.IsSwitch() {
			if next.at.Node != dst.Node() || next.route.Len() > 0 {
				t.Fatalf("%d -> %d with %v dead: delivered at %v", src, dst, set, r)
			}
			return
		}
		number := s.number(r.at, c.Port, c.VC)
		if number <= last {
			t.Fatalf("%d -> %d with %v dead: at %v: from channel %d to %d by %v %v (%s)", src, dst, set, r, last, number, c.Port,
				c.VC, d.Rule)
		}
		last, r = number, next
	}
}

// explore follows packets for dst wherever an adversary can make them go who chooses the dead ports
// of a switch anew for each packet. Each hop must be in a higher channel, so that there is no
// deadlock and no livelock. It returns the longest route.
func (s *stillTree) explore(t *testing.T, dst weft.NICID, todo []routed,
	discard func(r routed, d Decision),
) (longest int) {
	seen := map[routed]bool{}
	for len(todo) > 0 {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[r] {
			continue
		}
		seen[r] = true
		longest = max(longest, r.route.Len())
		v, before := s.sw[r.at.Node.Index], s.came(r)
		for v.Dead[0] = range uint64(1) << v.At.Ports() {
			d := s.route(SourceRouted(), r, dst)
			if len(d.Candidates) == 0 {
				discard(r, d)
			}
			for _, c := range d.Candidates {
				next := s.next(r, c)
				if !v.PortUp(c.Port) {
					t.Fatalf("to %d at %v: %v is dead", dst, r, c.Port)
				}
				if !next.at.Node.IsSwitch() {
					continue
				}
				if after := s.number(r.at, c.Port, c.VC); after <= before {
					t.Fatalf("to %d at %v, dead %b: from channel %d to %d by %v %v", dst, r, v.Dead[0], before, after, c.Port, c.VC)
				}
				todo = append(todo, next)
			}
		}
		v.Dead[0] = 0
	}
	return longest
}

// Whatever is dead when a packet comes by, and however that changes. The route that a NIC wrote is
// never wrong: what discards a packet is that there is no live way, and its source is told.
func TestSourceRoutedRaisesTheChannelWhateverIsDead(t *testing.T) {
	for _, spec := range routedTrees {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			s := newStillTree(t, spec)
			longest := 0
			for dst := range weft.NICID(len(s.NICs)) {
				var from []routed
				for src := range weft.NICID(len(s.NICs)) {
					if src != dst {
						from = append(from, s.sent(src, dst))
					}
				}
				longest = max(longest, s.explore(t, dst, from, func(r routed, d Decision) {
					if !d.Notify {
						t.Fatalf("to %d at %v: %s", dst, r, d.Rule)
					}
				}))
			}
			require.Equal(t, routeLen(s.sw[0].At.Tree), longest, "what Check counts with")
		})
	}
}

// A route that no NIC of ours writes, of any ports in any order, cannot break the numbering either.
func TestNoRouteBreaksTheNumberingOfTheChannels(t *testing.T) {
	s := newStillTree(t, "kary-ntree:2,3")
	var from []routed
	for n := range 5*5*5 + 1 { // p4 is no port
		var r weft.SourceRoute
		for rest := n; rest > 0; rest /= 5 {
			r, _ = r.Push(weft.PortID(rest % 5))
		}
		for id, v := range s.sw {
			for p, role := range v.At.Roles {
				at := weft.End{Node: weft.SwitchID(id).Node(), Port: weft.PortID(p)}
				from = append(from, routed{at, normalLayer, r})
				if role != weft.RoleNIC {
					from = append(from, routed{at, rerouteLayer, r})
				}
			}
		}
	}
	rules := map[string]bool{}
	for _, dst := range []weft.NICID{0, 5} {
		s.explore(t, dst, from, func(_ routed, d Decision) { rules[d.Rule] = true })
	}
	for _, rule := range []string{ruleRouteEnded, ruleRoutePort, ruleRouteEarly, ruleRouteOther, ruleRouteUp} {
		require.True(t, rules[rule], rule)
	}
}

// On real graphs, also where digit 0 goes to 2k: every route leads to its NIC, over a shortest
// path.
func TestTheSourceWritesAShortestWay(t *testing.T) {
	for _, spec := range []string{
		"kary-ntree:4,3", "mport-tree:8,3", "mport-tree:36,2", "mport-tree:4,1",
		"kary-ntree:2,8", "leaf-spine:4,8,12",
	}[:testenv.N(6, 1)] {
		s := newStillTree(t, spec)
		require.NoError(t, SourceRouted().Check(s.sw[0].At, 2))
		for src := weft.NICID(0); int(src) < len(s.NICs); src += 7 {
			for dst := range weft.NICID(len(s.NICs)) {
				r := s.sent(src, dst)
				require.Equal(t, s.Distance(src, dst), r.route.Len())
				end := r.at
				for rest := r.route; rest.Len() > 0; rest = rest.Pop() {
					var ok bool
					end, _, ok = s.Peer(weft.End{Node: end.Node, Port: rest.Next()})
					require.True(t, ok)
				}
				require.Equal(t, dst.Node(), end.Node, "%s: %d to %d", spec, src, dst)
			}
		}
	}
	s := newStillTree(t, "kary-ntree:3,3")
	require.Equal(t, "p4,p3,p2,p0,p1", s.sent(0, 19).route.String(), "19 is 201 in base 3: up ports 1 and 0, then 2, 0, 1")
	require.Equal(t, "p4,p1,p1", s.sent(0, 4).route.String(), "it turns as soon as it can")
	require.Equal(t, "p2", s.sent(0, 2).route.String())
}

func TestATreeWithTooManyTiersForARouteIsRefused(t *testing.T) {
	require.NoError(t, SourceRouted().Check(newStillTree(t, "kary-ntree:2,8").sw[0].At, 2))
	require.ErrorContains(t, SourceRouted().Check(newStillTree(t, "kary-ntree:2,9").sw[0].At, 2),
		"17 ports into a packet of a tree of 9 tiers, and 15 fit: choose a tree of at most 8 tiers")
}

func TestSourceRoutedDecidesAndWritesRoutesWithoutAllocating(t *testing.T) {
	s := newStillTree(t, "kary-ntree:4,3")
	fw := Firmware(SourceRouted())
	for _, v := range s.sw {
		v.Scratch()
	}
	leaf, mid := s.sw[len(s.sw)-1], s.sw[16]
	for _, dead := range []uint64{0, 1 << 1, 1 << 5} {
		leaf.Dead[0], mid.Dead[0] = dead, dead
		pkt := weft.Header{Fields: weft.NewFields()}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for dst := range weft.NICID(64) {
				pkt.Dst = dst
				fw.Source(leaf.At, 0, &pkt)
				fw.Route(&pkt, Arrival{From: weft.RoleNIC}, leaf)
				pkt.Route = treeRoute(mid.At.Tree, dst)
				fw.Route(&pkt, Arrival{From: weft.RoleDown}, mid)
				fw.Route(&pkt, Arrival{Port: 4, VC: rerouteLayer, From: weft.RoleUp}, mid)
			}
		}))
	}
}
