package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// NeedTUN misses what programs on NICs cannot do without.
func NeedTUN(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		testenv.Missing(t, "programs need a network: %v", err)
	}
}

// WithoutRights runs tests of the test binary that match a pattern again, for a user without
// rights. They must pass, and those named must not be left out. The test is left out for such a
// user itself.
func WithoutRights(t *testing.T, pattern string, named ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this is such a user")
	}
	for _, p := range []string{"unshare", "setpriv", "mount"} {
		testenv.Need(t, p, "util-linux")
	}
	NeedTUN(t)
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "weft-user-") // that of t, others may not look into
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test"), binary, 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
	require.NoError(t, os.Chown(filepath.Join(dir, "tmp"), 65534, 65534))
	// A device that all may open, as most systems have it.
	const script = `set -e; cd "$1"; mknod tun c 10 200; chmod 666 tun; mount --bind tun /dev/net/tun
export TMPDIR="$1/tmp" HOME="$1/tmp"
exec setpriv --reuid=65534 --regid=65534 --clear-groups ./test -test.v -test.run "$2"`
	out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", script, "sh", dir,
		pattern).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range named {
		if !strings.Contains(string(out), "--- PASS: "+name) {
			testenv.Missing(t, "a user without rights has no namespaces here:\n%s", out)
		}
	}
}
