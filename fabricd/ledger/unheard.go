package ledger

// made is what is made up of one incarnation that may have done more than it has told.
type made struct {
	// group is the position of the lowest of the incarnations that can only be added up: between
	// two of them something may have passed that neither has told. One that is certain, or has no
	// such neighbour, is a group of its own.
	group int
	// held is how many packets it holds, or held when it failed. Below 0: so many more have left
	// it, or its group, than are known to have come in.
	held int64
	// doubt says that packets of the group may have gone on to a host that can still be heard.
	doubt bool
}

// makeUp makes up what hosts hold that are uncertain, by position in State.Hosts.
func (l *Ledger) makeUp() []made {
	hosts := l.state.Hosts
	list := make([]made, len(hosts))
	firsts, unheard, any := map[int]int{}, false, false // by Unheard
	for i := range hosts {
		h := &hosts[i]
		list[i] = made{group: i}
		unheard = unheard || h.Status == Alive && !h.Heard
		if !h.uncertain() {
			continue
		}
		list[i].held, list[i].doubt, any = h.Inside, h.Status == Suspect, true
		if !h.Heard { // what it met under another leader only the others can tell
			first, ok := firsts[h.Unheard]
			if !ok {
				firsts[h.Unheard], first = i, i
			}
			join(list, first, i)
		}
	}
	if !any {
		return list
	}
	if first, ok := firsts[l.state.Unheard]; ok && unheard {
		list[first].doubt = true
	}
	for i := range l.state.Sessions {
		s := &l.state.Sessions[i]
		at, _ := l.positions(s)
		sure := [2]bool{!hosts[at[0]].uncertain(), !hosts[at[1]].uncertain()}
		for d := range s.Sides { // packets from side d
			missing, unheard := s.missing(d)
			if from := at[d]; !sure[d] {
				list[from].held -= int64(unheard)
			}
			if to := at[1-d]; !sure[1-d] {
				list[to].held += int64(missing)
			}
		}
		switch {
		case sure[0] && sure[1], s.over(0, &hosts[at[0]], &hosts[at[1]]), s.over(1, &hosts[at[1]], &hosts[at[0]]):
		case !sure[0] && !sure[1]:
			join(list, at[0], at[1])
		case !sure[0]:
			list[at[0]].doubt = true
		default:
			list[at[1]].doubt = true
		}
	}
	balance(list)
	return list
}

// positions are those of a session's incarnations in State.Hosts, where both are: a session is put
// away with either.
func (l *Ledger) positions(s *Session) (at [2]int, ok bool) {
	a, okA := l.find(s.Sides[0].Incarnation)
	b, okB := l.find(s.Sides[1].Incarnation)
	return [2]int{a, b}, okA && okB
}

// top is the group of i.
func top(list []made, i int) int {
	for list[i].group != i {
		list[i].group = list[list[i].group].group
		i = list[i].group
	}
	return i
}

// join makes one group of two.
func join(list []made, a, b int) {
	a, b = top(list, a), top(list, b)
	list[max(a, b)].group = min(a, b)
}

// balance covers what some of a group are short of by what others of it hold, lower incarnations
// first, and has the whole group in doubt with any of it.
func balance(list []made) {
	for i := range list {
		list[i].group = top(list, i)
		if g := &list[list[i].group]; list[i].doubt {
			g.doubt = true
		}
	}
	for i := range list {
		m := &list[i]
		m.doubt = list[m.group].doubt
		for j := m.group; j < len(list) && m.held < 0; j++ {
			if o := &list[j]; o.group == m.group && o.held > 0 {
				n := min(-m.held, o.held)
				m.held, o.held = m.held+n, o.held-n
			}
		}
	}
}
