package fabric

import (
	"fmt"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// longWait is how long a packet must have been in a switch to be told of.
const longWait = weft.Second

// Wait is the packet that waits longest in a switch. The zero value: none waits for longWait.
type Wait struct {
	Lasts weft.Time
	text  string
}

// String is a sentence, or empty.
func (w Wait) String() string { return w.text }

// oldest is the packet that has been in a switch longest: when it came; 0: there is none.
type oldest struct {
	sw    weft.SwitchID
	since weft.Time
}

// waits is what the looks of a [DeadlockWatch] tell of waits.
type waits struct {
	longest    oldest
	at, before weft.Time // of the latest look and the one before; 0: there was none
}

// Waiting is the packet that waits longest in a switch, as of the latest look of Cycle. It counts
// when it had waited for longWait at the look before: a machine that stops for a while holds up
// what has gone on by the next look. Packets in send queues do not count: those of a saturated
// network are full.
func (w *DeadlockWatch) Waiting(now weft.Time) Wait {
	l := w.waits.longest
	if l.since == 0 || w.waits.before-l.since < longWait {
		return Wait{}
	}
	sn := w.reader.Switch(l.sw)
	if sn.Oldest == nil || sn.Oldest.Since != l.since {
		return Wait{} // it has gone on
	}
	g, h, lasts := w.reader.graph, &sn.Oldest.Header, now-l.since
	return Wait{lasts, fmt.Sprintf("a packet from %s to %s has waited %.1f s in %s for %s", g.Name(h.Src.Node()),
		g.Name(h.Dst.Node()),
		lasts.Duration().Seconds(), g.Switches[l.sw].Name, oldestWaits(&sn, w.reader.neighbours(l.sw.Node())))}
}

// oldestWaits is what the oldest packet of a switch waits for.
func oldestWaits(sn *switching.Snapshot, neighbour func(weft.PortID) string) string {
	o := sn.Oldest
	if o.Asked || len(o.For) == 0 {
		return "an answer of its firmware"
	}
	var text string
	var up bool // the link of text
	ports := map[weft.PortID]bool{}
	for _, out := range o.For {
		if ports[out.Port] || int(out.Port) >= len(sn.Ports) { // a process may say anything
			continue
		}
		ports[out.Port] = true
		p := &sn.Ports[out.Port]
		stopped := int(out.VC) < len(p.VCs) && p.VCs[out.VC].Credits == 0
		if now := p.State == linkend.Up; text == "" || now && !up {
			text, up = outputWaits(p, stopped, neighbour(out.Port)), now
		}
	}
	switch n := len(ports) - 1; {
	case n == 1:
		text += ", or at another"
	case n > 1:
		text += fmt.Sprintf(", or at any of %d others", n)
	}
	return text
}
