package firmware

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// waits is the graph of what packets can wait for in a tree whose links or switches die one after
// another, until all of a chain are dead. A packet is routed again whenever a link dies, so it
// waits for what the firmware answers once all are; where it stands, and with what fields, may date
// from before.
//
// Nodes are channels, whether their links are dead or not. A channel has an alternative for each
// packet it can hold: the channels that packet waits for, any of which will do. A set of channels
// can be deadlocked (Definition 17 of the fat-tree paper) only if each holds a packet all of whose
// channels are in the set.
type waits struct {
	t    *testing.T
	net  *tree
	fw   Firmware
	vcs  int
	dead [][]switching.PortSet // per number of elements that have died, per switch: its dead ports
	// per switch: the up ports from which packets may make a U-turn, which its register may name
	turns []uint64
	ways  [][]alternative // per channel
}

type alternative struct {
	to    []int // channels
	moved bool  // of a packet stranded in the channel of a dead link
}

// stand is a packet where it came in, when so many elements had died.
type stand struct {
	hop
	died int
}

func newWaits(t *testing.T, net *tree, e Firmware, chain []element) *waits {
	w := &waits{t: t, net: net, fw: e, vcs: e.NeedsVCs(), turns: make([]uint64, len(net.views))}
	snapshot := func() {
		var dead []switching.PortSet
		for _, v := range net.views {
			dead = append(dead, v.Dead)
		}
		w.dead = append(w.dead, dead)
	}
	net.heal()
	for _, v := range net.views {
		v.Registers = v.Registers[:len(w.fw.RegistersAt(v.At))] // to be quick
	}
	snapshot()
	for _, e := range chain {
		net.die(e)
		snapshot()
	}
	w.ways = make([][]alternative, len(net.views)*w.ports()*w.vcs)
	var reached []map[stand]bool
	for dst := range weft.NICID(net.nics()) {
		reached = append(reached, w.reach(dst))
	}
	for dst, r := range reached {
		w.collect(weft.NICID(dst), r)
	}
	return w
}

// ports is how many ports a switch has at most.
func (w *waits) ports() int { return 2 * w.net.k }

func (w *waits) channel(sw int, p weft.PortID, vc weft.VC) int {
	return (sw*w.ports()+int(p))*w.vcs + int(vc)
}

// into is the channel by which a packet came in, or -1 when it came from a NIC.
func (w *waits) into(h hop) int {
	if w.net.role(h.sw, h.in) == weft.RoleNIC {
		return -1
	}
	sw, p := w.net.next(h.sw, h.in)
	return w.channel(sw, p, h.vc)
}

// route asks the firmware for a packet at h once so many elements have died, with the switch's
// registers as given.
func (w *waits) route(h hop, dst weft.NICID, died int, register uint64) Decision {
	v := w.net.views[h.sw]
	v.Dead = w.dead[died][h.sw]
	for i := range v.Registers {
		v.Registers[i] = register
	}
	return w.net.route(w.fw, h, dst)
}

// reach follows packets for dst through every choice and every moment at which an element may die.
// An empty register leaves the most choices.
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
		if src != dst {
			come(w.net.start(w.fw, src, dst), 0)
		}
	}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		d := w.route(s.hop, dst, s.died, 0)
		if d.Write.Do {
			w.turns[s.sw] |= d.Write.Value
		}
		for _, c := range slices.Clone(d.Candidates) {
			if w.net.role(s.sw, c.Port) != weft.RoleNIC {
				come(w.net.follow(s.hop, c), s.died)
			}
		}
	}
	return seen
}

