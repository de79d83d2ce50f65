package measure

import (
	"slices"
	"strings"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// lookout looks for packets that wait for each other for ever.
//
// What is found is certain as soon as no timer of a register can free it: at once when the firmware
// has none, or when none that runs and none that is set from now on can run out before the run must
// end; otherwise when the same packets have outlived the longest of them, each of which has then
// routed them anew.
type lookout struct {
	n                 *network
	longest, shortest weft.Time // timers of registers; 0 and Never: there are none
	ends              weft.Time // when the run ends at the latest

	since weft.Time            // when cycle was found first
	cycle []switching.Channel  // what was found last; nil: nothing
	sent  []uint64             // by these outputs
	snaps []switching.Snapshot // of all switches while it looks
}

func newLookout(n *network, ends weft.Time) *lookout {
	l := &lookout{n: n, ends: ends, shortest: weft.Never}
	for _, sw := range n.graph.Switches {
		for _, r := range n.firmware.RegistersAt(n.graph.Place(sw.ID)) {
			l.longest = max(l.longest, r.Expire)
			if r.Expire > 0 {
				l.shortest = min(l.shortest, r.Expire)
			}
		}
	}
	return l
}

// look reports whether there is a deadlock now. It is asked between events.
func (l *lookout) look() bool {
	cycle := l.find()
	sent := make([]uint64, len(cycle))
	for i, o := range cycle {
		sent[i] = l.snaps[o.Switch].Ports[o.Port].VCs[o.VC].Epoch.Sent
	}
	runsOut := weft.Never
	for i := range l.snaps {
		for _, r := range l.snaps[i].Registers {
			runsOut = min(runsOut, r.Expires)
		}
	}
	clear(l.snaps) // they are large
	return l.certain(l.n.engine.Now(), cycle, sent, runsOut)
}

// certain reports whether these outputs, which have sent so many packets each, wait for ever. The
// next timer runs out at runsOut.
func (l *lookout) certain(now weft.Time, cycle []switching.Channel, sent []uint64, runsOut weft.Time) bool {
	if !slices.Equal(cycle, l.cycle) || !slices.Equal(sent, l.sent) {
		l.since, l.cycle, l.sent = now, cycle, sent
	}
	return cycle != nil && (l.longest == 0 || runsOut > l.ends && l.ends-now < l.shortest || now-l.since > l.longest)
}

// find looks first at the switches alone in which packets wait, which are few mostly: each switch
// of a cycle is one of them.
func (l *lookout) find() []switching.Channel {
	if c := l.n.meters.counts(); c.inside() == 0 || l.among((*switching.Switch).Blocked) == nil {
		return nil
	}
	return l.among(func(*switching.Switch) bool { return true })
}

// among finds a cycle as if there were no other switches.
func (l *lookout) among(those func(*switching.Switch) bool) []switching.Channel {
	l.snaps = append(l.snaps[:0], make([]switching.Snapshot, len(l.n.switches))...)
	for i, s := range l.n.switches {
		if those(s) {
			l.snaps[i] = s.Snapshot()
		}
	}
	return switching.FindDeadlock(switching.DeadlockQuery{
		Switches: l.snaps, InputBuffer: l.n.cfg.Switch.InputBuffer,
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
