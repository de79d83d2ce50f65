package verify_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// oneWay goes round a ring upwards. Its needs are the free places that it asks for: of a packet
// from the NIC of each switch, and of one that is in the ring.
type oneWay struct {
	enter []uint8
	along uint8
}

// Ports of a switch of a ring, as a grid numbers them.
const (
	ringDown weft.PortID = iota
	ringUp
	ringNIC
)

func (f oneWay) firmware() switching.Firmware {
	return switching.Firmware{Name: "two", On: switching.Grids, Route: f.route, DestinationBased: true}
}

func (f oneWay) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	here := sw.Place().Switch
	if weft.SwitchID(pkt.Dst) == here {
		return switching.To(sw, ringNIC, 0, pkt.Fields, "deliver")
	}
	need := f.along
	if at.From == weft.RoleNIC {
		need = f.enter[int(here)%len(f.enter)]
	}
	return switching.Decision{Candidates: append(sw.Scratch(),
		switching.Candidate{Port: ringUp, Need: need, Fields: pkt.Fields}), Rule: "up"}
}

// cores is a ring of real switch cores without anything that drives them: the test decides what
// happens next. Links hold nothing, NICs take all that comes at once, and credits are returned at
// once.
type cores struct {
	t    testing.TB
	at   []*switching.Switch
	nics []*link.End
	now  weft.Time
	seq  uint64

	in [][2][]weft.Header // per switch: what waits in the input queue from the ring, and in that from the NIC
	up [][]weft.Header    // per switch: the output queue of the ring
}

func newCores(t testing.TB, g *topology.Graph, fw switching.Firmware, in, out int) *cores {
	n := len(g.Switches)
	c := &cores{t: t, in: make([][2][]weft.Header, n), up: make([][]weft.Header, n)}
	for i := range g.Switches {
		s, err := switching.New(switching.Config{
			Place: g.Place(weft.SwitchID(i)), Firmware: fw, Rand: rand.NewPCG(1, 2), InputBuffer: in, OutputBuffer: out,
			EagerCredits: true,
		})
		require.NoError(t, err)
		end := link.New(link.Config{VCs: 1, Buffer: 1, Eager: true})
		end.Signal(0, true)
		c.at, c.nics = append(c.at, s), append(c.nics, &end)
	}
	for i, s := range c.at {
		for _, p := range []weft.PortID{ringDown, ringUp, ringNIC} {
			c.step(i, func(out *weft.Actions) { s.Signal(c.now, p, true, out) })
		}
	}
	c.settle()
	return c
}

func (c *cores) next(i int) int { return (i + 1) % len(c.at) }

// step does something at a switch and notes which packets it moves from input to output queues.
func (c *cores) step(i int, do func(out *weft.Actions)) {
	c.now++
	var out weft.Actions
	do(&out)
	if len(out.Faults) > 0 || len(out.Drops) > 0 {
		require.Fail(c.t, "faults or drops", "%v %v", out.Faults, out.Drops)
	}
	for _, h := range out.Hops {
		q := &c.in[i][h.In/ringNIC] // ringDown: 0
		*q = slices.DeleteFunc(*q, func(p weft.Header) bool { return p.Seq == h.Header.Seq })
		if h.Out == ringUp {
			c.up[i] = append(c.up[i], h.Header)
		}
	}
}

// settle exchanges what is owed but packets in the ring, until nothing is.
func (c *cores) settle() {
	for busy := true; busy; {
		busy = false
		for i := range c.at {
			for p := ringDown; p <= ringNIC; p++ {
				limit := 0
				if p == ringNIC {
					limit = 1
				}
				busy = c.frame(i, p, limit) || busy
			}
			if c.nics[i].Owes() {
				var f weft.Frame
				c.nics[i].Stamp(c.now, &f)
				c.step(i, func(out *weft.Actions) { c.at[i].Receive(c.now, ringNIC, &f, out) })
				busy = true
			}
		}
	}
}

// frame lets a switch send a frame of at most so many packets, and its neighbour take it.
func (c *cores) frame(i int, p weft.PortID, limit int) (sent bool) {
	var f weft.Frame
	c.step(i, func(out *weft.Actions) { sent = c.at[i].Transmit(c.now, p, limit, &f, out) })
	switch {
	case !sent:
		return false
	case p == ringNIC:
		end := c.nics[i]
		_, err := end.Receive(c.now, &f)
		require.NoError(c.t, err)
		for j := range f.Packets {
			_, err := end.Take(0, f.Sent[0]+uint64(j))
			require.NoError(c.t, err)
			end.Free(0)
		}
		return true
	}
	to, in := c.next(i), ringDown
	if p == ringDown {
		to, in = (i+len(c.at)-1)%len(c.at), ringUp
	}
	for range f.Packets {
		c.in[to][0] = append(c.in[to][0], c.up[i][0])
		c.up[i] = c.up[i][1:]
	}
	c.step(to, func(out *weft.Actions) { c.at[to].Receive(c.now, in, &f, out) })
	return true
}

