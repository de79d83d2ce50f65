package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// errUnfit is that a firmware which says that it is symmetric is not, or keeps in headers what
// nobody knows how to renumber.
var errUnfit = errors.New("the firmware says that port numbers do not matter, which is not so")

// manyToFold is from how many walks on, of a pair in a set, states are folded, chosen by us: some
// seconds of exploring each set, or minutes where packets write registers. That says more where the
// dependencies have cycles: in how many sets they have.
const manyToFold = 10_000_000

// folds is the fold of the tree, nil: the firmware minds how ports are numbered, or it is not
// wanted.
func (r *run) folds() *fold {
	m := r.model
	nics := float64(len(m.g.NICs))
	switch {
	case !m.runs[0].fw.Symmetric || r.NoSymmetry || m.number != nil:
		return nil
	case r.Sets.grouped() || r.Sets.Kind == Switches || r.OneByOne || !m.merged:
		return nil
	case float64(r.Sets.total())*nics*(nics-1) <= manyToFold && !r.folded:
		return nil
	}
	return newFold(m)
}

// findFolded explores the packets to one destination, which stands for all.
func (r *run) findFolded(ctx context.Context, forget forget, q *fold) (found lazyFind, err error) {
	room, err := r.allow(1)
	if err != nil {
		return found, err
	}
	o := newMortals(r.model, &r.Sets, false)
	if !q.keeps(o) {
		return found, errUnfit
	}
	w := newLazyWalk(r.model, r.most(), o)
	w.limit = room.all
	w.forget, w.fold, w.graph = forget, q, nil
	w.vectors = r.registers()
	s := &finder{r: r, w: w, each: make([][]lazyPair, len(r.model.flows)), pairwise: true}
	if _, err := s.flow(ctx, 0); err != nil {
		return found, err
	}
	if w.vectors && w.doubtful(0, r.Sets.largest()) {
		return found, errOthers
	}
	n := len(r.model.flows)
	found = s.found
	found.pairs, found.cyclic, found.choices = s.each, true, true
	found.alike = fmt.Sprintf("every digit renumbered: one of %d destinations explored, each decision compared with %d "+
		"renumbered at random", n, imagesPerQuestion)
	found.released = !r.FixedChoice && w.released(&w.flows[0], &w.turned, r.Sets.largest())
	for i := range found.classes {
		found.classes[i].Pairs *= n
	}
	found.more *= n
	found.sum.failing, found.sum.loops = n*found.sum.failing, n*found.sum.loops
	for f := 1; f < n && r.eachPair; f++ {
		for _, src := range r.model.flows[f].srcs {
			i := slices.Index(r.model.flows[0].srcs, weft.NICID(q.less(int32(src), int32(f))))
			s.each[f] = append(s.each[f], s.each[0][i])
		}
	}
	return found, nil
}

// keeps reports whether switches of one tier can all be dead or none of them can.
func (q *fold) keeps(o *mortals) bool {
	for _, of := range q.switchAt {
		for _, sw := range of {
			if o.can[sw] != o.can[of[0]] {
				return false
			}
		}
	}
	return true
}

// less is the NIC that stands for another if a third one stands for NIC 0: each digit moved on.
func (q *fold) less(nic, zero int32) (to int32) {
	unit := int32(1)
	for i := q.tiers - 1; i >= 0; i-- {
		size := q.sizes[q.sub[i]]
		to += (nic%size - zero%size + size) % size * unit
		nic, zero, unit = nic/size, zero/size, unit*size
	}
	return to
}

// folded is the state that stands for one, and the number of the renumbering that takes it there.
func (a *asker) folded(fs *flowSpace, st state) (id, by int32) {
	a.fold.labels(&st, a.fields.of(st.fields))
	p := a.fold.order(nil)
	to, ok := a.fold.state(p, st, &a.fields)
	a.unfit = a.unfit || !ok
	key := string(p)
	if by, ok = a.moveIDs[key]; !ok {
		if a.moveIDs == nil {
			a.moveIDs = map[string]int32{}
		}
		by = int32(len(a.moves))
		a.moves = append(a.moves, p)
		a.moveIDs[key] = by
	}
	return a.stateWith(fs, int(to.sw), to.in, to.vc, to.fields), by
}

