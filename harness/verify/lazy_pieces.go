package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/work"
)

// ended is what exploring some destinations, or pairs, at once has found. It travels as JSON, and a
// checkpoint holds the sum of those that have ended.
type ended struct {
	Done    int         `json:"done"` // destinations, or pairs
	Failing int         `json:"failing,omitempty"`
	Loops   int         `json:"loops,omitempty"`
	Fewest  int32       `json:"fewest"`
	Hops    int32       `json:"hops"`
	Flow    int         `json:"flow,omitempty"` // what is wrong at the fewest faults, with this destination
	What    string      `json:"what,omitempty"`
	Dead    []Element   `json:"dead,omitempty"`
	Nodes   uint64      `json:"nodes"`
	Falls   bool        `json:"falls,omitempty"`
	Choices bool        `json:"choices,omitempty"`
	Now     bool        `json:"now,omitempty"`
	Edges   []byte      `json:"edges,omitempty"` // of the dependencies between channels, where these have no numbers
	Classes []PairClass `json:"classes,omitempty"`
	More    int         `json:"more,omitempty"`   // pairs of other classes
	Untrue  bool        `json:"untrue,omitempty"` // the firmware says that it is cyclic, which is not so
}

// ended is what was found, with the dependencies between channels of a graph, if that is not nil.
func (found *lazyFind) ended(graph *waitGraph) ended {
	e := ended{
		Done: found.done, Failing: found.sum.failing, Loops: found.sum.loops, Fewest: found.sum.fewest,
		Hops: found.sum.hops, Nodes: found.nodes, Falls: found.falls, Choices: found.choices, Now: found.now,
		Classes: found.classes, More: found.more,
	}
	if w := found.wrong; w != nil {
		e.Flow, e.What, e.Dead = w.flow, w.what, w.dead
	}
	if graph != nil {
		e.Edges = make([]byte, 0, 8*len(graph.edges))
		for _, edge := range graph.edges {
			e.Edges = binary.LittleEndian.AppendUint32(e.Edges, uint32(edge[0]))
			e.Edges = binary.LittleEndian.AppendUint32(e.Edges, uint32(edge[1]))
		}
	}
	return e
}

// add takes in what was found of more destinations.
func (found *lazyFind) add(e *ended, graph *waitGraph) {
	found.done += e.Done
	found.sum.join(lazySum{e.Failing, e.Loops, e.Fewest, e.Hops})
	if w := (&witness{e.Flow, e.What, e.Dead}); e.What != "" && (found.wrong == nil || w.before(found.wrong)) {
		found.wrong = w
	}
	found.nodes += e.Nodes
	found.falls, found.choices, found.now = found.falls || e.Falls, found.choices || e.Choices, found.now || e.Now
	found.join(e.Classes)
	found.more += e.More
	for at := e.Edges; len(at) >= 8 && graph != nil; at = at[8:] {
		graph.between(int32(binary.LittleEndian.Uint32(at)), int32(binary.LittleEndian.Uint32(at[4:])), false)
	}
}

// join adds classes of pairs.
func (found *lazyFind) join(list []PairClass) {
	var more int
	found.classes, more = join(found.classes, list)
	found.more += more
}

// of reports whether what was found can be of a model.
func (e *ended) of(m *model) bool {
	for at := e.Edges; len(at) > 0; at = at[4:] {
		if len(at)%4 != 0 || binary.LittleEndian.Uint32(at) >= uint32(m.channels) {
			return false
		}
	}
	return e.Flow >= 0 && e.Flow < len(m.flows) && len(e.Edges)%8 == 0 && e.Done >= 0
}

// between notes that a packet that holds one channel can want another.
func (g *waitGraph) between(from, to int32, two bool) {
	vcs := int32(g.m.vcs)
	at := &g.m.peers[from/vcs]
	g.add(g.m.turn(int(at.node), at.port, weft.VC(from%vcs), g.m.port(to), weft.VC(to%vcs)), from, to, two)
}

