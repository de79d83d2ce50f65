package firmware

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// waits is the graph of what packets can wait for in a tree whose links die one after another, until all of a chain are
// dead. A packet is routed again whenever a link dies, so it waits for what the firmware answers once all are; where it
// stands may date from before.
//
// Nodes are channels, whether their links are dead or not. A channel has an alternative for each packet it can hold: the
// channels that packet waits for, any of which will do. A set of channels can be deadlocked (Definition 17 of the fat-tree
// paper) only if each holds a packet all of whose channels are in the set.
type waits struct {
	t     *testing.T
	net   *tree
	fw    Firmware
	vcs   int
	dead  [][]uint64      // per number of links that have died, per switch: its dead ports
	turns []uint64        // per switch: the up ports from which packets may make a U-turn, which its register may name
	ways  [][]alternative // per channel
}

type alternative struct {
	to    []int // channels
	moved bool  // of a packet stranded in the channel of a dead link
}

// stand is a packet where it came in, when so many links had died.
type stand struct {
	hop
	died int
}

func newWaits(t *testing.T, net *tree, e Entry, chain []weft.End) *waits {
	w := &waits{t: t, net: net, fw: e.New(), vcs: e.VCs, turns: make([]uint64, len(net.views))}
	snapshot := func() {
		var dead []uint64
		for _, v := range net.views {
			dead = append(dead, v.dead)
		}
		w.dead = append(w.dead, dead)
	}
	snapshot()
	for _, l := range chain {
		net.kill(l, true)
		snapshot()
	}
	for _, l := range chain {
		net.kill(l, false)
	}
	w.ways = make([][]alternative, len(net.views)*2*net.k*w.vcs)
	var reached []map[stand]bool
	for dst := range weft.NICID(net.nics()) {
		reached = append(reached, w.reach(dst))
	}
	for dst, r := range reached {
		w.collect(weft.NICID(dst), r)
	}
	return w
}

func (w *waits) channel(sw int, p weft.PortID, vc weft.VC) int {
	return (sw*2*w.net.k+int(p))*w.vcs + int(vc)
}

// into is the channel by which a packet came in, or -1 when it came from a NIC.
func (w *waits) into(h hop) int {
	if w.net.views[h.sw].place.Roles[h.in] == weft.RoleNIC {
		return -1
	}
	sw, p := w.net.next(h.sw, h.in)
	return w.channel(sw, p, h.vc)
}

// route asks the firmware for a packet at h once so many links have died, with the switch's register as given.
func (w *waits) route(h hop, dst weft.NICID, died int, register uint64) []Candidate {
	v := w.net.views[h.sw]
	was := v.dead
	v.dead, v.registers[0] = w.dead[died][h.sw], register
	pkt := weft.Header{Dst: dst, VC: h.vc, Fields: weft.NewFields()}
	d := w.fw.Route(&pkt, w.net.arrival(h.sw, h.in, h.vc), v)
	v.dead, v.registers[0] = was, 0
	return d.Candidates
}

