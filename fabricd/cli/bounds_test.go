package cli_test

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/cli/command"
)

func TestEveryNumberAndTimeOfAFlagHasBounds(t *testing.T) {
	t.Parallel()
	any64 := []string{"seed", "sim-seed"} // any number is a seed
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch kind := f.Value.Type(); {
			case f.Hidden: // the old name of one
			case !slices.Contains([]string{"int", "int64", "uint64", "uint32", "float64", "duration"}, kind):
			// which bus.Settings checks, with NATS_TIMEOUT
			case kind == "uint64" && slices.Contains(any64, f.Name) || f.Name == "timeout":
			default:
				seen++
				require.Implements(t, (*command.Bounded)(nil), f.Value, "--%s of %s: give it bounds with cli.Bound", f.Name,
					cmd.CommandPath())
			}
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(cli.Command())
	require.Greater(t, seen, 30)
}

func TestTheTimeToConnectHasBounds(t *testing.T) {
	const bounds = ", want more than 0s and at most 1h0m0s, such as 5s"
	for _, text := range []string{"-1s", "0s", "99999h0m0s"} {
		refused(t, "bus: --timeout: "+text+bounds, "agents", "--server", "nats://127.0.0.1:1", "--timeout", text)
		t.Setenv("NATS_TIMEOUT", text)
		refused(t, "bus: NATS_TIMEOUT: "+text+bounds, "agents", "--server", "nats://127.0.0.1:1")
		t.Setenv("NATS_TIMEOUT", "")
	}
}
