package fabric

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// Ends of links count per incarnation of their neighbour. Only the leader, who gives the epochs with
// the charter, knows which are of which incarnation: it says so whenever it asks.

// ownNumber is the incarnation of the nodes of the first leader's own process. Their epochs are below
// firstEpoch.
const ownNumber = 1

// termShift makes the numbers of incarnations unique under all leaders: the upper half is the term of
// the leader that gave it.
const termShift = 32

// maxLives bounds the incarnations of a part that its neighbours tell of: the ledger knows already
// what passed with those before. Chosen by us.
const maxLives = 16

// lifeOf is the incarnation that a charter begins.
func lifeOf(c *host.Charter) linkend.Incarnation {
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

// beside is who has the other ends of the links of a host, by the names that the host knows them by.
// Constant.
type beside struct {
	names    []string
	parts    map[string]*outpost    // not in it: the node is in none
	switches map[string]*liveSwitch // that may be a process
}

// peers are the incarnations of the neighbours of p.
func (p *outpost) peers() (list []host.Peer) {
	b := p.beside.Load()
	if b == nil {
		b = p.findBeside(p.cross)
		p.beside.Store(b)
	}
	for _, name := range b.names {
		var lives []linkend.Incarnation
		o := b.parts[name]
		if o == nil {
			lives = append(lives, linkend.Incarnation{Number: p.fabric.own})
			if s := b.switches[name]; s != nil {
				o = s.guest.Load()
			}
		}
		if o != nil {
			lives = append(lives, o.allLives()...)
		}
		if len(lives) == 0 { // it is nobody yet, and nothing has passed
			lives = append(lives, linkend.Incarnation{})
		}
		for _, k := range lives {
			list = append(list, host.Peer{Part: name, Incarnation: k})
		}
	}
	return list
}

// share has the host in this process tell of what passes on links of a switch that is to be a process.
// The caller holds Fabric.mu.
func (p *outpost) share(links []*link) {
	for _, l := range links {
		for _, e := range l.ends() {
			if p.fabric.home(e.Node) == p && !slices.Contains(p.shared, e) {
				p.shared = append(p.shared, e)
			}
		}
	}
	p.beside.Store(p.findBeside(slices.Concat(p.cross, p.shared)))
}

// findBeside finds who is at the other ends of links.
func (p *outpost) findBeside(ends []weft.End) *beside {
	f, b := p.fabric, &beside{parts: map[string]*outpost{}, switches: map[string]*liveSwitch{}}
	seen := map[string]bool{}
	for _, e := range ends {
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
	return b
}
