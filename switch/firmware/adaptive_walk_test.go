package firmware

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft"
)

// adaptiveWalk follows every choice that adaptive-link leaves to one packet, depth first, over the states of packet and
// re-route vectors. A state met again on the way to itself is a livelock.
type adaptiveWalk struct {
	net  *tree
	dst  weft.NICID
	rv   []uint64 // per switch
	done map[string]bool
	path map[string]bool
}

// from returns what can go wrong from the state that the packet is at, or nothing.
func (w *adaptiveWalk) from(at hop) string {
	key := fmt.Sprint(at.sw, at.in, w.rv)
	if w.path[key] {
		return fmt.Sprintf("comes to %v again", at)
	}
	if w.done[key] {
		return ""
	}
	w.path[key] = true
	defer delete(w.path, key)

	v := w.net.views[at.sw]
	v.registers[0] = w.rv[at.sw]
	pkt := weft.Header{Dst: w.dst, Fields: weft.NewFields()}
	d := AdaptiveLink{}.Route(&pkt, w.net.arrival(at.sw, at.in, 0), v)
	if len(d.Candidates) == 0 {
		return fmt.Sprintf("at %v: %s", at, d.Rule)
	}
	candidates := append([]Candidate(nil), d.Candidates...)
	before := w.rv[at.sw]
	if d.Write.Do {
		w.rv[at.sw] = d.Write.Value
	}
	defer func() { w.rv[at.sw] = before }()
	for _, c := range candidates {
		if v.place.Roles[c.Port] == weft.RoleNIC {
			if sw, p := w.net.leaf(w.dst); sw != at.sw || p != c.Port {
				return fmt.Sprintf("delivered at %v %v", at, c.Port)
			}
			continue
		}
		sw, in := w.net.next(at.sw, c.Port)
		if wrong := w.from(hop{sw: sw, in: in}); wrong != "" {
			return fmt.Sprintf("%v %v (%s), %s", at, c.Port, d.Rule, wrong)
		}
	}
	w.done[key] = true
	return ""
}

// Every pair, every set of up to k-1 dead links, every choice: a single packet that starts with zero vectors is delivered.
func TestAdaptiveLinkDeliversWithUpToKMinus1DeadLinks(t *testing.T) {
	for _, size := range walkTrees {
		t.Run(fmt.Sprintf("k=%d,n=%d", size.k, size.n), func(t *testing.T) {
			t.Parallel()
			net := newTree(size.k, size.n)
			states := 0
			net.faultSets(size.k-1, func(set []weft.End) {
				for src := range weft.NICID(net.nics()) {
					for dst := range weft.NICID(net.nics()) {
						if src == dst {
							continue
						}
						w := &adaptiveWalk{net: net, dst: dst, rv: make([]uint64, len(net.views)), done: map[string]bool{}, path: map[string]bool{}}
						sw, p := net.leaf(src)
						if wrong := w.from(hop{sw: sw, in: p}); wrong != "" {
							t.Fatalf("%d -> %d with %v dead: %s", src, dst, set, wrong)
						}
						states += len(w.done)
					}
				}
			})
			if states == 0 {
				t.Fatal("nothing was walked")
			}
		})
	}
}

// The walk can fail: with k dead links there are sets that it names.
func TestTheWalkFindsPairsThatKDeadLinksDisconnect(t *testing.T) {
	net := newTree(2, 3)
	found := false
	net.faultSets(2, func(set []weft.End) {
		w := &adaptiveWalk{net: net, dst: 7, rv: make([]uint64, len(net.views)), done: map[string]bool{}, path: map[string]bool{}}
		found = found || len(set) == 2 && w.from(hop{sw: 8, in: 0}) != ""
	})
	if !found {
		t.Fatal("no pair is disconnected by two dead links of a 2-ary tree")
	}
}
