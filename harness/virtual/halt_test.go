package virtual_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/link"
)

var listening = link.Liveness{Interval: 50 * cycle, Multiplier: 3}

// discarded is how many packets all switches have discarded.
func (n *network) discarded() (sum uint64) {
	for _, s := range n.switches {
		sum += s.Snapshot().Stats.Discarded
	}
	return sum
}

// nodeOf returns the node of a switch.
func (n *network) nodeOf(t *testing.T, name string) weft.Node {
	t.Helper()
	id, err := n.g.SwitchByName(name)
	require.NoError(t, err)
	return id.Node()
}

// requireUp requires that every link is up, in the epochs that it was in before if it is among
// those that same says.
func (n *network) requireUp(t *testing.T, same func(l topology.Link) bool) {
	t.Helper()
	for _, l := range n.g.Links {
		for _, e := range []weft.End{l.A, l.B} {
			if !e.Node.IsSwitch() {
				continue
			}
			p := n.switches[e.Node.Index].Snapshot().Ports[e.Port]
			require.Equal(t, link.Up, p.State, l.Name)
			if same(l) {
				require.Equal(t, [2]weft.Epoch{1, 1}, [2]weft.Epoch{p.Mine, p.Peer}, l.Name)
			}
		}
	}
}

// A switch that was stopped is one fault while it is, and none once it goes on, whatever its
// neighbours have made of it and in whatever order it hears of that: no packet is discarded, and it
// loses none itself.
func TestASwitchThatWasStoppedDiscardsNothing(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, routing := range []string{
		"adaptive-switch", "adaptive-switch-digit", "adaptive-switch-header",
		"deterministic-switch",
	}[:testenv.Levels(4, 2, 1)] {
		t.Run(routing, func(t *testing.T) {
			t.Parallel()
			n := newNetworkThat(t, "kary-ntree:2,3", routing, "uniform:0.5", 1, listening)
			name := n.nodeOf(t, "s1.00")
			node, core := n.node[name], n.switches[name.Index]
			// From shorter than the detection time, over moments at which some neighbours have
			// given it up and others have not, to longer.
			for cycles := weft.Time(60); cycles < 500; cycles += 3 {
				before, _ := n.delivered()
				node.Halt()
				n.Run(n.Now() + cycles*cycle)
				mine := core.Snapshot().Stats.LostQueue
				node.Continue()
				n.Run(n.Now() + 400*cycle)
				require.Zero(t, n.discarded(), "after %d cycles", cycles)
				require.Equal(t, mine, core.Snapshot().Stats.LostQueue, "after %d cycles", cycles)
				after, _ := n.delivered()
				require.Greater(t, after, before)
			}
			n.requireUp(t, func(topology.Link) bool { return false })
		})
	}
}

// A host of many switches is stopped, or all of them: they do not wait for each other, no link
// between two of them goes down, and none of them loses or discards a packet.
func TestNodesThatWereStoppedTogetherLoseNothing(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	pair := func(n *network) []weft.Node { return []weft.Node{n.nodeOf(t, "s1.00"), n.nodeOf(t, "s0.00")} }
	all := func(n *network) []weft.Node { return slices.Collect(maps.Keys(n.node)) }
	for name, stopped := range map[string]func(n *network) []weft.Node{"two neighbours": pair, "all": all} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetworkThat(t, "kary-ntree:2,3", "adaptive-switch", "uniform:0.5", 1, listening)
			nodes := stopped(n)
			slices.SortFunc(nodes, func(a, b weft.Node) int { return cmp.Compare(a.String(), b.String()) })
			lost := func() (lost uint64) {
				for _, m := range nodes {
					if m.IsSwitch() {
						st := n.switches[m.Index].Snapshot().Stats
						lost += st.Discarded + st.LostQueue
					}
				}
				return lost
			}
			for cycles := weft.Time(60); cycles < 1000; cycles += 30 {
				for _, m := range nodes {
					n.node[m].Halt()
				}
				n.Run(n.Now() + cycles*cycle)
				before := lost()
				for _, m := range nodes {
					n.node[m].Continue()
				}
				n.Run(n.Now() + 400*cycle)
				require.Equal(t, before, lost(), "after %d cycles", cycles)
			}
			n.requireUp(t, func(l topology.Link) bool {
				return slices.Contains(nodes, l.A.Node) && slices.Contains(nodes, l.B.Node)
			})
		})
	}
}
