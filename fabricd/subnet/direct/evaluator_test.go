package direct

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/testenv"
)

// What an evaluator counts is what Solve says, also when fault sets disconnect switches, and
// whatever was asked before.
func TestEvaluatorAgreesWithSolve(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for _, c := range []struct {
		spec       string
		most       int // faults
		sets       int
		mechanisms []string
	}{
		{"torus:3x3x3", 30, testenv.Levels(25, 6, 6), everyMechanism},
		{"torus:4x4", 14, 30, everyMechanism},
		{"torus:4x4x4", 20, 2, []string{"I", "M", "I+D+either", "I+D+M", "Ix2"}},
		{"mesh:3x4", 9, 40, everyMechanism},
		{"ring:8", 3, 20, everyMechanism},
		{"torus:5x5x3", 10, 1, []string{"I", "M", "I+D", "Ix2+D+M"}}, // too large for words
	} {
		t.Run(c.spec, func(t *testing.T) {
			t.Parallel()
			g, n := generate(t, c.spec)
			for _, text := range c.mechanisms {
				random := rand.New(rand.NewPCG(5, 6))
				m := parse(t, text)
				v := n.NewEvaluator(m)
				for range c.sets {
					dead := draw(g, random.IntN(c.most+1), random)
					s := n.Solve(m, newOracle(g, m, dead).cuts, nil)
					v.Set(dead)
					var counts Counts
					if random.IntN(2) == 0 {
						v.Count(&counts)
					}
					if v.Count(&counts); counts != s.Counts {
						t.Fatalf("%s: %v: %+v, want %+v", text, dead, counts, s.Counts)
					}
				}
			}
		})
	}
}

func TestEvaluatorDoesNotAllocate(t *testing.T) {
	g, n := generate(t, "torus:3x3x3")
	random := rand.New(rand.NewPCG(7, 8))
	dead := draw(g, 8, random)
	for _, text := range everyMechanism {
		v := n.NewEvaluator(parse(t, text))
		ask := func() {
			var c Counts
			v.Set(dead)
			v.Count(&c)
		}
		ask() // learns the options of pairs
		if got := testing.AllocsPerRun(10, ask); got > 0 {
			t.Errorf("%s: %v allocations", text, got)
		}
	}
}

// A segment is alive when all its links are: each is what the oracle walks, and the pairs that have
// one are those that the oracle finds a sub-path for.
func TestSegmentsAreAllSubPaths(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"mesh:3x2x2", "torus:3x4", "torus:4x4"}[:testenv.N(3, 2)] {
		g, n := generate(t, spec)
		random := rand.New(rand.NewPCG(9, 9))
		for _, text := range everyMechanism {
			m := parse(t, text)
			m.Intermediate = 0
			for range 2 {
				o := newOracle(g, m, draw(g, 1+random.IntN(5), random))
				for u := range weft.SwitchID(len(g.Switches)) {
					best := map[weft.SwitchID]price{u: {}}
					n.Segments(m, u, func(s Segment) bool {
						_, misroutes := s.Sub.Misroute(0)
						p := price{hops: s.Length, fixed: truth(s.Sub.Deterministic()), misroutes: truth(misroutes > 0)}
						alive := !slices.ContainsFunc(s.Links, func(id weft.LinkID) bool { return o.dead[id] })
						err := o.walk(Way{Src: u, Dst: s.Dst, Length: s.Length, Subs: []weft.SubHeader{s.Sub}})
						if alive != (err == nil) {
							t.Fatalf("%s %s: %+v: alive is %v, walking it: %v", spec, text, s, alive, err)
						}
						if old, ok := best[s.Dst]; alive && (!ok || p.compare(old) < 0) {
							best[s.Dst] = p
						}
						return true
					})
					for v := range weft.SwitchID(len(g.Switches)) {
						got, ok := best[v]
						if want := o.sub(u, v); ok == want.never || ok && got != want {
							t.Fatalf("%s %s: %d to %d: got %v %v, want %v", spec, text, u, v, got, ok, want)
						}
					}
				}
			}
		}
	}
}

func BenchmarkEvaluator(b *testing.B) {
	g, n := generate(b, "torus:3x3x3")
	for _, faults := range []int{5, 9} {
		random := rand.New(rand.NewPCG(1, 2))
		var sets [][]weft.LinkID
		for range 256 {
			sets = append(sets, slices.Clone(draw(g, faults, random)))
		}
		for _, text := range []string{"I", "M", "D+M", "I+D", "I+M", "I+D+M", "Ix2", "Ix3", "Ix2+D"} {
			v := n.NewEvaluator(parse(b, text))
			b.Run(text+"/"+string(rune('0'+faults)), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					var c Counts
					v.Set(sets[i%len(sets)])
					v.Count(&c)
				}
			})
		}
	}
}
