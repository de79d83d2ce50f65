package fabric

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// ownedBy has a process, of which nothing runs but what tests say of it, be a switch: an
// incarnation of the switch's host of its own.
func (f *Fabric) ownedBy(s *liveSwitch, number uint64, first weft.Epoch) (h *hostState) {
	o := &owner{number: number, first: first, gone: make(chan struct{})}
	o.over, o.end = context.WithCancel(context.Background())
	f.inLoop(func(l loop) {
		h = f.attendance.ownOf(l, s)
		h.begin(linkend.Incarnation{Number: number, First: first})
		h.owner.Store(o)
		s.addLife(ledger.Incarnation(number))
		s.moved.Store(true)
		l.ledger.step(l.Now(), ledger.NodeMoved{Node: s.id.Node(), To: h.id})
		l.change(func(state *leader.State) { _ = state.Restore(leader.Restored{Running: []ledger.HostID{h.id}}) })
	})
	return h
}

// Accounts puts what the ledger makes of each host, and of each session, into words: for tests
// whose accounts do not add up.
func (f *Fabric) Accounts() string {
	var b strings.Builder
	f.ledger.read(func(l *ledger.Ledger) {
		fmt.Fprintf(&b, "%+v\n", l.Balance())
		for i, h := range l.Hosts() {
			fmt.Fprintf(&b, "%+v, inside %d\n", h, l.State().Hosts[i].Inside)
		}
		for _, x := range l.State().Sessions {
			fmt.Fprintf(&b, "%+v: %+v | %+v lost %v\n", x.Channel, x.Sides[0], x.Sides[1], x.Lost)
		}
	})
	return b.String()
}
