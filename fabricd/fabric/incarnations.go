package fabric

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// Ends of links count per incarnation of their neighbour. Only the leader, who gives the epochs
// with the spec, knows which are of which incarnation: it says so whenever it asks.

// ownNumber is the incarnation of the nodes of the first leader's own process. Their epochs are
// below firstEpoch.
const ownNumber = 1

// termShift makes the numbers of incarnations unique under all leaders: the upper half is the term
// of the leader that gave it.
const termShift = 32

// epochs gives links that begin anew an epoch to begin above. Under the same lock it is noted who
// begins there: a list of incarnations knows all that began before the list was made.
type epochs struct {
	mu     sync.Mutex // a leaf
	latest weft.Epoch // guarded by mu: that was given, or up to which a list knows all
}

// next is above all epochs of links that were used, and all numbers of hand-overs, under whichever
// leader. Epochs count a thousand a second, faster than any link comes up for long. The caller
// holds mu.
func (e *epochs) next(now weft.Time) weft.Epoch {
	e.latest = max(e.latest+1, epochAt(now))
	return e.latest
}

// known is an epoch that is not above any that is given from now on. The caller holds mu.
func (e *epochs) known(now weft.Time) weft.Epoch {
	e.latest = max(e.latest, epochAt(now))
	return e.latest
}

func epochAt(now weft.Time) weft.Epoch { return firstEpoch + weft.Epoch(now/weft.Millisecond) }

// incarnationOf is the incarnation that a spec begins.
func incarnationOf(c *host.Spec) linkend.Incarnation {
	return linkend.Incarnation{Number: c.Number, First: c.Epoch}
}

// incarnationIn is the incarnation of that number in a list.
func incarnationIn(list []linkend.Incarnation, number uint64) linkend.Incarnation {
	for _, k := range list {
		if k.Number == number {
			return k
		}
	}
	return linkend.Incarnation{Number: number}
}

// allIncarnations are those of h that the ledger keeps.
func (h *hostState) allIncarnations() []linkend.Incarnation {
	if l := h.incarnations.Load(); l != nil {
		return *l
	}
	return nil
}

// addIncarnation notes that an incarnation begins; number 0: none does.
func (h *hostState) addIncarnation(k linkend.Incarnation) {
	e := &h.site.epochs
	e.mu.Lock()
	defer e.mu.Unlock()
	h.begins = 0
	old := h.allIncarnations()
	if n := len(old); k.Number == 0 || n > 0 && old[n-1].Number >= k.Number {
		return
	}
	h.incarnations.Store(new(append(slices.Clone(old), k)))
	if h.sw == nil {
		h.livesOn(k)
	}
}

// specEpoch is the epoch of a new spec of h. Until h begins its incarnation, or goes on as it was,
// it is not known who has epochs above that.
func (h *hostState) specEpoch() weft.Epoch {
	e := &h.site.epochs
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.next(h.site.Now())
	if h.begins == 0 {
		h.begins = first
	}
	return first
}

// goesOn notes that h is what it was, and no spec of it has become an incarnation.
func (h *hostState) goesOn() {
	e := &h.site.epochs
	e.mu.Lock()
	defer e.mu.Unlock()
	h.begins = 0
}

// neighbourHosts is who has the other ends of the links of a host, by the names that the host knows
// them by. Constant.
type neighbourHosts struct {
	names    []string
	hosts    map[string]*hostState // not in it: the node is in the leader's own process
	switches []*liveSwitch
}

