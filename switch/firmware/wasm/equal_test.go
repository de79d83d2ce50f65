package wasm_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/firmware/wasm"
	"github.com/weft-fabric/weft/switch/tables"
)

// guests are the modules that come with Weft, and how each is compared with what it does anew.
var guests = []guest{
	{"c/deterministic_link.wasm", "deterministic-link"},
	{"c/adaptive_link.wasm", "adaptive-link"},
	{"c/table.wasm", ""}, // several engines' are
	{"rust/deterministic_link.wasm", "deterministic-link"},
	{"rust/adaptive_link.wasm", "adaptive-link"},
}

type guest struct{ file, builtin string }

// alike compares a module made of its source with what it does anew.
func (g guest) alike(t *testing.T, file string) {
	if g.builtin == "" {
		forwardsByTables(t, open(t, file, "engine=lash:layers=3"))
		return
	}
	decidesAs(t, open(t, file, ""), g.builtin, testenv.N(100, 10))
}

const examples = "../examples/"

func open(tb testing.TB, file, options string) *wasm.Module {
	tb.Helper()
	m, err := wasm.Open(tb.Context(), file, options)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close(tb.Context())) })
	return m
}

// asking is a switch that notes which ports it is asked about, in order.
type asking struct {
	*switching.Still
	ports []weft.PortID
}

func (a *asking) PortUp(p weft.PortID) bool {
	a.ports = append(a.ports, p)
	return a.Still.PortUp(p)
}

// answer is all that can be seen of a decision.
type answer struct {
	switching.Decision
	Ports []weft.PortID
	Asked switching.Asked
}

func (a answer) equal(b answer) bool {
	return slices.Equal(a.Candidates, b.Candidates) && a.Rule == b.Rule && a.Turn == b.Turn && a.Write == b.Write &&
		a.Notify == b.Notify &&
		slices.Equal(a.Ports, b.Ports) && a.Asked == b.Asked
}

