package registry

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Those who only look hold a lock for a moment; a fabric that starts meanwhile is not refused for
// that.
func TestLookingNeverRefusesAClaim(t *testing.T) {
	dir := ownDir(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = Names()
				}
			}
		})
	}
	for range 20 {
		left(t, dir, "a")
		c, err := Take("a")
		require.NoError(t, err)
		require.NoError(t, c.Release())
	}
	close(stop)
	wg.Wait()
}

func TestTheRegistryIsTheUsersOwn(t *testing.T) {
	t.Setenv("WEFT_RUN_DIR", "")
	t.Setenv("XDG_RUNTIME_DIR", "run")
	require.Equal(t, Folder{filepath.Join("run", "weft"), "XDG_RUNTIME_DIR"}, Dir())
	t.Setenv("XDG_RUNTIME_DIR", "")
	require.Contains(t, Dir().Path, "weft-")
}

func TestAFolderThatCannotBeMadeIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("WEFT_RUN_DIR", filepath.Join(file, "run"))
	_, err := Take("a")
	require.ErrorContains(t, err, "registry of running fabrics: "+file+"/run: "+file+" is a file and no folder")
	require.ErrorContains(t, err, "(the folder comes from WEFT_RUN_DIR: set WEFT_RUN_DIR to have another)")
}

// What is no entry is passed over: the others are still found.
func TestAFileThatIsNoEntryIsPassedOver(t *testing.T) {
	dir := ownDir(t)
	a, err := Take("a")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.json"), []byte("{"), 0o600))
	_, err = Take("a")
	require.ErrorIs(t, err, ErrRunning)
	b, err := Take("b")
	require.NoError(t, err)
	require.NoError(t, b.Publish(Entry{Listed: Listed{Name: "b"}}))
	require.Equal(t, []string{"b"}, Names())
	require.NoError(t, a.Release())
	require.NoError(t, b.Release())
}
