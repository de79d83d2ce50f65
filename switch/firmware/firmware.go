// Package firmware holds the firmwares that come with Weft, one file each, and their list. Package
// switching declares and documents what a firmware is.
//
// A firmware sees one packet and its own switch, and names where the packet may go and why: the
// rule that fired, numbered as in the paper it comes from. It is a pure function but for the
// registers it declares, which live in the switch.
package firmware

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// What a firmware is made of, under the names its authors use.
type (
	Firmware  = switching.Firmware
	Option    = switching.Option
	Shape     = switching.Shape
	Tolerance = switching.Tolerance
	Arrival   = switching.Arrival
	View      = switching.View
	Decision  = switching.Decision
	Candidate = switching.Candidate
	Register  = switching.Register
)

// The shapes of topologies.
const (
	Anything = switching.Anything
	Trees    = switching.Trees
	Grids    = switching.Grids
)

// ShapeOf is the shape of the topology that a switch has this place in.
func ShapeOf(place *weft.Place) Shape { return switching.ShapeOf(place) }

// All lists the firmwares that come with Weft, in the order help shows them. A new one is its file
// and its line here: go test ./switch/firmware -rewrite, then -update with ./fabricd/subnet,
// ./fabricd/scenario and ./fabricd/cli write golden cases, help and documentation that name it.
func All() []Firmware {
	return []Firmware{
		AdaptiveLink{}.Firmware(),
		AdaptiveLinkDigit(),
		AdaptiveLinkOne(),
		AdaptiveSwitch{}.Firmware(),
		AdaptiveSwitchDigit(),
		AdaptiveSwitchHeader(),
		AdaptiveSwitchOne(),
		DeterministicLink(),
		DeterministicLinkFlat(),
		DeterministicLinkOne(),
		DeterministicSwitch{}.Firmware(),
		DeterministicSwitchOne(),
		DimensionOrder(),
		DirectionOrder(),
		Duato(),
		MisrouteVector{}.Firmware(),
		SourceRouted(),
		UpDown{}.Firmware(),
	}
}

// For lists those of All that route such topologies.
func For(s Shape) []Firmware {
	return slices.DeleteFunc(All(), func(f Firmware) bool { return f.On != s })
}

// ByName finds a firmware that comes with Weft; ok is false for a name that none has.
func ByName(name string) (f Firmware, ok bool) {
	all := All()
	if i := slices.IndexFunc(all, func(f Firmware) bool { return f.Name == name }); i >= 0 {
		return all[i], true
	}
	return Firmware{}, false
}

// mayRequeue is the CheckRequeue of firmwares whose packets may be routed a second time at every
// switch.
func mayRequeue(*weft.Place) error { return nil }

// checkUniform is the Check of firmwares for trees whose switches below the top all have k up
// ports, as those of k-ary n-trees, m-port n-trees and leaf-spine fabrics have.
func checkUniform(place *weft.Place, _ int) error {
	t := place.Tree
	if t.K > 0 {
		return nil
	}
	down := make([]string, t.N)
	for i, r := range t.Radix {
		down[i] = strconv.Itoa(r)
	}
	return fmt.Errorf("routes trees with as many up ports at each tier as down ports, and the switches of this one "+
		"have %s down ports from the top tier on, and %s has %d up ports: take updown or ftree, which route every tree",
		strings.Join(down, ", "), place.Name, t.Ups())
}