// inject has the NIC of a switch send a packet so many hops, if it has a credit.
func (c *cores) inject(i, hops int) bool {
	end := c.nics[i]
	if end.Credits(0) == 0 {
		return false
	}
	c.seq++
	h := weft.Header{
		Src: weft.NICID(i), Dst: weft.NICID((i + hops) % len(c.at)), Seq: c.seq, Size: 256,
		Traced: true, Fields: weft.NewFields(),
	}
	var f weft.Frame
	end.Stamp(c.now, &f)
	end.Spend(0)
	f.Packets = []weft.Header{h}
	c.in[i][1] = append(c.in[i][1], h)
	c.step(i, func(out *weft.Actions) { c.at[i].Receive(c.now, ringNIC, &f, out) })
	c.settle()
	return true
}

// move has a switch send a packet to the next.
func (c *cores) move(i int) bool {
	if len(c.up[i]) == 0 || c.at[i].Snapshot().Ports[ringUp].VCs[0].Credits == 0 {
		return false
	}
	moved := c.frame(i, ringUp, 1)
	c.settle()
	return moved
}

// key is what is in the queues, by where it goes; the same for all turns of the ring, if the
// switches are all alike.
func (c *cores) key(alike bool) string {
	var parts []string
	for i := range c.at {
		var b strings.Builder
		for _, q := range [][]weft.Header{c.in[i][0], c.in[i][1], c.up[i]} {
			for _, h := range q {
				fmt.Fprint(&b, (int(h.Dst)-i+len(c.at))%len(c.at))
			}
			b.WriteByte(',')
		}
		parts = append(parts, b.String())
	}
	best := strings.Join(parts, " ")
	for i := 1; alike && i < len(parts); i++ {
		if k := strings.Join(append(slices.Clone(parts[i:]), parts[:i]...), " "); k < best {
			best = k
		}
	}
	return best
}

// deadlocked reports whether packets wait in the ring and none can move.
func (c *cores) deadlocked() bool {
	held := 0
	for i, s := range c.at {
		held += s.Held()
		if len(c.up[i]) > 0 && s.Snapshot().Ports[ringUp].VCs[0].Credits > 0 {
			return false
		}
	}
	return held > 0
}

// search brings the queues into every state that there is, by injecting packets of some numbers of
// hops and by moving packets in any order. It returns how many states there are, and the first
// deadlock it finds. Of states that differ only by whose turn it is in a switch it goes on from
// one; [queues] goes on from all.
func search(t testing.TB, g *topology.Graph, fw oneWay, in, out int, hops []int) (states int, deadlock string) {
	seen := map[string]bool{}
	type action struct{ at, hops int } // 0 hops: move
	var actions []action
	for i := range g.Switches {
		actions = append(actions, action{at: i})
		for _, h := range hops {
			actions = append(actions, action{i, h})
		}
	}
	do := func(c *cores, a action) bool {
		if a.hops == 0 {
			return c.move(a.at)
		}
		return c.inject(a.at, a.hops)
	}
	todo := [][]action{nil} // the ways to states that have not been left yet
	alike := len(fw.enter) == 1
	seen[newCores(t, g, fw.firmware(), in, out).key(alike)] = true
	for turn := 0; len(todo) > 0 && deadlock == ""; {
		var path []action
		if turn++; turn%2 == 0 { // near states, by short ways, and far ones, where the queues are full
			path, todo = todo[0], todo[1:]
		} else {
			path, todo = todo[len(todo)-1], todo[:len(todo)-1]
		}
		var c *cores
		for _, a := range actions {
			if c == nil {
				c = newCores(t, g, fw.firmware(), in, out)
				for _, b := range path {
					require.True(t, do(c, b))
				}
			}
			if !do(c, a) {
				continue // and nothing has changed
			}
			if k := c.key(alike); !seen[k] {
				seen[k] = true
				todo = append(todo, append(slices.Clone(path), a))
				if c.deadlocked() {
					deadlock = k
				}
			}
			c = nil
		}
	}
	return len(seen), deadlock
}

// What verify says of a ring is what the queues of real switches come to, and those of the model:
// with two places asked for by who enters and one by who moves along there is no state in which
// nothing can move, and in any other case there is.
func TestARingOfSwitchesHasTheDeadlockThatVerifySays(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	t.Parallel()
	g := topologytest.Parse(t, "ring:3")
	for name, c := range map[string]struct {
		fw     oneWay
		rings  int
		passes bool
	}{
		"no bubble":                   {oneWay{enter: []uint8{0}}, 0, false},
		"bubble":                      {oneWay{enter: []uint8{2}}, 1, true},
		"one NIC needs no bubble":     {oneWay{enter: []uint8{2, 1, 2}}, 0, false},
		"a bubble for moving as well": {oneWay{enter: []uint8{2}, along: 2}, 0, false},
		"a bubble for moving alone":   {oneWay{enter: []uint8{1}, along: 2}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, deadlock := search(t, g, c.fw, 1, 2, []int{2})
			t.Log(states, "states", deadlock)
			m := queues{g: g, fw: c.fw.firmware(), vcs: 1, in: 1, out: 2}
			assert.Equal(t, c.passes, !m.deadlock(1<<20))
			r := run(t, verify.Config{Graph: g, Firmware: c.fw.firmware()})
			assert.Equal(t, c.passes, r.Pass, "%v", r.Counter)
			assert.Equal(t, c.passes, r.CDGAcyclic)
			assert.Equal(t, uint64(1), r.CyclicSets)
			assert.Equal(t, c.rings, r.Extended.Rings)
			assert.Equal(t, c.passes, deadlock == "", "%d states: %s", states, deadlock)
			if c.passes {
				assert.Greater(t, states, 100)
			}
		})
	}
}
