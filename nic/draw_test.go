package nic

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLogarithmAgreesWithThatOfTheLibrary(t *testing.T) {
	r := rand.NewPCG(1, 2)
	check := func(x float64) {
		want := -math.Log(x)
		if diff := math.Abs(minusLog(x) - want); diff > 0x1p-49*want {
			t.Fatalf("-ln(%g) is %g, off by %g", x, want, diff)
		}
	}
	require.Zero(t, minusLog(1))
	for range 200_000 {
		check(fraction(r))
		check(1 - float64(r.Uint64()>>40)/(1<<53)) // near 1
		check(math.Ldexp(fraction(r), -int(r.Uint64()%53)))
	}
	for _, x := range []float64{
		0x1p-53, 0x1p-52, 0.5, math.Sqrt2 / 2, math.Nextafter(math.Sqrt2/2, 0),
		math.Nextafter(1, 0), 0.25, 0.75,
	} {
		check(x)
	}
}

// The draws of one seed, to the last bit, from a machine that fuses no product with a sum.
func TestDrawsAreTheSameOnEveryMachine(t *testing.T) {
	r := rand.NewPCG(3, 4)
	var got []uint64
	for range 4 {
		got = append(got, math.Float64bits(exponential(r)), math.Float64bits(normal(r)))
	}
	require.Equal(t, goldenDraws, got)
}

// ks is the distance of Kolmogorov and Smirnov between the draws and the distribution, in units of
// its deviation: above 1.95 is one in a thousand.
func ks(draws []float64, below func(x float64) float64) float64 {
	slices.Sort(draws)
	n, most := float64(len(draws)), 0.0
	for i, x := range draws {
		p := below(x)
		most = max(most, p-float64(i)/n, float64(i+1)/n-p)
	}
	return most * math.Sqrt(n)
}

func TestDrawsHaveTheirDistributions(t *testing.T) {
	const n = 200_000
	r := rand.NewPCG(5, 6)
	draws := make([]float64, n)
	for _, c := range []struct {
		name  string
		draw  func(Rand) float64
		below func(x float64) float64
	}{
		{"fraction", fraction, func(x float64) float64 { return x }},
		{"exponential", exponential, func(x float64) float64 { return -math.Expm1(-x) }},
		{"normal", normal, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }},
	} {
		for i := range draws {
			draws[i] = c.draw(r)
		}
		require.Less(t, ks(draws, c.below), 1.95, c.name)
	}
	hits := 0
	for range n {
		if share(r, inParts(0.3)) {
			hits++
		}
	}
	require.InDelta(t, 0.3, float64(hits)/n, 0.004)
	require.True(t, share(high{}, inParts(1)), "always")
	require.False(t, share(fixed{}, inParts(0)), "never")
}

// high draws the largest value there is.
type high struct{}

func (high) Uint64() uint64 { return math.MaxUint64 }

// A product that is not converted may be fused with the sum that it is part of, on machines that
// can: then the same seed would give other traffic there. Only draws and what they are made of is
// looked at: the rest is text and whole numbers.
func TestEveryProductOfFractionsIsRounded(t *testing.T) {
	for _, name := range []string{"draw.go", "arrivals.go", "sizes.go", "sources.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Empty(t, unrounded(t, string(text)), name)
	}
	require.Len(t, unrounded(t, "package p\nfunc f(x, y float64) float64 { return x*y + 1 }"), 1, "it would be found")
	require.Len(t, unrounded(t, "package p\nfunc f(x, y float64) float64 { x *= y; return x }"), 1, "it would be found")
	require.Empty(t, unrounded(t, "package p\nfunc f(x, y float64) float64 { return float64(x*(y+1)) + 1 }"))
}

// unrounded are the places of products that are not converted at once. Those of whole numbers and
// constants, which have to be listed, do no harm.
func unrounded(t *testing.T, text string) (at []string) {
	whole := []string{"(r.Uint64() >> 32) * n", "weft.Time(due) * n.process.mean"}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "f.go", text, 0)
	require.NoError(t, err)
	rounded := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && fun.Name == "float64" {
				rounded[n.Args[0]] = true
			}
		case *ast.BinaryExpr:
			source := text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset]
			if n.Op == token.MUL && !rounded[n] && !slices.Contains(whole, source) {
				at = append(at, source)
			}
		case *ast.AssignStmt:
			if n.Tok == token.MUL_ASSIGN {
				at = append(at, text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
			}
		}
		return true
	})
	return at
}

var goldenDraws = []uint64{
	0x3fc0234a3269a509, 0xbfb0a7212394b91c, 0x3fdf83c1f40a5c77, 0xbff89bf967c5b2c3,
	0x3fe4d0bf54a35cc5, 0xbfdb21a05728f794, 0x3fdf028abbd2ada4, 0x3fb1e4c512a40dfb,
}
