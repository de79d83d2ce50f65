package fabric

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// awaitDecision returns when the next leader would know of a move. If that takes long, neighbours
// send again meanwhile.
func (mo *moves) awaitDecision(s *liveSwitch, from *hostState, checkpointed <-chan struct{}) {
	try, cancel := context.WithTimeout(mo.ctx, moveCheckpointTime)
	defer cancel()
	if awaitCheckpoint(try, checkpointed) {
		return
	}
	select {
	case <-checkpointed:
		_ = mo.emptyWires(s, from) // the move is decided: what is on the wires now may be lost
	case <-mo.ctx.Done():
	}
}

// moveCheckpointTime is how long neighbours hold their packets back meanwhile. Chosen by us: less
// than awaitTime.
const moveCheckpointTime = 2 * time.Second

// awaitTime is how long the ends of the links of a switch that moves hold their packets back, at
// most. Chosen by us: a move takes some milliseconds.
const awaitTime = 5 * time.Second

// emptyWires has nothing sent on the links of a switch that from still runs. It returns when
// nothing is on their wires, or that takes too long. An error means that from does not say.
func (mo *moves) emptyWires(s *liveSwitch, from *hostState) error {
	links, most := mo.linksOf(s.id), moveWireTime
	for _, l := range links {
		for _, suffers := range mo.view(l).Suffers {
			most = max(most, moveWireTime+2*(suffers.Delay+suffers.Jitter))
		}
	}
	_ = mo.awaitSwitch(s, from, awaitTime).wait() // what one that does not answer sends may be lost
	end := mo.Now() + weft.FromDuration(min(most+2*mo.opts.Link.Delay.Time(), awaitTime/2))
	for {
		hold, known := mo.wiresHold(s, from, links)
		switch {
		case known && (!hold || mo.Now() >= end):
			return nil
		case mo.Now() >= end, from.suspect.Load():
			return fmt.Errorf("switch %s cannot move: %v does not answer", s.name, from)
		}
		if mo.runtime.Pause(mo.ctx, mo.Now()+weft.Millisecond, nil) != nil {
			return errStopped
		}
	}
}

// awaitSwitch has the ends of the links of a switch send nothing until it has moved, at most for a
// time; 0: they send again.
func (mo *moves) awaitSwitch(s *liveSwitch, from *hostState, most time.Duration) (awaiting dispatched) {
	orders := map[*hostState]*host.Order{}
	for _, l := range mo.linksOf(s.id) {
		for _, e := range l.ends() {
			h := mo.hostBefore(s, from, e.Node)
			if orders[h] == nil {
				orders[h] = &host.Order{}
			}
			wait := host.AwaitOrder{End: host.EndOf(e), Most: weft.FromDuration(most)}
			orders[h].Await = append(orders[h].Await, wait)
		}
	}
	for h, o := range orders {
		awaiting = append(awaiting, h.send(*o))
	}
	return awaiting
}

// moveWireTime is how long a move waits for what is on wires without delay. Chosen by us.
const moveWireTime = time.Second

// wiresHold reports whether packets are on the wires of links that are up, and whether from has
// said so.
func (mo *moves) wiresHold(s *liveSwitch, from *hostState, links []*link) (hold, known bool) {
	switches, nics := map[*hostState][]weft.SwitchID{}, map[*hostState][]weft.NICID{}
	for _, l := range links {
		for _, e := range l.ends() {
			h := mo.hostBefore(s, from, e.Node)
			if id := weft.SwitchID(e.Node.Index); !e.Node.IsSwitch() {
				nics[h] = append(nics[h], weft.NICID(e.Node.Index))
			} else if !slices.Contains(switches[h], id) {
				switches[h] = append(switches[h], id)
			}
			if switches[h] == nil {
				switches[h] = []weft.SwitchID{}
			}
		}
	}
	flows := map[weft.End]linkend.Flow{}
	for h, ids := range switches {
		a := h.nodes(ids, nics[h])
		known = known || h == from && len(a.Switches) > 0
		for i := range a.Flows {
			for p := range a.Flows[i] {
				flows[weft.End{Node: a.Switches[i].Switch.Node(), Port: weft.PortID(p)}] = a.Flows[i][p]
			}
		}
		for i := range a.NICs {
			flows[weft.End{Node: a.NICs[i].NIC.Node()}] = a.NICs[i].Flow
		}
	}
	hold = slices.ContainsFunc(links, func(l *link) bool {
		a, okA := flows[l.A]
		b, okB := flows[l.B]
		there, _ := linkend.OnWire(a, b)
		back, _ := linkend.OnWire(b, a)
		return okA && okB && there+back > 0
	})
	return hold, known
}
