package sweep

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
)

const ofRerouteText = `
name: mine
about: Reconfiguration.
measure: reroute
base: {topology: "mesh:4x4", routing: xy}
axes:
  - {axis: faults, values: [0, 1, 3]}
  - axis: method
    of:
      - {name: any, manager: physical}
      - {name: dqr, manager: dqr}
      - {name: plug-in, manager: "dqr:plugin=mesh"}
samples: 6
quick: {samples: 1}
`

func TestFaultsAreReconfiguredAroundOneAfterAnother(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofRerouteText))
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = e.Run(t.Context(), Options{Dir: dir, Jobs: 3})
	require.NoError(t, err)
	rows := readCSV(t, dir, "runs.csv")
	require.Len(t, rows, 3*3*6)
	joined := map[string]bool{} // by faults and sample
	for _, row := range rows {
		key := row["faults"] + " " + row["sample"]
		assert.Equal(t, row["faults"], row["measured_faults"])
		share, err := strconv.ParseFloat(row["reroute_share"], 64)
		require.NoError(t, err)
		switch {
		case row["method"] == "any":
			joined[key] = row["connected"] == "true"
			assert.Equal(t, "0", row["reroute_share"])
		case row["faults"] == "0":
			assert.Equal(t, "true", row["connected"])
			assert.Zero(t, share, "nothing has died")
		case row["faults"] == "1":
			assert.Equal(t, "true", row["tolerated"], row)
			assert.Contains(t, []float64{24.0 / 240, 32.0 / 240}, share,
				"links at the side and in the middle of a row or column")
		}
		if row["connected"] == "true" {
			assert.True(t, joined[key], "no method connects what live links do not join")
			assert.Equal(t, "0", row["unroutable"])
		}
	}
}

func TestARunEndsWhereAFaultIsNotTolerated(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofRerouteText))
	require.NoError(t, err)
	c := e.full.points[len(e.full.points)-1].config
	c.Routing = "xy"
	run := newReroute()
	ended := 0
	for seed := range uint64(10) {
		c.Seed = seed
		before := true
		for c.FaultCount = range 25 {
			r, err := run(t.Context(), c)
			require.NoError(t, err)
			if !before {
				require.Equal(t, measure.Result{Faults: c.FaultCount, Stable: true, DeadlockAt: -1}, r, "nobody asks any more")
				ended++
			}
			before = r.Tolerated
		}
		c.Manager, c.FaultCount = physical, 24
		r, err := run(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, 240, r.Unroutable, "each of the 24 links has died once")
		c.Manager = "dqr"
	}
	require.Positive(t, ended)
}

// However the points are asked for, runs of more faults go on from those of fewer.
func TestRunsOfReconfigurationDependOnNothingButTheirSettings(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofRerouteText))
	require.NoError(t, err)
	pt := e.full.points[len(e.full.points)-1] // three faults, with the plug-in
	c := pt.config
	c.Seed = 5
	c.Routing = "xy"
	together, alone := newReroute(), newReroute()
	want := map[int]measure.Result{}
	for _, n := range []int{0, 1, 2, 3, 9, 4} {
		c.FaultCount = n
		want[n], err = together(t.Context(), c)
		require.NoError(t, err)
	}
	for _, n := range []int{9, 1} {
		c.FaultCount = n
		got, err := alone(t.Context(), c)
		require.NoError(t, err)
		assert.Equal(t, want[n], got)
		alone = newReroute()
	}
	assert.False(t, want[9].Connected && !want[4].Connected, "what has failed stays so")
}

func TestWhatAManagerCannotBeIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`base: {topology: "mesh:4x4", routing: xy}`:                                                    "there is no manager: give it in base",
		`base: {topology: "mesh:4x4", routing: xy, manager: dpr}`:                                      `unknown method of reconfiguration "dpr": did you mean "dqr"?`,
		`base: {topology: "mesh:4x4", routing: xy, manager: none}`:                                     "unknown manager that repairs tables",
		`base: {topology: "mesh:4x4", routing: xy, manager: "dqr:plugin=mash"}`:                        `did you mean "mesh"?`,
		`base: {topology: "mesh:4x4", routing: dimension-order, manager: dqr}`:                         "it has no tables",
		"measure: network\nbase: {topology: \"mesh:4x4\", routing: xy, manager: dqr, load: 0.1}":       "manager is for measure: reroute",
		"measure: network\nbase: {topology: \"mesh:4x4\", routing: xy, switch_flows: true, load: 0.1}": "switch_flows is for measure: reroute",
	} {
		if text[0] != 'm' {
			text = "measure: reroute\n" + text
		}
		_, err := loadFile("mine.yaml",
			[]byte("name: mine\nabout: x.\n"+text+"\naxes: [{axis: faults, values: [1]}]\nsamples: 1\nquick: {samples: 1}\n"))
		require.ErrorContains(t, err, want, text)
	}
}

func TestRunsThatGoOnFromOthersAreEstimatedOnce(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofRerouteText))
	require.NoError(t, err)
	assert.Equal(t, []int{6, 7, 8}, e.costly(&e.full), "those of three faults")
	assert.Len(t, small(t).costly(&small(t).full), len(small(t).full.points))
}

// The quick forms of what is shipped, with our own claims.
func TestWhatWeClaimOfReconfigurationHolds(t *testing.T) {
	testenv.Nightly(t)
	t.Parallel()
	for _, path := range files(t, "../../scenarios/papers/dqr/*.yaml") {
		e, err := Read(t.Context(), path)
		require.NoError(t, err)
		if e.Measure != ofReroute {
			continue
		}
		r, err := e.Run(t.Context(), Options{Dir: t.TempDir(), Quick: true})
		require.NoError(t, err)
		for _, f := range r.Findings {
			assert.False(t, f.Must && f.refuted(), "%s: %s: %s", path, f.Says, f.Ours)
		}
	}
}
