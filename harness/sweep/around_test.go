package sweep

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

const aroundText = `
name: mine
about: Ways around faults, beside planes switched off.
base:
  {topology: "torus:3x3x2", traffic: uniform, load: 0.2, vcs: 4, eager_credits: true, faults_before: true, window: 300, warmup_batch: 100, warmup_batches: 2}
axes:
  - axis: method
    of:
      - {name: told, routing: "duato:mechanisms=I+D"}
      - {name: not told, routing: duato}
      - {name: planes, routing: duato, bypass_planes: true}
  - {axis: faults, values: [0, 1]}
samples: 2
quick: {samples: 1}
`

func TestFaultsAreGoneAroundOrTheirPlanesAreSwitchedOff(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	e, err := loadFile("mine.yaml", []byte(aroundText))
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = e.Run(t.Context(), Options{Dir: dir, Jobs: 2})
	require.NoError(t, err)
	rows := readCSV(t, dir, "runs.csv")
	require.Len(t, rows, 3*2*2)
	seeds := map[string]string{} // by sample
	for _, row := range rows {
		assert.Equal(t, row["faults"], row["measured_faults"])
		lost := row["faults"] == "1" && row["method"] == "not told"
		assert.Equal(t, lost, row["connected"] == "false", row)
		assert.Equal(t, lost, row["discarded"] != "0", row)
		if s, ok := seeds[row["sample"]]; ok {
			assert.Equal(t, s, row["seed"], "all that is compared has the same faults")
		}
		seeds[row["sample"]] = row["seed"]
	}
}

func TestPlanesAreSwitchedOffInTheBeginningAndInToriOnly(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		`{topology: "torus:3x3", routing: duato, bypass_planes: true, faults: 1}`:                "have the faults come before it",
		`{topology: "kary-ntree:2,2", routing: adaptive-link, bypass_planes: true}`:              "kary-ntree:2,2 is no mesh, torus or ring",
		`{topology: "kary-ntree:2,2", routing: "duato:mechanisms=I+D", bypass_planes: false}`:    "routes meshes, tori and rings only",
		`{topology: "torus:3x3", routing: "duato:mechanisms=J", faults_before: true, faults: 1}`: `did you mean "I"?`,
	} {
		_, err := loadFile("mine.yaml",
			[]byte("name: mine\nabout: x\nbase: "+head+
				"\naxes: [{axis: load, values: [0.1]}]\nsamples: 1\nquick: {samples: 1}\n"))
		assert.ErrorContains(t, err, want)
	}
}

func TestConnectivityIsOfWaysThatAreToldTheFaults(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	e, err := loadFile("mine.yaml", []byte(`
name: mine
about: Which faults are tolerated.
measure: connectivity
base: {topology: "torus:3x3x3"}
axes:
  - axis: method
    of:
      - {name: I, routing: "duato:mechanisms=I"}
      - {name: D, routing: "duato:mechanisms=D"}
      - {name: none, routing: duato}
  - {axis: faults, values: [0, 1]}
samples: 2
quick: {samples: 1}
`))
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = e.Run(t.Context(), Options{Dir: dir, Jobs: 2})
	require.NoError(t, err)
	for _, row := range readCSV(t, dir, "runs.csv") {
		want := row["method"] == "I" || row["faults"] == "0" // one fault: table 2
		assert.Equal(t, want, row["connected"] == "true", row)
	}
}