// collect adds what packets for dst wait for when all elements of the chain are dead.
func (w *waits) collect(dst weft.NICID, seen map[stand]bool) {
	last := len(w.dead) - 1
	for s := range seen {
		if s.died == last {
			w.add(w.into(s.hop), s.hop, dst, false)
			continue
		}
		for _, c := range slices.Clone(w.route(s.hop, dst, s.died, 0).Candidates) {
			if w.dead[last][s.sw].Has(c.Port) {
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
	last := len(w.dead) - 1
	turns := uint64(0)
	if w.route(h, dst, last, 0).Write.Do {
		turns = w.turns[h.sw]
	}
	for register := turns; ; register = (register - 1) & turns {
		var to []int
		for _, c := range w.route(h, dst, last, register).Candidates {
			require.False(w.t, w.dead[last][h.sw].Has(c.Port), "nothing waits for the channel of a dead link")
			if w.net.role(h.sw, c.Port) == weft.RoleNIC {
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

// stuck is the largest set of channels that can be deadlocked, with or without what stranded
// packets wait for.
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

// Every link, and every switch for the firmwares that go around switches, and two in turn (of the
// larger trees a sample): what stranded packets wait for closes no circle of waiting. The numbered
// firmwares have none with anything dead; the others with as many faults as they are for.
func TestRequeueClosesNoCircleOfWaiting(t *testing.T) {
	for _, size := range []struct {
		spec       string
		each, twos int // every so many-th fault, and two faults
	}{
		{"kary-ntree:2,3", 1, testenv.N(5, 29)},
		{"mport-tree:4,3", 3, 397},
		{"kary-ntree:3,2", 1, 5},
		{"kary-ntree:4,2", 2, 31},
		{"kary-ntree:2,4", 5, 499},
		{"kary-ntree:3,3", 11, 997},
		{"kary-ntree:4,3", 127, 19999},
	}[:testenv.Levels(7, 3, 1)] {
		for _, e := range variants() {
			t.Run(size.spec+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				net := newTree(size.spec)
				most, switches := e.Tolerance.Most(net.k), e.Tolerance.Switches
				if e.ChannelNumber != nil {
					most = 2
				}
				moved, chains := 0, 0
				sequences(net.elements(switches), min(most, 2), size.each, size.twos, func(chain []element) {
					w := newWaits(t, net, e, chain)
					chains++
					moved += w.moved()
					if n := w.stuck(true); n > 0 {
						t.Fatalf("with %v dying in turn %d channels can wait for each other; without requeue %d", chain, n,
							w.stuck(false))
					}
				})
				require.Positive(t, moved, "of %d chains none stranded a packet", chains)
			})
		}
	}
}

// The firmwares for one fault close no cycle of channel dependencies in their one virtual channel
// with any link, or any switch for those that go around switches, dead or dying: whichever of its
// choices a packet takes.
func TestOneFaultNeedsOneVirtualChannel(t *testing.T) {
	for _, name := range []string{
		"adaptive-link-one", "deterministic-link-one", "deterministic-link-flat",
		"adaptive-switch-one", "deterministic-switch-one",
	} {
		for _, size := range []struct {
			spec string
			each int
		}{{"kary-ntree:2,4", testenv.N(1, 5)}, {"mport-tree:4,3", 1}, {"kary-ntree:2,5", 23}, {
			"kary-ntree:3,3",
			2,
		}}[:testenv.Levels(4, 2, 1)] {
			t.Run(size.spec+"/"+name, func(t *testing.T) {
				t.Parallel()
				e, _ := ByName(name)
				net := newTree(size.spec)
				switches := e.Tolerance.Switches
				sequences(net.elements(switches), 1, size.each, 1, func(chain []element) {
					w := newWaits(t, net, e, chain)
					w.split()
					require.Zero(t, w.stuck(true), "%v", chain)
				})
			})
		}
	}
}

// split makes every channel that a packet may wait for an alternative of its own: what is stuck
// then is what lies on or leads to a cycle of channel dependencies.
func (w *waits) split() {
	for c, ways := range w.ways {
		var apart []alternative
		for _, a := range ways {
			for i := range a.to {
				apart = append(apart, alternative{to: a.to[i : i+1], moved: a.moved})
			}
		}
		w.ways[c] = apart
	}
}

// Beyond the faults that they are for the adaptive firmwares and those for one fault can deadlock.
// Requeue adds no channel to those that can, but the dead ones, which wait and are not waited for.
func TestRequeueAddsNothingToWhatCanDeadlockBeyondTheFaultsAFirmwareIsFor(t *testing.T) {
	for _, e := range For(Trees) {
		if e.ChannelNumber != nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			net := newTree("kary-ntree:2,3")
			deadlocks := 0
			switches := e.Tolerance.Switches
			sequences(net.elements(switches), 2, 1, testenv.Levels(3, 17, 29), func(chain []element) {
				w := newWaits(t, net, e, chain)
				without := w.stuck(false)
				if without > 0 {
					deadlocks++
				}
				dead := 0
				for _, d := range w.dead[len(chain)] {
					dead += bits.OnesCount64(d[0])
				}
				require.LessOrEqual(t, w.stuck(true), without+dead, "%v", chain)
				if without == 0 {
					require.Zero(t, w.stuck(true), "%v", chain)
				}
			})
			require.Positive(t, deadlocks, "the analysis finds none where there are some")
		})
	}
}

func TestFirmwaresThatBearRequeueSayIt(t *testing.T) {
	place := placeOf(4, 3, 1, 0, 1)
	for _, e := range For(Trees) {
		require.NoError(t, e.Requeues(place), e.Name)
		_, err := switching.New(switching.Config{
			Place: place, Firmware: e, VCs: e.NeedsVCs(), Rand: rand.NewPCG(1, 2), Requeue: true,
		})
		require.NoError(t, err, e.Name)
	}
	_, err := switching.New(switching.Config{Place: place, Firmware: None(), Rand: rand.NewPCG(1, 2), Requeue: true})
	require.ErrorContains(t, err,
		place.Name+": requeue: firmware none does not say that packets may be routed a second time without deadlock")
}
