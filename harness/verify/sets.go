package verify

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Kind says what can be dead.
type Kind string

// The kinds of fault.
const (
	Links    Kind = "link"   // links between switches
	Switches Kind = "switch" // switches without NICs, or all when each has some
	Any      Kind = "any"    // both
)

// Kinds lists the kinds of fault.
func Kinds() []string { return []string{string(Links), string(Switches), string(Any)} }

// Element is what can be dead: a link or a switch.
type Element struct {
	Switch bool
	ID     uint32 // weft.SwitchID or weft.LinkID
}

// Sets says which sets of faults to verify. The zero value is the one empty set.
type Sets struct {
	Kind     Kind // Links unless given
	Min, Max int  // sizes
	// Samples draws so many sets of each size by Seed instead of taking all.
	Samples int
	Seed    uint64
	// PerGroup counts dead links by switch group of a tree (Definition 10): all sets with up to Max in
	// each group are explored, or, with Samples, sets with so many in each at once.
	PerGroup bool
	// List is explored instead of all of the above when it is not nil.
	List     [][]Element
	elements []Element
	groups   [][]Element
}

func (s *Sets) largest() int {
	switch {
	case s.PerGroup && s.List == nil:
		return s.Max * len(s.groups)
	case s.List == nil:
		return s.Max
	}
	most := 0
	for _, set := range s.List {
		most = max(most, len(set))
	}
	return most
}

// resolve finds the elements there are.
func (s *Sets) resolve(g *topology.Graph) error {
	if s.List != nil {
		return s.given(g)
	}
	if s.PerGroup {
		if err := s.resolveGroups(g); err != nil {
			return err
		}
	}
	s.Kind = cmp.Or(s.Kind, Links)
	if s.Kind == Links || s.Kind == Any {
		for _, l := range g.Links {
			if l.BetweenSwitches() {
				s.elements = append(s.elements, Element{ID: uint32(l.ID)})
			}
		}
	}
	if s.Kind == Switches || s.Kind == Any {
		s.elements = append(s.elements, switches(g)...)
	}
	switch {
	case !slices.Contains(Kinds(), string(s.Kind)):
		return fmt.Errorf("%w: %w", ErrConfig, document.Unknown("kind of fault", string(s.Kind), Kinds()))
	case s.Min < 0 || s.Max < s.Min:
		return fmt.Errorf("%w: from %d to %d faults", ErrConfig, s.Min, s.Max)
	case s.Max > len(s.elements):
		return fmt.Errorf("%w: %d faults of kind %s, %s has only %d", ErrConfig, s.Max, s.Kind, g.Spec, len(s.elements))
	case s.Samples < 0:
		return fmt.Errorf("%w: %d samples: expected how many sets to draw of each size, or 0 for all", ErrConfig, s.Samples)
	}
	return nil
}

// countable says why the sets cannot be explored one by one.
func (s *Sets) countable() error {
	if s.List != nil || s.total() <= maxSets {
		return nil
	}
	hint := "fewer faults or for samples"
	if s.Samples > 0 {
		hint = "fewer samples"
	}
	return fmt.Errorf("%w: more than %d sets of %d to %d faults: ask for %s", ErrConfig, uint64(maxSets), s.Min,
		s.Max, hint)
}

// given checks a list of sets.
func (s *Sets) given(g *topology.Graph) error {
	for i, set := range s.List {
		for j, e := range set {
			switch {
			case e.Switch && int(e.ID) >= len(g.Switches), !e.Switch && int(e.ID) >= len(g.Links):
				return fmt.Errorf("%w: set %d has %+v, which is not in %s", ErrConfig, i+1, e, g.Spec)
			case !e.Switch && !g.Links[e.ID].BetweenSwitches():
				return fmt.Errorf("%w: set %d has %s, the only link of a NIC: name links between switches", ErrConfig, i+1,
					e.Name(g))
			case slices.Contains(set[:j], e):
				return fmt.Errorf("%w: set %d has %s twice", ErrConfig, i+1, e.Name(g))
			}
		}
	}
	return nil
}

