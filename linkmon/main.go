// Command linkmon looks at a running fabric, sets faults of every kind, repairs them, and tells
// what they cost.
package main

import "github.com/weft-fabric/weft/linkmon/cli"

func main() { cli.Main() }
