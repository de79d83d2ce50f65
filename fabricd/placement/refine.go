package placement

// state is a division while it is being refined.
type state struct {
	net   *net
	to    []share
	of    []int
	held  []load // per part
	links [][]int
	score score
}

func newState(n *net, to []share, of []int) *state {
	s := &state{net: n, to: to, of: append([]int(nil), of...), held: make([]load, len(to)), links: make([][]int, len(of))}
	for v, p := range s.of {
		s.held[p] = s.held[p].plus(n.weight[v])
		s.links[v] = make([]int, len(to)) // of v to each part
		for _, e := range n.edges[v] {
			s.links[v][of[e.to]] += e.links
			if of[e.to] != p {
				s.score.cut += e.links
			}
		}
	}
	s.score.cut /= 2
	for p := range s.held {
		s.count(p, 1)
	}
	return s
}

// count adds what part p holds too much to the score, sign times.
func (s *state) count(p, sign int) {
	t, h := s.to[p], s.held[p]
	s.score.room += sign * (max(h.ports-t.room.ports, 0) + max(h.switches-t.room.switches, 0))
	s.score.over += sign * max(h.ports-t.cap.ports, 0)
	s.score.odd += sign * max(h.ports-t.target, 0)
}

func (s *state) move(v, p int) {
	q := s.of[v]
	s.count(p, -1)
	s.count(q, -1)
	s.held[q], s.held[p] = s.held[q].minus(s.net.weight[v]), s.held[p].plus(s.net.weight[v])
	s.count(p, 1)
	s.count(q, 1)
	s.score.cut += s.links[v][q] - s.links[v][p]
	s.of[v] = p
	for _, e := range s.net.edges[v] {
		s.links[e.to][q] -= e.links
		s.links[e.to][p] += e.links
	}
}

// Bounds of the refinement, chosen by us: passes end long before, and what has not got better in so
// many moves does not.
const (
	maxPasses = 16
	patience  = 64
)

// refine moves vertices between parts, as Fiduccia and Mattheyses do.
func refine(n *net, to []share, of []int) *division {
	s := newState(n, to, of)
	slack := n.heaviest() // by which a part may be too heavy on the way
	for range maxPasses {
		if !s.pass(slack) {
			break
		}
	}
	return &division{of: s.of, score: s.score}
}

// pass moves each vertex once at most, the best move first though it be to the worse, and goes back
// to the best state it came through. It says whether that is better than the one it began with.
func (s *state) pass(slack int) bool {
	type step struct{ v, from int }
	var steps []step
	moved := make([]bool, len(s.of))
	best, at := s.score, 0
	for len(steps)-at < patience {
		v, p := s.next(moved, slack)
		if v < 0 {
			break
		}
		steps = append(steps, step{v, s.of[v]})
		moved[v] = true
		if s.move(v, p); s.score.compare(best) < 0 {
			best, at = s.score, len(steps)
		}
	}
	for i := len(steps) - 1; i >= at; i-- {
		s.move(steps[i].v, steps[i].from)
	}
	return at > 0
}

// next is the best move: while a part is too heavy, one out of such a part; else that which saves
// most links; among equals the one that evens the load most. v is -1 if none is left.
func (s *state) next(moved []bool, slack int) (v, to int) {
	heavy := s.score.room+s.score.over > 0
	v, to = -1, -1
	var gain, evens int
	var relief bool
	for u, q := range s.of {
		if moved[u] {
			continue
		}
		w := s.net.weight[u]
		out := heavy && (s.held[q].ports > s.to[q].cap.ports || s.held[q].switches > s.to[q].cap.switches)
		for p := range s.to {
			if p == q || !out && s.links[u][p] == 0 || s.held[p].ports+w.ports > s.to[p].cap.ports+slack ||
				s.held[p].switches >= s.to[p].cap.switches+1 {
				continue
			}
			r := out && s.held[p].ports+w.ports <= s.to[p].cap.ports && s.held[p].switches+w.switches <= s.to[p].cap.switches
			g := s.links[u][p] - s.links[u][q]
			e := (s.held[q].ports - s.to[q].target) - (s.held[p].ports - s.to[p].target)
			if v < 0 || r && !relief || r == relief && (g > gain || g == gain && e > evens) {
				v, to, gain, evens, relief = u, p, g, e, r
			}
		}
	}
	return v, to
}
