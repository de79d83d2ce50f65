package fabric

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// NotDrainedError says that packets were still in the fabric when the time to wait was over. The
// ledger was read while packets moved.
type NotDrainedError struct {
	Ledger    Ledger
	After     time.Duration // that was waited
	Remaining Remaining
	Err       error // that ended the wait: of the context, unless something else did
}

// Error implements error.
func (e *NotDrainedError) Error() string {
	text := cmp.Or(e.Ledger.NotChecked, e.after()) + ": " + e.Remaining.describe(e.Ledger)
	if errors.Is(e.Err, context.DeadlineExceeded) || errors.Is(e.Err, context.Canceled) {
		return text
	}
	return fmt.Sprintf("%s: %v", text, e.Err)
}

// after says how long was waited.
func (e *NotDrainedError) after() string {
	unit := time.Millisecond
	if e.After >= time.Second {
		unit = 100 * time.Millisecond
	}
	return fmt.Sprintf("not drained in %v", e.After.Round(unit))
}

// Unwrap is what ended the wait.
func (e *NotDrainedError) Unwrap() error { return e.Err }

// Remaining says where a fabric still holds packets.
type Remaining struct {
	Most   []RemainingAt // the places that hold most, the fullest first; at most maxLeftAt
	Places int           // that hold packets
}

// RemainingAt is one place that holds packets, and what they wait for.
type RemainingAt struct {
	Where   string // as "the send queue of n00", "switch s0.00" or "the wire from s0.00 to s1.20"
	Packets uint64
	For     string // as "room at s1.20"; empty: that is not known

	node weft.Node // of a queue or switch
	wire bool
}

// maxRemainingAt is how many places are named. Chosen by us: what one can read in a message.
const maxRemainingAt = 5

// describe says in words how many packets are left, where, and what most of them wait for.
func (l Remaining) describe(ledger Ledger) string {
	w := ledger.Waiting
	if ledger.InFlight == 0 {
		return "no packet is left, but the accounts do not add up yet"
	}
	text := fmt.Sprintf("%d packets are left: %d in send queues, %d in switches, %d on wires", ledger.InFlight, w.Queues,
		w.Switches, w.Wires)
	if len(l.Most) == 0 {
		return text
	}
	places := make([]string, len(l.Most))
	for i, at := range l.Most {
		if places[i] = fmt.Sprintf("%d in %s", at.Packets, at.Where); at.wire {
			places[i] = fmt.Sprintf("%d on %s", at.Packets, at.Where)
		}
		if at.For != "" {
			places[i] += ", which wait for " + at.For
		}
	}
	if more := l.Places - len(l.Most); more > 0 {
		places = append(places, fmt.Sprintf("the others in %d more places", more))
	}
	return text + ": " + strings.Join(places, "; ")
}

// remaining finds the packets that the fabric holds. Packets may move meanwhile.
func (rd *reader) remaining() (l Remaining) {
	rd.readAll()
	var all []RemainingAt
	add := func(at RemainingAt) {
		if at.Packets > 0 {
			all = append(all, at)
		}
	}
	for i, n := range rd.nics {
		r := n.home.nicNow(n.id)
		add(RemainingAt{
			Where: "the send queue of " + rd.graph.NICs[i].Name, Packets: uint64(r.Queued),
			node: n.id.Node(),
		})
	}
	for _, s := range rd.switches {
		var r switching.Reading
		s.read(&r)
		add(RemainingAt{Where: "switch " + s.name, Packets: uint64(r.Held), node: s.id.Node()})
	}
	// A host in another process does not tell what is on the wires of each link inside it.
	sums := rd.ledger.seen().Links
	for i, k := range rd.links {
		flying := sums[i].Flying
		if local := rd.local; rd.hostOf(k.A.Node) == local && rd.hostOf(k.B.Node) == local {
			a, b := local.local.ReadEnd(k.A).Flow, local.local.ReadEnd(k.B).Flow
			flying[0], _ = linkend.OnWire(a, b)
			flying[1], _ = linkend.OnWire(b, a)
		}
		for d, direction := range [2]wire.Direction{k.dirs[0], k.dirs[1]} {
			add(RemainingAt{
				Where: "the wire from " + direction.From + " to " + direction.To, Packets: flying[d],
				For: direction.To + " to receive them", wire: true,
			})
		}
	}
	slices.SortStableFunc(all, func(a, b RemainingAt) int { return cmp.Compare(b.Packets, a.Packets) })
	l.Places, l.Most = len(all), all[:min(len(all), maxRemainingAt)]
	for i := range l.Most {
		if at := &l.Most[i]; at.For == "" {
			at.For = rd.waitsFor(at.node)
		}
	}
	return l
}

// waitsFor is what the packets in a NIC's send queue or in a switch wait for.
func (rd *reader) waitsFor(n weft.Node) string {
	if n.IsSwitch() {
		return switchWaits(rd.Switch(weft.SwitchID(n.Index)), rd.neighbours(n))
	}
	return nicWaits(rd.NIC(weft.NICID(n.Index)), rd.Held(), rd.neighbours(n)(0))
}

// neighbours names the nodes at the other ends of a node's links.
func (rd *reader) neighbours(n weft.Node) func(weft.PortID) string {
	return func(p weft.PortID) string {
		peer, _, ok := rd.graph.Peer(weft.End{Node: n, Port: p})
		if !ok {
			return "nobody"
		}
		return rd.graph.Name(peer.Node)
	}
}

// nicWaits is what the packets in a send queue wait for.
func nicWaits(sn nic.Snapshot, held bool, neighbour string) string {
	full := len(sn.VCs) > 0
	for _, vc := range sn.VCs {
		full = full && vc.Sent >= vc.Limit
	}
	switch {
	case sn.State != linkend.Up:
		return "the link to " + neighbour + ", which is down"
	case held:
		return "the subnet manager, which holds all NICs"
	case full:
		return "room at " + neighbour
	}
	return "a turn on the link to " + neighbour
}

// outputWaits is what a packet waits for that is to leave by a port; stopped: without a credit.
func outputWaits(p *switching.PortSnapshot, stopped bool, neighbour string) string {
	switch {
	case p.State != linkend.Up:
		return "the link to " + neighbour + ", which is down"
	case stopped:
		return "room at " + neighbour
	}
	return "a turn on the link to " + neighbour
}

// switchWaits is what the packets in a switch wait for, at the output that most of them wait for.
func switchWaits(sn switching.Snapshot, neighbour func(weft.PortID) string) string {
	most, packets := "", 0
	note := func(n int, what string) {
		if n > packets {
			most, packets = what, n
		}
	}
	wanted := make([]int, len(sn.Ports)) // packets at inputs that may go by this port
	for _, b := range sn.Blocked {
		for i, o := range b.For {
			if int(o.Port) < len(wanted) &&
				!slices.ContainsFunc(b.For[:i], func(p switching.Output) bool { return p.Port == o.Port }) {
				wanted[o.Port]++
			}
		}
	}
	for i, p := range sn.Ports {
		queued, stopped := 0, 0 // stopped: without a credit
		for _, vc := range p.VCs {
			if queued += vc.Output; vc.Credits == 0 {
				stopped += vc.Output
			}
		}
		note(queued+wanted[i], outputWaits(&p, stopped > 0, neighbour(weft.PortID(i))))
	}
	return most
}
