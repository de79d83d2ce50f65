package subnet

import (
	"context"
	"strings"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// FromFiles is the name of the routing whose tables are read from files of OpenSM:
// "tables:opensm-lfts.dump". It is not among Entries, for without files it is nothing.
const FromFiles = "tables"

// filesSpec is what follows the name, and whether it is that name.
func filesSpec(name string) (spec string, ok bool) {
	head, spec, _ := strings.Cut(name, ":")
	return spec, head == FromFiles
}

// filesEntry reads the tables of files when it is asked for a topology.
func filesEntry(name, spec string) Entry {
	return computed(Entry{
		Name: name, About: "tables of OpenSM, as " + FromFiles + ":" + opensm.Syntax,
		On: firmware.Anything,
	},
		func(ctx context.Context, g *topology.Graph) (*layered.Routing, error) {
			return opensm.Open(ctx, g, spec)
		})
}
