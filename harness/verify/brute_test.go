package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// brute is a second checker, without anything that makes the first one fast: it lists every state
// that a packet of one pair can be in, registers of all switches included, and then looks for bad
// ends and cycles in the list.
type brute struct {
	g    *topology.Graph
	fw   switching.Firmware
	vcs  int
	when When
	set  []Element

	want  map[[2]bruteChannel]bool // channel held, channel wanted
	waits map[string]bruteWait
}

type bruteState struct {
	sw     weft.SwitchID
	in     weft.PortID
	vc     weft.VC
	fields weft.Fields
	regs   string // of all switches, as text
	mask   int    // which faults of the set are there
}

type bruteChannel struct {
	sw weft.SwitchID
	p  weft.PortID
	vc weft.VC
}

type bruteWait struct {
	mask int
	held bruteChannel
	any  []bruteChannel
}

// view is a switch with the ports down that a fault set takes down.
func (b *brute) view(s bruteState, mask int) (*switching.Still, bool) {
	v := &switching.Still{At: b.g.Place(s.sw), Free: 2, Registers: bruteRegisters(s.regs, s.sw)}
	for i, e := range b.set {
		if mask>>i&1 == 0 {
			continue
		}
		if e.Switch && weft.SwitchID(e.ID) == s.sw {
			return nil, false
		}
		for p := range v.At.Ports() {
			end, link, ok := b.g.Peer(weft.End{Node: s.sw.Node(), Port: weft.PortID(p)})
			if ok && (!e.Switch && uint32(link) == e.ID || e.Switch && end.Node == weft.SwitchID(e.ID).Node()) {
				v.Dead.Add(weft.PortID(p))
			}
		}
	}
	return v, true
}

// bruteRegisters reads text of the form "switch:register=value;".
func bruteRegisters(text string, sw weft.SwitchID) []uint64 {
	regs := make([]uint64, 8)
	for text != "" {
		var at, i, value, n uint64
		fmt.Sscanf(text, "%d:%d=%d;%n", &at, &i, &value)
		for text[n] != ';' {
			n++
		}
		text = text[n+1:]
		if weft.SwitchID(at) == sw {
			regs[i] = value
		}
	}
	return regs
}

func (b *brute) write(text string, sw weft.SwitchID, w switching.RegisterWrite) string {
	out := ""
	for s := range b.g.Switches {
		regs := bruteRegisters(text, weft.SwitchID(s))
		if weft.SwitchID(s) == sw {
			regs[w.Index] = w.Value
		}
		for i, v := range regs {
			if v != 0 {
				out += fmt.Sprintf("%d:%d=%d;", s, i, v)
			}
		}
	}
	return out
}

// masks is the faults that can be there when a packet is routed.
func (b *brute) masks(s bruteState) []int {
	if b.when != Flapping {
		return []int{s.mask}
	}
	var all []int
	for m := range 1 << len(b.set) {
		all = append(all, m)
	}
	return all
}

// restarted is a state, and the same after the switch was dead and is there again, with registers
// that are zero.
func (b *brute) restarted(s bruteState) []bruteState {
	if b.when != Flapping || !slices.Contains(b.set, Element{Switch: true, ID: uint32(s.sw)}) {
		return []bruteState{s}
	}
	again := s
	again.regs = b.write(s.regs, s.sw, switching.RegisterWrite{Index: 0})
	return []bruteState{s, again}
}

