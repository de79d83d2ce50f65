package verify_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// queues is a model of the queues of a fabric, with everything that a switch decides by turn left
// open: whichever packet can go on, may, and so may any other. What packets may do the firmware
// says.
type queues struct {
	g       *topology.Graph
	fw      switching.Firmware
	vcs     int
	in, out int // packets that a queue holds

	ids map[weft.End]map[weft.VC]int // of channels: the port that one leaves its switch by
}

// held is a packet in a queue.
type held struct {
	src, dst weft.NICID
	fields   weft.Fields
}

// queue is the packets of a channel: those in the output queue of its switch, and those in the
// input queue of the next.
type queue struct{ out, in []held }

// fill is what all channels hold.
type fill []queue

func (f fill) key() string {
	var b []byte
	for _, q := range f {
		for _, list := range [][]held{q.out, q.in} {
			b = append(b, byte(len(list)))
			for _, p := range list {
				b = append(b, byte(p.src), byte(p.dst), byte(p.fields.Misroute))
			}
		}
	}
	return string(b)
}

func (f fill) clone() fill {
	c := make(fill, len(f))
	for i, q := range f {
		c[i] = queue{slices.Clone(q.out), slices.Clone(q.in)}
	}
	return c
}

// channels are the ports of switches that lead to switches, once per VC.
func (m *queues) channels() (ends []weft.End) {
	m.ids = map[weft.End]map[weft.VC]int{}
	for _, s := range m.g.Switches {
		for p := range m.g.Place(s.ID).Ports() {
			e := weft.End{Node: s.ID.Node(), Port: weft.PortID(p)}
			if to, _, ok := m.g.Peer(e); ok && to.Node.IsSwitch() {
				m.ids[e] = map[weft.VC]int{}
				for vc := range m.vcs {
					m.ids[e][weft.VC(vc)] = len(ends)
					ends = append(ends, e)
				}
			}
		}
	}
	return ends
}

// goesOn calls do with what becomes of f when a packet at a switch takes one of its candidates that
// has room. take removes it from where it is.
func (m *queues) goesOn(f fill, p held, sw weft.SwitchID, in weft.PortID, vc weft.VC, take func(f fill),
	do func(fill),
) {
	at := m.g.Place(sw)
	pkt := weft.Header{Src: p.src, Dst: p.dst, Size: 256, VC: vc, Fields: p.fields}
	d := m.fw.Route(&pkt, switching.Arrival{Port: in, VC: vc, From: at.Roles[in]}, &switching.Still{At: at, Free: m.out})
	if len(d.Candidates) == 0 {
		next := f.clone()
		take(next)
		do(next)
	}
	for _, c := range d.Candidates {
		id, ok := m.ids[weft.End{Node: sw.Node(), Port: c.Port}][c.VC]
		if ok && m.out-len(f[id].out) < max(1, int(c.Need)) {
			continue
		}
		next := f.clone()
		take(next)
		if ok {
			next[id].out = append(next[id].out, held{p.src, p.dst, c.Fields})
		}
		do(next)
	}
}

// steps calls do with all that can become of f without a new packet.
func (m *queues) steps(ends []weft.End, f fill, do func(fill)) {
	for id, q := range f {
		if len(q.out) > 0 && len(q.in) < m.in {
			next := f.clone()
			next[id].in = append(next[id].in, q.out[0])
			next[id].out = next[id].out[1:]
			do(next)
		}
		to, _, _ := m.g.Peer(ends[id])
		for i, p := range q.in {
			if slices.ContainsFunc(q.in[:i], func(q held) bool { return q.src == p.src && q.dst == p.dst }) {
				continue // it would overtake one of its flow
			}
			m.goesOn(f, p, weft.SwitchID(to.Node.Index), to.Port, weft.VC(id%m.vcs),
				func(f fill) { f[id].in = slices.Delete(f[id].in, i, i+1) }, do)
		}
	}
}

