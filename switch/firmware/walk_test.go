package firmware

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// variants are the firmwares for trees, and some with options that none of them sets.
func variants() []Firmware {
	return append(
		For(Trees),
		named("deterministic-switch-ml2", 3, DeterministicSwitch{LeavesInML2: true}.Firmware()),
		named("misroute-vector-reset", 1, MisrouteVector{ResetWhenDied: true}.Firmware()),
	)
}

// named is a firmware under another name, that is tried with so many virtual channels.
func named(name string, vcs int, f Firmware) Firmware {
	f.Name, f.VCs = name, vcs
	return f
}

// hop is a packet at a switch: where it came in, in which VC and with which fields.
type hop struct {
	sw     int
	in     weft.PortID
	vc     weft.VC
	fields weft.Fields
}

func (h hop) String() string {
	return fmt.Sprintf("switch %d %v %v %+v", h.sw, h.in, h.vc, h.fields)
}

// start is a packet as its NIC injects it.
func (t *tree) start(fw Firmware, src, dst weft.NICID) hop {
	sw, p := t.leaf(src)
	h := weft.Header{Src: src, Dst: dst, Fields: weft.NewFields()}
	fw.Write(t.views[sw].At, p, &h)
	return hop{sw: sw, in: p, fields: h.Fields}
}

// follow is the packet at the next switch when it takes candidate c at h.
func (t *tree) follow(h hop, c Candidate) hop {
	sw, in := t.next(h.sw, c.Port)
	return hop{sw: sw, in: in, vc: c.VC, fields: c.Fields}
}

// route asks the firmware, with the switch as it is.
func (t *tree) route(fw Firmware, h hop, dst weft.NICID) Decision {
	pkt := weft.Header{Dst: dst, VC: h.vc, Fields: h.fields}
	return fw.Route(&pkt, t.arrival(h.sw, h.in, h.vc), t.views[h.sw])
}

// written is the value of one register.
type written struct {
	sw, index int
	value     uint64
}

// state is all that what happens to a packet next depends on.
type state struct {
	hop
	wrote string
}

// walk follows every choice that a firmware leaves to packets for dst, depth first, over the states
// of packet and registers. A state met again on the way to itself is a livelock.
type walk struct {
	net    *tree
	fw     Firmware
	dst    weft.NICID
	wrote  []written // what the packet has written, in order of switch and index
	done   map[state]bool
	path   map[state]bool
	turned bool // a decision was not straight
}

func newWalk(net *tree, fw Firmware, dst weft.NICID) *walk {
	return &walk{net: net, fw: fw, dst: dst, done: map[state]bool{}, path: map[state]bool{}}
}

// from returns what can go wrong from the state that the packet is at, or nothing.
func (w *walk) from(at hop, last int) string {
	key := state{hop: at}
	if len(w.wrote) > 0 {
		key.wrote = fmt.Sprint(w.wrote)
	}
	if w.path[key] {
		return fmt.Sprintf("comes to %v again", at)
	}
	if w.done[key] {
		return ""
	}
	w.path[key] = true
	defer delete(w.path, key)

	v := w.net.views[at.sw]
	for _, r := range w.wrote {
		if r.sw == at.sw {
			v.Registers[r.index] = r.value
			defer func() { v.Registers[r.index] = 0 }()
		}
	}
	d := w.net.route(w.fw, at, w.dst)
	w.turned = w.turned || d.Turn != switching.Straight
	if len(d.Candidates) == 0 {
		return fmt.Sprintf("at %v: %s", at, d.Rule)
	}
	for _, r := range w.wrote {
		v.Registers[r.index] = 0
	}
	candidates := slices.Clone(d.Candidates)
	was := w.wrote
	w.write(at.sw, d.Write)
	defer func() { w.wrote = was }()
	for _, c := range candidates {
		if w.net.role(at.sw, c.Port) == weft.RoleNIC {
			if sw, p := w.net.leaf(w.dst); sw != at.sw || p != c.Port {
				return fmt.Sprintf("delivered at %v %v", at, c.Port)
			}
			continue
		}
		number := 0
		if w.fw.ChannelNumber != nil {
			if number = w.fw.ChannelNumber(v.At, c.Port, c.VC); number <= last {
				return fmt.Sprintf("at %v: from channel %d to %d by %v %v (%s)", at, last, number, c.Port, c.VC, d.Rule)
			}
		}
		if wrong := w.from(w.net.follow(at, c), number); wrong != "" {
			return fmt.Sprintf("%v %v (%s), %s", at, c.Port, d.Rule, wrong)
		}
	}
	w.done[key] = true
	return ""
}

func (w *walk) write(sw int, r switching.RegisterWrite) {
	if !r.Do {
		return
	}
	next := slices.DeleteFunc(slices.Clone(w.wrote), func(o written) bool { return o.sw == sw && o.index == r.Index })
	next = append(next, written{sw, r.Index, r.Value})
	slices.SortFunc(next, func(a, b written) int { return (a.sw-b.sw)*1000 + a.index - b.index })
	w.wrote = next
}