// reach follows packets for dst through every choice and every moment at which a link may die. An empty register leaves the
// most choices.
func (w *waits) reach(dst weft.NICID) map[stand]bool {
	seen := map[stand]bool{}
	var todo []stand
	come := func(h hop, died int) {
		for ; died < len(w.dead); died++ {
			if s := (stand{h, died}); !seen[s] {
				seen[s] = true
				todo = append(todo, s)
			}
		}
	}
	for src := range weft.NICID(w.net.nics()) {
		if sw, p := w.net.leaf(src); src != dst {
			come(hop{sw, p, normalLayer}, 0)
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		place := w.net.views[s.sw].place
		if place.Roles[s.in] == weft.RoleUp && !place.Tree.HasDown(dst) {
			w.turns[s.sw] |= 1 << place.Tree.UpIndex(s.in)
		}
		for _, c := range append([]Candidate(nil), w.route(s.hop, dst, s.died, 0)...) {
			if place.Roles[c.Port] != weft.RoleNIC {
				sw, in := w.net.next(s.sw, c.Port)
				come(hop{sw, in, c.VC}, s.died)
			}
		}
	}
	return seen
}

// collect adds what packets for dst wait for when all links of the chain are dead.
func (w *waits) collect(dst weft.NICID, seen map[stand]bool) {
	last := len(w.dead) - 1
	for s := range seen {
		if s.died == last {
			w.add(w.into(s.hop), s.hop, dst, false)
			continue
		}
		for _, c := range append([]Candidate(nil), w.route(s.hop, dst, s.died, 0)...) {
			if w.dead[last][s.sw]>>c.Port&1 == 1 {
				require.True(w.t, seen[stand{s.hop, last}], "a stranded packet waits as one that comes now would")
				w.add(w.channel(s.sw, c.Port, c.VC), s.hop, dst, true)
			}
		}
	}
}

// add gives the channel from an alternative for each value that the register may have.
func (w *waits) add(from int, h hop, dst weft.NICID, moved bool) {
	if from < 0 {
		return // nobody waits for a NIC to inject
	}
	turns := uint64(0)
	if w.net.views[h.sw].place.Roles[h.in] == weft.RoleUp && !w.net.views[h.sw].place.Tree.HasDown(dst) {
		turns = w.turns[h.sw]
	}
	for register := turns; ; register = (register - 1) & turns {
		var to []int
		for _, c := range w.route(h, dst, len(w.dead)-1, register) {
			require.Zero(w.t, w.dead[len(w.dead)-1][h.sw]>>c.Port&1, "nothing waits for the channel of a dead link")
			if w.net.views[h.sw].place.Roles[c.Port] == weft.RoleNIC {
				return // a NIC takes everything
			}
			to = append(to, w.channel(h.sw, c.Port, c.VC))
		}
		if len(to) > 0 { // else it is discarded
			w.ways[from] = append(w.ways[from], alternative{to, moved})
		}
		if register == 0 {
			return
		}
	}
}

// stuck is the largest set of channels that can be deadlocked, with or without what stranded packets wait for.
func (w *waits) stuck(requeue bool) (n int) {
	in := make([]bool, len(w.ways))
	for c := range in {
		in[c] = true
	}
	holds := func(a alternative) bool {
		if a.moved && !requeue {
			return false
		}
		for _, c := range a.to {
			if !in[c] {
				return false
			}
		}
		return true
	}
	for changed := true; changed; {
		changed, n = false, 0
	next:
		for c, ways := range w.ways {
			if !in[c] {
				continue
			}
			for _, a := range ways {
				if holds(a) {
					n++
					continue next
				}
			}
			in[c], changed = false, true
		}
	}
	return n
}

func (w *waits) moved() (n int) {
	for _, ways := range w.ways {
		for _, a := range ways {
			if a.moved {
				n++
			}
		}
	}
	return n
}

// chains calls f with every sequence of one or two links, or every so many-th of two.
func (t *tree) chains(most, every int, f func(chain []weft.End)) {
	links := t.links()
	n := 0
	for i, a := range links {
		f([]weft.End{a})
		for j, b := range links {
			if n++; most > 1 && i != j && n%every == 0 {
				f([]weft.End{a, b})
			}
		}
	}
}

// Every single link and every two links in turn: what stranded packets wait for closes no circle of waiting. The
// deterministic firmwares have none with any links dead; adaptive-link with up to k-1.
func TestRequeueClosesNoCircleOfWaiting(t *testing.T) {
	for _, size := range []struct{ k, n, every int }{{2, 3, 1}, {3, 2, 1}, {4, 2, 1}, {2, 4, 7}, {4, 3, 1999}} {
		for _, e := range Entries() {
			if _, ok := e.New().(Sourcer); ok {
				continue // where a packet stands does not say what its header says; see the test of the numbering
			}
			t.Run(fmt.Sprintf("k=%d,n=%d/%s", size.k, size.n, e.Name), func(t *testing.T) {
				t.Parallel()
				net := newTree(size.k, size.n)
				most := 2
				if e.Name == "adaptive-link" {
					most = min(most, size.k-1)
				}
				moved, chains := 0, 0
				net.chains(most, size.every, func(chain []weft.End) {
					w := newWaits(t, net, e, chain)
					chains++
					moved += w.moved()
					if n := w.stuck(true); n > 0 {
						t.Fatalf("with %v dying in turn %d channels can wait for each other; without requeue %d", chain, n, w.stuck(false))
					}
				})
				require.Positive(t, moved, "of %d chains none stranded a packet", chains)
			})
		}
	}
}

// Beyond k-1 faults adaptive-link can deadlock. Requeue adds no channel to those that can, but the dead ones, which wait
// and are not waited for.
func TestRequeueAddsNothingToWhatCanDeadlockBeyondKMinus1(t *testing.T) {
	e, _ := ByName("adaptive-link")
	net := newTree(2, 3)
	deadlocks := 0
	net.chains(2, 1, func(chain []weft.End) {
		w := newWaits(t, net, e, chain)
		without := w.stuck(false)
		if without > 0 {
			deadlocks++
		}
		dead := 0
		for _, d := range w.dead[len(chain)] {
			dead += bits.OnesCount64(d)
		}
		require.LessOrEqual(t, w.stuck(true), without+dead, "%v", chain)
		if without == 0 {
			require.Zero(t, w.stuck(true), "%v", chain)
		}
	})
	require.Positive(t, deadlocks, "the analysis finds none where there are some")
}

func TestFirmwaresThatBearRequeueSayIt(t *testing.T) {
	place := placeOf(4, 3, 1, []int{0, 1})
	for _, e := range Entries() {
		r, ok := e.New().(switching.Requeuer)
		require.True(t, ok, e.Name)
		require.NoError(t, r.CheckRequeue(place), e.Name)
		_, err := switching.New(switching.Config{Place: place, Firmware: e.New(), VCs: e.VCs, Rand: newView(place).rand, Requeue: true})
		require.NoError(t, err, e.Name)
	}
	_, err := switching.New(switching.Config{Place: place, Firmware: None{}, Rand: newView(place).rand, Requeue: true})
	require.ErrorContains(t, err, place.Name+": requeue: firmware firmware.None does not say that packets may be routed a second time without deadlock")
}
