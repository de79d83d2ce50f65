package verify

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// turns are what is found of U-turns in a tree whose states are folded: of packets that came down
// to a switch and go up again.
//
// A switch of tier t reaches what is above by its up ports. What is above one of them, with the
// digits of the switch from t on and the number of the port as digit t-1, is above no other one of
// them: links whose lower end is in tier t at most, and switches of tiers below t. It is left by
// links down to tier t alone.
//
// paid says, of all tiers t, that no packet turns at a switch which has come down by a port with
// nothing dead above it. A packet there has come up from tier t, and then met what is in states of
// the tiers above that are reached by answers which need nothing dead there. None of these states
// turns, and none that they lead to in tier t.
type turns struct {
	at   []bool // per class: packets turn there
	none bool   // in no class
	ups  int32  // the fewest up ports of a switch where packets turn
	paid bool
	free map[int]bool // tiers in which that is not so
}

// turns finds the U-turns in the classes that there are.
func (w *lazyWalk) turns(fs *flowSpace) (s turns) {
	s.at, s.none, s.ups, s.free = make([]bool, len(w.classes)), true, never, map[int]bool{}
	tiers := map[int]bool{}
	for c := range w.classes {
		if s.at[c] = w.turnsAt(fs, int32(c)); s.at[c] {
			s.none = false
			s.ups = min(s.ups, int32(w.m.g.Place(weft.SwitchID(fs.states[c].sw)).Tree.Ups()))
			tiers[w.tierOf(fs, int32(c))] = true
		}
	}
	for t := range tiers {
		if !w.unturned(fs, t, s.at) {
			s.free[t] = true
		}
	}
	s.paid = len(s.free) == 0
	return s
}

// tierOf is the tier of the switch of a class.
func (w *lazyWalk) tierOf(fs *flowSpace, c int32) int {
	return int(w.m.g.Switches[fs.states[c].sw].Tier)
}

// fromAbove reports whether packets of a class came down to its switch.
func (w *lazyWalk) fromAbove(fs *flowSpace, c int32) bool {
	st := &fs.states[c]
	return w.m.g.Place(weft.SwitchID(st.sw)).Tree.UpIndex(st.in) >= 0
}

// turnsAt reports whether packets of a class turn.
func (w *lazyWalk) turnsAt(fs *flowSpace, c int32) bool {
	return w.fromAbove(fs, c) && slices.ContainsFunc(w.classes[c].outcomes, func(o outcome) bool {
		return o.vector != nil || o.to >= 0 && w.tierOf(fs, o.to) < w.tierOf(fs, c)
	})
}

// unturned reports whether no packet turns that has come up from a tier and has met nothing dead
// above it.
func (w *lazyWalk) unturned(fs *flowSpace, t int, turn []bool) bool {
	var todo []int32
	seen := make([]bool, len(w.classes))
	for c := range w.classes {
		if w.tierOf(fs, int32(c)) == t-1 && !w.fromAbove(fs, int32(c)) {
			seen[c] = true
			todo = append(todo, int32(c))
		}
	}
	for len(todo) > 0 {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := range w.classes[c].outcomes {
			o := &w.classes[c].outcomes[i]
			switch {
			case o.to < 0 || w.needsDead(w.tierOf(fs, c), t, o):
			case turn[o.to]:
				return false
			case w.tierOf(fs, o.to) < t && !seen[o.to]:
				seen[o.to] = true
				todo = append(todo, o.to)
			}
		}
	}
	return true
}

// needsDead reports whether an outcome at a switch of a tier needs that something is dead which is
// above tier t.
func (w *lazyWalk) needsDead(tier, t int, o *outcome) bool {
	return slices.ContainsFunc(o.facts, func(is fact) bool {
		link := int32(is >> 1)
		switch o := w.faults; {
		case !is.dead() || link >= o.links+o.switches:
			return false
		case link >= o.links:
			return int(w.m.g.Switches[link-o.links].Tier) < t
		}
		// The switch of tier t at the lower end is not above.
		lower := w.fold.upper[link] + 1
		return lower < t || w.faults.ends[link][1-w.fold.above[link]] < 0
	})
}

// released reports whether, in sets of so many faults at most, packets always go on, so that there
// is no deadlock, though the dependencies of all sets together have a cycle.
//
// With fewer faults than up ports there is one above which nothing is dead, whenever they come and
// go. A packet that turns can
// go there: it has not come by it, and it has not tried it, as who did has met a fault. That is so
// where each up port that is up is a candidate but for the one that the packet came by and those
// that it or others have tried.
//
// So, from the lowest tier up: packets in channels down to tier t go on, if those in channels down
// to lower tiers do. Who goes down from there goes on. Who turns can go up to where nothing is
// dead, and there packets in channels down go on, from the lowest: they turn nowhere. So do those
// in channels up there, from the highest: they want these, or channels up. Then all channels down
// are free, and all channels up from the highest.
//
// What a packet has tried may be in its header. It is then put there where it turns, and is gone,
// or as it was, when it is back in that tier, at whichever switch: what is above a port is the same
// for all switches of the tier that can be reached from above it.
func (w *lazyWalk) released(fs *flowSpace, s *turns, most int) bool {
	if s.none || !s.paid || int32(most) >= s.ups {
		return false
	}
	for c := range w.classes {
		st := &fs.states[c]
		t := w.m.g.Place(weft.SwitchID(st.sw)).Tree
		tier, f := w.tierOf(fs, int32(c)), w.fields.of(st.fields)
		tried, of := f.Misroute, owner(f, w.fold.lower(st.sw, st.in))
		if s.at[c] && tried != 0 && of != tier {
			return false
		}
		for i := range w.classes[c].outcomes {
			o := &w.classes[c].outcomes[i]
			if o.two {
				return false
			}
			if o.to < 0 || o.header == 0 {
				continue
			}
			up := w.tierOf(fs, o.to) < tier
			adds := s.at[c] && up && int(o.owner) == tier && o.header == tried|1<<uint(t.UpIndex(st.in))
			same := int(o.owner) == of && of > tier && o.header == tried
			if !adds && !same {
				return false
			}
		}
		if s.at[c] && !w.wantsAll(st, w.classes[c].outcomes, tried) {
			return false
		}
	}
	return true
}

// wantsAll reports whether packets want each up port that is up, but for the one that they came by
// and those that they have tried.
func (w *lazyWalk) wantsAll(st *state, outcomes []outcome, tried uint64) bool {
	t := w.m.g.Place(weft.SwitchID(st.sw)).Tree
	for j := range t.Ups() {
		p := t.Up(j)
		link := int32(w.m.peer(int(st.sw), p).link)
		if p != st.in && tried>>uint(j)&1 == 0 && !slices.ContainsFunc(outcomes, func(o outcome) bool {
			return o.out >= 0 && w.m.port(o.out) == p && !slices.ContainsFunc(o.facts, func(is fact) bool {
				return is.dead() || int32(is>>1) < w.faults.links && int32(is>>1) != link
			})
		}) {
			return false
		}
	}
	return true
}
