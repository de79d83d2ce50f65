package tables

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// Way is how the NICs of one switch send to those of another: the sub-headers that they write into
// packets for there.
type Way struct {
	Dst weft.SwitchID
	Sub weft.SubHeaders
}

// Ways are what NICs write into packets, per switch that they hang on, for those destination
// switches alone to which packets do not simply go adaptively (Gomez, Flich, Lopez, Robles, Duato:
// A Routing Methodology for Achieving Fault Tolerance in Direct Networks, section 5.2: the table of
// a source only stores information about the faulty paths). Read by any number of goroutines; nil
// has none.
type Ways struct {
	base weft.SwitchID // of the first switch
	at   [][]Way       // ascending by destination
}

// maxWays bounds the ways of one fabric, some 40 bytes each. Chosen by us.
const maxWays = 1 << 24

// NewWays asks for the ways from each of so many switches, each destination once, in any order. The
// lists are kept. Errors are sub-headers that no switch could follow, see [Way.Check], a switch
// that there is not, and one that is named twice.
func NewWays(switches int, from func(src weft.SwitchID) []Way) (*Ways, error) {
	if switches < 0 || switches > weft.MaxSwitch {
		return nil, fmt.Errorf("ways of %d switches: there are at most %d", switches, weft.MaxSwitch)
	}
	w := &Ways{at: make([][]Way, switches)}
	total := 0
	for s := range weft.SwitchID(switches) {
		list := from(s)
		slices.SortFunc(list, byDst)
		for i := range list {
			if err := list[i].Check(); err != nil {
				return nil, fmt.Errorf("the way from switch %d to switch %d: %w", s, list[i].Dst, err)
			}
			if int(list[i].Dst) >= switches || i > 0 && list[i].Dst == list[i-1].Dst {
				return nil, fmt.Errorf("the way from switch %d to switch %d: there are %d switches, name each once", s, list[i].Dst,
					switches)
			}
		}
		if total += len(list); total > maxWays {
			return nil, fmt.Errorf("ways of %d switches: more than %d ways", switches, maxWays)
		}
		w.at[s] = list
	}
	return w, nil
}

func byDst(a, b Way) int { return cmp.Compare(a.Dst, b.Dst) }

// Check says what is wrong with the sub-headers: there are none, or their misroutes are not each in
// a later direction than the one before, in the order X+ Y+ Z+ X- Y- Z- that keeps packets from
// waiting for each other in a circle ([DirectionFirst]).
func (w Way) Check() error {
	if w.Sub.Len() == 0 || !w.Sub.Valid() {
		return fmt.Errorf("sub-headers %q: give one for each sub-path", w.Sub)
	}
	for _, h := range w.Sub[:w.Sub.Len()] {
		for i := 1; i < weft.MaxMisroutes; i++ {
			before, _ := h.Misroute(i - 1)
			if d, hops := h.Misroute(i); hops > 0 && !DirectionBefore(before, d) {
				return fmt.Errorf("sub-headers %q: misroute by each direction once, all ups before all downs, and x before y "+
					"before z", w.Sub)
			}
		}
	}
	return nil
}

// DirectionBefore reports whether direction a comes before direction b in direction order. Both are
// ports of a [weft.Grid].
func DirectionBefore(a, b weft.PortID) bool {
	if up, other := a%2, b%2; up != other {
		return up == 1
	}
	return a < b
}

// To are the sub-headers of packets from the NICs of switch src to those of switch dst. False: they
// have none, and go adaptively.
func (w *Ways) To(src, dst weft.SwitchID) (weft.SubHeaders, bool) {
	list := w.From(src)
	if i, ok := slices.BinarySearchFunc(list, dst, func(a Way, d weft.SwitchID) int { return cmp.Compare(a.Dst, d) }); ok {
		return list[i].Sub, true
	}
	return weft.SubHeaders{}, false
}

// From are the ways from switch src, ascending by destination; not to be written to.
func (w *Ways) From(src weft.SwitchID) []Way {
	if w == nil || src < w.base || int(src-w.base) >= len(w.at) {
		return nil
	}
	return w.at[src-w.base]
}

// patched are the ways from switch s alone, with those of a patch.
func (w *Ways) patched(s weft.SwitchID, p *Patch) (*Ways, error) {
	list := w.From(s)
	if p.From == 0 {
		list = nil
	}
	if len(p.Ways) > 0 {
		merged := make([]Way, 0, len(list)+len(p.Ways))
		for i, x := range p.Ways {
			if i > 0 && x.Dst <= p.Ways[i-1].Dst {
				return nil, p.wrong("ways to switch %d: name each once and in their order", x.Dst)
			}
			for len(list) > 0 && list[0].Dst < x.Dst {
				merged, list = append(merged, list[0]), list[1:]
			}
			if len(list) > 0 && list[0].Dst == x.Dst {
				list = list[1:]
			}
			if x.Sub == (weft.SubHeaders{}) { // adaptively again
				continue
			}
			if err := Way(x).Check(); err != nil {
				return nil, p.wrong("the way to switch %d: %v", x.Dst, err)
			}
			merged = append(merged, Way(x))
		}
		list = append(merged, list...)
	}
	return &Ways{base: s, at: [][]Way{list}}, nil
}

// diffWays adds the destinations to which the ways differ.
func (p *Patch) diffWays(a, b *Ways) {
	from, to := a.From(p.Switch), b.From(p.Switch)
	for len(from) > 0 || len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Dst < to[0].Dst:
			p.Ways = append(p.Ways, PatchWay{Dst: from[0].Dst})
			from = from[1:]
		case len(from) == 0 || to[0].Dst < from[0].Dst:
			p.Ways = append(p.Ways, PatchWay(to[0]))
			to = to[1:]
		default:
			if from[0].Sub != to[0].Sub {
				p.Ways = append(p.Ways, PatchWay(to[0]))
			}
			from, to = from[1:], to[1:]
		}
	}
}
