package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// How the sets of faults were explored, see [Result].Method.
const (
	Lazy        = "lazy"        // all at once: a link is decided when the firmware asks for it
	Enumeration = "enumeration" // one by one
)

// maxCounted bounds the sets that are explored one by one to count those in which something is wrong,
// after all at once have been; chosen by us: some seconds.
const maxCounted = 100_000

// lazyFind is what exploring all sets at once has found.
type lazyFind struct {
	pairs    [][]lazyPair // per flow and source, where they are kept
	sum      lazySum
	wrong    *witness
	nodes    uint64
	alike    string // how destinations were taken for others; "": they were not
	doubt    string // why less than the firmware says
	cyclic   bool   // the dependencies of all sets together have a cycle
	released bool   // it has, and there is no deadlock, see [lazyWalk.released]
	falls    bool   // a hop does not raise the channel's number
	choices  bool   // a decision has left one
	now      bool   // the firmware has looked at the time
}

// canBeLazy says why the sets cannot be explored all at once; "": they can.
func (r *run) canBeLazy() string {
	s := &r.Sets
	switch {
	case r.Exhaustive:
		return "it was asked for"
	case s.List != nil || s.Samples > 0 || s.Min > 0:
		return "the sets are given"
	case r.losesNICs():
		return "switches with NICs can be dead"
	case r.Mixed != nil || r.knowing():
		return "it is not one routing that knows nothing of the faults"
	case r.Subfunction != nil || r.Compare != nil || r.Checkpoint != "":
		return "something is asked of each set"
	case r.registers() && (!r.Firmware.Vectors || r.When != Before || r.folds() == nil):
		return "switches have registers"
	}
	return ""
}

// registers reports whether a switch has registers.
func (r *run) registers() bool {
	return slices.ContainsFunc(r.model.runs[0].declared, func(n int) bool { return n > 0 })
}

// lazy explores all sets at once. ok is false if they have to be explored one by one, for the reason
// that is returned.
func (r *run) lazy(ctx context.Context) (res *Result, why string, err error) {
	if why = r.canBeLazy(); why != "" {
		return nil, why, nil
	}
	found, err := r.find(ctx, (*lazyWalk).relevant)
	switch {
	case ctx.Err() != nil:
		res = r.empty()
		res.Method, res.Symmetry, res.Interrupted = Lazy, "", true
		return res, "", nil
	case gaveUp(err):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	}
	res = r.empty()
	res.Method, res.Symmetry, res.Asymmetry = Lazy, found.alike, found.doubt
	many := r.Sets.total() > maxCounted
	switch {
	case found.wrong != nil && !many:
		return nil, "something is wrong, and sets are counted", nil
	case found.cyclic && !found.released && found.wrong == nil && r.Sets.total() <= maxSets:
		return nil, "the channel dependencies of all sets together have a cycle", nil
	}
	if err = r.conclude(found, res); err == nil && found.wrong != nil && res.Unconnected > 0 {
		err = r.shares(ctx, res)
	}
	return res, "", err
}

// losesNICs reports whether a switch with NICs can be dead.
func (r *run) losesNICs() bool {
	return slices.ContainsFunc(r.Graph.NICs, func(n topology.NIC) bool {
		sw, _ := r.Graph.SwitchOf(n.ID)
		return slices.Contains(r.Sets.elements, Element{Switch: true, ID: uint32(sw)})
	})
}

// most is how many faults there can be for one packet.
func (r *run) most() int {
	if r.When == Repaired && r.AtOnce > 0 {
		return min(r.Sets.Max, r.AtOnce)
	}
	return r.Sets.Max
}

// find explores the packets to every destination, or to one of each orbit.
func (r *run) find(ctx context.Context, forget forget) (found lazyFind, err error) {
	doubt := ""
	if q := r.folds(); q != nil {
		found, err = r.findFolded(ctx, forget, q)
		few := r.Sets.total() <= maxSets && !r.folded // then the sets can say more than that something is wrong
		switch {
		case errors.Is(err, errUnfit):
			doubt = err.Error()
		case !few || err == nil && found.released && found.wrong == nil:
			return found, err
		}
	}
	alike := newOrbits(r, newMortals(r.model, &r.Sets, r.OneByOne))
	if found, err = r.findAlike(ctx, forget, alike); errors.Is(err, errCyclic) {
		alike.every = 1
		found, err = r.findAlike(ctx, forget, alike)
		found.doubt = "it is not cyclic: another destination was decided about otherwise"
	}
	found.doubt = cmp.Or(found.doubt, doubt)
	return found, err
}

// findAlike is find with these orbits, nil: each destination is explored.
func (r *run) findAlike(ctx context.Context, forget forget, alike *orbits) (found lazyFind, err error) {
	found.pairs, found.sum = make([][]lazyPair, len(r.model.flows)), noPairs
	errs, finders := make([]error, r.Workers), make([]*finder, r.Workers)
	var next atomic.Int64
	var stop atomic.Bool
	var workers sync.WaitGroup
	done := make(chan int, r.Workers) // destinations, or pairs
	for i := range finders {
		workers.Go(func() {
			w := newLazyWalk(r.model, r.most(), newMortals(r.model, &r.Sets, r.OneByOne))
			w.forget = forget
			s := &finder{r: r, w: w, alike: alike, each: found.pairs, sum: noPairs}
			finders[i] = s
			for ctx.Err() == nil && !stop.Load() {
				f := int(next.Add(1) - 1)
				if f >= len(r.model.flows) {
					return
				}
				n, err := s.flow(ctx, f)
				if errs[i] = err; err != nil {
					stop.Store(true)
					return
				}
				done <- n
			}
		})
	}
	go func() {
		workers.Wait()
		close(done)
	}()
	sofar := 0
	for n := range done {
		if sofar += n; r.Destinations != nil && n > 0 {
			r.Destinations(uint64(sofar), uint64(len(r.model.flows)))
		}
	}
	for _, s := range finders {
		found.nodes += s.nodes
		if w := s.wrong; w != nil && (found.wrong == nil || w.before(found.wrong)) {
			found.wrong = w
		}
		found.sum.join(s.sum)
		w := s.w
		found.falls, found.choices, found.now = found.falls || w.falls, found.choices || w.choices, found.now || w.now
	}
	found.choices = found.choices || r.When == Arriving || r.When == Flapping // of moments
	if alike != nil {
		found.alike = alike.String()
	}
	found.cyclic = r.model.number == nil && together(finders, alike).cyclic()
	return found, cmp.Or(errs...)
}