// findAlike is find with these orbits, nil: each destination is explored, and subtrees that stand
// for others, nil: none does.
func (r *run) findAlike(
	ctx context.Context, forget forget, alike *orbits, siblings *siblings,
) (found lazyFind, err error) {
	var heads []int // destinations that are explored for others
	every := 0
	for f := range r.model.flows {
		if alike == nil || alike.turn[f] == 0 {
			heads = append(heads, f)
		}
	}
	if alike != nil {
		found.alike, every = alike.String(), alike.every
	}
	if siblings != nil && found.alike != "" {
		found.alike += "; " + siblings.String()
	} else if siblings != nil {
		found.alike = siblings.String()
	}
	found.pairs, found.sum, found.of = make([][]lazyPair, len(r.model.flows)), noPairs, len(r.model.flows)
	var graph *waitGraph // of all destinations
	if r.model.number == nil {
		graph = &waitGraph{}
		graph.init(r.model)
		graph.begin(0)
	}
	switch e, err := r.book.destinations(r.model, every, len(heads)); {
	case err != nil:
		return found, err
	case e != nil:
		found.add(e, graph)
	}
	same := sync.OnceValue(r.fingerprint)
	j := work.Job{What: "destinations", Count: len(heads), Known: r.book.hasDestination, Ordered: true}
	j.Piece = func(i int) work.Piece {
		return work.Piece{Name: fmt.Sprintf("destination %d", heads[i]), Key: work.Key(same(), every, heads[i]), Cost: 1}
	}
	finders := make([]*finder, work.Local{Workers: r.Workers}.Count(len(heads)))
	room, err := r.allow(len(finders))
	if err != nil {
		return found, err
	}
	for i := range finders {
		finders[i] = &finder{r: r, forget: forget, alike: alike, siblings: siblings, each: found.pairs}
	}
	j.Run, j.Merge = work.JSON(func(ctx context.Context, worker, i int) (ended, error) {
		return finders[worker].within(ctx, room, finders, heads[i])
	}, func(i int, e ended) error {
		if e.Untrue {
			return errCyclic
		}
		found.add(&e, graph)
		if r.Destinations != nil {
			r.Destinations(uint64(found.done), uint64(found.of))
		}
		return r.book.ended(i, func() ended { return found.ended(graph) })
	})
	engine := r.Engine
	if engine == nil || r.Sets.total() <= maxSets { // others would have to be told what comes next
		engine = work.Local{Workers: r.Workers}
	}
	if err := engine.Run(ctx, &j); err != nil {
		return found, err
	}
	found.choices = found.choices || r.When == Arriving || r.When == Flapping // of moments
	if graph != nil && alike != nil {
		graph.closeUnder(alike)
	}
	found.cyclic = graph != nil && graph.cyclic()
	return found, nil
}

// finder explores destinations, as one of several workers.
type finder struct {
	r        *run
	w        *lazyWalk // nil: it is made when it is needed
	alike    *orbits
	siblings *siblings
	forget   forget
	each     [][]lazyPair // of all workers
	found    lazyFind     // of the destination, and those that it stands for
	// a destination that takes too much memory is explored pair by pair, and those that it stands for
	// too
	pairwise, split bool
}

// piece explores a destination, and those that it stands for.
func (s *finder) piece(ctx context.Context, f int) (ended, error) {
	if s.w.graph != nil {
		s.w.graph.begin(0)
	}
	n, err := s.flow(ctx, f)
	if errors.Is(err, errCyclic) {
		return ended{Untrue: true}, nil
	}
	s.found.done = n
	return s.found.ended(s.w.graph), err
}

// flow explores a destination, and those that it stands for, and says how many these are together.
func (s *finder) flow(ctx context.Context, f int) (n int, err error) {
	s.found = lazyFind{sum: noPairs}
	pairs, err := s.destination(ctx, f)
	if err != nil || s.alike == nil {
		return 1, err
	}
	classes, more := slices.Clone(s.found.classes), s.found.more
	var others []int
	for _, r := range s.alike.turns[1:] {
		to := int(r.nics[f])
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if s.split || !s.w.mirrors(s.alike, f, to) {
			if s.alike.every > 1 && !s.split {
				return 0, errCyclic
			}
			others = append(others, to)
			continue
		}
		s.found.join(classes)
		s.found.more += more
		if s.found.sum.add(pairs); s.r.eachPair {
			s.each[to] = make([]lazyPair, len(pairs))
			for i, src := range s.r.model.flows[f].srcs {
				s.each[to][slices.Index(s.r.model.flows[to].srcs, weft.NICID(r.nics[src]))] = pairs[i]
			}
		}
	}
	for _, f := range others {
		if _, err := s.destination(ctx, f); err != nil {
			return 0, err
		}
	}
	return s.alike.size(), nil
}

// destination explores one destination, if need be pair by pair.
func (s *finder) destination(ctx context.Context, f int) (pairs []lazyPair, err error) {
	s.split = false
	if pairs, err = s.explore(ctx, f); errors.Is(err, errMemory) && s.pairwise {
		s.split = true
		pairs, err = s.pairByPair(ctx, f)
	}
	return pairs, err
}

// explore explores one destination.
func (s *finder) explore(ctx context.Context, f int) ([]lazyPair, error) {
	before := s.w.choices
	s.w.choices = false
	err := s.w.walk(ctx, f)
	chosen := s.w.choices
	if s.w.choices = before || chosen; err != nil {
		return nil, err
	}
	pairs, found := s.w.pairs(f), &s.found
	judged := pairs
	if s.w.only > 0 {
		judged = pairs[s.w.only-1 : s.w.only]
	}
	classes, more, err := s.w.pairClasses(ctx, s.r, f, pairs, chosen)
	if err != nil {
		return nil, err
	}
	found.join(classes)
	found.more += more
	if found.sum.add(judged); s.r.eachPair {
		s.each[f] = pairs
	}
	if w := s.w.wrongs(f); w != nil && (found.wrong == nil || w.before(found.wrong)) {
		found.wrong = w
	}
	found.nodes += uint64(len(s.w.nodes))
	found.falls, found.choices, found.now = s.w.falls, s.w.choices, s.w.now
	return pairs, nil
}
