package ledger

import (
	"cmp"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// State is all that a ledger knows, and its checkpoint. Lists are in the order of their first
// fields.
type State struct {
	Now   weft.Time // of the latest event
	Hosts []Host    // incarnations, but for those that are folded

	// The placement, by number of switch and of NIC.
	Switches []HostID
	NICs     []HostID

	// Unheard numbers the changes of the leader before which all incarnations that were not gone
	// had been heard. Of two that were not heard since different ones of these, all is known that
	// passed between them.
	Unheard int

	Sessions []Session
	Folded   []Incarnation     // the latest that were, in the order in which they were
	Retired  []RetiredCounters `msgpack:"Past"` // what these come to, by host
	Gone     Gone              // and what is made up of them

	Incidents    []Incident // the latest
	Last         int        // the number of the latest incident
	Forgotten    []Forgotten
	Unattributed Losses    // that no incident acted on
	Pending      []Pending `msgpack:"Unclaimed"` // likewise; one that is noticed late may take them
}

// Status of an incarnation of a host.
type Status uint8

// The statuses.
const (
	Alive   Status = iota + 1
	Suspect        // it does not answer, or nobody has heard it but its neighbours
	Failed         // nobody answers for it
	Ended          // it has said all there is to say
)

// String prints s in one word.
func (s Status) String() string {
	return [...]string{"unknown", "alive", "suspect", "failed", "ended"}[min(int(s), 4)]
}

// Host is one incarnation of a host.
type Host struct {
	Incarnation Incarnation
	ID          HostID // 0: a neighbour names the incarnation, and no host has claimed it
	Status      Status
	Since       weft.Time // when the status began
	Gone        bool      // for good
	Heard       bool      // by this leader, or started: the leader before may not have written down all it did
	Unheard     int       // of one that is not heard: since which change of the leader, see State.Unheard
	Incident    int       // of not answering, or of its failure; 0: there was none

	// Of the latest answer; see [Answer].
	Seq                 uint64
	Asked               weft.Time
	Inside              int64 // packets that came in less those that went out
	Held, Queued, Wires uint64
	Counted
}

// uncertain reports whether h may have done more than it has told.
func (h *Host) uncertain() bool { return h.Status == Suspect || h.Status == Failed }

// Session is what passed between one incarnation at each side of a channel.
type Session struct {
	Channel Channel
	Sides   [2]Side   // of a link A and B; of a hand-over the lower incarnation first
	Lost    [2]uint64 // packets from side 0, from side 1, that are known to be lost on the way
}

// Side is a session as one of its sides has told of it.
type Side struct {
	Incarnation Incarnation
	Flow        link.Flow // zero: it has not told of it
}

// Channel is what a session is on: a link, or the hand-over of a node.
type Channel struct {
	Node weft.Node // zero: it is the link
	Link weft.LinkID
}

func (c Channel) compare(o Channel) int {
	return cmp.Or(cmp.Compare(c.Node.Kind, o.Node.Kind), cmp.Compare(c.Node.Index, o.Node.Index),
		cmp.Compare(c.Link, o.Link))
}

func (s *Session) compare(o *Session) int {
	return cmp.Or(s.Channel.compare(o.Channel), cmp.Compare(s.Sides[0].Incarnation, o.Sides[0].Incarnation),
		cmp.Compare(s.Sides[1].Incarnation, o.Sides[1].Incarnation))
}

// over reports whether side d is done with the session: me, which it is, has ended, or has said
// since the other failed that the end is down, so that nothing more is sent or received.
func (s *Session) over(d int, me, other *Host) bool {
	f := &s.Sides[d].Flow
	return me.Status == Ended ||
		(other.Status == Failed || other.Status == Ended) && me.Asked >= other.Since && f.State == link.Down &&
			s.Sides[1-d].Flow.LastTo <= f.Mine // of hand-overs, the latest has been taken
}

// RetiredCounters is what the folded incarnations of a host come to.
type RetiredCounters struct {
	Host HostID // 0: of incarnations that were no host, and what sessions have lost
	Counted
	LinkTotals []LinkTotal `msgpack:"Passed"` // in sessions that are folded, by end
}

// LinkTotal is what has gone through an end of a link to other hosts, in packets.
type LinkTotal struct {
	End            weft.End
	Sent, Received uint64
}

// Compare is the order of ends.
func (p LinkTotal) Compare(o LinkTotal) int { return EndLost{End: p.End}.Compare(EndLost{End: o.End}) }

// Gone is what is made up of folded incarnations, in packets.
type Gone struct {
	WrittenOff uint64 // that were inside
	Unheard    uint64 // packets that they have injected without telling
	HandedOver uint64 // packets lost on the way from host to host
}

// Link is a link of the fabric. Its number is its position in a list.
type Link struct{ A, B weft.End }

func (k Link) ends() [2]weft.End { return [2]weft.End{k.A, k.B} }

// Ledger is the ledger of one fabric. It has one owner at a time, who serialises the calls.
type Ledger struct {
	state  State
	links  []Link
	ends   map[weft.End]weft.LinkID // looked up, never walked
	orders []Order
}

// New returns the ledger of a fabric with these links, of which no host runs yet. It keeps the
// list.
func New(links []Link) *Ledger {
	l := &Ledger{links: links, ends: make(map[weft.End]weft.LinkID, 2*len(links))}
	for i, k := range links {
		l.ends[k.A], l.ends[k.B] = weft.LinkID(i), weft.LinkID(i)
		l.place(k.A.Node, 0)
		l.place(k.B.Node, 0)
	}
	return l
}

// State is what the ledger knows, for whoever prints it. It is the ledger's own and changes with
// the next Step.
func (l *Ledger) State() *State { return &l.state }

// Last is the number of the latest incident; 0: there was none.
func (l *Ledger) Last() int { return l.state.Last }

// place notes that a node runs on a host.
func (l *Ledger) place(n weft.Node, h HostID) {
	list := &l.state.NICs
	if n.IsSwitch() {
		list = &l.state.Switches
	}
	if more := int(n.Index) + 1 - len(*list); more > 0 {
		*list = append(*list, make([]HostID, more)...)
	}
	(*list)[n.Index] = h
}

// placed is the host that runs a node; 0: none is known.
func (l *Ledger) placed(n weft.Node) HostID {
	list := l.state.NICs
	if n.IsSwitch() {
		list = l.state.Switches
	}
	if int(n.Index) >= len(list) {
		return 0
	}
	return list[n.Index]
}

// knows reports whether n is a node of the fabric: only those that have links are placed.
func (l *Ledger) knows(n weft.Node) bool {
	if n.IsSwitch() {
		return int(n.Index) < len(l.state.Switches)
	}
	return n.Kind == weft.KindNIC && int(n.Index) < len(l.state.NICs)
}

// find is where the incarnation is, or would be, in Hosts.
func (l *Ledger) find(n Incarnation) (int, bool) {
	i := search(len(l.state.Hosts), func(i int) bool { return l.state.Hosts[i].Incarnation >= n })
	return i, i < len(l.state.Hosts) && l.state.Hosts[i].Incarnation == n
}

// search is the first of n numbers from which on reached is true; n: there is none. Records are
// large: they are not copied.
func search(n int, reached func(i int) bool) int {
	low := 0
	for low < n {
		if mid := (low + n) / 2; reached(mid) {
			n = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// incarnation is the record of an incarnation, valid until another is added or folded; nil: it is
// not known.
func (l *Ledger) incarnation(n Incarnation) *Host {
	if i, ok := l.find(n); ok {
		return &l.state.Hosts[i]
	}
	return nil
}

// current is the latest incarnation of a host; nil: there is none.
func (l *Ledger) current(id HostID) *Host {
	for i := len(l.state.Hosts) - 1; i >= 0; i-- {
		if h := &l.state.Hosts[i]; h.ID == id && id != 0 {
			return h
		}
	}
	return nil
}

// Keeps reports whether the ledger has not put an incarnation away, and what neighbours say of it
// matters.
func (l *Ledger) Keeps(n Incarnation) bool { return l.incarnation(n) != nil }

func (l *Ledger) order(o Order) { l.orders = append(l.orders, o) }
