package fabric

import (
	"sync"

	"github.com/weft-fabric/weft/fabricd/part"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// Ends of links count per incarnation of their neighbour. Only the leader, who gives the epochs with
// the charter, knows which are of which incarnation: it says so whenever it asks.

// ownNumber is the incarnation of the nodes of the leader's own process. Their epochs are below
// firstEpoch.
const ownNumber = 1

// termShift makes the numbers of incarnations unique under all leaders: the upper half is the term of
// the leader that gave it.
const termShift = 32

// maxLives bounds the incarnations of a part that are told apart. What passed with one before the
// oldest counts as passed with that. Chosen by us.
const maxLives = 16

// lifeOf is the incarnation that a charter begins.
func lifeOf(c *part.Charter) linkend.Incarnation {
	return linkend.Incarnation{Number: c.Number, First: c.Epoch}
}

// lifeIn is the incarnation of that number in a list.
func lifeIn(list []linkend.Incarnation, number uint64) linkend.Incarnation {
	for _, k := range list {
		if k.Number == number {
			return k
		}
	}
	return linkend.Incarnation{Number: number}
}

// allLives are the latest incarnations of p.
func (p *outpost) allLives() []linkend.Incarnation {
	if l := p.lives.Load(); l != nil {
		return *l
	}
	return nil
}

// addLife notes that an incarnation begins; number 0: none does. The caller holds mu.
func (p *outpost) addLife(k linkend.Incarnation) {
	old := p.allLives()
	if n := len(old); k.Number == 0 || n > 0 && old[n-1].Number >= k.Number {
		return
	}
	old = old[max(0, len(old)-maxLives+1):]
	list := append(append(make([]linkend.Incarnation, 0, len(old)+1), old...), k)
	p.lives.Store(&list)
}

// beside is who has the other ends of the links of a part, by the names that the part knows them by.
// Constant once it was found.
type beside struct {
	once     sync.Once
	names    []string
	parts    map[string]*outpost    // not in it: the node is in none
	switches map[string]*liveSwitch // that may be a process
}

// peers are the incarnations of the neighbours of p.
func (p *outpost) peers() (list []part.Peer) {
	b := &p.beside
	b.once.Do(p.findBeside)
	for _, name := range b.names {
		var lives []linkend.Incarnation
		o := b.parts[name]
		if o == nil {
			lives = append(lives, linkend.Incarnation{Number: ownNumber})
			if s := b.switches[name]; s != nil {
				o = s.guest.Load()
			}
		}
		if o != nil {
			lives = append(lives, o.allLives()...)
		}
		for i, k := range lives {
			if i == 0 {
				k.First = 0
			}
			list = append(list, part.Peer{Part: name, Incarnation: k})
		}
	}
	return list
}

// findBeside finds who is at the other ends of the part's links.
func (p *outpost) findBeside() {
	b, f := &p.beside, p.fabric
	b.parts, b.switches = map[string]*outpost{}, map[string]*liveSwitch{}
	seen := map[string]bool{}
	for _, e := range p.cross {
		peer, _, _ := f.graph.Peer(e)
		name, o := f.graph.Name(peer.Node), f.home(peer.Node)
		if o == f.local {
			o = nil // its nodes are neighbours one by one, for they may be processes
		} else {
			name = o.name
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		b.names = append(b.names, name)
		switch {
		case o != nil:
			b.parts[name] = o
		case peer.Node.IsSwitch():
			b.switches[name] = f.switches[peer.Node.Index]
		}
	}
}
