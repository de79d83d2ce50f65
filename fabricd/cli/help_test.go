package cli_test

import (
	"os"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/harness/rig"
)

// The texts of all commands are those of the golden file. Write it anew with:
// go test ./fabricd/cli -run EveryCommandsHelp -update.
func TestEveryCommandsHelpIsTheGoldenFiles(t *testing.T) {
	rig.HelpIsGolden(t, cli.Command(), func(args ...string) string {
		out, errs, code := fabricd(t, args...)
		require.Zero(t, code, errs)
		require.Empty(t, errs, args)
		return out
	})
}

func TestTheReferenceOfCommandsIsGenerated(t *testing.T) {
	t.Parallel()
	rig.ReferenceIsGenerated(t, cli.Command(), bus.ServerFlag, "../../docs/reference/fabricd.md")
}

// Whoever reads JSON finds the type of what any command prints.
func TestTheReferenceOfJSONHasEveryCommand(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/json.md")
	require.NoError(t, err)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		asJSON := cmd.LocalFlags().Lookup("json") != nil || cmd.InheritedFlags().Lookup("json") != nil
		if asJSON && cmd.Runnable() && !cmd.Hidden {
			assert.Contains(t, string(page), "\n| `"+cmd.CommandPath()+"` | ")
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(cli.Command())
}
