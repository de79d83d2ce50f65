package sweep

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/switch/firmware"
)

// routingOf finds a routing by its name and options. Of an unknown name the error lists all, DDRC
// too.
func routingOf(name string) (subnet.Entry, error) {
	if !subnet.Known(name) {
		head, _, _ := strings.Cut(name, ":")
		return subnet.Entry{}, document.Unknown("routing", head, append(subnet.Names(), measure.DDRC))
	}
	return subnet.ByName(name)
}

// computes reports why a routing is not one whose routes are computed, by an engine that says how
// many layers it needs.
func computes(routing string) error {
	if routing == measure.DDRC {
		return fmt.Errorf("%s %w", routing, subnet.ErrNoTables)
	}
	e, err := routingOf(routing)
	if err == nil && e.Routes == nil {
		err = fmt.Errorf("%s %w", routing, subnet.ErrNoTables)
	}
	return err
}

// equip makes the firmware of a computed routing, and says how many layers it has.
func equip(ctx context.Context, routing string, g *topology.Graph) (firmware.Firmware, int, error) {
	e, err := subnet.ByName(routing)
	if err != nil {
		return firmware.Firmware{}, 0, err
	}
	return e.New(ctx, g)
}
