package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// KindHost is the kind of the incident of a host that does not answer, or has failed, which the
// ledger has begun. All others the leader has.
const KindHost = "host"

// maxIncidents bounds the incidents that are kept. Of older ones only the sum of their losses is.
// Chosen by us.
const maxIncidents = 4096

// Incident is a fault and what it has cost. While it is not repaired it is an active fault, unless
// it is of a host.
type Incident struct {
	ID       int // from 1, in order
	Kind     string
	Target   string
	Host     HostID // of [KindHost]: that does not answer; 0: nobody but its neighbours knows it
	Links    []weft.LinkID
	Switches []weft.SwitchID

	Began    weft.Time
	Repaired weft.Time // weft.Never: it lasts
	Open     bool      // it lasts, or its effects are still counted

	// Lost are the packets that it has cost. As State has them, those written off are not among
	// them.
	Lost Losses
	// Counted is what has been counted all over the fabric since it began, until it was closed. As
	// State has an incident that is open, it is what had been counted when it began.
	Counted Counters
	// Discards are the packets discarded since it began, by rule, likewise.
	Discards []Rule
}

// Active reports whether the fault is in force.
func (in *Incident) Active() bool { return in.Kind != KindHost && in.Repaired == weft.Never }

// Losses are packets by how they were lost.
type Losses struct {
	Wire   uint64 // sent on a link that died, or dropped by it
	Queued uint64 // in the output queue of a link that died
	Crash  uint64 // inside a switch that crashed, a host that failed, or a node on its way to another host
}

// Sum is how many packets these are.
func (n Losses) Sum() uint64 { return n.Wire + n.Queued + n.Crash }

// Forgotten is what the incidents of one kind have come to that are no longer kept.
type Forgotten struct {
	Kind  string
	Begun uint64
	Lost  uint64
}

// begin opens an incident. What was lost before and is not known yet will be its own.
func (l *Ledger) begin(in Incident) int {
	l.state.Last++
	in.ID, in.Began, in.Repaired, in.Open = l.state.Last, l.state.Now, weft.Never, true
	all := l.counted()
	in.Counted, in.Discards = all.Counters, all.Discards
	l.state.Incidents = append(l.state.Incidents, in)
	if len(l.state.Incidents) > maxIncidents {
		l.forget(1)
	}
	return in.ID
}

// beginHost opens the incident of a host, unless it has one or is given one.
func (l *Ledger) beginHost(h *Host, id int) {
	if h.Incident != 0 {
		return
	}
	if h.Incident = id; id != 0 {
		return
	}
	target := fmt.Sprintf("host %d", h.ID)
	if h.ID == 0 {
		target = fmt.Sprintf("incarnation %d", h.Incarnation)
	}
	h.Incident = l.begin(Incident{Kind: KindHost, Target: target, Host: h.ID})
	l.attributeLate()
}

// incident is one that is kept; nil: there is none of this number.
func (l *Ledger) incident(id int) *Incident {
	i := search(len(l.state.Incidents), func(i int) bool { return l.state.Incidents[i].ID >= id })
	if i == len(l.state.Incidents) || l.state.Incidents[i].ID != id {
		return nil
	}
	return &l.state.Incidents[i]
}

// endHost notes that a host is missing no more, or for good, unless the leader says so.
func (l *Ledger) endHost(h *Host) {
	if in := l.incident(h.Incident); in != nil && in.Kind == KindHost {
		l.repaired(h.Incident)
	}
}

// repaired notes that what an incident is of has been repaired. Its effects are counted a little
// longer.
func (l *Ledger) repaired(id int) {
	if in := l.incident(id); in != nil && in.Repaired == weft.Never {
		in.Repaired = l.state.Now
	}
}

// closeIncidents ends the counting for those that were repaired long enough before a time, by which
// hosts have been asked. What hosts say is later.
func (l *Ledger) closeIncidents(now weft.Time) {
	all, some := Counted{}, false
	for i := range l.state.Incidents {
		in := &l.state.Incidents[i]
		if in.Open && in.Repaired != weft.Never && in.Repaired <= now-Settle {
			if !some {
				all, some = l.counted(), true
			}
			in.since(&all)
			in.Open = false
		}
	}
}

