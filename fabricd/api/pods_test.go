package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness"
)

func TestOnlyLargeFabricsHavePods(t *testing.T) {
	for spec, want := range map[string]bool{
		"kary-ntree:4,3": false, "mport-tree:16,3": false, "mport-tree:36,2": false, "torus:8x8x8": false,
		"mport-tree:24,3": true, "mport-tree:36,3": true,
	} {
		g := topologytest.Parse(t, spec)
		require.Equal(t, want, group(g) != nil, spec)
	}
}

// Every link is in one pod, or in the bundle of the pods of its ends.
func TestPodsAndBundlesAreOfAllLinks(t *testing.T) {
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:36,3", "torus:4x4x4", "irregular:40,90,1"} {
		g := topologytest.Parse(t, spec)
		o := newGrouping(g, placement.Pods(g))
		links, nics, counted := 0, 0, make([]int, len(o.bundles))
		for i, p := range o.pods {
			links, nics = links+p.Links, nics+p.NICs
			for _, name := range p.Switches {
				n, err := g.NodeByName(name)
				require.NoError(t, err)
				require.Equal(t, i, o.podOf[n.Index])
			}
		}
		for i, b := range o.bundle {
			a, z := o.pods[o.ends[i][0]].ID, o.pods[o.ends[i][1]].ID
			if b < 0 {
				require.Equal(t, a, z)
				continue
			}
			counted[b]++
			if !o.forward[i] {
				a, z = z, a
			}
			require.Equal(t, [2]string{a, z}, [2]string{o.bundles[b].A, o.bundles[b].B})
		}
		for i, b := range o.bundles {
			require.Equal(t, b.Links, counted[i])
			links += b.Links
		}
		require.Equal(t, len(g.Links), links, spec)
		require.Equal(t, len(g.NICs), nics, spec)
	}
}

// podded is a stream of a small fabric with pods all the same, and a frame of it.
func podded(s *served) (stream *Stream, frame func()) {
	g := s.Topology()
	stream = newStream(s.Fabric(), newGrouping(g, placement.Pods(g)))
	smp := newSampling(s.Fabric())
	smp.sums = newPodSums(stream.pods)
	return stream, func() { stream.add(smp.frame(true)) }
}

func nextOf(t *testing.T, v *Viewer) (f Frame) {
	t.Helper()
	_, data, err := v.Next(t.Context())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &f))
	return f
}

func TestAViewerOfPodsIsToldOfTheRestInSum(t *testing.T) {
	t.Parallel()
	s := serveTopology(t, "kary-ntree:4,2")
	stream, frame := podded(s)
	require.Len(t, stream.pods.pods, 5)
	require.Len(t, stream.pods.bundles, 4)
	s.Cut("s0.0", "s1.1") // of the bundle of pod1 and top0
	s.Cut("s1.1", "n10")
	frame()
	all := stream.Watch("")
	defer all.Close()
	some, err := stream.WatchPods("", "pod1,top0")
	require.NoError(t, err)
	defer some.Close()
	none, err := stream.WatchPods("", "")
	require.NoError(t, err)
	defer none.Close()

	f := nextOf(t, all)
	require.Len(t, f.Links, len(s.Topology().Links))
	require.Empty(t, f.Pods, "who is told of everything adds up himself")
	require.Empty(t, f.Bundles)

	f = nextOf(t, none)
	require.Empty(t, f.Links)
	require.Empty(t, f.Switches)
	require.Equal(t, []PodView{
		{I: 0, LinksUp: 4},
		{I: 1, LinksUp: 3, Faults: 1},
		{I: 2, LinksUp: 4},
		{I: 3, LinksUp: 4},
		{I: 4},
	}, f.Pods)
	require.Equal(t, []BundleView{
		{I: 0, LinksUp: 4},
		{I: 1, LinksUp: 3, Faults: 1},
		{I: 2, LinksUp: 4},
		{I: 3, LinksUp: 4},
	}, f.Bundles)

	f = nextOf(t, some)
	require.Len(t, f.Pods, 5)
	var switches []int
	for _, w := range f.Switches {
		switches = append(switches, w.I)
	}
	require.Equal(t, []int{0, 1, 2, 3, 5}, switches)
	require.Len(t, f.Links, 4+16, "inside pod1, and all that lead to top0")

	_, err = s.Fabric().Heal(t.Context())
	require.NoError(t, err)
	s.Crash("s1.2")
	frame()
	f = nextOf(t, none)
	require.Equal(t, KindDelta, f.Kind)
	require.Equal(t, []PodView{{I: 1, LinksUp: 4}, {I: 2, Down: 1, Faults: 5}}, f.Pods)
	require.Equal(t, []BundleView{{I: 1, LinksUp: 4}, {I: 2, Faults: 4}}, f.Bundles)
	require.NotEmpty(t, f.Events)
	require.Equal(t, f.Seq, nextOf(t, some).Seq)
	whole := nextOf(t, all)
	require.Len(t, whole.Links, 2+8, "repaired, and those of the crashed switch")
	require.Empty(t, whole.Pods)

	// Who comes later is told the same in one.
	late, err := stream.WatchPods("", "")
	require.NoError(t, err)
	defer late.Close()
	frame()
	f = nextOf(t, late)
	require.Equal(t, KindSnapshot, f.Kind)
	require.Equal(t, PodView{I: 2, Down: 1, Faults: 5}, f.Pods[2])
	require.Equal(t, BundleView{I: 2, Faults: 4}, f.Bundles[2])
}