// peers are the incarnations of the neighbours of h. Those of a switch that has moved go by its
// name.
func (h *hostState) peers() (list []host.Peer) {
	b := h.neighbourHosts.Load()
	if b == nil {
		b = h.findNeighbourHosts(h.cross)
		if !h.neighbourHosts.CompareAndSwap(nil, b) { // more is shared by now
			b = h.neighbourHosts.Load()
		}
	}
	e := &h.site.epochs
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.known(h.site.Now())
	add := func(name string, by *hostState, lives []linkend.Incarnation) {
		for _, k := range lives {
			list = append(list, host.Peer{Host: name, Incarnation: k})
		}
		upto := known
		switch {
		case len(lives) == 0: // it is nobody yet
			upto = 0
		case by != nil && by.begins != 0:
			upto = min(upto, by.begins)
		}
		list = append(list, host.Peer{Host: name, Incarnation: linkend.Incarnation{First: upto}})
	}
	moved := map[string]bool{}
	for _, s := range b.switches {
		if lives := s.lives.Load(); lives != nil {
			moved[s.name] = true
			by := s.home
			if s.moved.Load() {
				by = nil
			}
			add(s.name, by, *lives)
		}
	}
	for _, name := range b.names {
		if o := b.hosts[name]; o != nil {
			add(name, o, o.allIncarnations())
		} else if !moved[name] {
			add(name, nil, []linkend.Incarnation{{Number: h.site.own}})
		}
	}
	return list
}

// share has a host tell of what passes on links of a switch that may move.
func (h *hostState) share(_ loop, links []*link) {
	for _, l := range links {
		for _, e := range l.ends() {
			if h.site.home(e.Node) == h && !slices.Contains(h.shared, e) {
				h.shared = append(h.shared, e)
			}
		}
	}
	h.neighbourHosts.Store(h.findNeighbourHosts(slices.Concat(h.cross, h.shared)))
}

// findNeighbourHosts finds who is at the other ends of links.
func (h *hostState) findNeighbourHosts(ends []weft.End) *neighbourHosts {
	si, b := h.site, &neighbourHosts{hosts: map[string]*hostState{}}
	seen := map[string]bool{}
	for _, e := range ends {
		peer, _, _ := si.graph.Peer(e)
		name, o := si.graph.Name(peer.Node), si.home(peer.Node)
		if peer.Node.IsSwitch() && !slices.Contains(b.switches, si.switches[peer.Node.Index]) {
			b.switches = append(b.switches, si.switches[peer.Node.Index])
		}
		if o == si.local {
			o = nil // its nodes are neighbours one by one
		} else {
			name = o.name
		}
		if seen[name] {
			continue
		}
		if seen[name], b.names = true, append(b.names, name); o != nil {
			b.hosts[name] = o
		}
	}
	return b
}

// livesOn notes that a new incarnation of a host runs its switches that are at home, where anybody
// asks. The caller holds the lock of epochs.
func (h *hostState) livesOn(k linkend.Incarnation) {
	for _, id := range h.switches {
		s := h.site.switches[id]
		if list := s.lives.Load(); list != nil && !s.moved.Load() && (*list)[len(*list)-1].Number < k.Number {
			s.lives.Store(new(append(slices.Clone(*list), k)))
		}
	}
}

// incarnation is that of the host now; 0: it has none.
func (h *hostState) incarnation() ledger.Incarnation {
	if !h.late() {
		return ledger.Incarnation(h.site.own)
	}
	return ledger.Incarnation(h.life.Load())
}

// addLife notes that an incarnation of a host runs a switch from now on, and returns the epoch
// above which the links of the switch begin there: the same one however often that is asked.
func (s *liveSwitch) addLife(number ledger.Incarnation) (first weft.Epoch) {
	e := &s.home.site.epochs
	e.mu.Lock()
	defer e.mu.Unlock()
	if list := s.lives.Load(); list != nil && (*list)[len(*list)-1].Number == uint64(number) {
		return (*list)[len(*list)-1].First
	}
	all := s.allLives()
	first = e.next(s.home.site.Now())
	s.lives.Store(new(append(slices.Clone(all), linkend.Incarnation{Number: uint64(number), First: first})))
	return first
}

// maxLives bounds how often a switch moves while the ledger keeps the incarnations that have run
// it. Chosen by us: it keeps one for half a minute, and as long as a neighbour of it does not
// answer.
const maxLives = 1024

