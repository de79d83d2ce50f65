// Package firmware holds the routing functions that come with Weft, one file each, and the
// interface of a firmware under the names that its authors use. Package switching declares and
// documents the interface.
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

// The interface of a firmware, under the names its authors use.
type (
	Firmware  = switching.Firmware
	Checker   = switching.Checker
	Requeuer  = switching.Requeuer
	Stateful  = switching.Stateful
	Numbered  = switching.Numbered
	Symmetric = switching.Symmetric
	Sourcer   = switching.Sourcer
	Sizer     = switching.Sizer
	Assigner  = switching.Assigner
	Bounded   = switching.Bounded
	Notifier  = switching.Notifier
	Arrival   = switching.Arrival
	View      = switching.View
	Decision  = switching.Decision
	Candidate = switching.Candidate
	Register  = switching.Register

	DestinationBased = switching.DestinationBased
)

// Entry describes one firmware that comes with Weft.
type Entry struct {
	Name      string
	About     string          // what it does, in one line for help
	On        Shape           // the topologies it routes
	VCs       int             // virtual channels it needs at least; in some places it may need more, see [Checker]
	Tolerance Tolerance       // the faults with which it still connects every pair
	New       func() Firmware // makes one; it serves all switches of a fabric
}

// Shape is a kind of topology, by what a switch knows of its place there.
type Shape uint8

// The shapes.
const (
	Trees    Shape = iota // k-ary n-trees, m-port n-trees, leaf-spine fabrics and other trees
	Grids                 // meshes, tori and rings
	Anything              // whatever is connected
)

// ShapeOf is the shape of the topology that a switch has this place in.
func ShapeOf(place *weft.Place) Shape {
	switch {
	case place.Tree != nil:
		return Trees
	case place.Grid != nil:
		return Grids
	}
	return Anything
}

// Tolerance says which faults a firmware tolerates in any combination: every pair stays connected,
// nothing is discarded and nothing can deadlock. The zero value is none. Verify proves it and the
// live tests show it, for whatever stands here.
type Tolerance struct {
	Links    bool // dead links between switches
	Switches bool // dead switches above the leaves, which are those that no NIC hangs on
	One      bool // one fault, however many up ports there are; otherwise k-1 with k up ports
}

// Most is how many faults a firmware tolerates where switches have k up ports.
func (b Tolerance) Most(k int) int {
	switch {
	case !b.Links && !b.Switches:
		return 0
	case b.One:
		return min(1, k-1)
	}
	return k - 1
}

// String says it in words: "up to k-1 dead links and switches above the leaves".
func (b Tolerance) String() string {
	of := [2][2]string{{"", "switches above the leaves"}, {"links", "links and switches above the leaves"}}
	most := "up to k-1 dead "
	if b.One {
		of = [2][2]string{{"", "switch above the leaves"}, {"link", "link or switch above the leaves"}}
		most = "one dead "
	}
	index := map[bool]int{true: 1}
	what := of[index[b.Links]][index[b.Switches]]
	if what == "" {
		return "no fault"
	}
	return most + what
}

