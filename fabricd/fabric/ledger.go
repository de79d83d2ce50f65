package fabric

// Ledger says where every packet is (DESIGN section 4). Each account is counted where packets end or wait, so that
//
//	injected = delivered + lost + discarded + in flight
//
// is a check, not a definition. It is exact at a quiescent point; while packets move, its parts are read at slightly
// different moments.
type Ledger struct {
	Injected  uint64 `json:"injected"`
	Delivered uint64 `json:"delivered"`
	Lost      uint64 `json:"lost"`
	Discarded uint64 `json:"discarded"`
	InFlight  uint64 `json:"in_flight"`
	Balanced  bool   `json:"balanced"`
	// NotChecked says why Balanced is false though nobody knows whether the accounts add up; empty: they were checked.
	NotChecked string `json:"not_checked,omitempty" jsonschema_description:"Why balanced is false though the accounts were not checked."`

	LostWire   uint64 `json:"lost_wire"`   // sent on a link that died, or dropped by it
	LostQueued uint64 `json:"lost_queued"` // in the output queue of a link that died
	LostCrash  uint64 `json:"lost_crash"`  // inside a switch that crashed

	DiscardedBy map[string]uint64   `json:"discarded_by,omitempty"` // per rule
	LostOn      map[string]LinkLoss `json:"lost_on,omitempty"`      // per link
	Waiting     InFlight            `json:"waiting"`                // the parts of in_flight
}

// InFlight says where the packets in flight are.
type InFlight struct {
	Queues   uint64 `json:"queues"`   // in the send queues of NICs
	Switches uint64 `json:"switches"` // inside switches
	Wires    uint64 `json:"wires"`    // sent and not yet received
}

// Ledger adds up the accounts of all parts.
func (f *Fabric) Ledger() Ledger {
	f.refreshSums()
	l := Ledger{DiscardedBy: map[string]uint64{}, LostOn: map[string]LinkLoss{}}
	for _, k := range f.links {
		if k.runsIn.Load() != nil {
			continue // its host has added up what is on its wires, and lost
		}
		lost, wire := f.linkLoss(k)
		l.Waiting.Wires += wire
		l.LostWire += lost.Wire
		if lost.Wire+lost.Queued > 0 {
			l.LostOn[k.Name] = lost
		}
	}
	for _, p := range *f.hosts.Load() {
		l.addPart(f, p.all())
	}
	l.correct(f)
	l.balance()
	return l
}

// addPart adds the accounts of a host.
func (l *Ledger) addPart(f *Fabric, a *account) {
	s := &a.all
	for id, lost := range a.lost {
		l.LostWire += lost.Wire
		if l.LostOn != nil {
			l.LostOn[f.links[id].Name] = lost
		}
	}
	c := &s.Counters
	l.Injected += c.NICs.Injected
	l.Delivered += c.NICs.Delivered
	l.LostQueued += c.Switches.LostQueue
	l.LostCrash += c.Switches.LostCrash
	l.Discarded += c.Switches.Discarded + c.NICs.Wrong
	l.Waiting.Switches += s.Held
	l.Waiting.Queues += s.Queued
	l.Waiting.Wires += s.Wires
	for _, r := range s.Discards {
		l.DiscardedBy[r.Name] += r.Packets
	}
}

// balance fills in what follows from the rest.
func (l *Ledger) balance() {
	l.Lost = l.LostWire + l.LostQueued + l.LostCrash
	l.InFlight = l.Waiting.Queues + l.Waiting.Switches + l.Waiting.Wires
	l.Balanced = l.Injected == l.Delivered+l.Lost+l.Discarded+l.InFlight
}