func TestRatesOfBundlesAreThoseOfTheirLinks(t *testing.T) {
	t.Parallel()
	s := serveTopology(t, "kary-ntree:4,2", harness.Traffic("uniform:0.5"))
	g := s.Topology()
	o := newGrouping(g, placement.Pods(g))
	p := newPodSums(o)
	links, switches := make([]LinkView, len(g.Links)), make([]SwitchView, len(g.Switches))
	var down, up float64
	for i, l := range g.Links {
		links[i] = LinkView{
			I: i, State: fabric.LinkUp, RateAB: float64(i), RateBA: 100 + float64(i), LoadAB: 0.1,
			LoadBA: 0.3,
		}
		if l.BetweenSwitches() && o.podOf[l.B.Node.Index] == 0 {
			down, up = down+float64(i), up+100+float64(i)
		}
	}
	for i := range switches {
		switches[i] = SwitchView{I: i, State: fabric.SwitchUp, Held: 2, Blocked: 1}
	}
	var d Frame
	p.add(&d, links, switches, func(i int) uint64 { return uint64(i) })
	require.Equal(t, BundleView{LinksUp: 4, RateAB: up, RateBA: down, LoadAB: 0.3, LoadBA: 0.1}, d.Bundles[0],
		"pods come before what is above them")
	require.Equal(t, PodView{LinksUp: 4, Load: 0.2, Most: 0.3, Held: 2, Blocked: 1, Discarded: 4}, d.Pods[0])
	d = Frame{}
	links[0].LoadAB += 0.01
	p.add(&d, links, switches, func(i int) uint64 { return uint64(i) })
	require.Empty(t, append(d.Bundles, BundleView{})[1:], "nobody sees the difference")
	require.Empty(t, d.Pods)
}

func TestAPodThatThereIsNotIsRefused(t *testing.T) {
	t.Parallel()
	g, err := topology.Parse("kary-ntree:4,2")
	require.NoError(t, err)
	o := newGrouping(g, placement.Pods(g))
	_, err = o.scope("pod1,pod7")
	require.ErrorContains(t, err, "pod7")
	in, err := o.scope("pod1,,top0")
	require.NoError(t, err)
	require.Equal(t, scope{false, true, false, false, true}, in)

	x := serveWeb(t)
	v, err := x.server.stream.WatchPods("", "")
	require.NoError(t, err)
	defer v.Close()
	require.Len(t, nextOf(t, v).Links, len(x.Topology().Links), "of a small fabric all is told")

	stream, frame := podded(x.served)
	frame()
	ask := func(query string) (*Viewer, error) {
		return stream.watch(httptest.NewRequest(http.MethodGet, "/stream"+query, nil))
	}
	_, err = ask("?open=nowhere")
	require.ErrorContains(t, err, "nowhere")
	for query, links := range map[string]int{"": len(x.Topology().Links), "?open=": 0, "?open=top0": 4} {
		v, err := ask(query)
		require.NoError(t, err)
		require.Len(t, nextOf(t, v).Links, links, query)
		v.Close()
	}
}
