package switching

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Channel is a VC of an output port of a switch, the node of the wait-for graph.
type Channel struct {
	Switch weft.SwitchID
	Port   weft.PortID
	VC     weft.VC
}

// DeadlockQuery is what to look at.
type DeadlockQuery struct {
	// Switches are the snapshots of all switches, by number, taken at one instant or while nothing
	// moves. All have as many VCs. One without ports is a switch of which nothing is known: it
	// takes what comes.
	Switches []Snapshot
	// Peer is the other end of the link at e, if there is one.
	Peer func(e weft.End) (peer weft.End, ok bool)
	// InputBuffer is how many packets an input VC queue of a switch holds. It is needed where
	// packets move: a queue with a place left is no reason to wait, for its credit is on the way.
	// 0: nothing moves.
	InputBuffer int
}

// held is how many packets an input queue of a switch holds; none where nothing is known of the
// switch.
func (q *DeadlockQuery) held(sw weft.SwitchID, p weft.PortID, vc int) int {
	if ports := q.Switches[sw].Ports; len(ports) > 0 {
		return ports[p].VCs[vc].Epoch.Held
	}
	return 0
}

// FindDeadlock returns a cycle of outputs of which each waits for the next, and the last for the
// first; nothing when there is none. The same question always gets the same answer.
//
// An output waits when it has packets and no credit, and its neighbour's input queue is full of
// packets that wait only for outputs that wait. One that can go on, because it is empty or has a
// credit, or its neighbour holds a packet that can, is freed; then all that wait for it; what is
// never freed is deadlocked (Definition 17 of Dynamic Fault Tolerance in Fat Trees), unless a port
// that changes its state, or a register that expires, has packets routed anew.
func FindDeadlock(q DeadlockQuery) []Channel {
	g := newWaitGraph(q)
	g.build(q)
	g.free()
	return g.cycle()
}

// waitGraph is the wait-for graph. An output is numbered by switch, port and VC, in that order.
type waitGraph struct {
	first []int32   // per switch, its first output
	vcs   int       // of every port
	waits [][]int32 // per output, those it waits for; nil: it can go on
	back  [][]int32 // per output, those that wait for it
}

func newWaitGraph(q DeadlockQuery) *waitGraph {
	g := &waitGraph{first: make([]int32, len(q.Switches)+1)}
	for i, s := range q.Switches {
		if len(s.Ports) > 0 {
			g.vcs = len(s.Ports[0].VCs)
		}
		g.first[i+1] = g.first[i] + int32(len(s.Ports)*g.vcs)
	}
	n := g.first[len(q.Switches)]
	g.waits, g.back = make([][]int32, n), make([][]int32, n)
	return g
}

func (g *waitGraph) number(sw weft.SwitchID, o Output) int32 {
	return g.first[sw] + int32(o.Port)*int32(g.vcs) + int32(o.VC)
}

func (g *waitGraph) output(n int32) Channel {
	sw, ok := slices.BinarySearch(g.first, n)
	if !ok {
		sw--
	}
	for g.first[sw+1] == g.first[sw] { // a switch without ports
		sw++
	}
	at := n - g.first[sw]
	return Channel{weft.SwitchID(sw), weft.PortID(at / int32(g.vcs)), weft.VC(at % int32(g.vcs))}
}

// build gives for every output that is full and without a credit the outputs that packets in the
// neighbour's input queue wait for. The output of a dead link waits for what the packets stranded
// in it wait for.
func (g *waitGraph) build(q DeadlockQuery) {
	for i, s := range q.Switches {
		id := weft.SwitchID(i)
		for p, ps := range s.Ports {
			peer, ok := q.Peer(weft.End{Node: id.Node(), Port: weft.PortID(p)})
			if !ok || !peer.Node.IsSwitch() {
				continue
			}
			for vc, v := range ps.VCs {
				if v.Output == 0 || v.Credits > 0 {
					continue
				}
				at := Output{Port: weft.PortID(p), VC: weft.VC(vc)}
				from := g.number(id, at)
				if ps.State != link.Up {
					g.waitFor(from, id, q, func(b *Blocked) bool {
						// Waiting for the link to come back, or behind another in the same queue,
						// is no deadlock by itself.
						return b.Stranded && b.At == at && !slices.Contains(b.For, at)
					})
					continue
				}
				next := weft.SwitchID(peer.Node.Index)
				if q.InputBuffer > 0 && q.held(next, peer.Port, vc) < q.InputBuffer {
					continue // a packet or a credit is on the way
				}
				g.waitFor(from, next, q, func(b *Blocked) bool {
					return !b.Stranded && b.In == peer.Port && b.InVC == at.VC
				})
			}
		}
	}
}

// waitFor makes from wait for all outputs that those of a switch's blocked packets wait for. When
// there are none the neighbour takes what comes.
func (g *waitGraph) waitFor(from int32, sw weft.SwitchID, q DeadlockQuery, those func(b *Blocked) bool) {
	blocked := q.Switches[sw].Blocked
	for i := range blocked {
		if b := &blocked[i]; those(b) {
			for _, o := range b.For {
				to := g.number(sw, o)
				g.waits[from] = append(g.waits[from], to)
				g.back[to] = append(g.back[to], from)
			}
		}
	}
}

// free takes out of the graph all outputs that can go on, now or when one that they wait for has.
func (g *waitGraph) free() {
	var can []int32
	for n, w := range g.waits {
		if w == nil {
			can = append(can, int32(n))
		}
	}
	for len(can) > 0 {
		n := can[len(can)-1]
		can = can[:len(can)-1]
		for _, from := range g.back[n] {
			if g.waits[from] != nil {
				g.waits[from] = nil
				can = append(can, from)
			}
		}
	}
}

// cycle follows the waits from the lowest output left until one comes again. All that is waited for
// is left too.
func (g *waitGraph) cycle() []Channel {
	start := slices.IndexFunc(g.waits, func(w []int32) bool { return w != nil })
	if start < 0 {
		return nil
	}
	var path []int32
	at := map[int32]int{}
	n := int32(start)
	for {
		if i, again := at[n]; again {
			path = path[i:]
			break
		}
		at[n] = len(path)
		path = append(path, n)
		n = g.waits[n][0]
	}
	cycle := make([]Channel, len(path))
	for i, n := range path {
		cycle[i] = g.output(n)
	}
	return cycle
}
