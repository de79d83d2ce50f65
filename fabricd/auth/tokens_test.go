package auth_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestTokensOfAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	look, err := auth.AddToken(file, "grafana", auth.View)
	require.NoError(t, err)
	act, err := auth.AddToken(file, "ann", auth.Operate)
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, secret := range []string{look.Secret, act.Secret} {
		require.NotContains(t, string(text), secret, "what it is is not in the file")
	}
	log := &rig.Output{}
	tokens, err := auth.OpenTokens(file, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	for secret, want := range map[string]auth.Access{
		look.Secret: auth.View, act.Secret: auth.Operate, "": 0,
		look.Secret + "x": 0, strings.ToLower(act.Secret): 0,
	} {
		got, ok := tokens.Find(secret)
		require.Equal(t, want, got.Role)
		require.Equal(t, want != 0, ok)
	}
	ann, _ := tokens.Find(act.Secret)
	require.Equal(t, "ann", ann.Name)
	require.True(t, tokens.Holds(ann))

	require.ErrorContains(t, auth.RemoveToken(file, "an"), `did you mean "ann"?`)
	_, err = auth.AddToken(file, "ann", auth.View)
	require.ErrorContains(t, err, "there is a token ann")
	for _, name := range []string{"", "a b", strings.Repeat("a", 65), "a\n"} {
		_, err = auth.AddToken(file, name, auth.View)
		require.ErrorContains(t, err, "want 1 to 64")
	}
	_, err = auth.ParseAccess("opperate")
	require.ErrorContains(t, err, `did you mean "operate"?`)

	// Another of the same name is not the one that was shown.
	require.NoError(t, auth.RemoveToken(file, "ann"))
	_, err = auth.AddToken(file, "ann", auth.Operate)
	require.NoError(t, err)
	rig.Until(t, func() bool { return !tokens.Holds(ann) })
	require.Contains(t, log.String(), `a token was removed: it holds no more" token=ann`)
}

// A file that is gone, not safe or no file of tokens lets nobody in, and that is told once. When it
// is mended its tokens hold.
func TestAFileOfTokensThatIsNotAsItShouldBe(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	ways := map[string]func(dir, file string) error{
		"no such file":     func(_, file string) error { return os.Remove(file) },
		"make it with":     func(_, file string) error { return safefile.WriteSecret(file, []byte("nonsense")) },
		"lets others have": func(_, file string) error { return os.Chmod(file, 0o604) },
		"-rw-r-----":       func(_, file string) error { return os.Chmod(file, 0o640) },
		"-rw--w----":       func(_, file string) error { return os.Chmod(file, 0o620) },
		"mode of folder":   func(dir, _ string) error { return os.Chmod(dir, 0o770) },
		"-rwx----w-":       func(dir, _ string) error { return os.Chmod(dir, 0o702) },
		"no tokens.json":   func(dir, _ string) error { return os.Rename(dir, dir+"2") },
		"a folder":         func(_, file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		"a pipe":           func(_, file string) error { return errors.Join(os.Remove(file), rig.MakePipe(file)) },
		"unexpected end":   func(_, file string) error { return os.Truncate(file, 40) },
		"so it is no file": func(_, file string) error { return os.Truncate(file, 1<<21) },
		"is not complete": func(_, file string) error {
			return safefile.WriteSecret(file, []byte(`[{"name":"ann","role":"operate"}]`))
		},
		"unknown role of a": func(_, file string) error {
			return safefile.WriteSecret(file, []byte(`[{"name":"ann","role":"root"}]`))
		},
	}
	tried := attack.Tally(t, "a file of tokens that is gone, unsafe or damaged")
	for want, spoil := range ways {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "leader")
			require.NoError(t, os.Mkdir(dir, 0o700))
			file := filepath.Join(dir, "tokens.json")
			made, err := auth.AddToken(file, "ann", auth.Operate)
			require.NoError(t, err)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			log := &rig.Output{}
			tokens, err := auth.OpenTokens(file, slog.New(slog.NewTextHandler(log, nil)))
			require.NoError(t, err)
			holds := func() bool { _, ok := tokens.Find(made.Secret); return ok }
			require.True(t, holds())
			require.NoError(t, spoil(dir, file))
			rig.Until(t, func() bool { return !holds() })
			if want != "no tokens.json" {
				require.Contains(t, log.String(), want)
			}
			require.Equal(t, 1, strings.Count(log.String(), "no token of the file holds until this is mended"))
			_ = os.Rename(dir+"2", dir)
			require.NoError(t, os.Chmod(dir, 0o700))
			require.NoError(t, os.RemoveAll(file))
			require.NoError(t, safefile.WriteSecret(file, text))
			rig.Until(t, holds)
			require.Contains(t, log.String(), "the tokens of the file hold again")
			tried.Add(1)
		})
	}
}

func TestFilesThatAreNoTokens(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	_, err := auth.OpenTokens(file, nil)
	require.ErrorContains(t, err, "no such file")
	for text, want := range map[string]string{
		"nonsense":                             "make it with fabricd auth token",
		`[{"name":"a","role":"all"}]`:          `unknown role of a token "all"`,
		`[{"name":"a","role":"view"}]`:         `token "a" is not complete`,
		strings.Repeat(" ", 1<<20) + "[     ]": "more than 1048576 bytes",
	} {
		require.NoError(t, safefile.WriteSecret(file, []byte(text)))
		_, err := auth.OpenTokens(file, nil)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, safefile.WriteSecret(file,
		fmt.Appendf(nil, "[%s]", strings.Repeat(`{"name":"a","role":"view"},`, 999)+`{"name":"b","role":"view"}`)))
	require.NoError(t, os.Chmod(file, 0o604))
	_, err = auth.OpenTokens(file, nil)
	require.ErrorIs(t, err, safefile.ErrUnsafe)
}
