package ledger

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Balance says where every packet is. Each account is counted where packets end or wait, so that
//
//	injected = delivered + lost + discarded + in flight
//
// is a check and not a definition. It holds when nothing moves and every host has been heard since,
// or is made up. In between, Injected, Delivered, Discarded and Lost never say more than is true.
// All numbers are packets.
type Balance struct {
	Injected  uint64 `json:"injected"`
	Delivered uint64 `json:"delivered"`
	Lost      uint64 `json:"lost"`
	Discarded uint64 `json:"discarded"`
	InFlight  uint64 `json:"in_flight"`
	Balanced  bool   `json:"balanced"`

	LostWire   uint64 `json:"lost_wire"`
	LostQueued uint64 `json:"lost_queued"`
	LostCrash  uint64 `json:"lost_crash"`
	WrittenOff uint64 `json:"written_off"` // of LostCrash, inside hosts that have failed
	Unheard    uint64 `json:"unheard"`     // of Injected, by hosts that failed before they told
	// Short is how many packets more have left hosts in doubt than have come in: they were injected
	// there, or a neighbour has yet to say that it had sent them.
	Short uint64 `json:"short"`

	DiscardedBy []Rule   `json:"discarded_by"`
	Waiting     InFlight `json:"waiting"`
	Uncertain   []HostID `json:"uncertain"` // hosts that have not been heard; 0: one that only its neighbours have named
}

// InFlight says where the packets in flight are.
type InFlight struct {
	Queues   uint64 `json:"queues"`   // in the send queues of NICs
	Switches uint64 `json:"switches"` // inside switches
	Wires    uint64 `json:"wires"`    // sent and not yet received, or on their way with a node that moves
	Suspect  uint64 `json:"suspect"`  // inside hosts that do not answer, and on the wires to them
	Doubt    uint64 `json:"doubt"`    // in hosts that have failed, as long as a neighbour may have received them
}

// Balance adds up the accounts.
func (l *Ledger) Balance() Balance {
	gone, all := &l.state.Gone, Counted{}
	for i := range l.state.Retired {
		all.Add(&l.state.Retired[i].Counted)
	}
	n := Balance{WrittenOff: gone.WrittenOff, Unheard: gone.Unheard, LostCrash: gone.HandedOver, Uncertain: []HostID{}}
	list := l.makeUp()
	for i := range l.state.Hosts {
		h := &l.state.Hosts[i]
		all.Add(&h.Counted)
		n.host(h, &list[i])
	}
	for i := range l.state.Sessions {
		s := &l.state.Sessions[i]
		if s.Channel.Node.Kind != 0 {
			n.LostCrash += s.Lost[0] + s.Lost[1]
		} else {
			n.LostWire += s.Lost[0] + s.Lost[1]
		}
		for d := range s.Sides {
			n.Waiting.Wires += l.flying(s, d)
		}
	}
	for _, k := range all.Wire {
		n.LostWire += k.Wire[0] + k.Wire[1]
	}
	c := &all.Counters
	n.Injected += c.NICs.Injected + n.Unheard
	n.Delivered, n.Discarded, n.DiscardedBy = c.NICs.Delivered, c.Switches.Discarded+c.NICs.Wrong, all.Discards
	n.LostQueued = c.Switches.LostQueue
	n.LostCrash += c.Switches.LostCrash + n.WrittenOff
	n.Lost = n.LostWire + n.LostQueued + n.LostCrash
	w := n.Waiting
	n.InFlight = w.Queues + w.Switches + w.Wires + w.Suspect + w.Doubt
	n.Balanced = n.Injected+n.Short == n.Delivered+n.Lost+n.Discarded+n.InFlight
	return n
}

