// Command fabricd is that of Weft, which knows the firmware around.
package main

import (
	"example.org/around"

	"github.com/weft-fabric/weft/fabricd/cli"
)

func main() { cli.Main(cli.Firmware(around.New)) }
