package dqr

// search finds paths to target k in layer l that enable no more turns than limit, puts them in
// force, and returns the sources that have none. A path that enables turns is followed by a new
// search for the sources that are left: to them these turns are there (section IV.B, step 3: flow
// by flow, preferring turns "that have already been enabled by other paths").
func (r *Reconfiguration) search(res *Result, l, k int, limit int32, sources []int32) []int32 {
	w, y, f, t := r.w, r.layers[l], r.find, &r.targets[k]
	f.request++
	q := query{
		list: y.list, home: t.home, next: row(y.next, k, len(w.To)), first: row(y.first, k, w.n),
		live: row(y.live, k, len(w.To)), dead: r.dead,
		limit: limit, all: r.o.Turns == AllTurns, byHops: r.o.Cost == HopsFirst, switches: r.o.Entries == ByDestination,
		revisit: r.o.Revisit == AllowTwice,
	}
	q.old = q.next
	if q.switches {
		q.old = q.first
	}
	for round := 0; round < mostRounds && len(sources) > 0; {
		q.sources = sources
		res.Searches++
		if q.switches {
			f.bySwitch(&q)
		} else {
			f.byChannel(&q)
		}
		refused, enabled := false, false
		for i, s := range f.found {
			before := res.NewTurns
			if !r.commit(res, l, k, &q, s) {
				refused = true
			} else if enabled = res.NewTurns > before && i+1 < len(f.found); enabled {
				break
			}
		}
		left := sources[:0]
		for _, s := range sources {
			if r.mask[k*w.n+int(s)]>>l&1 == 0 {
				left = append(left, s)
			}
		}
		switch sources = left; {
		case enabled:
		case refused:
			round++
		default:
			return sources
		}
	}
	return sources
}

// commit puts the path in force that was found for a source. It reports false, and nothing has
// changed but that a turn is banned, when its turns cannot be enabled together.
func (r *Reconfiguration) commit(res *Result, l, k int, q *query, s int32) bool {
	f, x := r.find, &r.scratch
	path := x.path[:0]
	c := f.source[s]
	for c >= 0 && !q.live[c] {
		path = append(path, c)
		c = f.onward(q, c)
	}
	x.path = path
	moved, ok := r.enable(l, path, c)
	if !ok {
		return false
	}
	res.NewTurns += moved
	r.put(l, k, s, path, c)
	return true
}

// enable adds the dependencies of a path that leads on by channel join, if it is not none. It
// reports how many turns had to be enabled; or false, and bans the one that was too many.
func (r *Reconfiguration) enable(l int, path []int32, join int32) (moved int, ok bool) {
	w, f, list := r.w, r.find, r.layers[l].list
	turns := r.scratch.turns[:0]
	for i, c := range path {
		next := join
		if i+1 < len(path) {
			next = path[i+1]
		}
		if next >= 0 {
			turns = append(turns, w.turn(c, next))
		}
	}
	r.scratch.turns = turns
	more := false
	for i, t := range turns {
		from, to := w.turns.Ends(t)
		if !list.Has(t) {
			more = true
			if list.Label(from) > list.Label(to) {
				moved++
			}
		}
		if !list.Try(t) {
			list.BackPath(turns[:i])
			list.Keep()
			f.banned[t] = f.request
			f.version++ // the order may have changed
			return 0, false
		}
	}
	list.Keep()
	if more {
		f.version++
	}
	return moved, true
}

// put makes the entries of a path to target k from s that leads on by channel join. Its turns are
// enabled.
func (r *Reconfiguration) put(l, k int, s int32, path []int32, join int32) {
	w, y, x := r.w, r.layers[l], &r.scratch
	r.note(k, s)
	x.touched[l][k] = true
	r.mask[k*w.n+int(s)] |= 1 << l
	begin := join
	if len(path) > 0 {
		begin = path[0]
	}
	r.setFirst(y, l, k, s, begin)
	for i, c := range path {
		next := join
		if i+1 < len(path) {
			next = path[i+1]
		}
		y.live[k*len(w.To)+int(c)] = true
		if r.o.Entries == ByDestination {
			r.setFirst(y, l, k, w.From[c], c)
			continue
		}
		r.setNext(y, l, k, c, next)
	}
}

func (r *Reconfiguration) setFirst(y *layer, l, k int, s, to int32) {
	i := k*r.w.n + int(s)
	if y.first[i] != to {
		r.scratch.journal = append(r.scratch.journal, entry{int32(l), int32(i), y.first[i], true})
		y.first[i] = to
	}
}

func (r *Reconfiguration) setNext(y *layer, l, k int, c, to int32) {
	i := k*len(r.w.To) + int(c)
	if y.next[i] != to {
		r.scratch.journal = append(r.scratch.journal, entry{int32(l), int32(i), y.next[i], false})
		y.next[i] = to
	}
}
