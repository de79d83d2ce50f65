package world_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/virtual/world"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
)

// numbering sends a numbered packet after the other by each port that has signal, and notes the
// numbers of those that come.
type numbering struct {
	ports     int
	sent, got []uint64
}

func (n *numbering) Ports() int                    { return n.ports }
func (n *numbering) Exempt(weft.Time, weft.PortID) {}
func (n *numbering) LinksDue() weft.Time           { return 0 }
func (n *numbering) Tick(weft.Time, *weft.Actions) {}
func (n *numbering) Signal(_ weft.Time, p weft.PortID, _ bool, out *weft.Actions) {
	out.Ready = append(out.Ready, p)
}

func (n *numbering) Transmit(_ weft.Time, p weft.PortID, _ int, f *weft.Frame, out *weft.Actions) bool {
	f.Reset()
	f.Packets = append(f.Packets, weft.Header{Seq: n.sent[p], Size: 1})
	n.sent[p]++
	out.More = true
	return true
}

func (n *numbering) Receive(_ weft.Time, _ weft.PortID, f *weft.Frame, _ *weft.Actions) {
	n.got = append(n.got, f.Packets[0].Seq)
}

// The fabric gives its seed's stream number p to switch p. What the links of switch 0 lose must not
// follow from what switches choose.
func TestLinksDoNotLoseByTheDrawsOfSwitches(t *testing.T) {
	t.Parallel()
	const seed, frames = 7, 64
	g := topologytest.Parse(t, "ring:3")
	b := fabric.BuildSpec{Graph: g, Seed: seed, Batch: 1, Watch: func(weft.Node) switchd.Observer { return nil }}
	var cores []*numbering
	for _, s := range g.Switches {
		p := g.Place(s.ID).Ports()
		cores = append(cores, &numbering{ports: p, sent: make([]uint64, p)})
		b.Switches = append(b.Switches, cores[s.ID])
	}
	for range g.NICs {
		b.NICs = append(b.NICs, &numbering{ports: 1, sent: make([]uint64, 1)})
	}
	w := world.New()
	drivers, _, err := w.Build(b)
	require.NoError(t, err)
	for p := range weft.PortID(cores[0].ports) {
		peer, _, ok := g.Peer(weft.End{Node: weft.SwitchID(0).Node(), Port: p})
		if !ok || !peer.Node.IsSwitch() {
			continue
		}
		drivers[0].Impair(p, link.Impairment{Loss: 0.5})
		drivers[0].Signal(p, true)
		require.NoError(t, w.Pause(t.Context(), w.Now()+weft.Millisecond, nil))
		draws := rand.NewPCG(seed, uint64(p))
		var would []uint64
		for i := range uint64(frames) {
			if draws.Uint64() >= 1<<63 {
				would = append(would, i)
			}
		}
		got := cores[peer.Node.Index].got
		require.Greater(t, len(got), frames)
		require.NotEqual(t, would, got[:len(would)], "port %d", p)
	}
}
