package layered

import (
	"cmp"
	"slices"
)

// gap is how far apart the labels of channels are made.
const gap = 1 << 40

// Layer is the dependency graph of one layer, for the check for closed cycles in step 2.2 of LASH
// (section 5.1), done for one dependency at a time and not over the whole graph. It has no cycle at
// any time: what it refuses it refuses until something is taken out of it again. It keeps its
// channels in a topological order, as a list with labels that grow along it. A turn that goes along
// with the order is taken without a search. For another one both of its ends are searched from in
// turns, forward from where it leads and backward from where it begins, between the labels of both;
// they meet if there is a cycle, and otherwise the side that ends first is put on the other side of
// the other end (as Pearce, Kelly: A Dynamic Topological Sort Algorithm for Directed Acyclic
// Graphs, but searching no more than twice the smaller side). It belongs to one goroutine.
type Layer struct {
	t    *Turns
	uses []int32 // per turn: how many paths depend by it; 0: it is not there

	label      []int64 // per channel; of the end of the list, the last one, more than any
	next, prev []int32 // per channel: its neighbours in the list, which is a ring through its end

	refused []uint32 // per turn: the era in which it was refused; remembered until something is taken out
	era     uint32
	tried   int // turns that are there only by Try

	seen            []uint32 // per channel: the search that saw it, forward if even and backward if odd
	search          uint32
	forward, behind []int32 // what a search found
	by              []int32 // per channel: the turn by which Path came to it
}

// NewLayer is an empty layer.
func NewLayer(t *Turns) *Layer {
	n := t.Channels()
	l := &Layer{
		t: t, uses: make([]int32, t.Len()), refused: make([]uint32, t.Len()), era: 1, seen: make([]uint32, n),
		label: make([]int64, n+1), next: make([]int32, n+1), prev: make([]int32, n+1),
	}
	for c := range n + 1 {
		l.next[c], l.prev[(c+1)%(n+1)] = int32((c+1)%(n+1)), int32(c)
	}
	l.spread()
	return l
}

// Has reports whether some path depends by that turn.
func (l *Layer) Has(turn int32) bool { return l.uses[turn] > 0 }

// Uses is how many paths depend by that turn.
func (l *Layer) Uses(turn int32) int { return int(l.uses[turn]) }

// Label grows along the topological order: a channel has a lower one than those that it depends on.
func (l *Layer) Label(channel int32) int64 { return l.label[channel] }

// Add counts one more path that depends by a turn. It reports false, and nothing has changed, when
// that would close a cycle.
func (l *Layer) Add(turn int32) bool {
	ok := l.Try(turn)
	l.Keep()
	return ok
}

// Drop counts one path less. What was refused before may be taken when it was the last one.
func (l *Layer) Drop(turn int32) {
	if l.uses[turn]--; l.uses[turn] == 0 {
		l.forget()
	}
}

// Try is Add until further notice: [Layer.Back] takes it back, the last one first, and [Layer.Keep]
// makes all that was tried stay. What is refused beside turns that are only tried is not
// remembered.
func (l *Layer) Try(turn int32) bool {
	if l.uses[turn] == 0 {
		if l.refused[turn] == l.era {
			return false
		}
		if !l.order(l.t.from[turn], l.t.to[turn]) {
			if l.tried == 0 {
				l.refused[turn] = l.era
			}
			return false
		}
		l.tried++
	}
	l.uses[turn]++
	return true
}

// Back takes back a turn that was tried. Other than Drop it keeps what is remembered.
func (l *Layer) Back(turn int32) {
	if l.uses[turn]--; l.uses[turn] == 0 {
		l.tried--
	}
}

// Keep makes stay what was tried.
func (l *Layer) Keep() { l.tried = 0 }

// AddPath adds all turns of a path, or reports false, and nothing has changed.
func (l *Layer) AddPath(turns []int32) bool {
	ok := l.TryPath(turns)
	l.Keep()
	return ok
}

// TryPath is AddPath until further notice, see [Layer.Try].
func (l *Layer) TryPath(turns []int32) bool {
	for _, t := range turns {
		if l.refused[t] == l.era && l.uses[t] == 0 {
			return false
		}
	}
	for i, t := range turns {
		if l.Try(t) {
			continue
		}
		l.BackPath(turns[:i])
		l.Fits(t) // remembered when it is refused without the others too
		return false
	}
	return true
}

// BackPath takes back a path that was tried.
func (l *Layer) BackPath(turns []int32) {
	for _, t := range turns {
		l.Back(t)
	}
}

// DropPath drops all turns of a path.
func (l *Layer) DropPath(turns []int32) {
	for _, t := range turns {
		l.Drop(t)
	}
}

// Fits reports whether Add would take a turn.
func (l *Layer) Fits(turn int32) bool {
	if !l.Try(turn) {
		return false
	}
	l.Back(turn)
	return true
}

// FitsPath reports whether AddPath would take a path.
func (l *Layer) FitsPath(turns []int32) bool {
	if !l.TryPath(turns) {
		return false
	}
	l.BackPath(turns)
	return true
}

func (l *Layer) forget() {
	if l.era++; l.era == 0 {
		clear(l.refused)
		l.era = 1
	}
}

