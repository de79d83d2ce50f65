package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const guest = "../../switch/firmware/examples/c/deterministic_link.wasm"

// A pinned name means the same module in a process that was sent it and has no such file.
func TestAPinnedNameMeansTheSameModuleElsewhere(t *testing.T) {
	t.Parallel()
	here, there := Source(), Source()
	pinned, file, err := here.Pin(guest)
	require.NoError(t, err)
	require.Regexp(t, `^`+guest+`@[0-9a-f]{16}$`, pinned)
	elsewhere := "none.wasm" + pinned[len(guest):]
	_, err = there.Open(elsewhere)
	require.ErrorContains(t, err, "has not been sent that module")
	require.False(t, there.Kept(elsewhere))
	require.NoError(t, there.Keep(file))
	require.True(t, there.Kept(elsewhere))
	fw, err := there.Open(elsewhere)
	require.NoError(t, err)
	require.NotNil(t, fw.Route)

	again, _, err := here.Pin(pinned)
	require.NoError(t, err)
	require.Equal(t, pinned, again, "a pinned name stays as it is")
}

func TestAnotherModuleUnderThatNameIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fw.wasm")
	require.NoError(t, os.WriteFile(path, []byte("another"), 0o600))
	_, err := Source().Open(path + "@0123456789abcdef")
	require.ErrorContains(t, err, "is another module than the one that is asked for")
	require.ErrorContains(t, err, "leave out @0123456789abcdef to take it")
}

// Whoever may load firmware cannot fill the memory of the process with modules.
func TestAProcessKeepsSoManyModules(t *testing.T) {
	t.Parallel()
	s := Source()
	for i := range mostModules {
		require.NoError(t, s.Keep(fmt.Append(nil, i)))
	}
	require.NoError(t, s.Keep([]byte("1")), "it has that")
	require.ErrorContains(t, s.Keep([]byte("more")), "keeps 64 modules already")
}
