package fabric

import (
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/nic"
)

// standing is what is known of links and switches under [Fabric].mu, copied for those who watch: an order that waits for its
// repair holds that lock for as long as it takes, and nobody who watches may wait for it.
type standing struct {
	wanted atomic.Bool // somebody watches

	mu       sync.Mutex
	links    []linkStanding
	switches []bool // by number: it has crashed
	traffic  nic.Traffic
}

type linkStanding struct {
	cut      [2]string
	flapping bool
	suffers  [2]fault.Impairment
	alive    bool
}

// noteStanding copies it, if somebody watches. The caller holds mu.
func (f *Fabric) noteStanding() {
	s := &f.standing
	if !s.wanted.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links == nil {
		s.links, s.switches = make([]linkStanding, len(f.links)), make([]bool, len(f.switches))
	}
	for i, l := range f.links {
		s.links[i] = linkStanding{
			cut: [2]string{l.howCut(0), l.howCut(1)}, flapping: l.flaps(0) || l.flaps(1), suffers: l.suffers, alive: f.alive(l),
		}
	}
	s.traffic = f.traffic
	for i, sw := range f.switches {
		s.switches[i] = sw.crash != nil
	}
}

// crashed reports whether a switch had crashed when it was noted last, if it ever was.
func (s *standing) crashed(id weft.SwitchID) (crashed, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.switches == nil {
		return false, false
	}
	return s.switches[id], true
}

// state names the state of a link, as [Fabric].state does.
func (s *linkStanding) state(up [2]bool) string {
	switch {
	case s.cut[0] != "" || s.cut[1] != "":
		return LinkCut
	case !s.alive:
		return LinkDown
	case up[0] && up[1]:
		return LinkUp
	}
	return LinkComing
}

// tryDo calls f with the turn, unless somebody else has it.
func (t *turn) tryDo(f func()) bool {
	if !t.tryLock() {
		return false
	}
	defer t.Unlock()
	f()
	return true
}
