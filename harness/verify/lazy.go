package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/weft-fabric/weft/fabricd/topology"
)

// How the sets of faults were explored, see [Result].Method.
const (
	Lazy        = "lazy"        // all at once: a link is decided when the firmware asks for it
	Enumeration = "enumeration" // one by one
)

// maxCounted bounds the sets that are explored one by one to count those in which something is
// wrong, after all at once have been; chosen by us: some seconds.
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
	classes  []PairClass
	more     int // pairs of other classes
	done     int // destinations, or pairs, of all
	of       int
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
	case r.Subfunction != nil || r.Compare != nil:
		return "something is asked of each set"
	case r.book.counts():
		return "the checkpoint holds sets that were explored one by one"
	case r.registers() && (!r.Firmware.Vectors || r.folds() == nil):
		return "switches have registers"
	}
	return ""
}

// registers reports whether a switch has registers.
func (r *run) registers() bool {
	return slices.ContainsFunc(r.model.runs[0].declared, func(n int) bool { return n > 0 })
}

// lazy explores all sets at once. ok is false if they have to be explored one by one, for the
// reason that is returned.
func (r *run) lazy(ctx context.Context) (res *Result, why string, err error) {
	if why = r.canBeLazy(); why != "" {
		return nil, why, nil
	}
	found, err := r.find(ctx, (*lazyWalk).relevant)
	switch {
	case ctx.Err() != nil:
		res, err = r.soFar(found)
		return res, "", err
	case gaveUp(err):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	}
	if found.sum.failing > 0 {
		r.classes, r.otherPairs = sorted(found.classes), found.more
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
	if err = r.conclude(found, res); err == nil && found.wrong != nil && res.Unconnected > 0 && !r.Sets.grouped() {
		err = r.shares(ctx, res)
		res.Interrupted = ctx.Err() != nil
	}
	return res, "", err
}

// soFar is the result where the exploration was interrupted.
func (r *run) soFar(found lazyFind) (*Result, error) {
	res := r.empty()
	res.Method, res.Symmetry, res.Interrupted, res.States = Lazy, "", true, found.nodes
	res.Unconnected, res.Livelocks = uint64(found.sum.failing), uint64(found.sum.loops)
	what := "destinations"
	if !r.model.merged {
		what = "pairs"
	}
	res.Notes = append(res.Notes, fmt.Sprintf("%d of %d %s explored", found.done, found.of, what))
	var err error
	if found.wrong != nil {
		res.Counter, err = r.shows(found.wrong)
	}
	return res, err
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
		return min(r.Sets.largest(), r.AtOnce)
	}
	return r.Sets.largest()
}

// find explores the packets to every destination, or to one of each orbit.
func (r *run) find(ctx context.Context, forget forget) (found lazyFind, err error) {
	doubt := ""
	if q := r.folds(); q != nil {
		found, err = r.findFolded(ctx, forget, q)
		// Where there are few sets they can say more than that something is wrong, but for registers.
		few := r.Sets.total() <= maxSets && !r.folded && !r.registers()
		switch {
		case errors.Is(err, errUnfit):
			doubt = err.Error()
		case !few || err == nil && found.released && found.wrong == nil:
			return found, err
		}
	}
	o := newMortals(r.model, &r.Sets, r.OneByOne)
	turns := newTurns(r.model, o)
	alike := newOrbits(r, turns)
	says := alike != nil && alike.every > 1
	if !says || !r.book.untrue() {
		found, err = r.findAlike(ctx, forget, alike, newSiblings(r.model, o, turns, says))
	}
	if says && (r.book.untrue() || errors.Is(err, errCyclic)) {
		alike.every = 1
		found, err = r.findAlike(ctx, forget, alike, newSiblings(r.model, o, turns, false))
		found.doubt = "it is not cyclic: another destination was decided about otherwise"
	}
	found.doubt = cmp.Or(found.doubt, doubt)
	return found, err
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
	for size, n := range r.Sets.counts() {
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
