package sweep

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/modules"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Each run says which version of the program made it, however often others have gone on with the
// rest.
func TestResultsSayWhichVersionMadeEachRun(t *testing.T) {
	testenv.Unraced(t)
	var f fake
	e, o := small(t), options(t, &f)
	o.Quick, o.Samples = true, 2
	_, err := e.Run(t.Context(), o)
	require.NoError(t, err)
	o.Version, o.Samples = "v2", 3
	r, err := e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, []string{"v1", "v2"}, r.Versions)
	rows := readCSV(t, o.Dir, "runs.csv")
	require.Len(t, rows, 12)
	for _, row := range rows {
		assert.Equal(t, map[bool]string{true: "v2", false: "v1"}[row["sample"] == "2"], row["version"])
		assert.Equal(t, "built-in", row["firmware"])
	}
	assert.Contains(t, contents(t, o.Dir)["README.md"], "\n\nVersion v1 and v2. ")
	o.Version = "v3" // which makes none
	r, err = e.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, []string{"v1", "v2"}, r.Versions)
	assert.Contains(t, r.Notes[0], "runs were made by version v1 and v2 of the program, and this is v3")
}

// A module is told by its hash; another file of the same name is another run.
func TestResultsSayWhichModuleRan(t *testing.T) {
	testenv.Unraced(t)
	require.NoError(t, modules.Add())
	examples := "../../switch/firmware/examples/"
	dir := t.TempDir()
	file := filepath.Join(dir, "fw.wasm")
	o := Options{Dir: t.TempDir(), Jobs: 2, Version: "v1", Command: "fabricd sweep mine.yaml"}
	made := func(from string) (sum string, r *Report) {
		module, err := os.ReadFile(examples + from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, module, 0o600))
		e, err := loadFile("mine.yaml", fmt.Appendf(nil, `name: mine
about: x
base: {topology: "kary-ntree:2,2", load: 0.2, window: 50, warmup_batch: 20, warmup_most: 100}
axes: [{axis: routing, values: ["wasm:%s", adaptive-link]}]
samples: 1
quick: {samples: 1}
checks: [{says: some, ref: x, value: accepted, above: 0}]
`, file))
		require.NoError(t, err)
		r, err = e.Run(t.Context(), o)
		require.NoError(t, err)
		return fmt.Sprintf("%x", sha256.Sum256(module)), r
	}
	c, first := made("c/adaptive_link.wasm")
	rows := readCSV(t, o.Dir, "runs.csv")
	assert.Equal(t, []string{c, builtIn}, []string{rows[0]["firmware"], rows[1]["firmware"]})
	want := "Version v1, with firmware wasm:" + file + " (SHA-256 " + c + ")."
	for _, name := range []string{"README.md", "comparison.md"} {
		assert.Contains(t, contents(t, o.Dir)[name], want, name)
	}
	rust, second := made("rust/adaptive_link.wasm")
	assert.Equal(t, []int{0, 1}, []int{first.Earlier, second.Earlier})
	assert.Equal(t, rust, readCSV(t, o.Dir, "runs.csv")[0]["firmware"])
}
