package auth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
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
	var told []error
	tokens, err := auth.OpenTokens(file, func(err error) { told = append(told, err) })
	require.NoError(t, err)
	for secret, want := range map[string]auth.Access{look.Secret: auth.View, act.Secret: auth.Operate, "": 0, look.Secret + "x": 0, strings.ToLower(act.Secret): 0} {
		got, _ := tokens.Access(secret)
		require.Equal(t, want, got)
	}
	require.Equal(t, auth.Operate, tokens.Named("ann"))

	require.ErrorContains(t, auth.RemoveToken(file, "an"), `did you mean "ann"?`)
	_, err = auth.AddToken(file, "ann", auth.View)
	require.ErrorContains(t, err, "there is a token ann")
	for _, name := range []string{"", "a b", strings.Repeat("a", 65), "a\n"} {
		_, err = auth.AddToken(file, name, auth.View)
		require.ErrorContains(t, err, "want 1 to 64")
	}
	_, err = auth.ParseAccess("opperate")
	require.ErrorContains(t, err, `did you mean "operate"?`)

	// What cannot be read any more leaves what held before, and is told.
	require.NoError(t, bus.WritePrivate(file, []byte("nonsense")))
	require.Eventually(t, func() bool { tokens.Named("ann"); return len(told) > 0 }, patience, 10*time.Millisecond)
	require.ErrorContains(t, told[0], file)
	require.Equal(t, auth.Operate, tokens.Named("ann"))
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
		strings.Repeat(" ", 1<<20) + "[     ]": "bytes, more than",
	} {
		require.NoError(t, bus.WritePrivate(file, []byte(text)))
		_, err := auth.OpenTokens(file, nil)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, bus.WritePrivate(file, fmt.Appendf(nil, "[%s]", strings.Repeat(`{"name":"a","role":"view"},`, 999)+`{"name":"b","role":"view"}`)))
	require.NoError(t, os.Chmod(file, 0o604))
	_, err = auth.OpenTokens(file, nil)
	require.ErrorIs(t, err, bus.ErrNotPrivate)
}
