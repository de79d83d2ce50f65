package direct

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

var everyMechanism = []string{
	"none", "I", "D", "M", "I+D", "I+M", "D+M", "I+D+M", "Ix2", "Ix3", "Ix2+D", "Ix2+M", "I+D+direction-order",
	"I+D+either", "I+D+M+either",
	"D+direction-order+either", "Ix2+D+M",
}

// What Solve says of random fault sets is what trying everything says: who has a way, how long it
// is, by which mechanisms.
func TestSolveAgreesWithTryingEverything(t *testing.T) {
	for _, c := range []struct {
		spec string
		most int // faults
		sets int
	}{
		{"torus:3x3", 9, testenv.Levels(30, 15, 8)},
		{"torus:2x5", 6, testenv.Levels(10, 10, 4)},
		{"ring:7", 3, 10},
		{"mesh:3x2x3", 6, 3},
		{"torus:4x4", 10, 8},
		{"torus:4x3", 7, 15},
		{"torus:3x3x3", 16, 1},
		{"torus:4x2x3", 8, 1},
		{"mesh:4x4", 8, 6},
		{"torus:5x3,wrap=x", 5, 5},
		{"torus:2x2x2x3", 8, 1},
	}[:testenv.Levels(11, 5, 2)] {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			g, n := generate(t, c.spec)
			random := rand.New(rand.NewPCG(1, 9))
			for set := range c.sets {
				dead := draw(g, 1+random.IntN(c.most), random)
				for _, text := range everyMechanism {
					o := newOracle(g, parse(t, text), dead)
					compare(t, o, n.Solve(o.m, o.cuts, nil), fmt.Sprintf("set %d %v %s", set, dead, text))
				}
			}
		})
	}
}

func compare(t *testing.T, o *oracle, s *Solution, about string) {
	t.Helper()
	affected, excused := 0, 0
	unroutable := map[Pair]bool{}
	for _, p := range s.Unroutable {
		unroutable[p] = true
	}
	for u := range weft.SwitchID(len(o.g.Switches)) {
		for v := range weft.SwitchID(len(o.g.Switches)) {
			if u == v {
				continue
			}
			way, ok := s.Way(u, v)
			want := o.way(u, v, o.m.Intermediate)
			got := price{hops: way.Length, via: way.Use.Intermediate(), never: !ok}
			for _, h := range way.Subs {
				got.fixed += truth(h.Deterministic())
				_, hops := h.Misroute(0)
				got.misroutes += truth(hops > 0)
			}
			switch {
			case want.never != got.never, !want.never && want != got:
				t.Fatalf("%s: %d to %d: got %v %v, want %v", about, u, v, got, way.Subs, want)
			case ok && (way.Use.Deterministic() != (want.fixed > 0) || way.Use.Misroute() != (want.misroutes > 0)):
				t.Fatalf("%s: %d to %d: it uses %s, want %v", about, u, v, way.Use, want)
			case unroutable[Pair{u, v}] != (want.never && o.joined(u, v)):
				t.Fatalf("%s: %d to %d: unroutable is %v", about, u, v, unroutable[Pair{u, v}])
			}
			excused += truth(!o.joined(u, v))
			affected += truth(o.joined(u, v) && !o.adaptive(u, v))
			if ok {
				if err := o.walk(way); err != nil {
					t.Fatalf("%s: %d to %d by %v: %v", about, u, v, way.Subs, err)
				}
			}
		}
	}
	if s.Affected != affected || s.Excused != excused || s.NoWay != len(s.Unroutable) {
		t.Fatalf("%s: %d affected and %d excused, want %d and %d", about, s.Affected, s.Excused, affected, excused)
	}
	routed := 0
	for _, pairs := range s.Each() {
		routed += pairs
	}
	if routed != affected-len(s.Unroutable) || routed != len(slices.Collect(s.All())) {
		t.Fatalf("%s: %d pairs tallied of %d affected, %d unroutable", about, routed, affected, len(s.Unroutable))
	}
}

// Sections 5.1.2 and 5.1.1: one fault of the 3x3x3 torus affects 50 ordered pairs, and one of I,
// and no D alone, gets around it.
func TestOneFaultOfThe3x3x3Torus(t *testing.T) {
	g, n := generate(t, "torus:3x3x3")
	for _, l := range g.Links[:81] {
		dead := newOracle(g, Mechanisms{}, []weft.LinkID{l.ID}).cuts
		s := n.Solve(parse(t, "I"), dead, nil)
		want := Counts{Affected: 50}
		want.By[newUse(1, false, false)] = 50
		if s.Counts != want || !s.Tolerated() {
			t.Fatalf("%s: %v, unroutable %v", l.Name, s.Counts, s.Unroutable)
		}
		if s = n.Solve(parse(t, "D"), dead, nil); s.Tolerated() {
			t.Fatalf("%s: D tolerates it", l.Name)
		}
		if s = n.Solve(parse(t, "I+D+M"), dead, nil); s.Counts != want {
			t.Fatalf("%s: I+D+M: %v", l.Name, s.Counts)
		}
	}
}

// A solution does not depend on how its parts are run, nor on whether links are dead or were never
// there.
func TestSolveIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	spec := "torus:4x4x3"
	if testenv.Short() {
		spec = "torus:3x3x2"
	}
	g, n := generate(t, spec)
	links := draw(g, 9, rand.New(rand.NewPCG(3, 4)))
	dead := newOracle(g, Mechanisms{}, links).cuts
	left, err := New(g.Without(dead))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range everyMechanism {
		m := parse(t, text)
		a := n.Solve(m, dead, nil)
		for name, b := range map[string]*Solution{
			"backwards": n.Solve(m, dead, func(n int, run func(int)) bool {
				for i := n - 1; i >= 0; i-- {
					run(i)
				}
				return true
			}),
			"without the links": left.Solve(m, nil, nil),
		} {
			same := slices.EqualFunc(slices.Collect(a.All()), slices.Collect(b.All()), func(v, w Way) bool {
				return v.Src == w.Src && v.Dst == w.Dst && v.Length == w.Length && v.Use == w.Use && slices.Equal(v.Subs, w.Subs)
			})
			if !same || !slices.Equal(a.Unroutable, b.Unroutable) || a.Counts != b.Counts {
				t.Errorf("%s, %s: two solutions", text, name)
			}
		}
		v := left.NewEvaluator(m)
		v.Set(links[:3]) // they are missing anyway
		var c Counts
		if v.Count(&c); c != a.Counts {
			t.Errorf("%s: evaluated without the links: %+v, want %+v", text, c, a.Counts)
		}
		left.Segments(m, 0, func(s Segment) bool {
			for _, id := range s.Links {
				if slices.Contains(links, id) {
					t.Fatalf("%s: %+v goes by a link that is not there", text, s)
				}
			}
			return true
		})
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, spec := range []string{"torus:3x3x3", "torus:8x8x8"} {
		g, n := generate(b, spec)
		dead := newOracle(g, Mechanisms{}, draw(g, 14, rand.New(rand.NewPCG(1, 2)))).cuts
		for _, text := range []string{"I", "I+D", "D+M", "I+M", "I+D+M", "Ix2", "Ix2+D"} {
			b.Run(spec+"/"+text, func(b *testing.B) {
				m := parse(b, text)
				for b.Loop() {
					n.Solve(m, dead, nil)
				}
			})
		}
	}
}
