package fabric

import (
	"slices"

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

// maxIncarnations bounds the incarnations of a host that its neighbours tell of: the ledger knows
// already what passed with those before. Chosen by us.
const maxIncarnations = 16

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

// allIncarnations are the latest incarnations of p.
func (h *hostState) allIncarnations() []linkend.Incarnation {
	if l := h.incarnations.Load(); l != nil {
		return *l
	}
	return nil
}

// addIncarnation notes that an incarnation begins; number 0: none does. The caller holds mu.
func (h *hostState) addIncarnation(k linkend.Incarnation) {
	old := h.allIncarnations()
	if n := len(old); k.Number == 0 || n > 0 && old[n-1].Number >= k.Number {
		return
	}
	old = old[max(0, len(old)-maxIncarnations+1):]
	list := append(append(make([]linkend.Incarnation, 0, len(old)+1), old...), k)
	h.incarnations.Store(&list)
}

// neighbourHosts is who has the other ends of the links of a host, by the names that the host knows
// them by. Constant.
type neighbourHosts struct {
	names    []string
	hosts    map[string]*hostState // not in it: the node is in the leader's own process
	switches []*liveSwitch
}

// peers are the incarnations of the neighbours of p. Those of a switch that has moved go by its
// name.
func (h *hostState) peers() (list []host.Peer) {
	b := h.neighbourHosts.Load()
	if b == nil {
		b = h.findNeighbourHosts(h.cross)
		if !h.neighbourHosts.CompareAndSwap(nil, b) { // more is shared by now
			b = h.neighbourHosts.Load()
		}
	}
	add := func(name string, lives []linkend.Incarnation) {
		if len(lives) == 0 { // it is nobody yet, and nothing has passed
			lives = append(lives, linkend.Incarnation{})
		}
		for _, k := range lives {
			list = append(list, host.Peer{Host: name, Incarnation: k})
		}
	}
	moved := map[string]bool{}
	for _, s := range b.switches {
		if lives := s.lives.Load(); lives != nil {
			moved[s.name] = true
			add(s.name, *lives)
		}
	}
	for _, name := range b.names {
		if o := b.hosts[name]; o != nil {
			add(name, o.allIncarnations())
		} else if !moved[name] {
			add(name, []linkend.Incarnation{{Number: h.fabric.own}})
		}
	}
	return list
}

// share has a host tell of what passes on links of a switch that may move.
func (loop) share(h *hostState, links []*link) {
	for _, l := range links {
		for _, e := range l.ends() {
			if h.fabric.home(e.Node) == h && !slices.Contains(h.shared, e) {
				h.shared = append(h.shared, e)
			}
		}
	}
	h.neighbourHosts.Store(h.findNeighbourHosts(slices.Concat(h.cross, h.shared)))
}

// findNeighbourHosts finds who is at the other ends of links.
func (h *hostState) findNeighbourHosts(ends []weft.End) *neighbourHosts {
	f, b := h.fabric, &neighbourHosts{hosts: map[string]*hostState{}}
	seen := map[string]bool{}
	for _, e := range ends {
		peer, _, _ := f.graph.Peer(e)
		name, o := f.graph.Name(peer.Node), f.home(peer.Node)
		if peer.Node.IsSwitch() && !slices.Contains(b.switches, f.switches[peer.Node.Index]) {
			b.switches = append(b.switches, f.switches[peer.Node.Index])
		}
		if o == f.local {
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
// asks.
func (h *hostState) livesOn(k linkend.Incarnation) {
	for _, id := range h.switches {
		s := h.fabric.switches[id]
		if list := s.lives.Load(); list != nil && !s.moved.Load() && (*list)[len(*list)-1].Number < k.Number {
			s.addLife(k)
		}
	}
}

// incarnation is that of the host now; 0: it has none.
func (h *hostState) incarnation() ledger.Incarnation {
	if !h.late() {
		return ledger.Incarnation(h.fabric.own)
	}
	return ledger.Incarnation(h.life.Load())
}

// addLife appends to the incarnations of hosts that have run a switch, unless the latest is this
// one: it may have been told before to run the switch, and goes on.
func (s *liveSwitch) addLife(k linkend.Incarnation) {
	for {
		old := s.lives.Load()
		if old != nil && (*old)[len(*old)-1].Number == k.Number {
			return
		}
		list := boundLives(append(slices.Clone(s.allLives()), k), uint64(s.home.incarnation()))
		if s.lives.CompareAndSwap(old, &list) {
			return
		}
	}
}

// Bounds of the lives of a switch that its neighbours tell of: of the latest ones, and of all with
// the times at home. Chosen by us: a life takes a second or more, and the ledger has heard of all
// that passed with one that is gone some seconds later.
const (
	namedLives = 32
	maxLives   = 2 * namedLives
)

// boundLives bounds a list of lives. Older ones are not named: what passed with them the ledger
// knows, and the ends forget it. But those at home stay, for the home goes on counting; two of them
// become one when the ends have forgotten what passed in between.
func boundLives(list []linkend.Incarnation, home uint64) []linkend.Incarnation {
	for i := range max(0, len(list)-namedLives) {
		if list[i].Number != home {
			list[i].Number = 0
		}
	}
	list = slices.CompactFunc(list, func(a, b linkend.Incarnation) bool { return a.Number == b.Number })
	if list[0].Number == 0 {
		list = list[1:]
	}
	for len(list) > maxLives {
		between := slices.IndexFunc(list, func(k linkend.Incarnation) bool { return k.Number == 0 })
		list = slices.Delete(list, between, between+2)
	}
	return list
}

// allLives are the incarnations of hosts that have run a switch, by the epochs of its links.
func (s *liveSwitch) allLives() []linkend.Incarnation {
	switch list := s.lives.Load(); {
	case list != nil:
		return *list
	case s.home.late():
		return s.home.allIncarnations()
	}
	return []linkend.Incarnation{{Number: s.home.fabric.own}}
}
