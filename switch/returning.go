package switching

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// A switch that returns, after a crash or in the place of another, comes up whole. Its links could
// come up one after the other, in any order; a packet that came by one of the first would find the
// others dead, and be discarded where the switch has no other way yet, though no fault is left.
// Firmwares bear a dead switch, or k-1 dead links, but not a switch with k dead links and more.
//
// So all its ends hold back until each neighbour that can answer has: those at ports with signal.
// Then all that are ready are up in one step, before any neighbour can send. The neighbours see
// their links come up one after the other; to each of them the switch is dead until then, and every
// one that sends to it finds it whole.
//
// A port without signal is not waited for, nor is a neighbour that holds back itself: one that is
// damped, or returns as well. A neighbour that says nothing, as over a link that is cut silently,
// is waited for as ReturnWait says. Whoever steps the switch gives all its ports their signal in
// one step, so that it hears of no neighbour before it knows for whom to wait.
type returning struct {
	until weft.Time // it waits no longer; Never while no port has signal
	on    bool
}

// ReturnWait is how long a switch that returns waits for neighbours that say nothing, or the time
// after which a silence counts as one where that is longer. Chosen by us, far above what a busy
// machine takes to answer, below what a person minds.
const ReturnWait = weft.Second

// holdPorts has all ports hold back from now on.
func (s *Switch) holdPorts() {
	s.returning = returning{on: true, until: weft.Never}
	for p := range s.ports {
		s.ports[p].end.Hold()
	}
}

// signalled notes that a port has signal.
func (s *Switch) signalled() {
	if s.returning.on && s.returning.until == weft.Never {
		s.returning.until = s.now + max(ReturnWait, s.cfg.Liveness.Detection())
	}
}

// openPorts lets all ports come up once none is to be waited for.
func (s *Switch) openPorts(out *weft.Actions) {
	lit, waits := false, false
	for p := range s.ports {
		if end := &s.ports[p].end; end.State() == link.Init {
			lit, waits = true, waits || !end.Answered() && !end.Suppressed()
		}
	}
	switch {
	case !lit:
		s.returning.until = weft.Never
		return
	case waits && s.now < s.returning.until:
		return
	}
	s.returning = returning{until: weft.Never}
	for p := range s.ports {
		end := &s.ports[p].end
		if end.Open(s.now) {
			s.cameUp(weft.PortID(p), out)
		}
		if end.Owes() {
			s.markReady(weft.PortID(p), out)
		}
		s.lookAt(end)
	}
	for p := range s.ports { // a link that died while the switch moved
		if p := weft.PortID(p); s.ports[p].queued > 0 && !s.portUp(p) {
			s.emptyPort(p, out)
		}
	}
	s.rerouteBlocked(out)
}
