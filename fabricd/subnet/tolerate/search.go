package tolerate

import (
	"math"

	"github.com/weft-fabric/weft"
)

// search is a branch and bound for one pair.
type search struct {
	l        *limits
	src, dst int
	dead     links // so far
	kept     links // that do not die
	spared   int   // how many of them are between switches
	bounded  bool  // a branch was given up for want of links to spend
	more     func() bool
	stopped  bool
	visits   uint64

	// by source and destination: links that may still die of the sub-path that has fewest; closed
	// where all have met dead links
	cost   []uint16
	chosen []uint16 // its number
	far    []uint16 // by sub-paths and switch: the least sum on the way there
	from   []uint16 // the switch before

	around links // scratch: by switch, for connected
	stack  []uint32
	rooms  []room // by depth
}

// room is what a step of the search needs.
type room struct{ way, blocked, first links }

// closed is the cost of what is not open. Two of them add up without overflow.
const closed = math.MaxUint16 / 4

// askVisits is after how many steps whoever searches is asked whether to go on, chosen by us: some
// milliseconds of work.
const askVisits = 64

func newSearch(l *limits, p Pair, more func() bool) *search {
	s := &search{l: l, src: int(p.Src), dst: int(p.Dst), more: more}
	s.dead = make(links, len(l.fixed))
	s.kept = append(links(nil), l.fixed...)
	s.spared = l.spared
	s.cost = make([]uint16, l.n*l.n)
	s.chosen = make([]uint16, l.n*l.n)
	s.far = make([]uint16, (l.most+1)*l.n)
	s.from = make([]uint16, (l.most+1)*l.n)
	s.around = newLinks(l.n)
	return s
}

// meet lets up to k more links die so that all ways are met, and reports whether it could. If so,
// they are in dead.
func (s *search) meet(k int) bool {
	if s.visits++; s.visits%askVisits == 0 && s.more != nil && !s.more() {
		s.stopped = true
	}
	if s.stopped || !s.joined() {
		return false
	}
	depth := s.dead.count()
	for len(s.rooms) <= depth {
		w := len(s.dead)
		s.rooms = append(s.rooms, room{make(links, w), make(links, w), make(links, w)})
	}
	r := &s.rooms[depth]
	copy(r.blocked, s.dead)
	fewest := 0
	for apart := 0; ; apart++ {
		more := r.way // what is blocked since the ways were priced
		if apart == 0 {
			more = nil
		}
		if !s.cheapest(r.blocked, more, r.way) {
			if apart == 0 {
				return true
			}
			break
		}
		free := r.way.beyond(s.kept)
		if free == 0 {
			return false // it stays open whatever dies
		}
		if apart == k {
			s.bounded = true
			return false
		}
		if apart == 0 || free < fewest {
			fewest = free
			copy(r.first, r.way)
		}
		r.blocked.or(r.way, s.kept)
	}
	var tried []weft.LinkID
	for i, w := range r.first {
		r.way[i] = w &^ s.kept[i]
	}
	found := false
	for _, l := range r.way.list() {
		s.dead.add(l)
		if found = s.meet(k - 1); found {
			break
		}
		s.dead.remove(l)
		s.kept.add(l)
		s.spared++
		tried = append(tried, l)
	}
	for _, l := range tried {
		s.kept.remove(l)
		s.spared--
	}
	return found
}

// cheapest finds a way that meets nothing blocked, with few links that may still die, and reports
// whether there is any. More is what is blocked beside what was when it was asked before, and
// nothing else has changed; nil: anything may have.
func (s *search) cheapest(blocked, more, way links) bool {
	n, most := s.l.n, s.l.most
	if most == 1 {
		s.price(s.src*n+s.dst, blocked)
		if s.cost[s.src*n+s.dst] == closed {
			return false
		}
		copy(way, s.l.sub[s.src*n+s.dst][s.chosen[s.src*n+s.dst]])
		return true
	}
	for at := range s.cost {
		if more == nil || s.cost[at] < closed && s.l.sub[at][s.chosen[at]].meets(more) {
			s.price(at, blocked)
		}
	}
	for x := range n {
		s.far[n+x], s.from[n+x] = s.cost[s.src*n+x], uint16(s.src)
	}
	best, sub := s.far[n+s.dst], 1
	for t := 2; t <= most; t++ {
		last := t == most
		for x := range n {
			if last && x != s.dst {
				continue
			}
			least, from := uint16(closed), 0
			for y := range n {
				if sum := s.far[(t-1)*n+y] + s.cost[y*n+x]; sum < least {
					least, from = sum, y
				}
			}
			s.far[t*n+x], s.from[t*n+x] = least, uint16(from)
		}
		if d := s.far[t*n+s.dst]; d < best {
			best, sub = d, t
		}
	}
	if best >= closed {
		return false
	}
	clear(way)
	for x, t := s.dst, sub; t > 0; t-- {
		y := int(s.from[t*n+x])
		for i, w := range s.l.sub[y*n+x][s.chosen[y*n+x]] {
			way[i] |= w
		}
		x = y
	}
	return true
}

// price chooses the sub-path of a pair.
func (s *search) price(at int, blocked links) {
	s.cost[at] = closed
	for i, sub := range s.l.sub[at] {
		if int(s.l.size[at][i])-s.spared >= int(s.cost[at]) {
			return // it has more links, and so have those after it
		}
		if sub.meets(blocked) {
			continue
		}
		if n := uint16(sub.beyond(s.kept)); n < s.cost[at] {
			s.cost[at], s.chosen[at] = n, uint16(i)
			if n == 0 {
				return
			}
		}
	}
}

// joined reports whether live links join the pair.
func (s *search) joined() bool {
	clear(s.around)
	s.around.add(weft.LinkID(s.src))
	s.stack = append(s.stack[:0], uint32(s.src))
	for len(s.stack) > 0 {
		x := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		if int(x) == s.dst {
			return true
		}
		for _, next := range s.l.next[x] {
			if !s.dead.has(next.link) && !s.around.has(weft.LinkID(next.to)) {
				s.around.add(weft.LinkID(next.to))
				s.stack = append(s.stack, next.to)
			}
		}
	}
	return false
}
