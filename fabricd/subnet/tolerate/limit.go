package tolerate

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// SubPath is what a packet may do between two nodes of its way. It is open as long as none of the links is dead.
type SubPath struct {
	To    weft.SwitchID
	Links []weft.LinkID // of all the choices that the packet has
}

// Ways are those that a packet may go by: each is of one sub-path or several, one after the other.
type Ways interface {
	Most() int // sub-paths of a way
	SubPaths(from weft.SwitchID) []SubPath
}

// Limits finds the smallest sets of dead links that are not tolerated: those that meet every way of a pair that live links still join. It is read-only
// once it is made, so that pairs can be searched at the same time.
type Limits struct {
	n     int // switches
	most  int
	sub   [][]links // by source and destination: the links of each sub-path that needs no more than another does
	fixed links     // that do not die
	next  [][]hop   // by switch
	pairs []Pair
}

// hop is a link to another switch.
type hop struct {
	link weft.LinkID
	to   uint32
}

// Pair is an ordered pair of switches that stands for those that symmetries map it to, itself among them.
type Pair struct {
	Src, Dst weft.SwitchID
	Like     int
}

// NewLimits prepares the search for sets of links of a region. Pairs that symmetries map onto each other are searched once.
func NewLimits(g *topology.Graph, region []weft.LinkID, w Ways, symmetries []Symmetry) *Limits {
	l := &Limits{n: len(g.Switches), most: w.Most(), fixed: newLinks(len(g.Links)), next: make([][]hop, len(g.Switches))}
	for i := range g.Links {
		link := &g.Links[i]
		l.fixed.add(link.ID)
		if link.BetweenSwitches() {
			a, b := link.A.Node.Index, link.B.Node.Index
			l.next[a] = append(l.next[a], hop{link.ID, b})
			l.next[b] = append(l.next[b], hop{link.ID, a})
		}
	}
	inside := sorted(region)
	for _, id := range inside {
		l.fixed.remove(id)
	}
	l.pairs = pairsOf(l.n, inside, symmetries)
	l.sub = make([][]links, l.n*l.n)
	for s := range l.n {
		if l.most == 1 && !slices.ContainsFunc(l.pairs, func(p Pair) bool { return int(p.Src) == s }) {
			continue // nobody asks
		}
		for _, p := range w.SubPaths(weft.SwitchID(s)) {
			set := newLinks(len(g.Links))
			for _, id := range p.Links {
				set.add(id)
			}
			at := s*l.n + int(p.To)
			l.sub[at] = append(l.sub[at], set)
		}
		for d := range l.n {
			l.sub[s*l.n+d] = least(l.sub[s*l.n+d])
		}
	}
	return l
}

// Pairs are those that are searched.
func (l *Limits) Pairs() []Pair { return l.pairs }

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

// Search looks for a set of at most k links that are dead when pair i has no way, and live links join it. It asks more, unless that is nil, now and
// then whether to go on. Which of several sets it finds depends on nothing but what it was given.
//
// It is a branch and bound: some way must be met that no dead link meets yet, so each of its links is tried, and after it is taken for one that
// does not die. A branch is given up when more ways than there are links to spend share no link, or when one can no longer be met.
func (l *Limits) Search(i, k int, more func() bool) ([]weft.LinkID, Found) {
	s := newSearch(l, l.pairs[i], more)
	if s.meet(k) {
		return s.dead.list(nil), FoundSet
	}
	switch {
	case s.stopped:
		return nil, Stopped
	case s.bounded:
		return nil, FoundNone
	}
	return nil, FoundNever
}