// finder explores destinations, as one of several workers.
type finder struct {
	r     *run
	w     *lazyWalk
	alike *orbits
	each  [][]lazyPair // of all workers
	sum   lazySum
	wrong *witness
	nodes uint64
}

// flow explores a destination, and those that it stands for, and says how many these are together.
func (s *finder) flow(ctx context.Context, f int) (n int, err error) {
	if s.alike != nil && s.alike.turn[f] > 0 {
		return 0, nil
	}
	pairs, err := s.explore(ctx, f)
	if err != nil || s.alike == nil {
		return 1, err
	}
	var others []int
	for _, r := range s.alike.turns[1:] {
		to := int(r.nics[f])
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if !s.w.mirrors(s.alike, f, to) {
			if s.alike.every > 1 {
				return 0, errCyclic
			}
			others = append(others, to)
			continue
		}
		if s.sum.add(pairs); s.r.eachPair {
			s.each[to] = make([]lazyPair, len(pairs))
			for i, src := range s.r.model.flows[f].srcs {
				s.each[to][slices.Index(s.r.model.flows[to].srcs, weft.NICID(r.nics[src]))] = pairs[i]
			}
		}
	}
	for _, f := range others {
		if _, err := s.explore(ctx, f); err != nil {
			return 0, err
		}
	}
	return s.alike.size(), nil
}

// explore explores one destination.
func (s *finder) explore(ctx context.Context, f int) ([]lazyPair, error) {
	if err := s.w.walk(ctx, f); err != nil {
		return nil, err
	}
	pairs := s.w.pairs(f)
	if s.sum.add(pairs); s.r.eachPair {
		s.each[f] = pairs
	}
	if w := s.w.wrongs(f); w != nil && (s.wrong == nil || w.before(s.wrong)) {
		s.wrong = w
	}
	s.nodes += uint64(len(s.w.nodes))
	return pairs, nil
}

// together is the graph of all walks, and of those to the destinations that are alike.
func together(finders []*finder, alike *orbits) *waitGraph {
	g := finders[0].w.graph
	for _, s := range finders[1:] {
		g.edges = append(g.edges, s.w.graph.edges...) // an edge that is there twice makes no new cycle
	}
	if alike != nil {
		g.closeUnder(alike)
	}
	return g
}

// conclude makes the result of what was found.
func (r *run) conclude(found lazyFind, res *Result) error {
	res.FaultSets, res.Explored = 0, 0
	res.States = found.nodes
	failing, loops, fewest, hops := found.sum.failing, found.sum.loops, found.sum.fewest, found.sum.hops
	res.MaxHops, res.inexactSoFar.now = int(hops), found.now
	res.Released = found.released
	if found.cyclic && !found.released || found.falls {
		res.Undecided = "deadlock"
	}
	if found.falls {
		*res.Numbering = false
	}
	all := new(big.Int)
	for size := 0; size <= r.Sets.Max; size++ {
		n := new(big.Int).Binomial(int64(len(r.Sets.elements)), int64(size))
		all.Add(all, n)
		s := res.size(size)
		if s.Sets = limited(n); size < int(fewest) {
			s.Connected = s.Sets
		}
		s.Uncounted = size >= int(fewest)
	}
	if res.FaultSets = limited(all); !all.IsUint64() {
		about, _ := new(big.Float).SetInt(all).Float64()
		res.About = fmt.Sprintf("%.1e", about)
	}
	res.Explored = res.FaultSets
	res.Walks = limited(all.Mul(all, big.NewInt(int64(res.Pairs))))
	if failing > 0 {
		res.Unconnected, res.Livelocks, res.BadSets = uint64(failing), uint64(loops), 1
		res.Notes = append(res.Notes, fmt.Sprintf("all sets were explored at once, so that pairs are counted and not "+
			"sets: %d pairs can be unconnected, %d of these can have a livelock, with %d faults or more",
			failing, loops, fewest))
		if found.choices {
			res.Notes = append(res.Notes, "the most hops are also of pairs that not every choice delivers")
		}
	}
	if w := found.wrong; w != nil {
		var err error
		if res.Counter, err = r.shows(w); err != nil {
			return err
		}
	}
	return nil
}

// limited is n, or the largest number that there is if that is less.
func limited(n *big.Int) uint64 {
	if !n.IsUint64() {
		return 1<<64 - 1
	}
	return n.Uint64()
}

// shows is the counterexample of a witness, as exploring its set by itself finds it.
func (r *run) shows(w *witness) (*Counterexample, error) {
	m := *r.model
	m.flows = m.flows[w.flow : w.flow+1]
	one := &run{Config: r.Config, model: &m}
	one.Sets.List = [][]Element{w.dead}
	c, err := one.counterexample([]first{{Size: len(w.dead), What: w.what}})
	if err != nil {
		to := m.g.NICs[m.flows[0].dst].Name
		return nil, fmt.Errorf("exploring all sets at once found %s to %s: %w", w.what, to, err)
	}
	return c, nil
}
