// Command fabricd launches emulated switch fabrics and runs scenarios on them.
package main

import (
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli"
)

// A live fabric allocates little but steadily, in the NATS client and server; collecting at five
// times the live heap instead of twice saves a twentieth of the CPU for a few megabytes. GOGC in
// the environment overrides it.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	cli.Main(command())
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "fabricd",
		Short: "Launch live switch fabrics, run scenarios on them, prove firmwares, repeat experiments, make topologies",
		Long: `fabricd emulates switch fabrics live: every switch is a real pipeline of queues, virtual channels and credits, links are
NATS subjects, and when a link is cut the switches beside it send packets another way, at once.

Start one with:   fabricd up
Look and cut:     linkmon status, linkmon cut s0.00 s1.00

Exit codes: 0 all went well, 1 an expectation of a scenario did not hold, 2 wrong input or nothing to work on.`,
	}
	root.AddCommand(upCommand(), downCommand(), stateCommand(), agentCommand(), agentsCommand(), runCommand(),
		switchCommand(), manageCommand(), authCommand(), topologyCommand(), scenarioCommand(), explainCommand(),
		verifyCommand(), sweepCommand(), routesCommand(), rerouteCommand(), tolerateCommand())
	return root
}
