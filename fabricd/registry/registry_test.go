package registry

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANameIsHeldByOneAtATime(t *testing.T) {
	t.Setenv("WEFT_RUN_DIR", t.TempDir())
	a, err := Take("a")
	require.NoError(t, err)
	require.NoError(t, a.Publish(Entry{Name: "a", PID: 7}))
	_, err = Take("a")
	require.ErrorIs(t, err, ErrRunning)
	require.ErrorContains(t, err, "process 7")
	require.NoError(t, a.Release())
	b, err := Take("a")
	require.NoError(t, err)
	require.NoError(t, b.Release())
}

func TestFindNamesWhatThereIs(t *testing.T) {
	t.Setenv("WEFT_RUN_DIR", t.TempDir())
	_, err := Find("")
	require.ErrorIs(t, err, ErrNone)
	for _, name := range []string{"a", "b"} {
		c, err := Take(name)
		require.NoError(t, err)
		require.NoError(t, c.Publish(Entry{Name: name}))
		t.Cleanup(func() { require.NoError(t, c.Release()) })
	}
	_, err = Find("")
	require.ErrorContains(t, err, "a, b")
	e, err := Find("b")
	require.NoError(t, err)
	require.Equal(t, "b", e.Name)
	_, err = Find("c")
	var unknown *UnknownError
	require.ErrorAs(t, err, &unknown)
}

// A fabric that was killed leaves its file, but nobody holds its lock.
func TestWhatAKilledFabricLeftIsClearedAway(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("WEFT_RUN_DIR", dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dead.json"), []byte(`{"name":"dead"}`), 0o600))
	entries, err := List()
	require.NoError(t, err)
	require.Empty(t, entries)
	require.NoFileExists(t, filepath.Join(dir, "dead.json"))
}

func TestTheFileIsForItsUserOnly(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("WEFT_RUN_DIR", dir)
	c, err := Take("a")
	require.NoError(t, err)
	require.NoError(t, c.Publish(Entry{Name: "a"}))
	info, err := os.Stat(filepath.Join(dir, "a.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, c.Release())
}
