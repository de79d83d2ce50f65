package fabric

import "github.com/weft-fabric/weft/fabricd/ledger"

// Ledger says where every packet is (DESIGN section 4). Each account is counted where packets end
// or wait, so that
//
//	injected = delivered + lost + discarded + in flight
//
// is a check, not a definition. It is exact at a quiescent point; while packets move, its parts are
// read at slightly different moments.
type Ledger struct {
	Injected  uint64 `json:"injected"`
	Delivered uint64 `json:"delivered"`
	Lost      uint64 `json:"lost"`
	Discarded uint64 `json:"discarded"`
	InFlight  uint64 `json:"in_flight"`
	Balanced  bool   `json:"balanced"`
	// NotChecked says why Balanced is false although nobody knows whether the accounts add up;
	// empty: they were checked.
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
	Switches uint64 `json:"switches"` // inside switches, and whatever hosts hold that do not answer
	Wires    uint64 `json:"wires"`    // sent and not yet received
}

// Ledger adds up the accounts of all hosts. It does not wait for slow hosts.
func (rd *reader) Ledger() Ledger {
	rd.lookAtHosts()
	return rd.addUp()
}

// ledgerAfterRefresh is the ledger after all hosts that answer have been asked.
func (rd *reader) ledgerAfterRefresh() Ledger {
	rd.refreshCounters()
	return rd.addUp()
}

// addUp adds up what hosts told last.
func (rd *reader) addUp() Ledger {
	l, links := rd.ledgerNow()
	l.LostOn = map[string]LinkLoss{}
	for _, k := range links {
		if lost := lossOf(&k); lost != (LinkLoss{}) {
			l.LostOn[rd.links[k.Link].Name] = lost
		}
	}
	return l
}

// ledgerNow are the accounts as told last, without LostOn, and the balance of the links.
func (rd *reader) ledgerNow() (l Ledger, links []ledger.LinkBalance) {
	s := rd.ledger.seen()
	w := s.Waiting
	l = Ledger{
		Injected: s.Injected + s.Short, Delivered: s.Delivered, Lost: s.Lost, Discarded: s.Discarded,
		InFlight: s.InFlight, Balanced: s.Balanced,
		LostWire: s.LostWire, LostQueued: s.LostQueued, LostCrash: s.LostCrash, DiscardedBy: rules(s.DiscardedBy),
		Waiting: InFlight{Queues: w.Queues, Switches: w.Switches + w.Suspect + w.Doubt, Wires: w.Wires},
	}
	return l, s.Links
}

// rules are packets discarded, by the name of the rule.
func rules(list []ledger.Rule) map[string]uint64 {
	by := make(map[string]uint64, len(list))
	for _, r := range list {
		by[r.Name] = r.Packets
	}
	return by
}

// lossOf is what a link has lost.
func lossOf(k *ledger.LinkBalance) LinkLoss {
	return LinkLoss{Wire: k.Wire[0] + k.Wire[1], Queued: k.Queued}
}
