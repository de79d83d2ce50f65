package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// HelpIsGolden compares what --help prints for root and for every command below it with
// testdata/help.txt, or writes that file anew with -update. The function help runs a command line,
// without the program's name, and returns its output.
func HelpIsGolden(t *testing.T, root *cobra.Command, help func(args ...string) string) {
	t.Helper()
	var all strings.Builder
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		args := append(strings.Fields(cmd.CommandPath()), "--help")
		fmt.Fprintf(&all, "$ %s\n%s\n", strings.Join(args, " "), help(args[1:]...))
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	golden := filepath.Join("testdata", "help.txt")
	if testenv.Update() {
		require.NoError(t, os.WriteFile(golden, []byte(all.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), all.String())
}
