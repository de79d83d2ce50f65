// Package cli is the command fabricd: it makes one command of those of its nouns, which are
// packages below it.
package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/agent"
	"github.com/weft-fabric/weft/fabricd/cli/auth"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cli/explain"
	"github.com/weft-fabric/weft/fabricd/cli/ib"
	"github.com/weft-fabric/weft/fabricd/cli/job"
	"github.com/weft-fabric/weft/fabricd/cli/manage"
	"github.com/weft-fabric/weft/fabricd/cli/reroute"
	"github.com/weft-fabric/weft/fabricd/cli/routes"
	"github.com/weft-fabric/weft/fabricd/cli/run"
	"github.com/weft-fabric/weft/fabricd/cli/scenario"
	"github.com/weft-fabric/weft/fabricd/cli/sweep"
	"github.com/weft-fabric/weft/fabricd/cli/switches"
	"github.com/weft-fabric/weft/fabricd/cli/tolerate"
	"github.com/weft-fabric/weft/fabricd/cli/topology"
	"github.com/weft-fabric/weft/fabricd/cli/up"
	"github.com/weft-fabric/weft/fabricd/cli/verify"
	"github.com/weft-fabric/weft/fabricd/modules"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
)

// Option adds to what fabricd can do.
type Option func() error

// Firmware adds a firmware of another module. Every command takes it by its name, and agents that
// are the same program run it. It is made anew for each fabric.
func Firmware(make func() switching.Firmware) Option {
	return func() error { return subnet.Add(subnet.Of(make)) }
}

// Main runs fabricd with the arguments of the process to its end, and exits with its exit code.
func Main(options ...Option) {
	namespace.Main()
	command.BoundGarbage(command.LiveGarbage)
	for _, add := range append(options, modules.Add) {
		if err := add(); err != nil {
			fmt.Fprintln(os.Stderr, "fabricd:", err)
			os.Exit(command.ExitUnusable)
		}
	}
	command.Main(Command())
}

// Command is fabricd with all that is below it.
func Command() *cobra.Command {
	exec := started() // before help names what there is
	root := &cobra.Command{
		Use:   "fabricd",
		Short: "Launch live switch fabrics, run scenarios on them, prove firmwares, repeat experiments, make topologies",
		Long: `fabricd emulates switch fabrics live: every switch is a real pipeline of queues, virtual channels and credits, links are
NATS subjects, and when a link is cut the switches beside it send packets another way, at once.

Start one with:   fabricd up
Look and cut:     linkmon status, linkmon cut s0.00 s1.00

Exit codes: 0 all went well, 1 an expectation of a scenario did not hold, 2 wrong input or nothing to work on.`,
	}
	root.AddCommand(up.Command(), up.DownCommand(), up.StateCommand(), agent.Command(), agent.ListCommand(), run.Command(),
		switches.Command(), manage.Command(), ib.Command(), auth.Command(), topology.Command(), scenario.Command(),
		explain.Command(),
		verify.Command(), sweep.Command(), routes.Command(), reroute.Command(), tolerate.Command(),
		job.Command(), job.PieceCommand())
	exec.allow(root)
	return root
}
