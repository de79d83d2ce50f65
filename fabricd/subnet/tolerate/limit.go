package tolerate

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Ways are those that a packet may go by: each is of one segment or several, one after the other.
type Ways interface {
	Most() int // segments of a way
	Segments(src weft.SwitchID, yield func(direct.Segment) bool)
}

// By are the ways that mechanisms have in a net.
type By struct {
	Net        *direct.Net
	Mechanisms direct.Mechanisms
}

// Most is how many segments a way may have.
func (w By) Most() int { return w.Mechanisms.SubPaths() }

// Segments are those of the net.
func (w By) Segments(src weft.SwitchID, yield func(direct.Segment) bool) {
	w.Net.Segments(w.Mechanisms, src, yield)
}

// limits finds the smallest sets of dead links that are not tolerated: those that meet every way of
// a pair that live links still join. It is read-only once it is made, so that pairs can be searched
// at the same time.
type limits struct {
	n      int // switches
	most   int
	sub    [][]links  // by source and destination: the links of each sub-path that needs no more than another does
	size   [][]uint16 // of each, how many
	fixed  links      // that do not die
	spared int        // how many of these are between switches
	next   [][]hop    // by switch
	pairs  []Pair
}

// hop is a link to another switch.
type hop struct {
	link weft.LinkID
	to   uint32
}

// Pair is an ordered pair of switches that stands for those that symmetries map it to, itself among
// them.
type Pair struct {
	Src, Dst weft.SwitchID
	Like     int
}

// newLimits prepares the search for sets of links of a region. Pairs that symmetries map onto each
// other are searched once.
func newLimits(g *topology.Graph, region []weft.LinkID, w Ways, symmetries []Symmetry) *limits {
	l := &limits{n: len(g.Switches), most: w.Most(), fixed: newLinks(len(g.Links)), next: make([][]hop, len(g.Switches))}
	for i := range g.Links {
		link := &g.Links[i]
		l.fixed.add(link.ID)
		if link.BetweenSwitches() {
			l.spared++
			a, b := link.A.Node.Index, link.B.Node.Index
			l.next[a] = append(l.next[a], hop{link.ID, b})
			l.next[b] = append(l.next[b], hop{link.ID, a})
		}
	}
	inside := sorted(region)
	for _, id := range inside {
		l.fixed.remove(id)
		l.spared--
	}
	l.pairs = pairsOf(l.n, inside, symmetries)
	l.tabulate(w, len(g.Links), symmetries)
	l.size = make([][]uint16, len(l.sub))
	for i, sets := range l.sub {
		for _, s := range sets {
			l.size[i] = append(l.size[i], uint16(s.count()))
		}
	}
	return l
}

// tabulate fills the segments of all pairs that may be asked for: of one source after another, and
// the images of these.
func (l *limits) tabulate(w Ways, width int, symmetries []Symmetry) {
	l.sub = make([][]links, l.n*l.n)
	wanted := make([]bool, l.n)
	for s := range wanted {
		wanted[s] = l.most > 1
	}
	var group []Symmetry
	if l.most > 1 {
		group = closure(symmetries)
	}
	for _, p := range l.pairs {
		wanted[p.Src] = true
	}
	done := make([]bool, l.n*l.n)
	for s := range l.n {
		if !wanted[s] || !slices.Contains(done[s*l.n:][:l.n], false) {
			continue
		}
		from := make([][]links, l.n)
		w.Segments(weft.SwitchID(s), func(p direct.Segment) bool {
			set := newLinks(width)
			for _, id := range p.Links {
				set.add(id)
			}
			from[p.Dst] = append(from[p.Dst], set)
			return true
		})
		for d, sets := range from {
			if done[s*l.n+d] {
				continue
			}
			sets = least(sets)
			l.sub[s*l.n+d], done[s*l.n+d] = sets, true
			for _, g := range group {
				if at := int(g.Switches[s])*l.n + int(g.Switches[d]); !done[at] {
					l.sub[at], done[at] = images(sets, g.Links, width), true
				}
			}
		}
	}
}

// images are the images of sets of links.
func images(sets []links, of []weft.LinkID, width int) (list []links) {
	for _, s := range sets {
		image := newLinks(width)
		for id := range s.each {
			image.add(of[id])
		}
		list = append(list, image)
	}
	return list
}

// Pairs are those that are searched.
func (l *limits) Pairs() []Pair { return l.pairs }

// pairsOf are the first pairs of each orbit under the symmetries that map the region onto itself.
func pairsOf(n int, region []weft.LinkID, symmetries []Symmetry) (list []Pair) {
	group := stabilizer(region, symmetries)
	seen := make([]bool, n*n)
	for s := range n {
		for d := range n {
			if s == d || seen[s*n+d] {
				continue
			}
			p := Pair{Src: weft.SwitchID(s), Dst: weft.SwitchID(d)}
			seen[s*n+d] = true
			p.Like = 1
			for _, g := range group {
				if at := int(g.Switches[s])*n + int(g.Switches[d]); !seen[at] {
					seen[at] = true
					p.Like++
				}
			}
			list = append(list, p)
		}
	}
	return list
}

// Found says how a search has ended.
type Found uint8

// The ends of a search.
const (
	FoundSet   Found = iota // there is a set, and this is one
	FoundNone               // no set of so many links; larger ones may be
	FoundNever              // no set at all: as long as live links join the pair it has a way
	Stopped                 // by whoever asked for it
)

// Search looks for a set of at most k links that are dead when pair i has no way, and live links
// join it. It asks more, unless that is nil, now and then whether to go on. Which of several sets
// it finds depends on nothing but what it was given.
//
// It is a branch and bound: some way must be met that no dead link meets yet, so each of its links
// is tried, and after it is taken for one that does not die. A branch is given up when more ways
// than there are links to spend share no link, or when one can no longer be met.
func (l *limits) Search(i, k int, more func() bool) ([]weft.LinkID, Found) {
	s := newSearch(l, l.pairs[i], more)
	if s.meet(k) {
		return s.dead.list(), FoundSet
	}
	switch {
	case s.stopped:
		return nil, Stopped
	case s.bounded:
		return nil, FoundNone
	}
	return nil, FoundNever
}
