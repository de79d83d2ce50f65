package sweep

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// Files that no sweep has written stay as they are, whatever their names.
func TestASweepReplacesNoFileOfSomebodyElse(t *testing.T) {
	t.Parallel()
	const text = "# My own notes\n"
	for _, name := range []string{readmeName, comparisonName, runsName, summaryName, recordName} {
		var f fake
		o := options(t, &f)
		path := filepath.Join(o.Dir, name)
		require.NoError(t, os.MkdirAll(o.Dir, 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := small(t).Run(t.Context(), o)
		require.ErrorContains(t, err, o.Dir+" holds a "+name+", and no "+journalName+" of a run that has written it")
		require.Zero(t, f.all, "nothing was run")
		requireText(t, path, text)
	}
}

// A journal is known by how it begins: a file of one line is not taken for one that was torn.
func TestASweepCutsOffNoLineOfAFileThatIsNoJournal(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	for _, text := range []string{"shopping list", "abc", `{"experiment":"x"`} {
		var f fake
		o := options(t, &f)
		path := filepath.Join(o.Dir, journalName)
		require.NoError(t, os.MkdirAll(o.Dir, 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := small(t).Run(t.Context(), o)
		if text == "abc" { // may be the first digits of a header's sum
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, path)
		requireText(t, path, text)
	}
}

func TestAnIndexReplacesNoPageOfSomebodyElse(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	var f fake
	o := options(t, &f)
	_, err := small(t).Run(t.Context(), o)
	require.NoError(t, err)
	dir := filepath.Dir(o.Dir)
	page := filepath.Join(dir, readmeName)
	const text = "# My own notes\n"
	require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
	_, err = Index(dir)
	require.ErrorContains(t, err, page+" is no page that this command has written")
	requireText(t, page, text)
	require.NoError(t, os.Remove(page))
	for range 2 { // its own it replaces
		_, err = Index(dir)
		require.NoError(t, err)
	}
}

func requireText(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(text))
}
