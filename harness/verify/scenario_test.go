package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/harness/virtual/world"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// changing is misroute-vector, but for a mistake in what it does with a packet that has come back
// to a switch which has now more, or fewer, dead ports than when the packet came by. As long as
// faults stand still there is no such packet.
type changing struct {
	more, fewer bool // when it discards; neither: it forgets what the packet has tried
}

func (f changing) firmware(name string) switching.Firmware {
	fw := firmware.MisrouteVector{}.Firmware()
	fw.Name, fw.Route = name, f.route
	return fw
}

var misrouteVector = firmware.MisrouteVector{}.Firmware()

func (f changing) route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	place := sw.Place()
	dead := 0
	for p := range place.Ports() {
		if !sw.PortUp(weft.PortID(p)) {
			dead++
		}
	}
	note := int16(place.Switch)<<4 | int16(dead)
	was, again := pkt.PortField, pkt.PortField>>4 == note>>4
	h := *pkt
	switch {
	case again && (f.fewer && note < was || f.more && note > was):
		return switching.Discard("x: it was otherwise")
	case again && note != was && !f.fewer && !f.more:
		h.Misroute, at.From, was = 0, weft.RoleDown, weft.PortFieldNone
	}
	d := misrouteVector.Route(&h, at, sw)
	if at.From != weft.RoleUp && was == weft.PortFieldNone {
		for i := range d.Candidates {
			d.Candidates[i].Fields.PortField = note
		}
	}
	return d
}

var own = []firmware.Firmware{
	changing{more: true}.firmware("more"),
	changing{}.firmware("forgets"),
	changing{fewer: true}.firmware("fewer"),
}

func entry(t *testing.T, name string) firmware.Firmware {
	t.Helper()
	for _, e := range append(own, firmware.All()...) {
		if e.Name == name {
			return e
		}
	}
	require.Fail(t, "no firmware", name)
	return firmware.Firmware{}
}

// trace is the path of traced packets.
type trace struct {
	mu   sync.Mutex
	hops []weft.Hop
}

func (r *trace) Record(_ weft.Time, _ weft.Node, a *weft.Actions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range a.Hops {
		h.Candidates = nil // they are not kept
		r.hops = append(r.hops, h)
	}
}

// live writes a scenario, reads it again and runs it over links in memory.
func live(t *testing.T, f format.File, more ...firmware.Firmware) (scenario.Result, []weft.Hop) {
	t.Helper()
	m := wire.NewMemory()
	defer m.Close()
	return replay(t, scenario.Runner{Transport: m}, f, more...)
}

// virtually is live in virtual time: faults that move come between the very decisions that they are
// meant for, however busy the machine is.
func virtually(t *testing.T, f format.File) (scenario.Result, []weft.Hop) {
	t.Helper()
	return replay(t, scenario.Runner{Runtime: func() fabric.Runtime { return world.New() }}, f)
}

func replay(t *testing.T, run scenario.Runner, f format.File, more ...firmware.Firmware) (scenario.Result, []weft.Hop) {
	t.Helper()
	text, err := format.Write(f)
	require.NoError(t, err)
	s, err := scenario.Load(t.Context(), "counterexample.yaml", text, append(more, own...)...)
	require.NoError(t, err, string(text))
	var r trace
	s.Options.Record = &r
	res, err := run.Run(t.Context(), s)
	require.NoError(t, err, string(text))
	return res, r.hops
}

// found is what Run finds wrong.
func found(t *testing.T, c verify.Config) *verify.Counterexample {
	t.Helper()
	res, err := verify.Run(t.Context(), c)
	require.NoError(t, err)
	require.NotNil(t, res.Counter, "%v", res)
	return res.Counter
}

func config(t *testing.T, spec, routing string, kind verify.Kind, faults int, when verify.When) verify.Config {
	t.Helper()
	g := topologytest.Parse(t, spec)
	c := verify.Config{
		Graph: g, Firmware: entry(t, routing), When: when, Sets: verify.Sets{Kind: kind, Min: faults, Max: faults},
	}
	if slices.Contains(verify.Kinds(), string(kind)) {
		return c
	}
	var set []verify.Element
	for name := range strings.FieldsSeq(string(kind)) {
		e, err := verify.ElementByName(g, name)
		require.NoError(t, err)
		set = append(set, e)
	}
	c.Sets = verify.Sets{List: [][]verify.Element{set}}
	return c
}

