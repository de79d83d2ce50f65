package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
)

func TestEveryNumberAndTimeOfAFlagHasBounds(t *testing.T) {
	t.Parallel()
	any64 := []string{"after", "count"} // of events and packets there may be any number
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch kind := f.Value.Type(); {
			case !slices.Contains([]string{"int", "int64", "uint64", "uint32", "float64", "duration"}, kind):
			// which bus.Settings checks, with NATS_TIMEOUT
			case kind == "uint64" && slices.Contains(any64, f.Name) || f.Name == "timeout":
			default:
				seen++
				require.Implements(t, (*command.Bounded)(nil), f.Value, "--%s of %s: give it bounds with command.Bound", f.Name,
					cmd.CommandPath())
			}
		})
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(Command())
	require.Equal(t, 7, seen)
}
