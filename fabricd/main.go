// Command fabricd launches emulated switch fabrics and runs scenarios on them.
package main

import "github.com/weft-fabric/weft/fabricd/cli"

func main() { cli.Main() }
