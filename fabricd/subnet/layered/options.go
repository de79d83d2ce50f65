package layered

import (
	"context"
	"fmt"
)

// Interrupted is the error of what computes routes when its context has ended, nil before. Engines
// ask it for each destination, or for each pair of switches where a pair takes long.
func Interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("no routes are computed: %w", context.Cause(ctx))
}

// Options are what the engines can be asked for. The zero value is the default of each; an engine
// looks at those that make sense for it, and leaves it to whoever reads routing names to refuse the
// others.
type Options struct {
	// Layers is how many virtual channels are used: those that an engine does not need for freedom
	// from deadlock spread the load. 0: as many as are needed, up to weft.MaxVCs, or the engine's
	// own number.
	Layers int
	Seed   uint64 // of arbitrary choices
	Tree   Tree   // how spanning trees are searched
	Root   string // of the spanning tree: "" or "low" the lowest number, "centre", or the name of a switch
	// InPort: tables of Up*/Down* look at the in port; on unless it is turned off, as InfiniBand
	// has it.
	InPort Tristate

	Balance Tristate // layers of LASH (its step 4) and MP-LASH are made equally full; on unless it is turned off
	Step4   Tristate // step 4 of MP-LASH and A-LASH: several layers an address; on unless it is turned off
	Paths   Paths    // of LASH
	// Rounds of LASH: how often it tries again to fill the layers; by pairs how often it is tried
	// to empty the last layer.
	Rounds int
	Both   bool // both directions of a pair in one layer
	// Limit is how many paths of a pair MP-LASH takes; 0: DefaultLimit.
	Limit    int
	Fallback Fallback
	Move     Tristate // packets move freely between their layers (theorem 3); on unless it is turned off
}

// Tristate is a choice that may have been left to its default.
type Tristate uint8

// The choices.
const (
	Default Tristate = iota
	On
	Off
)

// on reports whether it is not turned off: every such choice is on by default.
func (t Tristate) on() bool { return t != Off }

// TristateOf is On or Off.
func TristateOf(on bool) Tristate {
	if on {
		return On
	}
	return Off
}

// Tree is how a spanning tree is searched.
type Tree uint8

// The searches.
const (
	BreadthFirst Tree = iota // bfs
	DepthFirst               // dfs
)

// Paths is from which shortest paths LASH takes one per pair.
type Paths uint8

// The sets of paths.
const (
	ByDestination Paths = iota // destination: of one tree per destination switch, so that R does not look at the source
	ByPair                     // pair: of all
)

// Fallback is what happens to pairs for which there are too few layers.
type Fallback uint8

// The fallbacks (Lysne, Skeie, Reinemo, Theiss: Layered Routing in Irregular Networks, end of
// section 5.1).
const (
	Refuse   Fallback = iota // refuse: an error
	FallUpDn                 // updn: the last layer is routed by Up*/Down*
	Longer                   // longer: paths that are not the shortest and fit into some layer
)
