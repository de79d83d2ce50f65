package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/ledger"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// A switch moves from one host to another by three orders of the leader: the ends of its links
// await it, one host releases it, the other takes it. Each host counts what it handed over, and to
// whom, as a session beside those of its links. An answer may be lost, so releasing and taking once
// more changes nothing: a host keeps what it has released until it takes the switch again.

// AwaitOrder stops an end from sending until the switch at the link's other end, or its own switch,
// has begun anew on another host; see [link.End.Await].
type AwaitOrder struct {
	End  End       `json:"end"`
	Most weft.Time `json:"most"` // for how long at most; 0: no longer
}

// RefuseOrder has an end hear no epoch of its neighbour up to one: a host that is lost has run it,
// and may be there all the same; see [link.End.Refuse].
type RefuseOrder struct {
	End  End        `json:"end"`
	Upto weft.Epoch `json:"upto"`
}

// ReleaseOrder ends a switch on the host, which hands over what the switch holds.
type ReleaseOrder struct {
	Switch weft.SwitchID `json:"switch"`
	// Number is the number of the hand-over; numbers rise all over the fabric. 0: there is none,
	// and the host must not run the switch.
	Number uint64 `json:"number"`
	To     uint64 `json:"to"` // the incarnation that takes it
}

// Released is the result of a ReleaseOrder.
type Released struct {
	Number  uint64             `json:"number"`
	Packets uint64             `json:"packets"` // in State
	State   switching.HandOver `json:"state"`
}

// TakeOrder starts a switch on the host, unless it runs there.
type TakeOrder struct {
	Switch weft.SwitchID `json:"switch"`
	From   uint64        `json:"from"`  // the incarnation that released it; 0: none did
	Above  weft.Epoch    `json:"above"` // the links begin above this epoch; it rises with the numbers of hand-overs
	Released
	// Lost says that no host has what the switch held: it starts empty.
	Lost bool `json:"lost,omitempty"`
}

// Listener is a [Runtime] that can stop listening at some ends, and start again: those of a switch
// that another host runs for a time.
type Listener interface {
	Listen(ends []weft.End) error
	Unlisten(ends []weft.End) error
}

// errStays means that the nodes of a Runtime cannot move.
var errStays = errors.New("nodes of this host cannot move to another")

// errLate means that an order to move a switch was overtaken by a later one.
var errLate = errors.New("a later order has moved the switch")

// moves are the switches that another host runs, and what was handed over. The lock of orders
// guards it, and the adder's lock guards what counters need of it.
type moves struct {
	away     map[weft.SwitchID]bool
	latest   map[weft.SwitchID]weft.Epoch // the number of the latest order to move it
	released map[weft.SwitchID]Released   // of switches that are away, by the latest order
	handed   map[handed]link.Flow
	sent     uint64 // packets handed over, with those that are not in handed any more
	received uint64
}

// handed names a session of hand-overs.
type handed struct {
	node weft.SwitchID
	peer uint64 // the incarnation on the other side
}

// maxHanded bounds the sessions of hand-overs that a host tells. Chosen by us: by then the ledger
// has folded the incarnations of so many moves.
const maxHanded = 256

// planMoves checks the orders to move.
func (p *Local) planMoves(o *Order) (errs []error) {
	has := func(id weft.SwitchID) {
		if p.nodes.bySwitch[id] == nil {
			errs = append(errs, fmt.Errorf("switch %d: %w", id, errNot))
		} else if _, ok := p.runtime.(Listener); !ok {
			errs = append(errs, fmt.Errorf("switch %s: %w", p.graph.Name(id.Node()), errStays))
		}
	}
	late := func(id weft.SwitchID, number weft.Epoch) {
		if latest := p.moves.latest[id]; number != 0 && number < latest {
			errs = append(errs, fmt.Errorf("switch %d: %w: number %d, not %d", id, errLate, latest, number))
		}
	}
	for _, r := range o.Release {
		has(r.Switch)
		late(r.Switch, weft.Epoch(r.Number))
	}
	for i := range o.Take {
		t := &o.Take[i]
		if has(t.Switch); t.Number != 0 {
			late(t.Switch, t.Above)
		}
	}
	return errs
}

