package sweep

import (
	"fmt"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/switch/firmware"
)

// computes reports why a routing is not one whose routes are computed, by an engine that says how many layers it needs.
func computes(routing string) error {
	e, err := subnet.ByName(routing)
	switch {
	case routing == measure.DDRC:
		return fmt.Errorf("%s %w", routing, subnet.ErrNoTables)
	case err != nil && subnet.Known(routing):
		return err
	case err != nil:
		return document.Unknown("routing", routing, subnet.Names())
	case e.Routes == nil:
		return fmt.Errorf("%s %w", routing, subnet.ErrNoTables)
	}
	return nil
}

// equip makes the firmware of a computed routing, and says how many layers it has.
func equip(routing string, g *topology.Graph) (firmware.Firmware, int, error) {
	e, err := subnet.ByName(routing)
	if err != nil {
		return nil, 0, err
	}
	return e.New(g)
}