// since has an open incident say what has been counted since it began, of all that has been by now.
func (in *Incident) since(all *Counted) {
	now := all.Counters
	now.sub(&in.Counted)
	in.Counted = now
	rules := slices.Clone(all.Discards)
	for i := range rules {
		if at, ok := slices.BinarySearchFunc(in.Discards, rules[i], Rule.compare); ok {
			rules[i].Packets -= min(rules[i].Packets, in.Discards[at].Packets)
		}
	}
	in.Discards = slices.DeleteFunc(rules, func(r Rule) bool { return r.Packets == 0 })
}

// forget drops so many incidents, the oldest that are closed and that nothing can be added to.
func (l *Ledger) forget(most int) {
	busy := map[int]bool{}
	for i := range l.state.Hosts {
		busy[l.state.Hosts[i].Incident] = true
	}
	l.state.Incidents = slices.DeleteFunc(l.state.Incidents, func(in Incident) bool {
		if most <= 0 || in.Open || busy[in.ID] {
			return false
		}
		most--
		at, ok := slices.BinarySearchFunc(l.state.Forgotten, in.Kind,
			func(f Forgotten, kind string) int { return cmp.Compare(f.Kind, kind) })
		if !ok {
			l.state.Forgotten = slices.Insert(l.state.Forgotten, at, Forgotten{Kind: in.Kind})
		}
		f := &l.state.Forgotten[at]
		f.Begun, f.Lost = f.Begun+1, f.Lost+in.Lost.Sum()
		return true
	})
}

// acts reports whether the incident acts on a node, as far as its host or its switches go.
func (l *Ledger) acts(in *Incident, n weft.Node) bool {
	return in.Host != 0 && l.placed(n) == in.Host || n.IsSwitch() && slices.Contains(in.Switches, weft.SwitchID(n.Index))
}

// onLink reports whether the incident acts on a link.
func (l *Ledger) onLink(in *Incident, id weft.LinkID) bool {
	k := &l.links[id]
	return slices.Contains(in.Links, id) || in.Host != 0 && (l.acts(in, k.A.Node) || l.acts(in, k.B.Node))
}

// ofLink are the losses that the latest open incident on a link has cost.
func (l *Ledger) ofLink(id weft.LinkID) *Losses {
	return l.latest(Pending{Link: id}, func(in *Incident) bool { return l.onLink(in, id) })
}

// ofNode are those that the latest open incident on a node has cost.
func (l *Ledger) ofNode(n weft.Node) *Losses {
	return l.latest(Pending{Node: n}, func(in *Incident) bool { return l.acts(in, n) })
}

// latest are the losses of the latest open incident that acts says acts; of none, those that one
// which is noticed late may have.
func (l *Ledger) latest(of Pending, acts func(in *Incident) bool) *Losses {
	for i := len(l.state.Incidents) - 1; i >= 0; i-- {
		if in := &l.state.Incidents[i]; in.Open && acts(in) {
			return &in.Lost
		}
	}
	i, ok := slices.BinarySearchFunc(l.state.Pending, of, Pending.compare)
	if !ok {
		l.state.Pending = slices.Insert(l.state.Pending, i, of)
	}
	return &l.state.Pending[i].Lost
}

// Pending are losses of no incident on one link or node.
type Pending struct {
	Node weft.Node // zero: it is the link
	Link weft.LinkID
	Lost Losses
}

func (u Pending) compare(o Pending) int {
	return Channel{u.Node, u.Link}.compare(Channel{o.Node, o.Link})
}

// attributeLate has the latest incident, which is noticed late, take what is pending where it acts.
func (l *Ledger) attributeLate() {
	in := &l.state.Incidents[len(l.state.Incidents)-1]
	l.state.Pending = slices.DeleteFunc(l.state.Pending, func(u Pending) bool {
		if u.Node.Kind == 0 && l.onLink(in, u.Link) || u.Node.Kind != 0 && l.acts(in, u.Node) {
			in.Lost.add(&u.Lost)
			return true
		}
		return false
	})
}

func (n *Losses) add(o *Losses) {
	n.Wire, n.Queued, n.Crash = n.Wire+o.Wire, n.Queued+o.Queued, n.Crash+o.Crash
}

// Unattributed are the losses of no incident.
func (l *Ledger) Unattributed() (n Losses) {
	n = l.state.Unattributed
	for i := range l.state.Pending {
		n.add(&l.state.Pending[i].Lost)
	}
	return n
}