type router func(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision

func (a *asking) answer(t *testing.T, route router, pkt weft.Header, at switching.Arrival) answer {
	a.ports, a.Asked = nil, switching.Asked{}
	was := pkt
	d := route(&pkt, at, a)
	if was != pkt {
		t.Errorf("the packet was changed: %+v", pkt)
	}
	d.Candidates = append([]switching.Candidate(nil), d.Candidates...)
	return answer{d, a.ports, a.Asked}
}

func places(tb testing.TB, spec string) []*weft.Place {
	tb.Helper()
	g, err := topology.Generate(spec)
	require.NoError(tb, err)
	var list []*weft.Place
	for id := range g.Switches {
		list = append(list, g.Place(weft.SwitchID(id)))
	}
	return list
}

// shuffled is the places of a tree whose ports and NICs have other numbers, as one from a file may.
func shuffled(tb testing.TB, spec string, rnd *rand.Rand) []*weft.Place {
	list := places(tb, spec)
	var position []uint32
	for _, n := range rnd.Perm(64) {
		position = append(position, uint32(n))
	}
	for i, p := range list {
		q, t := *p, *p.Tree
		t.Ports, t.Numbers, t.Position = nil, make([]int, len(p.Roles)), position
		q.Roles = make([]weft.Role, len(p.Roles))
		for j, n := range rnd.Perm(len(p.Roles)) {
			t.Ports = append(t.Ports, weft.PortID(n))
			t.Numbers[n], q.Roles[n] = j, p.Roles[j]
		}
		q.Tree, list[i] = &t, &q
	}
	return list
}

// decidesAs has a module decide beside the firmware that it is written after, at every switch of
// some trees and for every arrival, so many times with random ports dead and random registers: it
// gives the same candidates, rule and step, writes the same, and looks at the same ports in the
// same order.
func decidesAs(t *testing.T, m *wasm.Module, name string, times int) {
	rnd := rand.New(rand.NewPCG(testenv.Seed(t, 1), 2))
	trees := map[string][]*weft.Place{"kary-ntree:4,3 shuffled": shuffled(t, "kary-ntree:4,3", rnd)}
	for _, spec := range []string{"kary-ntree:4,3", "mport-tree:4,3", "leaf-spine:2,5,3", "kary-ntree:2,4"} {
		trees[spec] = places(t, spec)
	}
	f, rules := m.Firmware(), map[string]bool{}
	e, ok := firmware.ByName(name)
	require.True(t, ok)
	require.Equal(t, []any{
		e.On, e.NeedsVCs(), e.Tolerance, e.DestinationBased, e.Symmetric, e.Notifies,
		e.CheckRequeue == nil, e.ChannelNumber == nil, e.MostHops,
	},
		[]any{
			f.On, f.NeedsVCs(), f.Tolerance, f.DestinationBased, f.Symmetric, f.Notifies, f.CheckRequeue == nil,
			f.ChannelNumber == nil, f.MostHops,
		})
	for spec, all := range trees {
		for _, place := range all {
			require.NoError(t, f.Fits(place, 2))
			require.Equal(t, e.RegistersAt(place), f.RegistersAt(place))
			for n := range times * len(place.Roles) {
				p := weft.PortID(n % len(place.Roles))
				sw := &asking{Still: &switching.Still{
					At: place, Channels: 2,
					Registers: []uint64{rnd.Uint64N(1 << max(1, place.Tree.K))},
				}}
				sw.Dead[0] = rnd.Uint64() & rnd.Uint64()
				at := switching.Arrival{Port: p, VC: weft.VC(rnd.IntN(2)), From: place.Roles[p]}
				pkt := weft.Header{
					Src: weft.NICID(rnd.Uint32()), Dst: weft.NICID(rnd.IntN(70)), Seq: rnd.Uint64(), VC: at.VC,
					Fields: weft.Fields{PortField: int16(rnd.Uint32()), Misroute: rnd.Uint64()},
				}
				want, got := sw.answer(t, e.Route, pkt, at), sw.answer(t, f.Route, pkt, at)
				if !want.equal(got) {
					t.Fatalf("%s at %s of %s: %+v, %+v, dead %b: %+v, not %+v", f.Name, place.Name, spec, at, pkt, sw.Dead[0], got,
						want)
				}
				rules[got.Rule] = true
				if e.ChannelNumber != nil && (at.From == weft.RoleUp || at.From == weft.RoleDown) {
					require.Equal(t, e.ChannelNumber(place, p, at.VC), f.ChannelNumber(place, p, at.VC))
				}
			}
		}
	}
	require.GreaterOrEqual(t, len(rules), 10, "%v", rules)
}

func TestGuestsDecideAsTheFirmwaresTheyAreWrittenAfter(t *testing.T) {
	testenv.Raced(t)
	for _, g := range guests {
		t.Run(g.file, func(t *testing.T) {
			t.Parallel()
			g.alike(t, examples+g.file)
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	place := places(t, "kary-ntree:2,3")[0]
	const file = examples + "c/adaptive_link.wasm"
	f := open(t, file, "expire=20").Firmware()
	require.Equal(t, 20*weft.Millisecond, f.RegistersAt(place)[0].Expire)
	require.False(t, f.Options[0].Set("30"), "it was set when the module was opened")
	for options, want := range map[string]string{
		"exprie=20":       `unknown option "exprie": did you mean "expire"? known: expire=milliseconds from 1 to 60000`,
		"colour=red":      `unknown option "colour": known: expire=`,
		"expire":          `expected expire=VALUE`,
		"expire=0":        "option expire: expected milliseconds from 1 to 60000",
		"expire=60001":    "option expire: expected",
		"expire=1,expire": `expected expire=VALUE`,
	} {
		_, err := wasm.Open(t.Context(), file, options)
		require.ErrorContains(t, err, "firmware "+file+": ")
		require.ErrorContains(t, err, want)
	}
	_, err := wasm.Open(t.Context(), examples+"c/deterministic_link.wasm", "expire=1")
	require.ErrorContains(t, err, `unknown option "expire": known: none`)
}

func TestAGuestSaysWhereItCannotRun(t *testing.T) {
	f := open(t, examples+"c/deterministic_link.wasm", "").Firmware()
	place := *places(t, "kary-ntree:2,3")[0]
	tree := *place.Tree
	tree.K, place.Tree = 0, &tree
	require.EqualError(t, f.Fits(&place, 2),
		"firmware deterministic-link-c routes trees whose switches have as many up ports at each tier: take updown")
	require.ErrorContains(t, f.Fits(&place, 1), "needs 2 virtual channels")
	require.ErrorContains(t, f.Fits(places(t, "mesh:2x2")[0], 2), "routes trees only")
}

// Switches decide at the same time, each as it does alone.
func TestSwitchesDecideAtTheSameTime(t *testing.T) {
	f, all := open(t, examples+"c/adaptive_link.wasm", "").Firmware(), places(t, "kary-ntree:4,3")
	e, _ := firmware.ByName("adaptive-link")
	var wg sync.WaitGroup
	for g := range 12 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(3, uint64(g)))
			for range 2000 {
				place := all[rnd.IntN(len(all))]
				sw := &asking{Still: &switching.Still{At: place, Registers: []uint64{rnd.Uint64N(16)}}}
				p := weft.PortID(rnd.IntN(len(place.Roles)))
				at, pkt := switching.Arrival{Port: p, From: place.Roles[p]}, weft.Header{Dst: weft.NICID(rnd.IntN(64))}
				if want, got := sw.answer(t, e.Route, pkt, at), sw.answer(t, f.Route, pkt, at); !want.equal(got) {
					t.Errorf("%s: %+v, not %+v", place.Name, got, want)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkDecision(b *testing.B) {
	place := places(b, "kary-ntree:4,3")[20]
	run := func(name string, route router) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			sw := &switching.Still{At: place, Channels: 2, Registers: []uint64{0}}
			pkt := weft.Header{Fields: weft.NewFields()}
			for n := 0; b.Loop(); n++ {
				pkt.Dst = weft.NICID(n & 63)
				p := weft.PortID(n & 3)
				route(&pkt, switching.Arrival{Port: p, From: place.Roles[p]}, sw)
			}
		})
	}
	for _, g := range guests {
		e, ok := firmware.ByName(g.builtin)
		if !ok {
			continue
		}
		run("builtin/"+g.builtin, e.Route)
		run(g.file, open(b, examples+g.file, "").Firmware().Route)
	}
}

func TestADecisionAllocatesNothing(t *testing.T) {
	place := places(t, "kary-ntree:4,3")[20]
	for _, g := range guests {
		f := open(t, examples+g.file, "").Firmware()
		if f.Programmed != nil {
			lft, err := tables.NewTables(1, 1, make([]int, 1+place.Switch))
			require.NoError(t, err)
			f = f.Programmed(&tables.Program{Tables: lft})
		}
		sw := &switching.Still{At: place, Channels: 2, Registers: []uint64{0}}
		pkt := weft.Header{Fields: weft.NewFields()}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for p, role := range place.Roles {
				pkt.Dst = weft.NICID(p * 7)
				f.Route(&pkt, switching.Arrival{Port: weft.PortID(p), From: role}, sw)
			}
		}), g.file)
	}
}
