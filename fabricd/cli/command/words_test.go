package command

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// reader is a command that opens the file it is given.
func reader() *cobra.Command {
	root := &cobra.Command{Use: "weft", Run: func(*cobra.Command, []string) {}}
	show := &cobra.Command{Use: "show FILE", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		_, err := os.ReadFile(args[0])
		if err != nil {
			return fmt.Errorf("scenario: %w", err)
		}
		return nil
	}}
	up := &cobra.Command{Use: "up", Args: cobra.NoArgs, Run: func(*cobra.Command, []string) {}}
	up.Flags().String("topology", "", "")
	link := &cobra.Command{Use: "link A B", Args: cobra.RangeArgs(1, 2), Run: func(*cobra.Command, []string) {}}
	many := &cobra.Command{Use: "many A...", Args: cobra.MinimumNArgs(1), Run: func(*cobra.Command, []string) {}}
	most := &cobra.Command{Use: "most [A]", Args: cobra.MaximumNArgs(1), Run: func(*cobra.Command, []string) {}}
	join := &cobra.Command{Use: "join", Run: func(*cobra.Command, []string) {}}
	join.Flags().String("id", "", "")
	join.Flags().String("dir", "", "")
	for _, name := range []string{"id", "dir"} {
		if err := join.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	root.AddCommand(show, up, link, many, most, join)
	return root
}

func says(t *testing.T, args ...string) string {
	t.Helper()
	root := reader()
	var errs bytes.Buffer
	root.SetArgs(args)
	root.SetErr(&errs)
	require.Equal(t, ExitUnusable, Run(context.Background(), root), "%v", args)
	return errs.String()
}

func TestWrongUseIsToldInOneSentenceThatSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("folder", 0o700))
	for args, want := range map[string]string{
		"upp":           `unknown command "upp": did you mean "up"? known: `,
		"up torus:8x8":  `weft up takes no argument, and "torus:8x8" is one: see weft up --help`,
		"up --topology": `--topology needs a value: see weft up --help`,
		"show":          `weft show takes 1 argument, not 0: weft show FILE`,
		"show a b":      `weft show takes 1 argument, not 2: weft show FILE`,
		"link":          `weft link takes 1 to 2 arguments, not 0: weft link A B`,
		"many":          `weft many takes at least 1 argument, not 0: weft many A...`,
		"most a b":      `weft most takes at most 1 argument, not 2: weft most [A]`,
		"join":          `weft join needs --dir and --id: see weft join --help`,
		"show a.yaml":   `scenario: a.yaml: no such file or directory in ` + dir + `: check the name`,
		"show folder":   `scenario: folder: it is a folder, and a file is wanted: name a file`,
		"show /no/such": `scenario: /no/such: no such file or directory: check the name`,
	} {
		text := says(t, strings.Fields(args)...)
		require.True(t, strings.HasPrefix(text, "weft: "+want), "%s: %s", args, text)
		require.Equal(t, 1, strings.Count(text, "\n"), "%s: %s", args, text)
	}
}

func TestAFileThatMayNotBeReadIsToldWithItsUser(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "a.yaml", Err: fs.ErrPermission}
	err := inWords(reader(), fmt.Errorf("scenario: %w", denied))
	require.EqualError(t, err, "scenario: a.yaml: user "+userName()+" may not read it: check its owner and mode, and "+
		"those of its folder, with ls -l")
	require.ErrorIs(t, err, fs.ErrPermission)

	made := fmt.Errorf("weft: %w", &fs.PathError{Op: "mkdir", Path: "a", Err: fs.ErrPermission})
	require.Equal(t, made, inWords(reader(), made), "whoever makes folders says more itself")
	require.NoError(t, inWords(reader(), nil))
}
