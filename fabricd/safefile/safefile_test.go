package safefile_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

func TestAFileAppearsWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	require.NoError(t, safefile.Write(path, []byte("old")))
	require.Zero(t, mode(t, path).Perm()&0o133, "as the umask has it, 0644 at most")
	fault := errors.New("half")
	err := safefile.WriteTo(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "ne")
		return fault
	})
	require.Equal(t, fault, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	require.NoError(t, os.Chmod(path, 0o640))
	require.NoError(t, safefile.Write(path, []byte("new")))
	require.EqualValues(t, 0o640, mode(t, path), "whoever owns it has said who may read it")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing is left beside it")
}

func TestErrorsNameTheFileMeant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "none", "a")
	require.EqualError(t, safefile.Write(path, nil),
		"write "+path+": folder "+filepath.Dir(path)+": no such file or directory: make it first")
	require.EqualError(t, safefile.Write(dir, nil), "write "+dir+": it is a folder")
}

func TestLinksAndDevicesAreWrittenThrough(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("a", link))
	require.NoError(t, safefile.Write(link, []byte("x")))
	require.FileExists(t, path)
	require.NotZero(t, mode(t, link)&fs.ModeSymlink, "the link stays")
	require.NoError(t, safefile.Write(os.DevNull, []byte("x")))
	require.NotZero(t, mode(t, os.DevNull)&fs.ModeDevice, "it was not replaced")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	named := filepath.Join(dir, "stdout") // as /dev/stdout leads to a pipe
	require.NoError(t, os.Symlink("/proc/self/fd/"+itoa(w.Fd()), named))
	require.NoError(t, safefile.Write(named, []byte("through")))
	require.NoError(t, w.Close())
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "through", string(text))
	require.NoError(t, r.Close())
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.ErrorContains(t, safefile.Write(filepath.Join(dir, "loop"), nil), "symbolic links")
}

func itoa(fd uintptr) string { return strconv.Itoa(int(fd)) }

func TestSecretsAreForTheirUserAlone(t *testing.T) {
	t.Parallel()
	dir, err := safefile.Folder(filepath.Join(t.TempDir(), "a", "b"))
	require.NoError(t, err)
	require.Equal(t, fs.ModeDir|0o700, mode(t, dir))
	require.Equal(t, fs.ModeDir|0o700, mode(t, filepath.Dir(dir)))
	_, err = safefile.Folder(dir)
	require.NoError(t, err, "one that is there will do")
	path := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	require.NoError(t, safefile.WriteSecret(path, []byte("x")))
	require.EqualValues(t, 0o600, mode(t, path))
	text, err := safefile.ReadSecret(path)
	require.NoError(t, err)
	require.Equal(t, "x", string(text))
	_, err = safefile.ReadSecret(path + "2")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, safefile.CheckSecret(path+"2"))
	for bits := fs.FileMode(1); bits < 0o100; bits <<= 1 {
		require.NoError(t, os.Chmod(path, 0o600|bits))
		_, err := safefile.ReadSecret(path)
		require.ErrorIs(t, err, safefile.ErrUnsafe, "%o", bits)
		require.ErrorContains(t, err, "run chmod go= "+path)
		require.NoError(t, os.Chmod(path, 0o600))
		require.NoError(t, os.Chmod(dir, 0o700|bits))
		_, err = safefile.Folder(dir)
		require.ErrorIs(t, err, safefile.ErrUnsafe, "%o", bits)
		require.NoError(t, os.Chmod(dir, 0o700))
		// Further up others may look, but not put something in its place, unless the folder is like
		// /tmp.
		above := filepath.Dir(dir)
		for _, sticky := range []fs.FileMode{0, fs.ModeSticky} {
			require.NoError(t, os.Chmod(above, 0o700|bits|sticky))
			_, err = safefile.ReadSecret(path)
			if bits&0o022 != 0 && sticky == 0 {
				require.ErrorIs(t, err, safefile.ErrUnsafe, "%o", bits)
				require.ErrorContains(t, err, "run chmod go-w "+above)
			} else {
				require.NoError(t, err, "%o", bits)
			}
		}
		require.NoError(t, os.Chmod(above, 0o700))
	}
	require.NoError(t, os.Truncate(path, 1<<20+1))
	_, err = safefile.ReadSecret(path)
	require.ErrorContains(t, err, "so it is no file with keys or tokens")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink("elsewhere", path))
	require.ErrorIs(t, safefile.WriteSecret(path, nil), safefile.ErrUnsafe)
	require.ErrorContains(t, safefile.WriteSecret(path, nil), "a symbolic link, where a file with a secret is to be")
	require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
	_, err = safefile.ReadSecret(filepath.Join(dir, strings.Repeat("x", 300)))
	require.Error(t, err)
}