// sameWay holds what a packet did against the path that was found; a packet that goes round goes on
// longer.
func sameWay(t *testing.T, g *topology.Graph, c *verify.Counterexample, hops []weft.Hop) {
	t.Helper()
	line := func(sw string, in weft.PortID, vc weft.VC, f weft.Fields, out weft.PortID, rule string) string {
		return fmt.Sprintf("%s in %v %v %v out %v: %s", sw, in, vc, f, out, rule)
	}
	var want, got []string
	for i := range hops[:min(len(hops), 3*len(c.Path)-2*max(0, c.Again))] {
		st := c.Path[min(i, len(c.Path)-1)]
		if c.Again >= 0 && i >= c.Again {
			st = c.Path[c.Again+(i-c.Again)%(len(c.Path)-c.Again)]
		}
		h := &hops[i]
		want = append(want, line(st.Switch, st.InPort, st.VC, st.Fields, st.Port, st.Rule))
		got = append(got, line(g.Switches[h.Switch].Name, h.In, h.InVC, h.Before, h.Out, h.Rule))
	}
	require.GreaterOrEqual(t, len(hops), len(c.Path), "%v", c)
	if c.Again < 0 {
		require.Len(t, hops, len(c.Path), "%v", c)
	}
	assert.Equal(t, want, got)
}

func TestACounterexampleIsAScenarioThatFailsTheSameWay(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, c := range []struct {
		topology, routing string
		kind              verify.Kind // or the names of the faults
		faults            int
		when              verify.When
		what, right       string
	}{
		{"kary-ntree:2,3", "updown", verify.Links, 1, verify.Before, verify.Unconnected, "deterministic-link"},
		{"kary-ntree:3,2", "more", "s0.0-s1.0 s0.1", 2, verify.Arriving, verify.Unconnected, "misroute-vector"},
		{"kary-ntree:3,2", "forgets", verify.Links, 2, verify.Flapping, verify.Livelock, "misroute-vector"},
		{
			"kary-ntree:2,3", "deterministic-link", verify.Switches, 1, verify.Before, verify.Unconnected,
			"deterministic-switch",
		},
		{"kary-ntree:2,4", "misroute-vector", verify.Switches, 1, verify.Before, verify.Unconnected, "adaptive-switch"},
		{"kary-ntree:3,2", "adaptive-link-one", verify.Links, 2, verify.Before, verify.Livelock, "adaptive-link"},
		{"kary-ntree:2,3", "deterministic-link", verify.Links, 2, verify.Before, verify.Unconnected, ""},
		{"kary-ntree:3,2", "more", verify.Links, 2, verify.Arriving, verify.Unconnected, "misroute-vector"},
		{"kary-ntree:3,2", "fewer", verify.Links, 2, verify.Flapping, verify.Unconnected, "misroute-vector"},
		{"kary-ntree:3,2", "adaptive-link-one", verify.Links, 2, verify.Arriving, verify.Livelock, "adaptive-link"},
		{"kary-ntree:3,2", "fewer", "s0.0-s1.0 s0.1", 2, verify.Flapping, verify.Unconnected, "misroute-vector"},
	}[:testenv.Levels(11, 7, 3)] {
		t.Run(strings.Join([]string{c.routing, string(c.kind), c.topology, fmt.Sprint(c.when)}, " "), func(t *testing.T) {
			t.Parallel()
			cfg := config(t, c.topology, c.routing, c.kind, c.faults, c.when)
			counter := found(t, cfg)
			require.Equal(t, c.what, counter.What, "%v", counter)
			f, err := counter.Scenario(cfg, c.routing)
			require.NoError(t, err)
			t.Log(f.About, f.Timeline)

			run := virtually
			if c.when == verify.Before { // no fault moves: the machine may take its time
				run = func(t *testing.T, f format.File) (scenario.Result, []weft.Hop) { return live(t, f) }
			}
			res, hops := run(t, f)
			assert.False(t, res.Pass, "%v", f.About)
			sameWay(t, cfg.Graph, counter, hops)
			last := counter.Path[len(counter.Path)-1]
			switch {
			case c.what == verify.Unconnected:
				assert.Contains(t, res.Broken, "discarded")
				assert.Equal(t, map[string]uint64{last.Rule: 1}, res.Ledger.DiscardedBy)
			case len(f.Timeline) == 2:
				assert.Contains(t, res.Broken, "discarded")
				assert.Len(t, hops, weft.MaxHops+1)
			default:
				assert.Equal(t, []string{"hops_at_most"}, res.Broken)
				assert.True(t, f.Timeline[len(f.Timeline)-1].Heal, "a packet that would go round for ever is let go")
			}
			if c.right == "" {
				return
			}
			f.Routing = c.right
			res, hops = run(t, f)
			assert.True(t, res.Pass, "%v %v", res.Failed, hops)
			assert.EqualValues(t, 1, res.Ledger.Delivered)
		})
	}
}
