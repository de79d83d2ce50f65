package subnet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// Default is the routing for those who name none: adaptive-link in fat trees, ftree in trees that
// lack switches or links or have tiers of different radix, dimension-order in meshes, tori and
// rings, lash elsewhere. A graph without switches has none.
func Default(g *topology.Graph) string {
	switch shapeOf(g) {
	case firmware.Trees:
		return defaultOfTree(g)
	case firmware.Grids:
		return "dimension-order"
	default:
		return "lash"
	}
}

// defaultOfTree is adaptive-link in whole trees with one k, which bears faults at once. In others
// ftree has fewer paths to lose, as long as it has one for every pair.
func defaultOfTree(g *topology.Graph) string {
	whole := true
	for _, s := range g.Switches {
		t := g.Place(s.ID).Tree
		whole = whole && (t.Ports == nil || wholeTree(g, s, t) == nil)
	}
	if whole {
		return "adaptive-link"
	}
	u, err := NewUpDownRoutes(g)
	if err != nil || u.Compute(nil) > 0 {
		return "lash"
	}
	return "ftree"
}

// Fits reports whether the routing is for topologies of that shape.
func (e Entry) Fits(g *topology.Graph) bool { return e.On == firmware.Anything || e.On == shapeOf(g) }

func shapeOf(g *topology.Graph) firmware.Shape {
	if len(g.Switches) == 0 {
		return firmware.Anything
	}
	return firmware.ShapeOf(g.Place(0))
}

// misfit is why a firmware for topologies of one shape does not run in another, and what does.
func misfit(f firmware.Firmware, g *topology.Graph) error {
	if f.On == firmware.Anything || f.On == shapeOf(g) {
		return nil
	}
	return instead(f.Fits(g.Place(0), weft.MaxVCs), g)
}

// instead adds to an error about the shape of a topology what routes it.
func instead(err error, g *topology.Graph) error {
	if why := g.NoTree(); why != nil && !errors.Is(err, why) {
		err = fmt.Errorf("%w (%s is no tree: %w)", err, g.Spec, why)
	}
	fit := []string{Default(g), "updn"}
	return fmt.Errorf("%w; or a firmware that routes %s, as %s", err, g.Spec, strings.Join(fit, " or "))
}
