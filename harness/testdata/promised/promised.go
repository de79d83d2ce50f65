// Package promised names something of each package that Weft promises to other modules, so that it
// is compiled from outside. See docs/api.md.
package promised

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

var _ = []any{
	weft.NewFields, (*api.Client).Status, cli.Main, cli.Firmware, fault.Verbs, scenario.Read, topology.Parse,
	harness.New, verify.Run, nic.ParseTraffic, switching.Discard, firmware.ByName,
}