// pair lists the states of a pair's packets. bad: one of them ends badly or on a cycle; hops: the
// longest way, if not bad.
func (b *brute) pair(src, dst weft.NICID) (bad, loops bool, hops int) {
	sw, p := b.g.SwitchOf(src)
	h := weft.Header{Src: src, Dst: dst, Fields: weft.NewFields()}
	if b.fw.Source != nil {
		b.fw.Source(b.g.Place(weft.SwitchID(sw)), p, &h)
	}
	start := bruteState{sw: sw, in: p, fields: h.Fields, mask: 1<<len(b.set) - 1}
	if b.when != Before {
		start.mask = 0
	}
	ids := map[bruteState]int{start: 0}
	list := []bruteState{start}
	var next [][]int
	var cost [][]int
	ends := map[int]bool{}
	for i := 0; i < len(list); i++ {
		s := list[i]
		next, cost = append(next, nil), append(cost, nil)
		come := func(t bruteState, hop int) {
			id, ok := ids[t]
			if !ok {
				id = len(list)
				ids[t], list = id, append(list, t)
			}
			next[i], cost[i] = append(next[i], id), append(cost[i], hop)
		}
		for _, mask := range b.masks(s) {
			for _, s := range b.restarted(s) {
				if v, ok := b.view(s, mask); ok && b.route(s, src, dst, v, mask, func(t bruteState, delivered bool) {
					if delivered {
						ends[i] = true
					} else {
						come(t, 1)
					}
				}) {
					bad = true
				}
			}
		}
		if b.when == Arriving {
			for f := range b.set {
				t := s
				t.mask |= 1 << f
				if _, alive := b.view(t, t.mask); t != s && alive {
					come(t, 0)
				}
			}
		}
	}
	// Take states away from which all ways end, until none is to be had: what is left is on a cycle
	// or leads to one.
	longest := make([]int, len(list))
	for i := range longest {
		longest[i] = -1
	}
	for left, progress := len(list), true; left > 0 && progress; {
		progress = false
		for i := range list {
			if longest[i] >= 0 {
				continue
			}
			most, done := 0, true
			if ends[i] {
				most = 1
			}
			for j, n := range next[i] {
				done = done && longest[n] >= 0
				most = max(most, longest[n]+cost[i][j])
			}
			if done {
				longest[i], progress = most, true
				left--
			}
		}
	}
	loops = longest[0] < 0
	return bad || loops, loops, longest[0]
}

// route follows every candidate. It reports a bad end.
func (b *brute) route(s bruteState, src, dst weft.NICID, v *switching.Still, mask int,
	come func(bruteState, bool),
) (bad bool) {
	pkt := weft.Header{Src: src, Dst: dst, Size: 256, VC: s.vc, Fields: s.fields}
	d := b.fw.Route(&pkt, switching.Arrival{Port: s.in, VC: s.vc, From: v.At.Roles[s.in]}, v)
	regs := s.regs
	if d.Write.Do {
		regs = b.write(regs, s.sw, d.Write)
	}
	held, holds := bruteChannel{}, false
	if end, _, ok := b.g.Peer(weft.End{Node: s.sw.Node(), Port: s.in}); ok && end.Node.IsSwitch() {
		held, holds = bruteChannel{weft.SwitchID(end.Node.Index), end.Port, s.vc}, true
	}
	for _, c := range d.Candidates { // a port that is not there is a bad end, whatever else there is
		if int(c.Port) >= v.At.Ports() || int(c.VC) >= b.vcs {
			return true
		}
	}
	w := bruteWait{mask: mask, held: held}
	for _, c := range d.Candidates { // so is another NIC
		end, _, ok := b.g.Peer(weft.End{Node: s.sw.Node(), Port: c.Port})
		if ok && v.PortUp(c.Port) && !end.Node.IsSwitch() && weft.NICID(end.Node.Index) != dst {
			return true
		}
	}
	live, accepted := 0, false
	for _, c := range d.Candidates {
		if !v.PortUp(c.Port) {
			continue
		}
		live++
		end, _, _ := b.g.Peer(weft.End{Node: s.sw.Node(), Port: c.Port})
		if !end.Node.IsSwitch() {
			accepted = true
			come(bruteState{}, true)
			continue
		}
		out := bruteChannel{s.sw, c.Port, c.VC}
		w.any = append(w.any, out)
		if holds {
			b.want[[2]bruteChannel{held, out}] = true
		}
		come(bruteState{weft.SwitchID(end.Node.Index), end.Port, c.VC, c.Fields, regs, s.mask}, false)
	}
	if holds && live > 0 && !accepted {
		b.waits[fmt.Sprint(w)] = w
	}
	return live == 0
}

