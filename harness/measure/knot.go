package measure

import (
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/deadlock"
)

// lookout looks for packets that wait for each other for ever.
//
// What is found is certain as soon as no timer of a register can free it: at once when the firmware has none, or none that could
// run out before the run must end; otherwise when it has outlived the longest of them, each of which has then routed
// the packets anew.
type lookout struct {
	n       *network
	longest weft.Time // timer of a register; 0: there is none
	ends    weft.Time // when the run ends at the latest

	since weft.Time // when something was found first; Never: nothing is found
	cycle []deadlock.Output
	snaps []switching.Snapshot
}

func newLookout(n *network, ends weft.Time) *lookout {
	l := &lookout{n: n, ends: ends, since: weft.Never}
	if s, ok := n.firmware.(switching.Stateful); ok {
		for _, sw := range n.graph.Switches {
			for _, r := range s.Registers(n.graph.Place(sw.ID)) {
				l.longest = max(l.longest, r.Expire)
			}
		}
	}
	return l
}

// look reports whether there is a deadlock now. It is asked between events.
func (l *lookout) look() bool {
	now := l.n.engine.Now()
	if l.cycle = l.find(); l.cycle == nil {
		l.since = weft.Never
		return false
	}
	l.since = min(l.since, now)
	return l.longest == 0 || l.ends-now < l.longest || now-l.since > l.longest
}

func (l *lookout) find() []deadlock.Output {
	if l.n.meter.inside() == 0 {
		return nil
	}
	l.snaps = l.snaps[:0]
	blocked := 0
	for _, s := range l.n.switches {
		l.snaps = append(l.snaps, s.Snapshot())
		blocked += len(l.snaps[len(l.snaps)-1].Blocked)
	}
	if blocked == 0 {
		return nil
	}
	return deadlock.Find(deadlock.Question{
		Switches: l.snaps, InputBuffer: l.n.cfg.InputBuffer,
		Peer: func(e weft.End) (weft.End, bool) {
			peer, _, ok := l.n.graph.Peer(e)
			return peer, ok
		},
	})
}

// String names the channels of what was found last: "s0.00 -> s1.10 vc0, s1.10 -> s0.00 vc0".
func (l *lookout) String() string {
	var b strings.Builder
	for i, o := range l.cycle {
		if i > 0 {
			b.WriteString(", ")
		}
		peer, _, _ := l.n.graph.Peer(weft.End{Node: o.Switch.Node(), Port: o.Port})
		b.WriteString(l.n.graph.Name(o.Switch.Node()) + " -> " + l.n.graph.Name(peer.Node) + " " + o.VC.String())
	}
	return b.String()
}
