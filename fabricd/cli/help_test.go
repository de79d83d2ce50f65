package cli_test

import (
	"testing"

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
