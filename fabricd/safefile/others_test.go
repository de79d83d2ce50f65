package safefile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Whatever another user has put where a folder or file with secrets is to be, or on the way there,
// it is refused, and nothing of theirs is written to or followed.
func TestWhatOthersHavePutInTheWay(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	shared := attack.Shared(t)
	victim := filepath.Join(shared, "victim")
	require.NoError(t, os.Mkdir(victim, 0o700))
	precious := filepath.Join(victim, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
	attempts := 0
	for _, planted := range []string{
		"mkdir -m 777 %s", "mkdir -m 700 %s", "mkdir -m 1777 %s", "mkdir -m 777 %[1]s; echo x > %[1]s/secret; chmod 666 " +
			"%[1]s/secret",
		"mkdir -m 777 %[1]s; ln -s " + precious + " %[1]s/secret", "ln -s " + victim +
			" %s", "ln -s /nowhere %s", "ln -s / %s",
		"touch %s", "mkfifo -m 666 %s",
	} {
		for _, below := range []string{"", "/run", "/a/b"} {
			attempts++
			at := filepath.Join(shared, fmt.Sprintf("planted%d", attempts))
			out, err := attack.AsNobody(fmt.Sprintf(planted, at))
			require.NoError(t, err, out)
			_, err = safefile.Folder(at + below)
			require.Error(t, err, planted+below)
			for _, name := range []string{"secret", "new"} {
				attempts += 2
				require.Error(t, safefile.WriteSecret(filepath.Join(at+below, name), []byte("password")), planted+below)
				_, err = safefile.ReadSecret(filepath.Join(at+below, name))
				require.Error(t, err, planted+below)
			}
		}
		text, err := os.ReadFile(precious)
		require.NoError(t, err)
		require.Equal(t, "precious", string(text))
	}
	out, err := attack.AsNobody("grep -rls password " + shared + " || true")
	require.NoError(t, err)
	require.Empty(t, out)

	// A name given for a report, at which somebody has put a link.
	for _, planted := range []string{"ln -s " + precious + " %s", "ln -s " + filepath.Join(victim, "new") + " %s"} {
		attempts++
		at := filepath.Join(shared, fmt.Sprintf("planted%d", attempts))
		out, err := attack.AsNobody(fmt.Sprintf(planted, at))
		require.NoError(t, err, out)
		require.ErrorIs(t, safefile.Write(at, []byte("report")), safefile.ErrUnsafe)
		_, err = safefile.Create(at)
		require.ErrorIs(t, err, safefile.ErrUnsafe)
	}
	require.NoFileExists(t, filepath.Join(victim, "new"))
	attack.Count(t, "another user plants folders, files and links where secrets go", attempts)
}

// What is made where everybody may make files is for its user alone.
func TestWhatOthersTryOnAFolderOfOurs(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	shared := attack.Shared(t)
	dir, err := safefile.Folder(filepath.Join(shared, "run"))
	require.NoError(t, err)
	file := filepath.Join(dir, "secret")
	require.NoError(t, safefile.WriteSecret(file, []byte("password")))
	tried := []string{
		"cat " + file, "ls " + dir, "cd " + dir, "echo x > " + file, "echo x > " + dir + "/other", "rm -f " +
			file, "rm -rf " + dir, "mv " + dir + " " + dir + "2",
		"mv " + file + " " + shared + "/taken", "ln " + file + " " + shared + "/hard", "chmod 777 " + dir, "chmod 666 " +
			file, "chown nobody " + dir,
		"rmdir " + dir, "mkfifo " + file + "2", "ln -sf /tmp " + dir + "/secret", "head -c 1 " + file, "touch " +
			file, "truncate -s 0 " + file,
		"test -r " + file, "test -w " + dir, "test -x " + dir,
	}
	for _, script := range tried {
		out, err := attack.AsNobody(script)
		require.Error(t, err, "%s: %s", script, out)
		require.NotContains(t, out, "password")
	}
	text, err := safefile.ReadSecret(file)
	require.NoError(t, err)
	require.Equal(t, "password", string(text))
	attack.Count(t, "another user at the files of a registry", len(tried))
}

// An access control list gives others what the mode seems not to: it is seen, and refused.
func TestAccessControlLists(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "setfacl", "acl")
	attempts := 0
	for _, list := range []string{
		"u:nobody:rwx", "u:nobody:r", "u:nobody:w", "g:nogroup:rwx", "u:nobody:x",
		"m::rwx,u:nobody:rw",
	} {
		dir, err := safefile.Folder(filepath.Join(t.TempDir(), "run"))
		require.NoError(t, err)
		file := filepath.Join(dir, "secret")
		require.NoError(t, safefile.WriteSecret(file, []byte("password")))
		acl := func(args ...string) {
			t.Helper()
			out, err := exec.Command("setfacl", args...).CombinedOutput()
			require.NoError(t, err, string(out))
		}
		acl("-m", list, file)
		_, err = safefile.ReadSecret(file)
		require.ErrorIs(t, err, safefile.ErrUnsafe, list)
		require.NoError(t, safefile.WriteSecret(file, []byte("password")))
		_, err = safefile.ReadSecret(file)
		require.NoError(t, err, "what is written anew has no list")
		acl("-m", list, dir)
		_, err = safefile.Folder(dir)
		require.ErrorIs(t, err, safefile.ErrUnsafe, list)
		require.ErrorContains(t, err, "access control list")
		acl("-b", dir)
		// What others get in every new file, by default: a file for one user takes it away again.
		acl("-d", "-m", list, dir)
		require.NoError(t, safefile.WriteSecret(file, []byte("password")))
		_, err = safefile.ReadSecret(file)
		require.NoError(t, err, list)
		below, err := safefile.Folder(filepath.Join(dir, "below"))
		require.NoError(t, err, list)
		info, err := os.Stat(below)
		require.NoError(t, err)
		require.EqualValues(t, 0o700, info.Mode().Perm())
		attempts += 4
	}
	attack.Count(t, "access control lists that let others in", attempts)
}

// What another user may not write says what to do.
func TestWhoMayNotWriteIsToldSo(t *testing.T) {
	testenv.Raced(t)
	shared := attack.Shared(t)
	self, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(shared, "program") // where the other user can run it
	data, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, data, 0o755))
	for _, mode := range []os.FileMode{0o700, 0o755} { // it cannot look in, or looks and cannot write
		path := filepath.Join(shared, fmt.Sprint("ours", uint32(mode)), "a")
		require.NoError(t, os.Mkdir(filepath.Dir(path), mode))
		said, err := attack.AsNobody("WEFT_TEST_WRITE=" + path + " " + program + " -test.run '^TestAnotherUserWrites$'")
		require.NoError(t, err, said)
		says := "write " + path +
			": permission denied: this user may not write to it or make files in its folder: name another place\n"
		require.Equal(t, 2, strings.Count(said, says), said)
	}
}

// TestAnotherUserWrites is the process of the test before.
func TestAnotherUserWrites(t *testing.T) {
	path := os.Getenv("WEFT_TEST_WRITE")
	if path == "" {
		t.Skip("run by TestWhoMayNotWriteIsToldSo")
	}
	_, err := safefile.Create(path)
	fmt.Printf("%v\n%v\n", safefile.Write(path, nil), err)
}