// await makes ends wait for switches that move. The caller holds mu.
func (p *Local) await(o *Order) {
	for _, a := range o.Await {
		e := a.End.End()
		if !e.Node.IsSwitch() {
			p.nodes.byNIC[weft.NICID(e.Node.Index)].Await(a.Most)
			continue
		}
		n := p.nodes.bySwitch[weft.SwitchID(e.Node.Index)]
		n.Do(func(now weft.Time, out *weft.Actions) { n.core.Await(now, e.Port, now+a.Most, out) })
	}
}

// refuse has ends refuse neighbours of before. The caller holds mu.
func (p *Local) refuse(o *Order) {
	for _, r := range o.Refuse {
		e := r.End.End()
		if !e.Node.IsSwitch() {
			p.nodes.byNIC[weft.NICID(e.Node.Index)].Refuse(r.Upto)
			continue
		}
		n := p.nodes.bySwitch[weft.SwitchID(e.Node.Index)]
		n.Do(func(weft.Time, *weft.Actions) { n.core.Refuse(e.Port, r.Upto) })
	}
}

// release ends switches on the host. The caller holds mu.
func (p *Local) release(o *Order, a *OrderAnswer) (errs error) {
	for _, r := range o.Release {
		m := &p.moves
		if m.away[r.Switch] && (r.Number == 0 || weft.Epoch(r.Number) == m.latest[r.Switch]) {
			a.Released = append(a.Released, m.released[r.Switch])
			continue
		}
		n := p.nodes.bySwitch[r.Switch]
		if !m.away[r.Switch] {
			errs = errors.Join(errs, p.runtime.(Listener).Unlisten(p.endsOf(n)))
			p.Share(r.Switch)
			for i := range n.core.Ports() {
				p.signals[n.first+i] = false
			}
		}
		p.adder.mu.Lock()
		out := Released{Number: r.Number}
		n.Do(func(now weft.Time, acts *weft.Actions) { out.State = n.core.Leave(now, acts) })
		carryAway(n.Payloads(), &out.State)
		out.Packets = uint64(len(out.State.Packets))
		m.away[r.Switch] = true
		if r.Number > 0 {
			m.hand(handed{r.Switch, r.To}, func(f *link.Flow) {
				f.LastFrom, f.LastTo, f.LastSent = weft.Epoch(r.Number), weft.Epoch(r.Number), out.Packets
				f.Sent += out.Packets
			})
			m.sent += out.Packets
		}
		p.adder.mu.Unlock()
		m.latest[r.Switch], m.released[r.Switch] = max(m.latest[r.Switch], weft.Epoch(r.Number)), out
		a.Released = append(a.Released, out)
	}
	return errs
}

// carryAway puts what packets carry that leave the host beside their headers.
func carryAway(from *wire.Payloads, h *switching.HandOver) {
	for i := range h.Packets {
		k := &h.Packets[i]
		if id := k.Header.Payload; id != 0 {
			k.Payload, k.Header.Payload = bytes.Clone(from.Bytes(id)), 0
			from.Free(id)
		}
	}
}

// carryHere puts what packets carry that come to the host into buffers here. What cannot be is left
// out.
func carryHere(to *wire.Payloads, h *switching.HandOver) {
	for i := range h.Packets {
		k := &h.Packets[i]
		if k.Header.Payload = 0; len(k.Payload) > 0 && len(k.Payload) <= weft.MaxPayload {
			k.Header.Payload = to.Put(k.Payload)
		}
	}
}