// cyclic looks for a cycle of channels by taking away those that want nothing.
func (b *brute) cyclic() bool {
	left := map[[2]bruteChannel]bool{}
	for e := range b.want {
		left[e] = true
	}
	for {
		wanting := map[bruteChannel]bool{}
		for e := range left {
			wanting[e[0]] = true
		}
		n := len(left)
		for e := range left {
			if !wanting[e[1]] {
				delete(left, e)
			}
		}
		if len(left) == n {
			return n > 0
		}
	}
}

// stuck is the most channels that can wait for each other only, at one moment.
func (b *brute) stuck() (most int) {
	for mask := range 1 << len(b.set) {
		in := map[bruteChannel]bool{}
		for _, w := range b.waits {
			if w.mask == mask {
				in[w.held] = true
			}
		}
		for n := -1; n != len(in); {
			n = len(in)
			can := map[bruteChannel]bool{}
			for _, w := range b.waits {
				all := w.mask == mask
				for _, c := range w.any {
					all = all && in[c]
				}
				if all {
					can[w.held] = true
				}
			}
			in = can
		}
		most = max(most, len(in))
	}
	return most
}

// compare runs both checkers over one set.
func compare(t *testing.T, g *topology.Graph, fw switching.Firmware, vcs int, when When, set []Element) {
	t.Helper()
	c := Config{Graph: g, Firmware: fw, VCs: vcs, When: when, Regs: Alone, Sets: Sets{List: [][]Element{set}}}
	m, err := newModel(&c)
	require.NoError(t, err)
	x := newExplorer(m, nil)
	fast, err := x.run(set)
	require.NoError(t, err)

	b := &brute{
		g: g, fw: fw, vcs: vcs, when: when, set: set, want: map[[2]bruteChannel]bool{},
		waits: map[string]bruteWait{},
	}
	slow := tally{}
	for src := range g.NICs {
		for dst := range g.NICs {
			if src == dst || b.dead(weft.NICID(src)) && when == Before {
				continue
			}
			if b.dead(weft.NICID(src)) || b.dead(weft.NICID(dst)) { // not judged, but others may have to wait for its packets
				b.pair(weft.NICID(src), weft.NICID(dst))
				continue
			}
			slow.pairs++
			bad, loops, hops := b.pair(weft.NICID(src), weft.NICID(dst))
			if bad {
				slow.unconnected++
			} else {
				slow.hops = max(slow.hops, hops)
			}
			if loops {
				slow.livelocks++
			}
		}
	}
	slow.cyclic, slow.stuck = b.cyclic(), b.stuck()
	got := tally{
		pairs: fast.pairs, unconnected: fast.unconnected, livelocks: fast.livelocks, hops: fast.hops,
		cyclic: fast.cyclic, stuck: fast.stuck,
	}
	require.Equal(t, slow, got, "%T, %s dead", fw, x.names(set))
}

func (b *brute) dead(n weft.NICID) bool {
	sw, _ := b.g.SwitchOf(n)
	for _, e := range b.set {
		if e.Switch && e.ID == uint32(sw) {
			return true
		}
	}
	return false
}

func TestASecondCheckerAgreesOnEverySetOfTwoLinks(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	for _, e := range firmware.For(firmware.Trees) {
		for when := Before; when <= Flapping; when++ {
			t.Run(fmt.Sprint(e.Name, " ", when), func(t *testing.T) {
				t.Parallel()
				s := Sets{Max: 2}
				require.NoError(t, s.resolve(g))
				step := uint64(testenv.Levels(1, 7, 7))
				if when != Before { // a sample: the second checker is slow
					step = uint64(testenv.Levels(17, 37, 37))
				}
				for i := uint64(0); i < s.total(); i += step {
					compare(t, g, e, subnet.LeastVCs(e, g), when, s.at(i))
				}
			})
		}
	}
}