// foldStarts takes the states that packets start in for those that stand for them.
func (w *lazyWalk) foldStarts(fs *flowSpace) {
	own := slices.Clone(fs.states)
	fs.states = fs.states[:0]
	clear(fs.ids)
	for _, of := range fs.starts {
		for i := range of {
			of[i].state, _ = w.folded(fs, own[of[i].state])
		}
	}
}

// askableFolded finds the sorts of items that a packet may ask about in a state or later. What a
// state can ask is the same for all renumberings that keep the state, so that sorts say it exactly.
func (w *lazyWalk) askableFolded(fs *flowSpace) {
	q := w.fold
	w.sorts = make([]map[itemSort]bool, len(w.classes))
	labels := make([][]uint8, len(w.classes))
	for c := range w.classes {
		q.labels(&fs.states[c], w.fields.of(fs.states[c].fields))
		labels[c], w.sorts[c] = slices.Clone(q.label), map[itemSort]bool{}
		w.asks(w.classes[c].outcomes, func(item int32) { w.sorts[c][q.sortOf(item)] = true })
	}
	pulls := make([][]pull, len(w.classes))
	for c := range w.classes {
		seen := map[string]bool{}
		for i := range w.classes[c].outcomes {
			o := &w.classes[c].outcomes[i]
			if o.to < 0 {
				continue
			}
			p := pull{o.to, q.relation(labels[c], labels[o.to], w.moves[o.by])}
			if key := fmt.Sprint(p); !seen[key] {
				seen[key] = true
				pulls[c] = append(pulls[c], p)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for c := range w.classes {
			before := len(w.sorts[c])
			for _, p := range pulls[c] {
				for s := range w.sorts[p.from] {
					q.pull(s, p.relation, w.sorts[c])
				}
			}
			grown = grown || len(w.sorts[c]) > before
		}
	}
}

// pull says that what can be asked in a class can be asked in one that leads to it.
type pull struct {
	from     int32
	relation [][][2]uint8
}

// relation lists, for the values of each digit in each meaning, which labels those have here that
// have some label there, where p takes here to there.
func (q *fold) relation(here, there, p []uint8) (list [][][2]uint8) {
	for _, begins := range slices.Concat(q.sub, q.copies) {
		var pairs [][2]uint8
		for v := begins; v < begins+q.sizes[begins]; v++ {
			if pair := [2]uint8{there[begins+int32(p[v])], here[v]}; !slices.Contains(pairs, pair) {
				pairs = append(pairs, pair)
			}
		}
		slices.SortFunc(pairs, func(a, b [2]uint8) int { return cmp.Or(int(a[0])-int(b[0]), int(a[1])-int(b[1])) })
		list = append(list, pairs)
	}
	return list
}

// relevantFolded is what of some facts may be asked about again by a packet that comes to a class.
func (w *lazyWalk) relevantFolded(known []fact, to int32) (left []fact) {
	st := &w.flows[w.last].states[to]
	w.fold.labels(st, w.fields.of(st.fields))
	for _, is := range known {
		if w.sorts[to][w.fold.sortOf(int32(is>>1))] {
			left = append(left, is)
		}
	}
	return left
}

// orderFolded is the renumbering, which keeps the state of a class, that takes what is known there
// to what stands for it.
func (w *lazyWalk) orderFolded(known []fact, to int32) []uint8 {
	st := &w.flows[w.last].states[to]
	w.fold.labels(st, w.fields.of(st.fields))
	return w.fold.order(known)
}

// inverse undoes a renumbering.
func (q *fold) inverse(p []uint8) []uint8 {
	back := make([]uint8, len(p))
	for slot, to := range p {
		back[q.begins[slot]+int32(to)] = uint8(int32(slot) - q.begins[slot])
	}
	return back
}

// then is the renumbering that does first one and then another.
func (q *fold) then(first, second []uint8) []uint8 {
	both := make([]uint8, len(first))
	for slot, to := range first {
		both[slot] = second[q.begins[slot]+int32(to)]
	}
	return both
}

// none is the renumbering that changes nothing.
func (q *fold) none() []uint8 {
	p := make([]uint8, len(q.begins))
	for slot, begins := range q.begins {
		p[slot] = uint8(int32(slot) - begins)
	}
	return p
}