// resolveGroups sorts the links by switch group: the tier of the upper end, and its digits but the
// one that the links of a group change.
func (s *Sets) resolveGroups(g *topology.Graph) error {
	switch {
	case len(g.Switches) == 0 || g.Place(0).Tree == nil:
		return fmt.Errorf("%w: faults per switch group: %s has no switch groups, only trees have", ErrConfig, g.Spec)
	case s.Kind != "" && s.Kind != Links:
		return fmt.Errorf("%w: faults per switch group are links: give kind %s", ErrConfig, Links)
	case s.Samples == 0 && s.Min > 0:
		return fmt.Errorf("%w: %d to %d dead links in each switch group: give how many there may be at most", ErrConfig,
			s.Min, s.Max)
	}
	at := map[string]int{}
	for _, l := range g.Links {
		if !l.BetweenSwitches() {
			continue
		}
		up := g.Switches[l.A.Node.Index]
		digits := slices.Clone(up.Digits)
		digits[up.Tier] = 0
		key := fmt.Sprint(up.Tier, digits)
		i, ok := at[key]
		if !ok {
			i = len(s.groups)
			at[key] = i
			s.groups = append(s.groups, nil)
		}
		s.groups[i] = append(s.groups[i], Element{ID: uint32(l.ID)})
	}
	if len(s.groups) == 0 || s.Max > len(s.groups[0]) {
		return fmt.Errorf("%w: %d dead links per switch group, %s has fewer", ErrConfig, s.Max, g.Spec)
	}
	return nil
}

// maxSets bounds what is enumerated: a thousand sets a second are 10 days.
const maxSets = 1e9

// switches lists those without NICs, or all when each has some.
func switches(g *topology.Graph) (without []Element) {
	has := make([]bool, len(g.Switches))
	for _, n := range g.NICs {
		s, _ := g.SwitchOf(n.ID)
		has[s] = true
	}
	all := !slices.Contains(has, false)
	for s := range g.Switches {
		if all || !has[s] {
			without = append(without, Element{Switch: true, ID: uint32(s)})
		}
	}
	return without
}

// total is how many sets there are.
func (s *Sets) total() uint64 {
	if s.List != nil {
		return uint64(len(s.List))
	}
	sum := 0.0
	if s.grouped() {
		sum = 1
		for _, group := range s.groups {
			sum *= float64((&Sets{Max: s.Max, elements: group}).total())
		}
		if sum > math.MaxInt64 {
			return math.MaxInt64
		}
		return uint64(sum)
	}
	for size := s.Min; size <= s.Max; size++ {
		sum += float64(s.ofSize(size))
	}
	if sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return uint64(sum)
}

// ofSize is how many sets of a size there are.
func (s *Sets) ofSize(size int) uint64 {
	if s.Samples > 0 {
		return uint64(s.Samples)
	}
	return choose(len(s.elements), size)
}

// choose is the binomial coefficient, or more than maxSets when it is.
func choose(n, k int) uint64 {
	if k < 0 || k > n {
		return 0
	}
	c := uint64(1)
	for i := range k {
		c = c * uint64(n-i) / uint64(i+1)
		if c > 1e12 {
			return 1e12
		}
	}
	return c
}

// at is the set with number i, smaller sets first.
func (s *Sets) at(i uint64) []Element {
	if s.List != nil {
		return s.List[i]
	}
	if s.grouped() {
		return s.groupedAt(i)
	}
	size := s.Min
	for ; i >= s.ofSize(size); size++ {
		i -= s.ofSize(size)
	}
	set := make([]Element, 0, size)
	if s.Samples > 0 {
		rng := rand.New(weft.Stream(s.Seed, weft.StreamFaultSets, uint64(size)<<48|i, 0))
		if s.PerGroup {
			for _, group := range s.groups {
				for _, e := range rng.Perm(len(group))[:size] {
					set = append(set, group[e])
				}
			}
			return set
		}
		for _, e := range rng.Perm(len(s.elements))[:size] {
			set = append(set, s.elements[e])
		}
		slices.SortFunc(set, func(a, b Element) int { return s.index(a) - s.index(b) })
		return set
	}
	// The i-th combination in lexicographic order.
	next := 0
	for left := size; left > 0; left-- {
		for ; ; next++ {
			c := choose(len(s.elements)-next-1, left-1)
			if i < c {
				break
			}
			i -= c
		}
		set = append(set, s.elements[next])
		next++
	}
	return set
}

// index is the place of e among the elements: links first, then switches.
func (s *Sets) index(e Element) int {
	i, _ := slices.BinarySearchFunc(s.elements, e, func(a, b Element) int {
		if a.Switch != b.Switch {
			if b.Switch {
				return -1
			}
			return 1
		}
		return int(a.ID) - int(b.ID)
	})
	return i
}

// Name is the name of e in g.
func (e Element) Name(g *topology.Graph) string {
	if e.Switch {
		return g.Switches[e.ID].Name
	}
	return g.Links[e.ID].Name
}

// ElementByName finds a link or a switch. The error for an unknown name has the nearest of its
// kind.
func ElementByName(g *topology.Graph, name string) (Element, error) {
	id, err := g.SwitchByName(name)
	if err == nil {
		return Element{Switch: true, ID: uint32(id)}, nil
	}
	if strings.Contains(name, "-") {
		var l topology.Link
		if l, err = g.LinkByName(name); err == nil {
			return Element{ID: uint32(l.ID)}, nil
		}
	}
	return Element{}, err
}