// take starts switches on the host. The caller holds mu. A switch that cannot take what it held
// starts empty, and the error says why.
func (p *Local) take(o *Order) (errs error) {
	for i := range o.Take {
		t := &o.Take[i]
		n, m := p.nodes.bySwitch[t.Switch], &p.moves
		if t.Above <= m.latest[t.Switch] {
			continue // it is here
		}
		m.latest[t.Switch] = max(t.Above, m.latest[t.Switch])
		delete(m.released, t.Switch)
		p.Share(t.Switch)
		p.adder.mu.Lock()
		var err error
		carryHere(n.Payloads(), &t.State)
		n.Do(func(now weft.Time, acts *weft.Actions) {
			if p.runs(n) {
				t.Lost = true
				p.beginAgain(n, now, t.Above, acts)
				return
			}
			if err = n.core.Come(now, t.Above, &t.State, acts); err != nil {
				t.Lost, err = true, errors.Join(err, n.core.Come(now, t.Above, &switching.HandOver{}, acts))
			}
		})
		if t.Number > 0 {
			m.hand(handed{t.Switch, t.From}, func(f *link.Flow) {
				f.Mine, f.Peer, f.Taken = weft.Epoch(t.Number), weft.Epoch(t.Number), t.Packets
				if !t.Lost {
					f.Received += t.Packets
					m.received += t.Packets
				}
			})
		}
		if t.Lost {
			for i := range t.State.Packets {
				n.Payloads().Free(t.State.Packets[i].Header.Payload)
			}
		}
		p.adder.mu.Unlock()
		if m.away[t.Switch] { // else it hears its links since it was made
			delete(m.away, t.Switch)
			err = errors.Join(err, p.runtime.(Listener).Listen(p.endsOf(n)))
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

// runs reports whether a switch has never left the host and may have begun to forward.
func (p *Local) runs(n *node) bool {
	signalled := slices.Contains(p.signals[n.first:n.first+n.core.Ports()], true)
	return !p.moves.away[n.core.Place().Switch] && (signalled || n.core.Held() > 0)
}

// beginAgain has the links of a switch that has never left begin above an epoch. The leader took
// the switch for lost, and the neighbours hear no epoch up to this one. The switch keeps its
// packets and its signals.
func (p *Local) beginAgain(n *node, now weft.Time, above weft.Epoch, acts *weft.Actions) {
	own := n.core.Leave(now, acts)
	if err := n.core.Come(now, above, &own, acts); err != nil {
		panic(fmt.Sprintf("a switch does not take what it held: %v", err))
	}
	for i := range n.core.Ports() {
		if at := n.first + i; p.signals[at] && p.nodes.ends[at].linked && !p.connectionLost(&p.nodes.ends[at]) {
			n.core.Signal(now, weft.PortID(i), true, acts)
		}
	}
}

// endsOf are the ends of a switch that lead somewhere.
func (p *Local) endsOf(n *node) (ends []weft.End) {
	for i := range n.core.Ports() {
		if e := &p.nodes.ends[n.first+i]; e.linked {
			ends = append(ends, e.End)
		}
	}
	return ends
}

// hand records a hand-over.
func (m *moves) hand(k handed, do func(f *link.Flow)) {
	if _, ok := m.handed[k]; !ok && len(m.handed) == maxHanded {
		latest := func(k handed) weft.Epoch { return max(m.handed[k].LastTo, m.handed[k].Mine) }
		delete(m.handed, slices.MinFunc(slices.Collect(maps.Keys(m.handed)),
			func(a, b handed) int { return cmp.Compare(latest(a), latest(b)) }))
	}
	f := m.handed[k]
	do(&f)
	m.handed[k] = f
}

// addHanded adds what was handed over. The caller holds the adder's lock.
func (p *Local) addHanded(s *Counters) {
	s.Sent, s.Received = s.Sent+p.moves.sent, s.Received+p.moves.received
	for k, f := range p.moves.handed {
		s.Flows = append(s.Flows, ledger.Flow{
			End: weft.End{Node: k.node.Node(), Port: weft.NoPort}, Peer: ledger.Incarnation(k.peer), Flow: f,
		})
	}
}