// Entries lists the firmwares that come with Weft, in the order help shows them. A user's own needs
// no entry: it is passed wherever one of these is.
func Entries() []Entry {
	return []Entry{
		{
			Name: "adaptive-link", VCs: 1, Tolerance: Tolerance{Links: true}, New: func() Firmware { return AdaptiveLink{} },
			About: "fat trees: adaptive, re-routes around dead links with a re-route vector in the switch (R^link_adaptive)",
		},
		{
			Name: "adaptive-link-digit", VCs: 1, Tolerance: Tolerance{Links: true}, New: func() Firmware { return AdaptiveLink{Vector: VectorPerDigit} },
			About: "fat trees: adaptive-link with one re-route vector per value of the digit that the U-turn mends",
		},
		{
			Name: "adaptive-link-one", VCs: 1, Tolerance: Tolerance{Links: true, One: true}, New: func() Firmware { return AdaptiveLinkOne{} },
			About: "fat trees: adaptive-link for one dead link, without the re-route vector",
		},
		{
			Name: "adaptive-switch", VCs: 1, Tolerance: Tolerance{Links: true, Switches: true}, New: func() Firmware { return AdaptiveSwitch{} },
			About: "fat trees: adaptive, re-routes around dead switches and links with a re-route vector in the switch (R^switch_adaptive)",
		},
		{
			Name: "adaptive-switch-digit", VCs: 1, Tolerance: Tolerance{Links: true, Switches: true}, New: func() Firmware { return AdaptiveSwitch{Vector: VectorPerDigit} },
			About: "fat trees: adaptive-switch with one re-route vector per value of the digit that the U-turn mends",
		},
		{
			Name: "adaptive-switch-header", VCs: 1, Tolerance: Tolerance{Links: true, Switches: true}, New: func() Firmware { return AdaptiveSwitch{Vector: VectorInHeader} },
			About: "fat trees: adaptive-switch with the re-route vector in the header",
		},
		{
			Name: "adaptive-switch-one", VCs: 1, Tolerance: Tolerance{Links: true, Switches: true, One: true}, New: func() Firmware { return AdaptiveSwitchOne{} },
			About: "fat trees: adaptive-switch for one dead switch or link, with one bit in the header and no vector",
		},
		{
			Name: "deterministic-link", VCs: 2, Tolerance: Tolerance{Links: true}, New: func() Firmware { return DeterministicLink{} },
			About: "fat trees: deterministic, re-routes around dead links in a second virtual layer (R^link_deterministic)",
		},
		{
			Name: "deterministic-link-flat", VCs: 1, Tolerance: Tolerance{Links: true, One: true}, New: func() Firmware { return DeterministicLinkFlat{} },
			About: "fat trees: deterministic-link with both layers in one virtual channel, to be measured: two dead links can deadlock it",
		},
		{
			Name: "deterministic-link-one", VCs: 1, Tolerance: Tolerance{Links: true, One: true}, New: func() Firmware { return DeterministicLinkOne{} },
			About: "fat trees: deterministic-link for one dead link, without the second layer",
		},
		{
			Name: "deterministic-switch", VCs: 3, Tolerance: Tolerance{Links: true, Switches: true}, New: func() Firmware { return DeterministicSwitch{} },
			About: "fat trees: deterministic, re-routes around dead switches and links in two more virtual layers (R^switch_deterministic)",
		},
		{
			Name: "deterministic-switch-one", VCs: 1, Tolerance: Tolerance{Links: true, Switches: true, One: true}, New: func() Firmware { return DeterministicSwitchOne{} },
			About: "fat trees: deterministic-switch for one dead switch or link, with one bit in the header and one layer",
		},
		{
			Name: "dimension-order", On: Grids, VCs: 1, New: func() Firmware { return DimensionOrder{} },
			About: "meshes and tori: x first, then y, then z, the shorter way; discards at a dead link (the baseline)",
		},
		{
			Name: "direction-order", On: Grids, VCs: 1, New: func() Firmware { return Direct{Order: DirectionFirst, Ring: Dateline} },
			About: "meshes and tori: x up, y up, z up, then x down, y down, z down, the shorter way; discards at a dead link",
		},
		{
			Name: "duato", On: Grids, VCs: 2, New: func() Firmware { return Direct{Adaptive: true} },
			About: "meshes and tori: any shortest way, adaptive, with dimension order to escape to; by intermediate nodes around dead links",
		},
		{
			Name: "misroute-vector", VCs: 1, Tolerance: Tolerance{Links: true}, New: func() Firmware { return MisrouteVector{} },
			About: "fat trees: adaptive, misroutes around dead links with a vector in the header (R_m)",
		},
		{
			Name: "source-routed", VCs: 2, Tolerance: Tolerance{Links: true}, New: func() Firmware { return SourceRouted{} },
			About: "fat trees: the NIC writes the way into the packet, switches splice a U-turn into it around dead links",
		},
		{
			Name: "updown", VCs: 1, New: func() Firmware { return UpDown{} },
			About: "fat trees: up to a common ancestor, then down; discards at a dead down link (the baseline)",
		},
	}
}

// For lists those of Entries that route such topologies.
func For(s Shape) []Entry {
	return slices.DeleteFunc(Entries(), func(e Entry) bool { return e.On != s })
}

// Names lists the names of Entries.
func Names() []string {
	var names []string
	for _, e := range Entries() {
		names = append(names, e.Name)
	}
	return names
}

// ByName finds a firmware that comes with Weft; ok is false for a name that none has.
func ByName(name string) (e Entry, ok bool) {
	entries := Entries()
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name }); i >= 0 {
		return entries[i], true
	}
	return Entry{}, false
}

// checkTree is the Check of firmwares for trees whose switches below the top all have k up ports, as
// those of k-ary n-trees, m-port n-trees and leaf-spine fabrics have.
func checkTree(name string, place *weft.Place, vcs, need int) error {
	if t := place.Tree; t != nil && t.K == 0 {
		return fmt.Errorf("firmware %s routes trees with as many up ports at each tier as down ports, and the switches of this one have %s: "+
			"take updown or ftree, which route every tree", name, radices(place))
	}
	return checkAnyTree(name, place, vcs, need)
}

// radices says how many ports switches at each tier have, as far as a place knows it.
func radices(place *weft.Place) string {
	t := place.Tree
	down := make([]string, t.N)
	for i, r := range t.Radix {
		down[i] = strconv.Itoa(r)
	}
	return fmt.Sprintf("%s down ports from the top tier on, and %s has %d up ports", strings.Join(down, ", "), place.Name, t.Ups())
}

// checkAnyTree is the Check of firmwares for all trees.
func checkAnyTree(name string, place *weft.Place, vcs, need int) error {
	if place.Tree == nil {
		return fmt.Errorf("firmware %s routes trees only: choose such a topology, as kary-ntree:4,3", name)
	}
	if vcs < need {
		return fmt.Errorf("firmware %s needs %d virtual channels, there are %d: raise the number", name, need, vcs)
	}
	return nil
}

// checkGrid is the Check of firmwares for meshes, tori and rings; they need so many virtual
// channels where no dimension goes around, and around where one does.
func checkGrid(name string, place *weft.Place, vcs, need, around int) error {
	g := place.Grid
	if g == nil {
		return fmt.Errorf("firmware %s routes meshes, tori and rings only: choose such a topology, as torus:4x4", name)
	}
	for i := range g.Dims {
		if g.Around(i) {
			need = around
		}
	}
	if vcs < need {
		return fmt.Errorf("firmware %s needs %d virtual channels, there are %d: raise the number", name, need, vcs)
	}
	return nil
}
