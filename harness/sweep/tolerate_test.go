package sweep

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
)

const ofTolerateText = `
name: mine
about: Sets of dead links.
measure: tolerate
base: {topology: "torus:3x3"}
axes:
  - {axis: mechanisms, values: [I, I+D, M]}
  - {axis: faults, values: [0, 1, 2]}
  - axis: how
    of:
      - {name: all}
      - {name: region, region: distance-1}
      - {name: drawn, fault_sets: 300}
samples: 2
quick: {samples: 1}
`

func TestSetsAreCountedAndDrawn(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofTolerateText))
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = e.Run(t.Context(), Options{Dir: dir, Jobs: 3})
	require.NoError(t, err)
	rows := readCSV(t, dir, "runs.csv")
	require.Len(t, rows, 3*3*3*2)
	sets := map[string]string{
		"all 0": "1", "all 1": "18", "all 2": "153", "region 2": "91", "region 1": "14",
		"drawn 2": "300", "drawn 0": "300",
	}
	byHow := map[string]map[string]bool{}
	for _, row := range rows {
		if want := sets[row["how"]+" "+row["faults"]]; want != "" {
			assert.Equal(t, want, row["sets"], row)
		}
		share, err := strconv.ParseFloat(row["not_tolerated_share"], 64)
		require.NoError(t, err)
		assert.Equal(t, share == 0, row["tolerated"] == "true")
		if row["faults"] != "2" || row["mechanisms"] != "I" {
			assert.Zero(t, share, row)
			continue
		}
		if row["how"] == "all" {
			assert.Equal(t, "18", row["not_tolerated"])
			assert.Equal(t, "1", row["use_i"])
		}
		assert.InDelta(t, 18.0/153, share, 0.1)
		if byHow[row["how"]] == nil {
			byHow[row["how"]] = map[string]bool{}
		}
		byHow[row["how"]][row["not_tolerated"]] = true
	}
	assert.Len(t, byHow["all"], 1)
	assert.Len(t, byHow["drawn"], 2, "samples draw sets of their own")
}

func TestTheSharesOfUsesAddUpToAll(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofTolerateText))
	require.NoError(t, err)
	c := e.full.points[0].config
	for _, m := range []string{"I+D+M", "Ix3", "Ix2+D", "D+M"} {
		c.Mechanisms, c.FaultCount, c.FaultSets = m, 5, 200
		r, err := Tolerate(t.Context(), c)
		require.NoError(t, err)
		assert.InDelta(t, 1, r.UseI+r.UseI2+r.UseI3+r.UseD+r.UseM+r.UseDM+r.UseID+r.UseIM+r.UseIDM, 1e-9, m)
		assert.InDelta(t, r.AffectedShare*72, r.AffectedOfAll*81, 1e-9)
	}
}

func TestATrialJudgesSomeSets(t *testing.T) {
	t.Parallel()
	c := measure.Config{Mechanisms: "I", FaultCount: 4, MostCycles: 500}
	e, err := loadFile("mine.yaml", []byte(ofTolerateText))
	require.NoError(t, err)
	c.Topology = e.full.points[0].config.Topology
	c.FaultSets = 100_000
	r, err := Tolerate(t.Context(), c)
	require.NoError(t, err)
	assert.Less(t, r.Events, uint64(1000))
	assert.InDelta(t, 100_000, judgedOf(&c), 0)
	c.FaultSets = 0
	assert.InDelta(t, 3060.0/72, judgedOf(&c), 1e-9)
	cost, err := e.Estimate(t.Context(), Options{})
	require.NoError(t, err)
	assert.Positive(t, cost.CPU)
}

func TestWhatMechanismsCannotBeIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`base: {topology: "torus:3x3"}`:                                                                "there are no mechanisms",
		`base: {topology: "torus:3x3", mechanisms: I+Q}`:                                               "I+Q",
		`base: {topology: "kary-ntree:2,2", mechanisms: I}`:                                            "no mesh, torus or ring",
		`base: {topology: "torus:3x3", mechanisms: I, region: distance1}`:                              "distance-1",
		`base: {topology: "torus:3x3", mechanisms: I, routing: xy}`:                                    "routing is not for measure: tolerate",
		`base: {topology: "torus:3x3", mechanisms: I, fault_sets: 0}`:                                  "0 sets",
		`base: {topology: "torus:8x8x8", mechanisms: I, faults: 14}`:                                   "more than 2^63 sets",
		`base: {topology: "torus:4x4x4", mechanisms: I, region: distance-1, faults: 37}`:               "only 36 links may die",
		"measure: network\nbase: {topology: \"torus:3x3\", routing: e-cube, mechanisms: I, load: 0.1}": "mechanisms is for measure: tolerate",
	} {
		if text[0] != 'm' {
			text = "measure: tolerate\n" + text
		}
		_, err := loadFile("mine.yaml",
			[]byte("name: mine\nabout: x.\n"+text+"\naxes: [{axis: switches, values: [1]}]\nsamples: 1\nquick: {samples: 1}\n"))
		require.ErrorContains(t, err, want, text)
	}
}

// The quick forms of what is shipped, with our own claims.
func TestWhatWeClaimOfToleranceHolds(t *testing.T) {
	testenv.Nightly(t)
	t.Parallel()
	for _, path := range files(t, "../../scenarios/papers/direct/*.yaml") {
		e, err := Read(t.Context(), path)
		require.NoError(t, err)
		if e.Measure != ofTolerate {
			continue
		}
		r, err := e.Run(t.Context(), Options{Dir: t.TempDir(), Quick: true})
		require.NoError(t, err)
		for _, f := range r.Findings {
			assert.False(t, f.Must && f.refuted(), "%s: %s: %s", path, f.Says, f.Ours)
		}
	}
}