func TestASecondCheckerAgreesOnDeadSwitches(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,3")
	for _, name := range []string{"deterministic-switch", "adaptive-switch-header", "updown"} {
		e, _ := firmware.ByName(name)
		s := Sets{Kind: Any, Max: 2}
		require.NoError(t, s.resolve(g))
		for i := uint64(0); i < s.total(); i += uint64(testenv.Levels(11, 41, 41)) {
			for when := Before; when <= Flapping; when++ {
				compare(t, g, e, subnet.LeastVCs(e, g), when, s.at(i))
			}
		}
	}
}

// table is a firmware without sense: what it does with a packet is drawn once for each arrival.
type table struct {
	g        *topology.Graph
	seed     uint64
	merged   bool // decides by destination only
	vcs      int
	vector   bool // looks at and writes a register
	nonsense bool // also names ports that are not there
}

func (f table) firmware() switching.Firmware {
	return switching.Firmware{
		Name: "table", Route: f.route, DestinationBased: f.merged,
		Registers: func(*weft.Place) []switching.Register { return []switching.Register{{Name: "r", Width: 1}} },
	}
}

func (f table) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	key := uint64(sw.Place().Switch)<<40 | uint64(at.Port)<<32 | uint64(at.VC)<<24 | uint64(pkt.Dst)<<8 | pkt.Misroute
	if !f.merged {
		key |= uint64(pkt.Src+1) << 16
	}
	if f.vector {
		key |= sw.Register(0) << 56
	}
	rng := rand.New(rand.NewPCG(f.seed, key))
	if leaf, p := f.g.SwitchOf(pkt.Dst); leaf == sw.Place().Switch && rng.IntN(16) > 0 {
		return switching.To(sw, p, 0, pkt.Fields, "deliver")
	}
	d := switching.Decision{Candidates: sw.Scratch(), Rule: "drawn"}
	ports := sw.Place().Ports()
	if f.nonsense {
		ports++
	}
	for range min(2, 3*rng.IntN(8)/4) {
		fields := pkt.Fields
		if rng.IntN(6) == 0 {
			fields.Misroute = uint64(rng.IntN(2))
		}
		d.Candidates = append(d.Candidates, switching.Candidate{
			Port: weft.PortID(rng.IntN(ports)),
			VC:   weft.VC(rng.IntN(f.vcs)), Fields: fields,
		})
	}
	if f.vector && rng.IntN(3) == 0 {
		d.Write = switching.RegisterWrite{Do: true, Value: uint64(rng.IntN(2))}
	}
	return d
}

// senseless is one random small graph, firmware and set of faults, compared.
func senseless(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	specs := []string{
		"ring:4", "mesh:2x2", "mesh:3x2", "torus:3x2", fmt.Sprintf("irregular:5,6,%d", seed%100),
		fmt.Sprintf("irregular:4,5,%d", seed%100),
	}
	g := topologytest.Parse(t, specs[rng.IntN(len(specs))])
	f := table{
		g: g, seed: seed, vcs: 1 + rng.IntN(2), vector: rng.IntN(3) == 0, nonsense: rng.IntN(4) == 0,
		merged: rng.IntN(2) == 0,
	}
	s := Sets{Kind: Kind(Kinds()[rng.IntN(3)]), Max: 2}
	require.NoError(t, s.resolve(g))
	compare(t, g, f.firmware(), f.vcs, When(rng.IntN(3)), s.at(rng.Uint64N(s.total())))
}

func TestASecondCheckerAgreesOnSenselessFirmwares(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	for seed := range uint64(testenv.Levels(300, 150, 150)) {
		senseless(t, seed)
	}
}

func FuzzASecondCheckerAgrees(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { senseless(t, seed) })
}
