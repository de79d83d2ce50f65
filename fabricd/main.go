// Command fabricd launches emulated switch fabrics and runs scenarios on them.
package main

import (
	"os"
	"runtime/debug"

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
	cli.Main()
}
