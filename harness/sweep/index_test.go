package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTheIndexHasARowForEachExperiment(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	var f fake
	dir := t.TempDir()
	for _, name := range []string{"small10", "small9"} {
		o := options(t, &f)
		o.Dir, o.Samples = filepath.Join(dir, name), 20
		e := small(t)
		e.Plots, e.Checks[0].Above = nil, new(2.0)
		e.Checks[1].Where = map[string]Some{"faults": {"7"}}
		_, err := e.Run(t.Context(), o)
		require.NoError(t, err)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "other"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "booksim.md"), []byte("text\n# Beside *others*\n\n# More\n"), 0o600))
	for range 2 { // its own page is none of the others
		n, err := Index(dir)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
	}
	data, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	text := string(data)
	assert.Contains(t, text, "| small9 | A small experiment for tests | v1 | 18 | 20 | 360 | ")
	assert.Contains(t, text, " | 0 | 1 | 1 | 1 |\n")
	assert.Less(t, strings.Index(text, "| small9 "), strings.Index(text, "| small10 "), "in the order of numbers")
	assert.Contains(t, text, "## small9\n\n    fabricd sweep small.yaml\n\n| statement")
	assert.Regexp(t, `\| adaptive is better \[1\] \| yes \| .* \| 20 \| no \|`, text)
	assert.Contains(t, text, "| it falls by each fault [1] |  |  | 0 | not run |")
	assert.Contains(t, text, "- [Beside *others*](booksim.md)\n")
	assert.NotContains(t, text, "[Results](README.md)")
}

func TestAnIndexOfNothingSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Index(dir)
	require.ErrorContains(t, err, dir+" has no folder with results of an experiment: run fabricd sweep with --out "+dir+"/NAME first")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "x"), 0o755))
	path := filepath.Join(dir, "x", recordName)
	for _, text := range []string{"", "{}", "[1]"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = Index(dir)
		require.ErrorContains(t, err, path+" is not what fabricd sweep writes")
	}
}

func TestOnlyTheChosenPointsAreRunAndTheRestGoesOnFromThem(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	o := options(t, &f)
	where, err := ParseWhere([]string{"method=ADLR", "load=0.30", "method=DDRC"})
	require.NoError(t, err)
	o.Where = where
	r, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 6, r.Points)
	assert.Equal(t, 24, f.all)
	for _, row := range readCSV(t, o.Dir, "runs.csv") {
		assert.Contains(t, []string{"ADLR", "DDRC"}, row["method"])
		assert.Equal(t, "0.3", row["load"])
	}
	o.Where = nil
	r, err = small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 24, r.Earlier)
	assert.Equal(t, 72, f.all, "no run was repeated")
	whole := contents(t, o.Dir)

	o = options(t, &f)
	_, err = small(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, contents(t, o.Dir), whole, "and none is another")
}

func TestAChoiceThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"mehtod=ADLR", `unknown axis "mehtod": did you mean "method"?`},
		{"method=ADRL", `unknown value of axis method "ADRL": did you mean "ADLR"?`},
		{"faults=1", `unknown value of axis faults "1"`}, // of the quick form
	} {
		where, err := ParseWhere([]string{c.text})
		require.NoError(t, err)
		_, _, err = small(t).Size(Options{Quick: true, Where: where})
		require.ErrorContains(t, err, c.want)
	}
	for _, text := range []string{"method", "=ADLR", "method="} {
		_, err := ParseWhere([]string{text})
		require.ErrorContains(t, err, "is not AXIS=VALUE")
	}
}