// Closes reports whether Add would refuse a turn, and leaves the order as it is.
func (l *Layer) Closes(turn int32) bool {
	from, to := l.t.from[turn], l.t.to[turn]
	switch {
	case l.uses[turn] > 0 || l.label[from] < l.label[to]:
		return false
	case l.refused[turn] == l.era || from == to:
		return true
	case l.between(from, to) != meet:
		return false
	}
	if l.tried == 0 {
		l.refused[turn] = l.era
	}
	return true
}

// Copy makes l what another layer of the same turns is, in storage of its own.
func (l *Layer) Copy(from *Layer) {
	l.t, l.era, l.tried = from.t, from.era, from.tried
	l.uses, l.refused = append(l.uses[:0], from.uses...), append(l.refused[:0], from.refused...)
	l.label, l.next, l.prev = append(l.label[:0], from.label...), append(l.next[:0], from.next...),
		append(l.prev[:0], from.prev...)
	if len(l.seen) != len(from.seen) {
		l.seen, l.search, l.by = make([]uint32, len(from.seen)), 0, nil
	}
}

// order changes the order so that a stands before b. It reports false when b leads to a.
func (l *Layer) order(a, b int32) bool {
	if l.label[a] < l.label[b] {
		return true
	}
	if a == b {
		return false
	}
	switch l.between(a, b) {
	case ahead:
		l.move(l.forward, a, l.next[a])
	case back:
		l.move(l.behind, l.prev[b], b)
	default:
		return false
	}
	return true
}

// side is which search between two channels has come to its end.
type side uint8

const (
	meet  side = iota // neither: they have met
	ahead             // the one forward
	back
)

// between searches from b, which stands before a, forward and from a backward, between the two.
// What the side that ends has found is in forward or in behind.
func (l *Layer) between(a, b int32) side {
	low, high := l.label[b], l.label[a]
	if l.search += 2; l.search == 0 {
		clear(l.seen)
		l.search = 2
	}
	forth, behind := l.search, l.search+1
	l.forward, l.behind = append(l.forward[:0], b), append(l.behind[:0], a)
	l.seen[b], l.seen[a] = forth, behind
	for i, j, steps := 0, 0, 0; ; {
		if steps <= 0 { // the turn of the side that has looked at fewer turns
			if i == len(l.forward) {
				return ahead
			}
			c := l.forward[i]
			i++
			for t := l.t.first[c]; t < l.t.first[c+1]; t++ {
				if to := l.t.to[t]; l.uses[t] > 0 && l.label[to] <= high && l.seen[to] != forth {
					if l.seen[to] == behind {
						return meet
					}
					l.seen[to] = forth
					l.forward = append(l.forward, to)
				}
			}
			steps += int(l.t.first[c+1] - l.t.first[c])
			continue
		}
		if j == len(l.behind) {
			return back
		}
		c := l.behind[j]
		j++
		for _, t := range l.t.into[l.t.behind[c]:l.t.behind[c+1]] {
			if from := l.t.from[t]; l.uses[t] > 0 && l.label[from] >= low && l.seen[from] != behind {
				if l.seen[from] == forth {
					return meet
				}
				l.seen[from] = behind
				l.behind = append(l.behind, from)
			}
		}
		steps -= int(l.t.behind[c+1] - l.t.behind[c])
	}
}

// move puts channels between two that are neighbours, in the order they had.
func (l *Layer) move(channels []int32, after, before int32) {
	slices.SortFunc(channels, func(x, y int32) int { return cmp.Compare(l.label[x], l.label[y]) })
	for _, c := range channels {
		l.next[l.prev[c]], l.prev[l.next[c]] = l.next[c], l.prev[c]
	}
	low := int64(0)
	if after != int32(l.t.Channels()) {
		low = l.label[after]
	}
	step := (l.label[before] - low) / int64(len(channels)+1)
	for i, c := range channels {
		l.next[after], l.prev[c] = c, after
		l.label[c] = low + int64(i+1)*step
		after = c
	}
	l.next[after], l.prev[before] = before, after
	if step == 0 {
		l.spread()
	}
}

// spread gives new labels, as far apart as can be.
func (l *Layer) spread() {
	end := int32(l.t.Channels())
	label := int64(0)
	for c := l.next[end]; ; c = l.next[c] {
		label += gap
		l.label[c] = label
		if c == end {
			return
		}
	}
}

// Path is turns that lead from a channel to another, as few as can be; nil when none do, or when
// both are the same. It is storage of the layer.
func (l *Layer) Path(from, to int32) []int32 {
	if l.search += 2; l.search == 0 {
		clear(l.seen)
		l.search = 2
	}
	if l.by == nil {
		l.by = make([]int32, l.t.Channels())
	}
	l.forward = append(l.forward[:0], from)
	l.seen[from] = l.search
	for i := 0; i < len(l.forward); i++ {
		c := l.forward[i]
		for t := l.t.first[c]; t < l.t.first[c+1]; t++ {
			next := l.t.to[t]
			if l.uses[t] == 0 || l.seen[next] == l.search || l.label[next] > l.label[to] {
				continue
			}
			l.seen[next], l.by[next] = l.search, t
			if next == to {
				path := l.behind[:0]
				for at := to; at != from; at = l.t.from[l.by[at]] {
					path = append(path, l.by[at])
				}
				slices.Reverse(path)
				l.behind = path
				return path
			}
			l.forward = append(l.forward, next)
		}
	}
	return nil
}