// putAway has neighbours forget the incarnations that the ledger has put away, once the next leader
// would know that it has.
func (l loop) putAway() {
	if l.puttingAway || l.hasStopped() {
		return
	}
	var gone []uint64
	l.ledger.read(func(now *ledger.Ledger) {
		l.eachLives(func(list *atomic.Pointer[[]linkend.Incarnation]) {
			all := *list.Load()
			for _, k := range all[:len(all)-1] {
				if !now.Keeps(ledger.Incarnation(k.Number)) && !slices.Contains(gone, k.Number) {
					gone = append(gone, k.Number)
				}
			}
		})
	})
	if len(gone) == 0 {
		return
	}
	checkpointed := l.checkpointNow()
	l.puttingAway = l.spawn(func() {
		ok := awaitCheckpoint(l.ctx, checkpointed)
		l.inLoop(func(l loop) {
			if l.puttingAway = false; ok {
				l.forget(gone)
			}
		})
	})
}

// forget takes incarnations from all lists, but the latest of each.
func (l loop) forget(gone []uint64) {
	l.epochs.mu.Lock()
	defer l.epochs.mu.Unlock()
	l.eachLives(func(list *atomic.Pointer[[]linkend.Incarnation]) {
		all := *list.Load()
		var left []linkend.Incarnation
		for i, k := range all {
			again := len(left) > 0 && left[len(left)-1].Number == k.Number // what was in between is put away
			if latest := i == len(all)-1; latest || !again && !slices.Contains(gone, k.Number) {
				left = append(left, k)
			}
		}
		list.Store(&left)
	})
}

// allLives are the incarnations of hosts that have run a switch, by the epochs of its links.
func (s *liveSwitch) allLives() []linkend.Incarnation {
	switch list := s.lives.Load(); {
	case list != nil:
		return *list
	case s.home.late():
		return s.home.allIncarnations()
	}
	return []linkend.Incarnation{{Number: s.home.site.own}}
}

// takeHome has its home run a switch that nobody runs, empty.
func (l loop) takeHome(s *liveSwitch) *sent {
	number := s.addLife(s.home.incarnation())
	lives := *s.lives.Load()
	l.refuseBefore(s, lives[len(lives)-1].First)
	return s.home.send(host.Order{Take: []host.TakeOrder{s.takenEmpty(number)}})
}

// refuseBefore has the neighbours of a switch hear nobody any more who has run it up to an epoch of
// its links: a host that nobody reaches may still be there.
func (l loop) refuseBefore(s *liveSwitch, epoch weft.Epoch) {
	orders := map[*hostState][]host.RefuseOrder{}
	for _, k := range l.linksOf(s.id) {
		for i, e := range k.ends() {
			if k.ends()[1-i].Node == s.id.Node() {
				h := l.hostOf(e.Node)
				orders[h] = append(orders[h], host.RefuseOrder{End: host.EndOf(e), Upto: epoch})
			}
		}
	}
	for h, list := range orders {
		h.send(host.Order{Refuse: list})
	}
}

// refuses is what a host that is told all refuses.
func (h *hostState) refuses() (list []host.RefuseOrder) {
	for _, e := range h.ends {
		peer, _, ok := h.site.graph.Peer(e)
		if !ok || !peer.Node.IsSwitch() {
			continue
		}
		if lives := h.site.switches[peer.Node.Index].lives.Load(); lives != nil {
			list = append(list, host.RefuseOrder{End: host.EndOf(e), Upto: (*lives)[len(*lives)-1].First})
		}
	}
	return list
}

// takeBack has the home of s begin it, unless it is there or s moves.
func (l loop) takeBack(a *action, s *liveSwitch) {
	if s.moved.Load() || l.isMoving(s) {
		return
	}
	if lives := s.lives.Load(); lives != nil && (*lives)[len(*lives)-1].Number != uint64(s.home.incarnation()) {
		a.dispatched = append(a.dispatched, l.takeHome(s))
	}
}
