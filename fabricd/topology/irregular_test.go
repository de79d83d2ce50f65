package topology

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// A seed names one graph for ever; another seed another graph.
func TestIrregularGolden(t *testing.T) {
	names := func(spec string) string {
		var list []string
		for _, l := range parse(t, spec).Links {
			if l.BetweenSwitches() {
				list = append(list, fmt.Sprintf("%s(%d,%d)", l.Name, l.A.Port, l.B.Port))
			}
		}
		return strings.Join(list, " ")
	}
	assert.Equal(t, golden, names("irregular:8,12,3"))
	assert.Equal(t, names("irregular:40,80,9"), names("irregular:40,80,9"))
	assert.NotEqual(t, names("irregular:40,80,9"), names("irregular:40,80,10"))
	assert.Equal(t, goldenUniform, names("irregular:8,12,3,method=uniform"))
	assert.Equal(t, names("irregular:8,12,3"), names("irregular:8,12,3,method=tree"))
	assert.Equal(t, names("irregular:8,7,3"), names("irregular:8,7,3,method=uniform"), "trees are uniform by either")
}

const golden = "s0-s2(0,0) s0-s3(1,0) s0-s5(2,0) s0-s6(3,0) s0-s7(4,0) s1-s7(0,1) " +
	"s2-s4(1,0) s2-s7(2,2) s4-s5(1,1) s4-s6(2,1) s4-s7(3,3) s6-s7(2,4)"

const goldenUniform = "s0-s3(0,0) s0-s5(1,0) s0-s7(2,0) s1-s5(0,1) s1-s6(1,0) s1-s7(2,1) " +
	"s2-s6(0,1) s2-s7(1,2) s3-s5(1,2) s4-s6(0,2) s4-s7(1,3) s5-s7(3,4)"

// The spanning tree is uniform: each of the 16 labelled trees on 4 switches turns up about equally
// often.
func TestIrregularTreeIsUniform(t *testing.T) {
	const draws = 8000
	count := map[string]int{}
	for seed := range uint64(draws) {
		count[fmt.Sprint(randomPairs(4, 3, seed))]++
	}
	require.Len(t, count, 16) // Cayley: 4^2
	chi := 0.0
	for _, n := range count {
		d := float64(n) - draws/16
		chi += d * d / (draws / 16)
	}
	assert.Less(t, chi, 37.7) // 99.9% of chi-squared with 15 degrees of freedom
}

// Each switch graph of so many switches and links, and the number of its spanning trees (Kirchhoff:
// a cofactor of the Laplacian).
func connectedGraphs(n, links int) map[string]float64 {
	var pairs [][2]int
	for a := range n {
		for b := a + 1; b < n; b++ {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	trees := map[string]float64{}
	for set := range uint(1) << len(pairs) {
		if bits.OnesCount(set) != links {
			continue
		}
		var in [][2]int
		for i, p := range pairs {
			if set>>i&1 == 1 {
				in = append(in, p)
			}
		}
		if t := spanningTrees(n, in); t > 0 {
			trees[fmt.Sprint(in)] = t
		}
	}
	return trees
}

func spanningTrees(n int, pairs [][2]int) float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	for _, p := range pairs {
		a, b := p[0], p[1]
		m[a][a]++
		m[b][b]++
		m[a][b]--
		m[b][a]--
	}
	det := 1.0
	for i := 1; i < n; i++ { // Gauss; a Laplacian needs no pivots
		if m[i][i] < 1e-9 {
			return 0
		}
		det *= m[i][i]
		for r := i + 1; r < n; r++ {
			f := m[r][i] / m[i][i]
			for c := i; c < n; c++ {
				m[r][c] -= f * m[i][c]
			}
		}
	}
	return math.Round(det)
}

// chiSquared is how far draws are from the expected shares.
func chiSquared(t *testing.T, draw func(seed uint64) [][2]int, share map[string]float64) float64 {
	t.Helper()
	draws, count := 200*len(share), map[string]int{}
	for seed := range uint64(draws) {
		count[fmt.Sprint(draw(seed))]++
	}
	chi := 0.0
	for g, s := range share {
		d := float64(count[g]) - s*float64(draws)
		chi += d * d / (s * float64(draws))
		delete(count, g)
	}
	require.Empty(t, count, "not connected, or not simple")
	return chi
}

// Of 5 switches, against a list of all connected graphs: by method tree each is as likely as it has
// spanning trees, by method uniform all are as likely. How far the first is from that is what
// docs/results/irregular.md says.
func TestIrregularGraphsAreAsLikelyAsTheMethodSays(t *testing.T) {
	t.Parallel()
	for links, far := range map[int]float64{4: 0, 5: 0.076, 6: 0.075, 7: 0.042, 8: 0.027, 9: 0, 10: 0} {
		trees := connectedGraphs(5, links)
		if len(trees) > testenv.N(1000, 50) {
			continue
		}
		sum, even, byTrees := 0.0, map[string]float64{}, map[string]float64{}
		for _, n := range trees {
			sum += n
		}
		distance := 0.0
		for g, n := range trees {
			even[g], byTrees[g] = 1/float64(len(trees)), n/sum
			distance += math.Abs(even[g]-byTrees[g]) / 2
		}
		assert.InDelta(t, far, distance, 0.0006, "%d links: largest difference of the probability of any event", links)
		free := float64(len(trees) - 1)
		limit := free + 4*math.Sqrt(2*free) + 4 // some four standard deviations
		assert.Less(t, chiSquared(t, func(seed uint64) [][2]int { return randomPairs(5, links, seed) }, byTrees), limit,
			"%d links by tree", links)
		uniform := func(seed uint64) [][2]int {
			pairs, err := irregular{5, links, seed, 1, 1, methodUniform}.pairs()
			require.NoError(t, err)
			return pairs
		}
		assert.Less(t, chiSquared(t, uniform, even), limit, "%d links by uniform", links)
		if distance > 0.03 {
			assert.Greater(t, chiSquared(t, uniform, byTrees), limit, "%d links: the methods differ", links)
		}
	}
}

func TestParallelLinksOfIrregularGraphsAreCopies(t *testing.T) {
	t.Parallel()
	one, three := parse(t, "irregular:8,12,3"), parse(t, "irregular:8,12,3,parallel=3,nics=2")
	assert.Len(t, three.Links, 3*12+16)
	for i := range 3 * 12 {
		l, of := three.Links[i], one.Links[i/3]
		assert.Equal(t, of.A.Node, l.A.Node)
		assert.Equal(t, of.B.Node, l.B.Node)
		assert.Equal(t, fmt.Sprintf("%s:%d-%s:%d", three.Name(l.A.Node), l.A.Port, three.Name(l.B.Node), l.B.Port), l.Name)
	}
	assert.Equal(t, parse(t, "irregular:8,12,3,nics=2,parallel=3").Links, three.Links, "options in any order")
}
