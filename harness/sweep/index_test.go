package sweep

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
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
	require.NoError(t, os.WriteFile(filepath.Join(dir, "booksim.md"), []byte("text\n# Beside *others*\n\n# More\n"),
		0o600))
	if runtime.GOOS != "windows" { // where links are for administrators
		kept := filepath.Join(t.TempDir(), "kept")
		require.NoError(t, os.Rename(filepath.Join(dir, "small9"), kept))
		require.NoError(t, os.Symlink(kept, filepath.Join(dir, "small9")))
		require.NoError(t, os.Symlink("nothing", filepath.Join(dir, "gone")))
	}
	for range 2 { // its own page is none of the others
		n, err := Index(dir)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
	}
	data, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	text := string(data)
	assert.Contains(t, text,
		"| small9 | A small experiment for tests | `fabricd sweep small.yaml` | v1 | 18 | 20 | 360 | ")
	assert.Contains(t, text, " | 0 | 1 | 1 | 1 |\n")
	assert.Contains(t, text, "\n| all | 6 | 0 | 2 | 2 | 2 |\n")
	assert.Less(t, strings.Index(text, "| small9 "), strings.Index(text, "| small10 "), "in the order of numbers")
	assert.Regexp(t, `\| small9 \| R1 \| adaptive is better \| yes \| 1.1 ± .* \| 20 \| \*\*does not hold\*\* \|`, text)
	assert.Contains(t, text, "| small9 | R1 | it falls by each fault |  |  | 0 | not run |")
	assert.Contains(t, text, "- [Beside *others*](booksim.md)\n")
	assert.NotContains(t, text, "[Results](README.md)")
}

func TestAnIndexOfNothingSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Index(dir)
	require.ErrorContains(t, err,
		dir+" has no folder with results of an experiment: run fabricd sweep with --out "+dir+"/NAME first")
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

// The page for the documentation has the papers one by one, why ours differ where somebody has said
// so, and a figure of each experiment beside it.
func TestClaimsArePublishedByPaper(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	dir, to := t.TempDir(), t.TempDir()
	for name, paper := range map[string]string{"one": "Somebody: On Trees", "two": "Else, Other: On Rings"} {
		o := options(t, &f)
		o.Dir, o.Samples = filepath.Join(dir, name), 20
		e := plotted(t)
		e.Checks = e.Checks[:1]
		e.Checks[0].Ref, e.Checks[0].Above, e.Checks[0].Why = paper+", section 5.1, lemma 2", new(2.0), "trees\nare not rings"
		_, err := e.Run(t.Context(), o)
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(to, "claims-gone-fig.svg"), nil, 0o600))
	for range 2 { // it replaces its own page
		n, err := Publish(dir, to)
		require.NoError(t, err)
		assert.Equal(t, 2, n)
	}
	page := contents(t, to)
	text := page["claims.md"]
	assert.Contains(t, text, "\n## Somebody: On Trees\n")
	assert.Contains(t, text, "| two | section 5.1, lemma 2 | adaptive is better | yes | ")
	assert.Contains(t, text, " | 20 | **does not hold**: trees are not rings |\n")
	assert.Less(t, strings.Index(text, "| one | section"), strings.Index(text, "## Else, Other: On Rings"),
		"each in the table of its paper")
	for _, name := range []string{"claims-one-throughput.svg", "claims-two-throughput.svg"} {
		assert.Contains(t, text, "]("+name+")")
		assert.Contains(t, page[name], "<svg")
	}
	assert.Len(t, page, 6, "figures that no result has any more are gone")

	from := t.TempDir()
	n, err := Restore(to, from)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	o := options(t, &f)
	o.Dir, o.Samples = filepath.Join(from, "one"), 20
	all := f.all
	r, err := plotted(t).Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, all, f.all, "no run is repeated")
	assert.Equal(t, r.Runs, r.Earlier)
	assert.Equal(t, contents(t, filepath.Join(dir, "one"))["runs.csv"], contents(t, o.Dir)["runs.csv"])
	n, err = Restore(to, from)
	require.NoError(t, err)
	assert.Zero(t, n, "what is there stays")
	_, err = Restore(dir, t.TempDir())
	require.ErrorContains(t, err, "has no runs: name the folder of claims.md")

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "one")))
	n, err = Publish(dir, to)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, page, contents(t, to), "what is not there keeps what the page says")
	require.NoError(t, os.WriteFile(filepath.Join(to, "runs", "two.journal.gz"), []byte("none"), 0o600))
	_, err = Restore(to, t.TempDir())
	require.ErrorContains(t, err, "two.journal.gz is damaged")
	many := make([]byte, maxKept+1)
	_, _ = rand.NewChaCha8([32]byte{}).Read(many) // never fails
	require.NoError(t, os.WriteFile(filepath.Join(dir, "two", journalName), many, 0o600))
	_, err = Publish(dir, to)
	require.NoError(t, err)
	assert.NotContains(t, contents(t, to), "runs/two.journal.gz", "very many runs are not kept")
	require.NoError(t, os.WriteFile(filepath.Join(to, "claims.json"), []byte("[]"), 0o600))
	_, err = Publish(dir, to)
	require.ErrorContains(t, err, "claims.json is not what this command has written")
	require.NoError(t, os.Remove(filepath.Join(to, "claims.json")))
	require.NoError(t, os.WriteFile(filepath.Join(to, "claims.md"), []byte("# Mine\n"), 0o600))
	_, err = Publish(dir, to)
	require.ErrorContains(t, err, "claims.md is no page that this command has written")
}
