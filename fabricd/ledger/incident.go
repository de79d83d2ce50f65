package ledger

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// KindHost is the kind of the incident of a host that does not answer, or has failed.
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
	Host     HostID // that does not answer; 0: it is a fault that the leader has ordered
	Links    []weft.LinkID
	Switches []weft.SwitchID
	Spec     []byte // see [FaultBegan]

	Began    weft.Time
	Repaired weft.Time // weft.Never: it lasts
	Open     bool      // it lasts, or its effects are still counted

	// Lost are the packets that it has cost. As State has them, those written off are not among
	// them.
	Lost Losses
	// Counted is what has been counted all over the fabric since it began, until it was closed. As
	// State has an incident that is open, it is what had been counted when it began.
	Counted Counters
}

// Active reports whether the fault is in force.
func (in *Incident) Active() bool { return in.Host == 0 && in.Repaired == weft.Never }

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
	in.ID, in.Began, in.Repaired, in.Open, in.Counted = l.state.Last, l.state.Now, weft.Never, true, l.Total()
	l.state.Incidents = append(l.state.Incidents, in)
	if len(l.state.Incidents) > maxIncidents {
		l.forget()
	}
	return in.ID
}

// beginHost opens the incident of a host, unless it has one.
func (l *Ledger) beginHost(h *Host) {
	if h.Incident != 0 {
		return
	}
	target := fmt.Sprintf("host %d", h.ID)
	if h.ID == 0 {
		target = fmt.Sprintf("incarnation %d", h.Incarnation)
	}
	h.Incident = l.begin(Incident{Kind: KindHost, Target: target, Host: h.ID})
}

// incident is one that is kept; nil: there is none of this number.
func (l *Ledger) incident(id int) *Incident {
	i := search(len(l.state.Incidents), func(i int) bool { return l.state.Incidents[i].ID >= id })
	if i == len(l.state.Incidents) || l.state.Incidents[i].ID != id {
		return nil
	}
	return &l.state.Incidents[i]
}

// repaired notes that what an incident is of has been repaired. Its effects are counted a little
// longer.
func (l *Ledger) repaired(id int) {
	if in := l.incident(id); in != nil && in.Repaired == weft.Never {
		in.Repaired = l.state.Now
	}
}

// closeIncidents ends the counting for those that were repaired long enough ago.
func (l *Ledger) closeIncidents() {
	for i := range l.state.Incidents {
		in := &l.state.Incidents[i]
		if in.Open && in.Repaired != weft.Never && in.Repaired <= l.state.Now-Settle {
			since := l.Total()
			since.Sub(&in.Counted)
			in.Open, in.Counted = false, since
		}
	}
}

// forget drops the oldest incident that is closed and that nothing can be added to.
func (l *Ledger) forget() {
	for i, in := range l.state.Incidents {
		if in.Open || slices.ContainsFunc(l.state.Hosts, func(h Host) bool { return h.Incident == in.ID }) {
			continue
		}
		at, ok := slices.BinarySearchFunc(l.state.Forgotten, in.Kind,
			func(f Forgotten, kind string) int { return cmp.Compare(f.Kind, kind) })
		if !ok {
			l.state.Forgotten = slices.Insert(l.state.Forgotten, at, Forgotten{Kind: in.Kind})
		}
		f := &l.state.Forgotten[at]
		f.Begun, f.Lost = f.Begun+1, f.Lost+in.Lost.Sum()
		l.state.Incidents = slices.Delete(l.state.Incidents, i, i+1)
		return
	}
}

// acts reports whether the incident acts on a node, as far as its host or its switches go.
func (l *Ledger) acts(in *Incident, n weft.Node) bool {
	return in.Host != 0 && l.placed(n) == in.Host || n.IsSwitch() && slices.Contains(in.Switches, weft.SwitchID(n.Index))
}

// ofLink are the losses that the latest open incident on a link has cost.
func (l *Ledger) ofLink(id weft.LinkID) *Losses {
	k := l.links[id]
	return l.latest(func(in *Incident) bool {
		return slices.Contains(in.Links, id) || in.Host != 0 && (l.acts(in, k.A.Node) || l.acts(in, k.B.Node))
	})
}

// ofNode are those that the latest open incident on a node has cost.
func (l *Ledger) ofNode(n weft.Node) *Losses {
	return l.latest(func(in *Incident) bool { return l.acts(in, n) })
}

// latest are the losses of the latest open incident that acts says acts; of none, those that are
// unattributed.
func (l *Ledger) latest(acts func(in *Incident) bool) *Losses {
	for i := len(l.state.Incidents) - 1; i >= 0; i-- {
		if in := &l.state.Incidents[i]; in.Open && acts(in) {
			return &in.Lost
		}
	}
	return &l.state.Unattributed
}
