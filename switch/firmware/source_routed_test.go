package firmware

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

// routed is a packet at a switch, with what is left of its route.
type routed struct {
	hop
	route weft.SourceRoute
}

func (r routed) String() string { return fmt.Sprintf("%v route %v", r.hop, r.route) }

// sent is a packet as its NIC sends it.
func (t *tree) sent(src, dst weft.NICID) routed {
	sw, p := t.leaf(src)
	pkt := weft.Header{Src: src, Dst: dst, Fields: weft.NewFields()}
	SourceRouted{}.Source(t.views[sw].place, p, &pkt)
	return routed{hop{sw, p, normalLayer}, pkt.Route}
}

// decide asks SourceRouted about a packet.
func (t *tree) decide(r routed, dst weft.NICID, v *fakeView) Decision {
	pkt := weft.Header{Dst: dst, VC: r.vc, Fields: weft.NewFields()}
	pkt.Route = r.route
	return SourceRouted{}.Route(&pkt, t.arrival(r.sw, r.in, r.vc), v)
}

// Every pair, with every set of up to k-1 dead links: delivered, each hop in a higher channel, and through the same ports in
// the same layers as with R^link_deterministic.
func TestSourceRoutedGoesAsDeterministicLinkWithUpToKMinus1DeadLinks(t *testing.T) {
	for _, size := range walkTrees {
		t.Run(fmt.Sprintf("k=%d,n=%d", size.k, size.n), func(t *testing.T) {
			t.Parallel()
			net := newTree(size.k, size.n)
			rerouted, turned := 0, 0
			net.faultSets(size.k-1, func(set []weft.End) {
				for src := range weft.NICID(net.nics()) {
					for dst := range weft.NICID(net.nics()) {
						if src == dst {
							continue
						}
						r, u := net.walkRouted(t, src, dst, set)
						rerouted, turned = rerouted+r, turned+u
					}
				}
			})
			if rerouted == 0 || turned == 0 {
				t.Fatalf("%d packets were re-routed, %d made a U-turn", rerouted, turned)
			}
		})
	}
}

func (net *tree) walkRouted(t *testing.T, src, dst weft.NICID, set []weft.End) (rerouted, turned int) {
	at := net.sent(src, dst)
	paper := weft.Header{Src: src, Dst: dst, Fields: weft.NewFields()}
	for last := -1; ; {
		v := net.views[at.sw]
		d := net.decide(at, dst, v)
		if len(d.Candidates) != 1 {
			t.Fatalf("%d -> %d with %v dead: at %v: %s", src, dst, set, at, d.Rule)
		}
		c := d.Candidates[0]
		same := DeterministicLink{}.Route(&paper, net.arrival(at.sw, at.in, at.vc), v)
		if s := same.Candidates[0]; s.Port != c.Port || s.VC != c.VC || same.Turn != d.Turn || same.Rule != d.Rule {
			t.Fatalf("%d -> %d with %v dead: at %v: %v %v (%s), not %v %v (%s)", src, dst, set, at, c.Port, c.VC, d.Rule, s.Port, s.VC, same.Rule)
		}
		switch d.Turn {
		case switching.Reroute:
			rerouted = 1
		case switching.UTurn:
			turned = 1
		}
		if v.place.Roles[c.Port] == weft.RoleNIC {
			if sw, p := net.leaf(dst); sw != at.sw || p != c.Port || c.Fields.Route.Len() > 0 {
				t.Fatalf("%d -> %d with %v dead: delivered at %v", src, dst, set, at)
			}
			return rerouted, turned
		}
		number := SourceRouted{}.ChannelNumber(v.place, c.Port, c.VC)
		if number <= last || number != channelNumber(net, at.sw, c.Port, c.VC) {
			t.Fatalf("%d -> %d with %v dead: at %v: from channel %d to %d by %v %v (%s)", src, dst, set, at, last, number, c.Port, c.VC, d.Rule)
		}
		last = number
		at.sw, at.in = net.next(at.sw, c.Port)
		at.vc, at.route = c.VC, c.Fields.Route
	}
}

// An adversary chooses the dead ports of each switch anew for each packet. Each hop of every packet that a NIC can send is in
// a higher channel, so there is no deadlock and no livelock; and its route is never wrong: what discards it is that there is
// no live way.
func TestSourceRoutedRaisesTheChannelWhateverIsDead(t *testing.T) {
	for _, size := range walkTrees {
		t.Run(fmt.Sprintf("k=%d,n=%d", size.k, size.n), func(t *testing.T) {
			t.Parallel()
			net := newTree(size.k, size.n)
			longest := 0
			for dst := range weft.NICID(net.nics()) {
				seen := map[routed]bool{}
				var todo []routed
				reach := func(r routed) {
					if !seen[r] {
						seen[r] = true
						todo = append(todo, r)
						longest = max(longest, r.route.Len())
					}
				}
				for src := range weft.NICID(net.nics()) {
					if src != dst {
						reach(net.sent(src, dst))
					}
				}
				for len(todo) > 0 {
					at := todo[len(todo)-1]
					todo = todo[:len(todo)-1]
					for _, d := range net.adversary(t, at, dst, reach) {
						require.True(t, d.Notify, "%v to %d: %s", at, dst, d.Rule)
					}
				}
			}
			require.Equal(t, max(2*size.n-1, size.n+1), longest, "what Check counts with")
		})
	}
}

