package measure

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// wandering goes by any port that comes closer, in any virtual channel: nothing keeps it from
// deadlock. Where need is 2 it asks for bubbles, where bubbles do not help.
type wandering struct {
	g    *topology.Graph
	far  [][]int // switch, switch
	vcs  int
	need uint8
}

func newWandering(g *topology.Graph, vcs int, need uint8) wandering {
	w := wandering{g: g, vcs: vcs, need: need}
	for from := range g.Switches {
		far := make([]int, len(g.Switches))
		for i := range far {
			far[i] = -1
		}
		far[from] = 0
		for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
			for p := range weft.PortID(g.Place(weft.SwitchID(queue[0])).Ports()) {
				peer, _, ok := g.Peer(weft.End{Node: weft.SwitchID(queue[0]).Node(), Port: p})
				if ok && peer.Node.IsSwitch() && far[peer.Node.Index] < 0 {
					far[peer.Node.Index] = far[queue[0]] + 1
					queue = append(queue, int(peer.Node.Index))
				}
			}
		}
		w.far = append(w.far, far)
	}
	return w
}

func (w wandering) Route(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	at := sw.Place().Switch
	leaf, port := w.g.SwitchOf(pkt.Dst)
	if leaf == at {
		return switching.To(sw, port, 0, pkt.Fields, "deliver")
	}
	d := switching.Decision{Candidates: sw.Scratch(), Rule: "closer"}
	for p := range weft.PortID(sw.Place().Ports()) {
		peer, _, ok := w.g.Peer(weft.End{Node: at.Node(), Port: p})
		if !ok || !peer.Node.IsSwitch() || w.far[peer.Node.Index][leaf] >= w.far[at][leaf] {
			continue
		}
		for vc := range weft.VC(w.vcs) {
			d.Candidates = append(d.Candidates, switching.Candidate{Port: p, VC: vc, Fields: pkt.Fields, Need: w.need})
		}
	}
	return d
}

// What is found is all there is: when traffic has stopped and nothing moves any more, packets are
// left where a deadlock is found and only there; and one that was found while others moved is still
// there.
func TestPacketsAreLeftForEverWhereADeadlockIsFoundAndNowhereElse(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	found, free := 0, 0
	n := testenv.Levels(96, 48, 48)
	for i := range uint64(n) {
		vcs, need := 1+int(i%2), uint8(1+i/2%2)
		c := config(t, []string{"torus:4x4", "ring:5", "torus:5x5", "irregular:8,14,3"}[i/4%4], "", 1)
		c.Firmware = switching.Firmware{Name: "wandering", Route: newWandering(c.Topology, vcs, need).Route}
		c.Switch.VCs, c.Seed = vcs, i
		c.Switch.InputBuffer, c.Switch.OutputBuffer = 1+int(i/3%3)/2, max(int(need), 1+int(i/5%3)/2)
		c.Switch.EagerCredits, c.WireDelay, c.CrossbarDelay = i%3 == 0, weft.Time(i%7)*cycle, weft.Time(i%2)*cycle
		if i%5 == 0 {
			c.Switch.Queueing = "fifo"
		}
		c.Switch.Waiting = []string{"all", "one"}[i/8%2]
		c.Traffic.Load = []float64{0.4, 1, 1}[i%3]
		name := fmt.Sprintf("%d: %s", i, c.Topology.Spec)
		n, err := build(t.Context(), c.Filled())
		require.NoError(t, err)
		require.NoError(t, n.start())
		l := newLookout(n, weft.Never)
		early := false
		for at := range weft.Time(40) {
			n.engine.Run(at * 50 * cycle)
			is := l.find() != nil
			require.False(t, early && !is, "%s: it has come undone", name)
			early = is
		}
		for k, m := range n.nics {
			n.nicNodes[k].Do(func(now weft.Time, out *weft.Actions) { err = m.SetSource(now, nic.Source{}, out) })
			require.NoError(t, err)
		}
		n.engine.Run(1_000_000 * cycle)
		is := l.find() != nil
		counts := n.meters.counts()
		inside := counts.inside()
		require.Equal(t, inside > 0, is, "%s: %d packets are left", name, inside)
		require.False(t, early && !is, name)
		if is {
			found++
		} else {
			free++
		}
	}
	require.Greater(t, found, n/12)
	require.Greater(t, free, n/12)
}
