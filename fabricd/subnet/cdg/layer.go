package cdg

import (
	"cmp"
	"slices"
)

// Layer is the dependency graph of one layer. It has no cycle at any time, and keeps its channels in a topological order: a turn that
// goes along with the order is taken without a search, for another one only the channels between its two ends are searched and
// put in order again (Pearce, Kelly: A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs). It belongs to one goroutine.
type Layer struct {
	t     *Turns
	place []int32 // per channel: where it stands in the order
	uses  []int32 // per turn: how many paths depend by it; 0: it is not there

	refused []uint32 // per turn: the era in which it was refused; remembered until something is taken out
	era     uint32

	seen          []uint32 // per channel: the search that saw it
	search        uint32
	after, before []int32 // what the searches found
	places        []int32
}

// NewLayer is an empty layer.
func NewLayer(t *Turns) *Layer {
	l := &Layer{
		t: t, place: make([]int32, t.Channels()), uses: make([]int32, t.Len()), refused: make([]uint32, t.Len()), era: 1,
		seen: make([]uint32, t.Channels()),
	}
	for c := range l.place {
		l.place[c] = int32(c)
	}
	return l
}

// Clear takes everything out.
func (l *Layer) Clear() {
	clear(l.uses)
	l.forget()
}

// Has reports whether some path depends by that turn.
func (l *Layer) Has(turn int32) bool { return l.uses[turn] > 0 }

// Uses is how many paths depend by that turn.
func (l *Layer) Uses(turn int32) int { return int(l.uses[turn]) }

// Refused reports whether the turn would close a cycle and the layer remembers it. What it does not remember it may still refuse.
func (l *Layer) Refused(turn int32) bool { return l.refused[turn] == l.era }

// Place is where a channel stands in the topological order: before all channels that depend on it being left.
func (l *Layer) Place(channel int32) int { return int(l.place[channel]) }

// Add counts one more path that depends by a turn. It reports false, and nothing has changed, when that would close a cycle.
func (l *Layer) Add(turn int32) bool {
	if l.uses[turn] == 0 {
		if l.refused[turn] == l.era {
			return false
		}
		if !l.order(l.t.from[turn], l.t.to[turn]) {
			l.refused[turn] = l.era
			return false
		}
	}
	l.uses[turn]++
	return true
}

// Drop counts one path less. What was refused before may be taken when it was the last one.
func (l *Layer) Drop(turn int32) {
	if l.uses[turn]--; l.uses[turn] == 0 {
		l.forget()
	}
}

// AddPath adds all turns of a path, or reports false, and nothing has changed.
func (l *Layer) AddPath(turns []int32) bool {
	for _, t := range turns {
		if l.refused[t] == l.era && l.uses[t] == 0 {
			return false
		}
	}
	for i, t := range turns {
		if l.Add(t) {
			continue
		}
		// What was refused beside the turns before it may fit without them, unless all of them had been there.
		fresh := false
		for _, u := range turns[:i] {
			l.uses[u]--
			fresh = fresh || l.uses[u] == 0
		}
		if fresh {
			l.refused[t] = 0
			l.Fits(t)
		}
		return false
	}
	return true
}

// DropPath drops all turns of a path.
func (l *Layer) DropPath(turns []int32) {
	for _, t := range turns {
		l.Drop(t)
	}
}

// Fits reports whether Add would take a turn.
func (l *Layer) Fits(turn int32) bool {
	if l.uses[turn] > 0 {
		return true
	}
	if !l.Add(turn) {
		return false
	}
	l.uses[turn] = 0 // nothing was refused beside it
	return true
}

// FitsPath reports whether AddPath would take a path.
func (l *Layer) FitsPath(turns []int32) bool {
	if !l.AddPath(turns) {
		return false
	}
	for _, t := range turns {
		l.uses[t]-- // as in Fits
	}
	return true
}

func (l *Layer) forget() {
	if l.era++; l.era == 0 {
		clear(l.refused)
		l.era = 1
	}
}

// order changes the order so that a stands before b. It reports false when b leads to a.
func (l *Layer) order(a, b int32) bool {
	if a == b {
		return false
	}
	low, high := l.place[b], l.place[a]
	if high < low {
		return true
	}
	if l.search++; l.search == 0 {
		clear(l.seen)
		l.search = 1
	}
	// What b leads to, as far as it stands before a.
	l.after = append(l.after[:0], b)
	l.seen[b] = l.search
	for i := 0; i < len(l.after); i++ {
		c := l.after[i]
		for t := l.t.first[c]; t < l.t.first[c+1]; t++ {
			if l.uses[t] == 0 {
				continue
			}
			to := l.t.to[t]
			if to == a {
				return false
			}
			if l.place[to] < high && l.seen[to] != l.search {
				l.seen[to] = l.search
				l.after = append(l.after, to)
			}
		}
	}
	// What leads to a, as far as it stands behind b. None of it is in after, or there were a cycle.
	l.before = append(l.before[:0], a)
	l.seen[a] = l.search
	for i := 0; i < len(l.before); i++ {
		c := l.before[i]
		for _, t := range l.t.into[l.t.behind[c]:l.t.behind[c+1]] {
			if l.uses[t] == 0 {
				continue
			}
			from := l.t.from[t]
			if l.place[from] > low && l.seen[from] != l.search {
				l.seen[from] = l.search
				l.before = append(l.before, from)
			}
		}
	}
	// Both share out the places they have: first what leads to a, then what b leads to.
	byPlace := func(x, y int32) int { return cmp.Compare(l.place[x], l.place[y]) }
	slices.SortFunc(l.before, byPlace)
	slices.SortFunc(l.after, byPlace)
	l.places = l.places[:0]
	for i, j := 0, 0; i < len(l.before) || j < len(l.after); {
		if j == len(l.after) || i < len(l.before) && l.place[l.before[i]] < l.place[l.after[j]] {
			l.places = append(l.places, l.place[l.before[i]])
			i++
		} else {
			l.places = append(l.places, l.place[l.after[j]])
			j++
		}
	}
	for i, c := range l.before {
		l.place[c] = l.places[i]
	}
	for i, c := range l.after {
		l.place[c] = l.places[len(l.before)+i]
	}
	return true
}
