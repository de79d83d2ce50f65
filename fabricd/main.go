// Command fabricd launches emulated switch fabrics and runs scenarios on them.
package main

import (
	"os"

	"github.com/weft-fabric/weft/fabricd/cli"
)

func main() {
	if os.Getenv("GOGC") == "" {
		boundGarbage()
	}
	cli.Main()
}