// host adds what one incarnation holds.
func (n *Balance) host(h *Host, m *made) {
	waits := !h.Gone && !h.Heard || m.doubt
	if waits && !slices.Contains(n.Uncertain, h.ID) {
		n.Uncertain = append(n.Uncertain, h.ID)
	}
	held, short := uint64(max(0, m.held)), uint64(max(0, -m.held))
	switch {
	case h.Status == Ended: // it holds nothing
	case !h.uncertain():
		n.Waiting.Switches, n.Waiting.Queues = n.Waiting.Switches+h.Held, n.Waiting.Queues+h.Queued
		n.Waiting.Wires += h.Wires
	case h.Status == Suspect:
		n.Waiting.Suspect, n.Short = n.Waiting.Suspect+held, n.Short+short
	case m.doubt:
		n.Waiting.Doubt, n.Short = n.Waiting.Doubt+held, n.Short+short
	default:
		n.WrittenOff, n.Unheard = n.WrittenOff+held, n.Unheard+short
	}
}

// Total is what all hosts have counted, as far as they have told.
func (l *Ledger) Total() Counters {
	var c Counters
	for i := range l.state.Retired {
		c.Add(&l.state.Retired[i].Counters)
	}
	for i := range l.state.Hosts {
		c.Add(&l.state.Hosts[i].Counters)
	}
	return c
}

// counted is what all hosts have counted, as far as they have told, without what links and nodes
// have lost.
func (l *Ledger) counted() (all Counted) {
	all.Counters = l.Total()
	for i := range l.state.Retired {
		all.addDiscards(l.state.Retired[i].Discards)
	}
	for i := range l.state.Hosts {
		all.addDiscards(l.state.Hosts[i].Discards)
	}
	return all
}

// OfHost is what all incarnations of a host but one have counted.
func (l *Ledger) OfHost(id HostID, but Incarnation) (all Counted) {
	if i, ok := l.findRetired(id); ok {
		all.Add(&l.state.Retired[i].Counted)
	}
	for i := range l.state.Hosts {
		if h := &l.state.Hosts[i]; h.ID == id && h.Incarnation != but {
			all.Add(&h.Counted)
		}
	}
	return all
}

// Heard is when the latest answer of the latest incarnation of a host was asked for; 0: there was
// none.
func (l *Ledger) Heard(id HostID) weft.Time {
	if h := l.current(id); h != nil {
		return h.Asked
	}
	return 0
}

// LinkTotals is what they have told of the ends of their links to other hosts, in the order of
// ends.
func (l *Ledger) LinkTotals(id HostID, but Incarnation) (list []LinkTotal) {
	for i := range l.state.Sessions {
		s := &l.state.Sessions[i]
		at, _ := l.positions(s)
		for d := range s.Sides {
			if h := &l.state.Hosts[at[d]]; s.Channel.Node.Kind == 0 && h.ID == id && h.Incarnation != but {
				f := &s.Sides[d].Flow
				list = append(list, LinkTotal{l.links[s.Channel.Link].ends()[d], f.Sent, f.Received})
			}
		}
	}
	slices.SortFunc(list, LinkTotal.Compare)
	totals := list[:0]
	for _, p := range list {
		if k := len(totals) - 1; k >= 0 && totals[k].End == p.End {
			p.Sent, p.Received, totals = p.Sent+totals[k].Sent, p.Received+totals[k].Received, totals[:k]
		}
		totals = append(totals, p)
	}
	if i, ok := l.findRetired(id); ok {
		return addLinkTotals(l.state.Retired[i].LinkTotals, totals)
	}
	return totals
}

func addLinkTotals(a, b []LinkTotal) []LinkTotal {
	return merge(a, b, LinkTotal.Compare, func(a, b *LinkTotal) {
		b.Sent, b.Received = b.Sent+a.Sent,
			b.Received+a.Received
	})
}

// LinkBalance is what one link has lost, in packets, all hosts together, and what is on its way.
type LinkBalance struct {
	Link   weft.LinkID
	Wire   [2]uint64 // from A to B, from B to A
	Queued uint64
	Flying [2]uint64 // on the wire, from A to B and from B to A; of a link inside a host nobody tells
}

