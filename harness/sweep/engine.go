package sweep

import (
	"errors"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

var engines = []string{"updn", "updn-adaptive", "d-mroots", "mroots", "lash", "mp-lash", "a-lash", "escape", "minimal-hop"}

// computes reports why a routing is not one whose routes are computed, by an engine that says how many layers it needs.
func computes(routing string) error {
	name, _, _ := strings.Cut(routing, ":")
	if slices.Contains(engines, name) {
		return nil
	}
	return document.Unknown("computed routing", name, engines)
}

func routesOf(routing string, g *topology.Graph) (*layered.Routing, error) {
	return nil, errors.New("not merged")
}

// equip makes the firmware of a computed routing.
func equip(routing string, g *topology.Graph) (firmware.Firmware, int, error) {
	return nil, 0, errors.New("not merged")
}