// trees to walk in. Of the sets of two dead elements or more every so many-th is taken.
var walkTrees = []struct {
	spec  string
	every int
}{
	{"kary-ntree:2,3", 1},
	{"kary-ntree:3,2", 1},
	{"mport-tree:4,3", 1},
	{"kary-ntree:2,4", 1},
	{"mport-tree:6,2", 29},
	{"kary-ntree:3,3", 997},
}[:testenv.Levels(6, 4, 2)]

// Every pair, every choice, every set of as many dead links or switches as the firmware is for (of
// the larger trees a sample): a single packet that starts with zero registers is delivered, with
// every hop in a higher channel where channels are numbered.
func TestEveryFirmwareDeliversWithTheFaultsItIsFor(t *testing.T) {
	for _, size := range walkTrees {
		for _, e := range variants() {
			t.Run(size.spec+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				net := newTree(size.spec)
				faults, switches := e.Tolerance.Most(net.k), e.Tolerance.Switches
				turned := false
				net.sets(net.elements(switches), faults, size.every, func(set []element) {
					for dst := range weft.NICID(net.nics()) {
						w := newWalk(net, e, dst)
						for src := range weft.NICID(net.nics()) {
							if src == dst {
								continue
							}
							if wrong := w.from(net.start(w.fw, src, w.dst), -1); wrong != "" {
								t.Fatalf("%d -> %d with %v dead: %s", src, dst, set, wrong)
							}
						}
						require.False(t, w.turned && len(set) == 0, "re-routed without a fault")
						turned = turned || w.turned
					}
				})
				require.Equal(t, faults > 0, turned, "whether a fault was met")
			})
		}
	}
}

// The walk can fail: one fault more than a firmware is for, and there are pairs it does not
// deliver.
func TestTheWalkFindsPairsThatOneMoreFaultDisconnects(t *testing.T) {
	for _, e := range For(Trees) {
		net := newTree("kary-ntree:2,3")
		faults, switches := e.Tolerance.Most(net.k), e.Tolerance.Switches
		found := false
		net.sets(net.elements(switches), faults+1, 1, func(set []element) {
			found = found || len(set) == faults+1 && newWalk(net, e, 7).from(net.start(e, 0, 7), -1) != ""
		})
		require.True(t, found, e.Name)
	}
}

// Whatever links are dead when a packet comes by, and however that changes: each hop is in a higher
// channel, so there is no deadlock and no livelock. An adversary chooses the dead ports of each
// switch anew for each packet.
func TestNumberedFirmwaresRaiseTheChannelWhateverIsDead(t *testing.T) {
	numbered := 0
	for _, e := range variants() {
		fw := e
		if fw.ChannelNumber == nil {
			continue
		}
		numbered++
		for _, spec := range []string{
			"kary-ntree:2,3", "kary-ntree:2,4", "kary-ntree:3,2", "mport-tree:4,3",
			"leaf-spine:2,5,3", "leaf-spine:3,3,1", "kary-ntree:2,5",
		}[:testenv.Levels(7, 4, 1)] {
			t.Run(e.Name+"/"+spec, func(t *testing.T) {
				t.Parallel()
				net := newTree(spec)
				for dst := range weft.NICID(net.nics()) {
					for h := range met(net, e, dst) {
						before := -1
						if net.role(h.sw, h.in) != weft.RoleNIC {
							sw, p := net.next(h.sw, h.in)
							before = fw.ChannelNumber(net.views[sw].At, p, h.vc)
						}
						whatever(net, e, h, dst, func(dead uint64, d Decision) {
							require.NotEqual(t, ruleNever, d.Rule, "to %d at %v, dead %b", dst, h, dead)
							for _, c := range d.Candidates {
								if net.role(h.sw, c.Port) == weft.RoleNIC {
									continue
								}
								after := fw.ChannelNumber(net.views[h.sw].At, c.Port, c.VC)
								if after <= before {
									t.Fatalf("to %d at %v, dead %b: from channel %d to %d by %v %v (%s)", dst, h, dead, before, after, c.Port,
										c.VC, d.Rule)
								}
							}
						})
					}
				}
			})
		}
	}
	require.Positive(t, numbered)
}

// met is every state in which packets for dst can come to a switch when each switch has ports dead
// as an adversary chooses.
func met(net *tree, fw Firmware, dst weft.NICID) map[hop]bool {
	seen := map[hop]bool{}
	var todo []hop
	reach := func(h hop) {
		if !seen[h] {
			seen[h] = true
			todo = append(todo, h)
		}
	}
	for src := range weft.NICID(net.nics()) {
		if src != dst {
			reach(net.start(fw, src, dst))
		}
	}
	for len(todo) > 0 {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		whatever(net, fw, h, dst, func(_ uint64, d Decision) {
			for _, c := range d.Candidates {
				if net.role(h.sw, c.Port) != weft.RoleNIC {
					reach(net.follow(h, c))
				}
			}
		})
	}
	return seen
}

// whatever calls f with what the firmware decides for each set of dead ports.
func whatever(net *tree, fw Firmware, h hop, dst weft.NICID, f func(dead uint64, d Decision)) {
	v := net.views[h.sw]
	for v.Dead[0] = range uint64(1) << v.At.Ports() {
		f(v.Dead[0], net.route(fw, h, dst))
	}
	v.Dead[0] = 0
}