// Links are all links, by number. What was on its way to a host that failed is in what is written
// off with the host, unless it is known to have been lost before.
func (l *Ledger) Links() []LinkBalance {
	all := make([]LinkBalance, len(l.links))
	add := func(c *Counted) {
		for _, k := range c.Wire {
			all[k.Link].Wire[0] += k.Wire[0]
			all[k.Link].Wire[1] += k.Wire[1]
		}
		for _, e := range c.Queue {
			all[l.ends[e.End]].Queued += e.Packets
		}
	}
	for i := range l.state.Retired {
		add(&l.state.Retired[i].Counted)
	}
	for i := range l.state.Hosts {
		add(&l.state.Hosts[i].Counted)
	}
	for i := range l.state.Sessions {
		if s := &l.state.Sessions[i]; s.Channel.Node.Kind == 0 {
			k := &all[s.Channel.Link]
			k.Wire[0], k.Wire[1] = k.Wire[0]+s.Lost[0], k.Wire[1]+s.Lost[1]
			for d := range s.Sides {
				k.Flying[d] += l.flying(s, d)
			}
		}
	}
	for i := range all {
		all[i].Link = weft.LinkID(i)
	}
	return all
}

// flying is how many packets from side d of a session are on their way to a host that is heard.
func (l *Ledger) flying(s *Session, d int) uint64 {
	at, _ := l.positions(s)
	if l.state.Hosts[at[1-d]].uncertain() {
		return 0
	}
	wire, _ := onWire(&s.Sides[d].Flow, &s.Sides[1-d].Flow)
	missing, _ := s.missing(d)
	return min(wire, missing)
}

// Incident is a copy of one incident, with all that it has cost; ok says that it is kept.
func (l *Ledger) Incident(id int) (in Incident, ok bool) {
	found := l.incident(id)
	if found == nil {
		return in, false
	}
	return l.complete([]Incident{*found})[0], true
}

// Incidents are copies of the incidents with higher numbers than after, at most 4096, with all that
// they have cost: those of hosts that have failed with what is written off.
func (l *Ledger) Incidents(after int) []Incident {
	from := search(len(l.state.Incidents), func(i int) bool { return l.state.Incidents[i].ID > after })
	return l.complete(slices.Clone(l.state.Incidents[from:]))
}

// complete has copies of incidents share nothing with those that are kept, and say all that they
// have cost.
func (l *Ledger) complete(list []Incident) []Incident {
	if len(list) == 0 {
		return nil
	}
	all := l.counted()
	for i := range list {
		in := &list[i]
		in.Links, in.Switches = slices.Clone(in.Links), slices.Clone(in.Switches)
		if in.Discards = slices.Clone(in.Discards); in.Open {
			in.since(&all)
		}
	}
	for _, h := range l.Hosts() {
		for i := range list {
			if list[i].ID == h.Incident {
				list[i].Lost.Crash += h.WrittenOff
			}
		}
	}
	return list
}

// HostBalance is what the ledger makes of one incarnation of a host.
type HostBalance struct {
	Host        HostID
	Incarnation Incarnation
	Status      Status
	Since       weft.Time
	Incident    int    // of not answering, or of its failure; 0: none
	Doubt       bool   // of one that is uncertain: a neighbour is still to be heard
	Held        uint64 // packets it holds as far as is known
	WrittenOff  uint64 // packets lost with it
	Unheard     uint64 // packets that it must have injected without telling
}

// Hosts are all incarnations that are kept, by number.
func (l *Ledger) Hosts() []HostBalance {
	list := make([]HostBalance, len(l.state.Hosts))
	for i, m := range l.makeUp() {
		h := &l.state.Hosts[i]
		s := HostBalance{
			Host: h.ID, Incarnation: h.Incarnation, Status: h.Status, Since: h.Since, Incident: h.Incident,
			Doubt: m.doubt,
		}
		held := uint64(max(0, m.held))
		switch {
		case h.Status == Alive:
			s.Held = h.Held + h.Queued + h.Wires
		case h.Status == Suspect || m.doubt:
			s.Held = held
		case h.Status == Failed:
			s.WrittenOff, s.Unheard = held, uint64(max(0, -m.held))
		}
		list[i] = s
	}
	return list
}
