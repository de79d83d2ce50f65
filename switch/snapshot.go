package switching

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Snapshot is the state of a switch at one moment, apart from the packets themselves.
type Snapshot struct {
	Switch    weft.SwitchID
	Version   uint64 // of the tables that it forwards by, see [Switch.Load]
	Stats     Stats
	Held      int // packets inside
	Ports     []PortSnapshot
	Registers []RegisterSnapshot
	Discards  map[string]uint64 // per rule
	Blocked   []Blocked         // packets that wait for room in an output queue
	Oldest    *Oldest           // nil: it holds no packet
}

// Oldest is the packet at the head of a queue that has been in the switch longest.
type Oldest struct {
	Since  weft.Time // it came
	Header weft.Header
	Asked  bool     // its firmware has not decided yet
	Queued bool     // it is in the output queue For[0]
	For    []Output // otherwise: the output queues in which it waits for room
}

// PortSnapshot is the state of one port.
type PortSnapshot struct {
	State      link.State
	Suppressed bool       // damping keeps the link down
	Mine       weft.Epoch // 0: none yet
	Peer       weft.Epoch
	Counters   link.Counters
	Lost       uint64 // packets queued here when the link died
	VCs        []VCSnapshot
}

// VCSnapshot is the state of one VC of a port: its input queue, its output queue and the credits of
// both directions.
type VCSnapshot struct {
	Input, Output int // packets
	Credits       int // packets the neighbour can take
	Epoch         link.Epoch
	Stalls        [stalls]uint64 // by Stall
}

// RegisterSnapshot is the value of one declared register.
type RegisterSnapshot struct {
	Name    string
	Width   int
	Value   uint64
	Expire  weft.Time // as declared: zeroed so long after it was last written; 0 is never
	Expires weft.Time // weft.Never when it has no timer running
}

// Blocked is a packet that waits for room at any of several outputs, in an input queue unless it is
// stranded. One of the flow of a stranded packet waits for the queue that the stranded one is in.
type Blocked struct {
	In     weft.PortID
	InVC   weft.VC
	Header weft.Header
	For    []Output
	// Stranded: it has left the input queue and is in the output queue At of a dead link, see
	// Config.Requeue.
	Stranded bool
	At       Output
}

// Output names an output queue.
type Output struct {
	Port weft.PortID
	VC   weft.VC
}

// Stats counts what the switch has done.
func (s *Switch) Stats() Stats { return s.stats }

// Discards calls f with each rule that has discarded packets, and how many.
func (s *Switch) Discards(f func(rule string, packets uint64)) {
	for rule, n := range s.discards {
		f(rule, n)
	}
}

// Timer is the longest that a register which has a timer running is kept, or that a port waits for
// its neighbour to begin anew; 0 when none does.
func (s *Switch) Timer() (longest weft.Time) {
	for i := range s.ports {
		longest = max(longest, s.ports[i].end.Awaits())
	}
	for i := range s.registers {
		if s.registers[i].expires != weft.Never {
			longest = max(longest, s.registers[i].Expire)
		}
	}
	return longest
}

// Held is how many packets are inside.
func (s *Switch) Held() int { return s.slots.held() }

// Blocked reports whether a packet inside waits for room in an output queue.
func (s *Switch) Blocked() bool { return s.wait.waiting > 0 }

// Suppressed reports whether damping keeps the link at p down.
func (s *Switch) Suppressed(p weft.PortID) bool { return s.ports[p].end.Suppressed() }

// Snapshot copies the state of the switch.
func (s *Switch) Snapshot() Snapshot {
	sn := Snapshot{
		Switch: s.place.Switch, Version: s.version, Stats: s.stats, Held: s.Held(),
		Discards: make(map[string]uint64, len(s.discards)), Ports: make([]PortSnapshot, 0, len(s.ports)),
	}
	for rule, n := range s.discards {
		sn.Discards[rule] = n
	}
	for i := range s.ports {
		p := &s.ports[i]
		mine, peer := p.end.Epochs()
		ps := PortSnapshot{
			State: p.end.State(), Suppressed: p.end.Suppressed(), Mine: mine, Peer: peer,
			Counters: p.end.Counters(), Lost: p.lost, VCs: make([]VCSnapshot, 0, s.vcs),
		}
		for vc := range weft.VC(s.vcs) {
			c := s.channel(weft.PortID(i), vc)
			v := VCSnapshot{
				Input: int(s.in[c].n), Output: int(s.out[c].n),
				Credits: p.end.Credits(vc), Epoch: p.end.Epoch(vc),
				Stalls: s.stallsAt(c),
			}
			ps.VCs = append(ps.VCs, v)
		}
		sn.Ports = append(sn.Ports, ps)
	}
	for _, r := range s.registers {
		sn.Registers = append(sn.Registers, RegisterSnapshot{
			Name: r.Name, Width: r.Width, Value: r.value, Expire: r.Expire,
			Expires: r.expires,
		})
	}
	for id := s.wait.blockedAfter(0); id != noSlot; id = s.wait.blockedAfter(id + 1) {
		sl := &s.slots.slot[id]
		b := Blocked{Header: sl.hdr, Stranded: sl.stranded}
		b.In, b.InVC = sl.port, sl.vc
		if sl.stranded {
			b.At.Port, b.At.VC = s.portVC(sl.out)
		}
		b.For = s.waitsFor(id)
		sn.Blocked = append(sn.Blocked, b)
	}
	if id := s.oldest(); id != noSlot {
		sl := &s.slots.slot[id]
		o := &Oldest{
			Since: sl.arrived, Header: sl.hdr, Asked: sl.asked == askWanted || sl.asked == askTaken,
			For: s.waitsFor(id),
		}
		if o.Queued = !o.Asked && len(o.For) == 0; o.Queued {
			p, vc := s.portVC(sl.out)
			o.For = []Output{{Port: p, VC: vc}}
		}
		sn.Oldest = o
	}
	return sn
}

// waitsFor lists the output queues in which id waits for room.
func (s *Switch) waitsFor(id slotID) (list []Output) {
	s.wait.outputs(id, func(c channel) {
		p, vc := s.portVC(c)
		list = append(list, Output{Port: p, VC: vc})
	})
	return list
}

// oldest is, of the packets at the heads of queues, the one that has been inside longest, or
// noSlot.
func (s *Switch) oldest() slotID {
	id := noSlot
	for c := range s.in {
		for _, head := range [...]slotID{s.in[c].head, s.out[c].head} {
			if head != noSlot && (id == noSlot || s.slots.slot[head].arrived < s.slots.slot[id].arrived) {
				id = head
			}
		}
	}
	return id
}

// PortCounters reads the link counters of port p and how many packets were lost in its output
// queues.
func (s *Switch) PortCounters(p weft.PortID) (c link.Counters, lost uint64) {
	return s.ports[p].end.Counters(), s.ports[p].lost
}

// Flow reads what tells packets on the wire of port p from lost ones.
func (s *Switch) Flow(p weft.PortID) link.Flow { return s.ports[p].end.Flow() }

// Sessions tells Flow apart by incarnations of the neighbour, see [link.End.Sessions].
func (s *Switch) Sessions(p weft.PortID, peers []link.Incarnation, do func(link.Session)) {
	s.ports[p].end.Sessions(peers, do)
}