// adversary follows a packet through every set of dead ports of its switch, and returns how it can be discarded.
func (net *tree) adversary(t *testing.T, at routed, dst weft.NICID, reach func(routed)) (discards []Decision) {
	v := *net.views[at.sw]
	before := -1
	if v.place.Roles[at.in] != weft.RoleNIC {
		before = channelNumberInto(net, at.hop)
	}
	for v.dead = range uint64(1) << v.place.Ports() {
		pkt := weft.Header{Dst: dst, VC: at.vc, Fields: weft.NewFields()}
		pkt.Route = at.route
		d := SourceRouted{Notify: true}.Route(&pkt, net.arrival(at.sw, at.in, at.vc), &v)
		if len(d.Candidates) == 0 {
			discards = append(discards, d)
		}
		for _, c := range d.Candidates {
			if !v.PortUp(c.Port) {
				t.Fatalf("to %d at %v: %v is dead", dst, at, c.Port)
			}
			if after := channelNumber(net, at.sw, c.Port, c.VC); after <= before {
				t.Fatalf("to %d at %v, dead %b: from channel %d to %d by %v %v", dst, at, v.dead, before, after, c.Port, c.VC)
			}
			if v.place.Roles[c.Port] != weft.RoleNIC {
				sw, in := net.next(at.sw, c.Port)
				reach(routed{hop{sw, in, c.VC}, c.Fields.Route})
			}
		}
	}
	return discards
}

// A route that no NIC of ours writes, of any ports in any order, cannot break the numbering either.
func TestNoRouteBreaksTheNumberingOfTheChannels(t *testing.T) {
	net := newTree(2, 3)
	var routes []weft.SourceRoute
	for n := range 5*5*5 + 1 { // p4 is no port
		var r weft.SourceRoute
		for rest := n; rest > 0; rest /= 5 {
			r, _ = r.Push(weft.PortID(rest % 5))
		}
		routes = append(routes, r)
	}
	for _, dst := range []weft.NICID{0, 5} {
		seen := map[routed]bool{}
		var todo []routed
		reach := func(r routed) {
			if !seen[r] {
				seen[r] = true
				todo = append(todo, r)
			}
		}
		for sw := range net.views {
			for in := range net.views[sw].place.Ports() {
				for vc := range weft.VC(2) {
					for _, r := range routes {
						if net.views[sw].place.Roles[in] != weft.RoleNIC || vc == normalLayer {
							reach(routed{hop{sw, weft.PortID(in), vc}, r})
						}
					}
				}
			}
		}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			net.adversary(t, at, dst, reach)
		}
	}
}

func TestTheSourceWritesTheWayUpAndDown(t *testing.T) {
	net := newTree(3, 3)
	require.Equal(t, "p4,p3,p2,p0,p1", net.sent(0, 19).route.String(), "19 is 201 in base 3")
	require.Equal(t, "p4,p1,p1", net.sent(0, 4).route.String(), "it turns as soon as it can")
	require.Equal(t, "p2", net.sent(0, 2).route.String())

	// On real graphs, also where digit 0 goes to 2k: every route leads to its NIC, over a shortest path.
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:8,3", "mport-tree:36,2", "mport-tree:4,1", "kary-ntree:2,8"} {
		g, err := topology.Parse(spec)
		require.NoError(t, err)
		for _, src := range g.NICs {
			if src.ID%7 > 0 {
				continue
			}
			leaf, _, _ := g.Peer(weft.End{Node: src.ID.Node()})
			place := g.Place(weft.SwitchID(leaf.Node.Index))
			require.NoError(t, SourceRouted{}.Check(place, 2))
			for dst := range g.NICs {
				h := weft.Header{Src: src.ID, Dst: weft.NICID(dst)}
				SourceRouted{}.Source(place, leaf.Port, &h)
				require.Equal(t, g.Distance(src.ID, h.Dst), h.Route.Len())
				end := leaf
				for r := h.Route; r.Len() > 0; r = r.Pop() {
					var ok bool
					end, _, ok = g.Peer(weft.End{Node: end.Node, Port: r.Next()})
					require.True(t, ok)
				}
				require.Equal(t, h.Dst.Node(), end.Node, "%s: %d to %d", spec, src.ID, dst)
			}
		}
	}
}

func TestATreeWithTooManyTiersForARouteIsRefused(t *testing.T) {
	require.NoError(t, SourceRouted{}.Check(placeOf(2, 8, 0, make([]int, 7)), 2))
	require.ErrorContains(t, SourceRouted{}.Check(placeOf(2, 9, 0, make([]int, 8)), 2), "17 ports into a packet of a tree of 9 tiers, and 15 fit: choose a tree of at most 8 tiers")
}

func TestNotifyingAsksToTellTheSource(t *testing.T) {
	require.Equal(t, SourceRouted{Notify: true}, SourceRouted{}.Notifying())
}