// deadlock reports whether packets can come to hold queues in which none can go on. It gives up
// after so many states.
func (m *queues) deadlock(most int) bool {
	ends := m.channels()
	empty := make(fill, len(ends))
	seen := map[string]bool{empty.key(): true}
	todo := []fill{empty}
	for len(todo) > 0 && len(seen) < most {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		moves := 0
		come := func(next fill) {
			moves++
			if k := next.key(); !seen[k] {
				seen[k] = true
				todo = append(todo, next)
			}
		}
		m.steps(ends, f, come)
		if moves == 0 && f.key() != empty.key() {
			return true
		}
		for src := range m.g.NICs {
			sw, p := m.g.SwitchOf(weft.NICID(src))
			for dst := range m.g.NICs {
				if src != dst {
					h := held{weft.NICID(src), weft.NICID(dst), weft.NewFields()}
					m.goesOn(f, h, sw, p, 0, func(fill) {}, come)
				}
			}
		}
	}
	return false
}

// drawn is a firmware for a ring that is drawn: mostly a way up in which a packet keeps to its VC,
// asks for two places when it enters and for one when it goes on, with and without a second way of
// another class; sometimes anything else.
type drawn struct {
	g    *topology.Graph
	seed uint64
	vcs  int
}

func (f drawn) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	here := sw.Place().Switch
	if leaf, p := f.g.SwitchOf(pkt.Dst); leaf == here {
		return switching.To(sw, p, 0, pkt.Fields, "deliver")
	}
	style := rand.New(rand.NewPCG(f.seed, 1))
	odd, ways := style.IntN(8), style.IntN(2)
	rng := rand.New(rand.NewPCG(f.seed, uint64(here)<<24|uint64(at.Port)<<16|uint64(at.VC)<<8|uint64(pkt.Dst)+2))
	enters := at.From == weft.RoleNIC
	c := switching.Candidate{Port: ringUp, VC: at.VC, Need: 1, Class: 1, Fields: pkt.Fields}
	if enters {
		c.VC, c.Need = weft.VC(rng.IntN(f.vcs)), 2
	}
	unusual := func() bool { return odd > 0 && rng.IntN(30) < odd }
	if unusual() {
		c.Need = uint8(1 + rng.IntN(2))
	}
	if unusual() {
		c.VC = weft.VC(rng.IntN(f.vcs))
	}
	if unusual() {
		c.Port = ringDown
	}
	d := switching.Decision{Candidates: append(sw.Scratch(), c), Rule: "drawn"}
	if ways > 0 && rng.IntN(3) > 0 {
		c.Port, c.VC, c.Need, c.Class = weft.PortID(rng.IntN(2)), weft.VC(rng.IntN(f.vcs)), uint8(1+rng.IntN(2)),
			uint8(rng.IntN(2))
		d.Candidates = append(d.Candidates, c)
	}
	return d
}

// The rule by which verify leaves bubble rings out is held against the queues themselves: what it
// says cannot be stuck never is. And a graph without a cycle, rings left out, is one in which
// nothing is stuck.
func TestQueuesGetStuckOnlyWhereVerifySaysSo(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	g := topologytest.Parse(t, "ring:3")
	freed, caught := 0, 0
	for seed := range uint64(150) {
		fw := drawn{g: g, seed: seed, vcs: 1 + int(seed%2)}
		r := run(t, verify.Config{Graph: g, Firmware: routeFunc(fw.route), VCs: fw.vcs, Workers: 1})
		if r.CDGAcyclic {
			require.Zero(t, r.Deadlocks, "seed %d: %+v", seed, r.Extended)
		}
		m := queues{g: g, fw: routeFunc(fw.route), vcs: fw.vcs, in: 1, out: 2}
		if m.deadlock(400) {
			require.Positive(t, r.Deadlocks, "seed %d: %+v", seed, r.Extended)
			caught++
		} else if r.Extended != nil && r.Extended.Rings > 0 && r.Deadlocks == 0 {
			freed++
		}
	}
	assert.Greater(t, freed, 10, "and some are free of deadlock by rings only")
	assert.Greater(t, caught, 10)
}
