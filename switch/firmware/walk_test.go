package firmware

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft"
)

var walkTrees = []struct{ k, n int }{{2, 3}, {3, 2}, {2, 4}}

// channelNumber numbers the channel that leaves sw by p in vc as the fat-tree paper does for R^link_deterministic: every
// hop must raise it. s is the tier of the link, i the index in D of the digit s of its upper end, which is the up port's.
func channelNumber(t *tree, sw int, p weft.PortID, vc weft.VC) int {
	place := t.views[sw].place
	s := int(place.Tree.Tier)
	up := place.Roles[p] == weft.RoleUp
	i := 0
	if up {
		s--
		i = place.Tree.UpIndex(p)
	} else if place.Tree.Leaf() {
		return 1 << 30 // to a NIC: the end
	} else {
		i = place.Tree.W[s]
	}
	base := t.n - 1 + s*(2*t.k+1)
	switch {
	case vc == normalLayer && up:
		return t.n - 2 - s
	case vc == normalLayer:
		return base
	case up:
		return base + 2*i + 1
	}
	return base + 2*i + 2
}

// hop is a packet at a switch: where it came in, and in which VC.
type hop struct {
	sw int
	in weft.PortID
	vc weft.VC
}

func (h hop) String() string { return fmt.Sprintf("switch %d %v %v", h.sw, h.in, h.vc) }

// Every pair, with every set of up to k-1 dead links: delivered within a bound, each hop in a higher channel.
func TestDeterministicLinkDeliversWithUpToKMinus1DeadLinks(t *testing.T) {
	for _, size := range walkTrees {
		t.Run(fmt.Sprintf("k=%d,n=%d", size.k, size.n), func(t *testing.T) {
			t.Parallel()
			net := newTree(size.k, size.n)
			bound := 1 + channelNumber(net, 0, 0, rerouteLayer) + (size.n-1)*(2*size.k+1)
			walks, rerouted := 0, 0
			net.faultSets(size.k-1, func(set []weft.End) {
				for src := range weft.NICID(net.nics()) {
					for dst := range weft.NICID(net.nics()) {
						if src == dst {
							continue
						}
						walks++
						hops, turned := walkDeterministic(t, net, src, dst, set)
						if hops > bound {
							t.Fatalf("%d -> %d with %v dead: %d hops, bound %d", src, dst, set, hops, bound)
						}
						if turned {
							rerouted++
						}
						if len(set) == 0 && turned {
							t.Fatalf("%d -> %d re-routed without a fault", src, dst)
						}
					}
				}
			})
			if rerouted == 0 {
				t.Fatalf("none of %d walks met a fault", walks)
			}
		})
	}
}

func walkDeterministic(t *testing.T, net *tree, src, dst weft.NICID, set []weft.End) (hops int, rerouted bool) {
	sw, p := net.leaf(src)
	at := hop{sw, p, normalLayer}
	pkt := weft.Header{Src: src, Dst: dst, Fields: weft.NewFields()}
	last := -1
	for {
		d := DeterministicLink{}.Route(&pkt, net.arrival(at.sw, at.in, at.vc), net.views[at.sw])
		if len(d.Candidates) != 1 {
			t.Fatalf("%d -> %d with %v dead: at %v: %s", src, dst, set, at, d.Rule)
		}
		c := d.Candidates[0]
		number := channelNumber(net, at.sw, c.Port, c.VC)
		if number <= last {
			t.Fatalf("%d -> %d with %v dead: at %v: from channel %d to %d by %v %v (%s)", src, dst, set, at, last, number, c.Port, c.VC, d.Rule)
		}
		last = number
		hops++
		rerouted = rerouted || d.Turn != 0
		if net.views[at.sw].place.Roles[c.Port] == weft.RoleNIC {
			if sw, p := net.leaf(dst); sw != at.sw || p != c.Port {
				t.Fatalf("%d -> %d with %v dead: delivered at %v", src, dst, set, at)
			}
			return hops, rerouted
		}
		at.sw, at.in = net.next(at.sw, c.Port)
		at.vc = c.VC
	}
}

// Whatever links are dead when a packet comes by, and however that changes: each hop is in a higher channel, so there is
// no deadlock and no livelock. An adversary chooses the dead ports of each switch anew for each packet.
func TestDeterministicLinkRaisesTheChannelWhateverIsDead(t *testing.T) {
	for _, size := range walkTrees {
		net := newTree(size.k, size.n)
		for dst := range weft.NICID(net.nics()) {
			seen := map[hop]bool{}
			var todo []hop
			reach := func(h hop) {
				if !seen[h] {
					seen[h] = true
					todo = append(todo, h)
				}
			}
			for src := range weft.NICID(net.nics()) {
				if sw, p := net.leaf(src); src != dst {
					reach(hop{sw, p, normalLayer})
				}
			}
			for len(todo) > 0 {
				at := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				adversary(t, net, at, dst, reach)
			}
		}
	}
}

func adversary(t *testing.T, net *tree, at hop, dst weft.NICID, reach func(hop)) {
	v := *net.views[at.sw]
	arrival := net.arrival(at.sw, at.in, at.vc)
	before := -1
	if arrival.From != weft.RoleNIC {
		before = channelNumberInto(net, at)
	}
	for v.dead = range uint64(1) << v.place.Ports() {
		pkt := weft.Header{Dst: dst, Fields: weft.NewFields()}
		for _, c := range (DeterministicLink{}).Route(&pkt, arrival, &v).Candidates {
			if after := channelNumber(net, at.sw, c.Port, c.VC); after <= before {
				t.Fatalf("to %d at %v, dead %b: from channel %d to %d by %v %v", dst, at, v.dead, before, after, c.Port, c.VC)
			}
			if v.place.Roles[c.Port] != weft.RoleNIC {
				sw, in := net.next(at.sw, c.Port)
				reach(hop{sw, in, c.VC})
			}
		}
	}
}

// channelNumberInto is the number of the channel by which a packet came in.
func channelNumberInto(net *tree, at hop) int {
	sw, p := net.next(at.sw, at.in)
	return channelNumber(net, sw, p, at.vc)
}
