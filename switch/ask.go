package switching

import "github.com/weft-fabric/weft"

// MaxAsks is how many decisions are asked for together at most. Chosen by us: enough for the way to
// a process and back to count little.
const MaxAsks = 64

// RuleNoAnswer is the rule by which a switch discards a packet for which the firmware has not
// decided; see [Ask].
const RuleNoAnswer = "the firmware gave no answer"

// Ask is a decision that a switch waits for.
type Ask struct {
	Packet weft.Header
	At     Arrival
	View   View // as Route has it

	Decision Decision // the answer; its candidates stay as they are
	// Err says why there is none. The packet is then discarded by RuleNoAnswer, and
	// [Config].Panicked hears of it.
	Err error

	slot slotID
}

// Asks are decisions of one switch that are asked for together. The zero value is empty.
type Asks struct {
	Decide func() // has the firmware decide; it may take long, and the switch may be stepped meanwhile
	list   [MaxAsks]Ask
	asks   []*Ask
	at     uint64 // asking.changes when they were taken
}

// asking is what a switch keeps whose driver takes its asks. Bound: its slots.
type asking struct {
	changes uint64        // of ports, registers and firmware so far
	wanted  []uint64      // bits: the slots whose asks the driver is to take
	next    slotID        // where it takes the next
	taken   bool          // it has some that are not answered
	answers []askedAnswer // per slot; nil before the first
}

// askedAnswer is the answer for the packet of a slot, as long as nothing changes.
type askedAnswer struct {
	at       uint64 // asking.changes
	decision Decision
}

// askState is how far the decision about the packet of a slot is, where the driver takes asks.
type askState uint8

const (
	askNone   askState = iota // there is nothing to decide yet, or any more
	askWanted                 // the packet waits until the driver takes the ask
	askTaken                  // the packet waits for the answer
	askKnown                  // there is an answer
)

// LetAsk has the switch ask for the decisions of a firmware that has a Batch, and not call its
// Route, from now on. It is for drivers that look at [weft.Actions].Asking, call [Switch.Asks],
// then [Asks.Decide] without holding the switch up, and then [Switch.Answer].
func (s *Switch) LetAsk() {
	s.asks = &asking{wanted: make([]uint64, s.wait.slotWords)}
}

// Asks fills b with decisions that the switch waits for, and reports whether there are any. There
// are none until those that were taken before have been brought back to Answer.
func (s *Switch) Asks(now weft.Time, b *Asks) bool {
	s.now = now
	b.asks = b.asks[:0]
	a := s.asks
	if a.taken {
		return false
	}
	id := nextBit(a.wanted, a.next)
	if id == noSlot {
		id = nextBit(a.wanted, 0)
	}
	for ; id != noSlot && len(b.asks) < MaxAsks; id = nextBit(a.wanted, id+1) {
		a.next = id + 1
		a.wanted[id/64] &^= 1 << (uint(id) % 64)
		if sl := &s.slots.slot[id]; sl.asked == askWanted {
			sl.asked = askTaken
			k := &b.list[len(b.asks)]
			at := Arrival{Port: sl.port, VC: sl.vc, From: s.place.Roles[sl.port]}
			*k = Ask{Packet: sl.hdr, At: at, View: (*view)(s), slot: id}
			b.asks = append(b.asks, k)
		}
	}
	if a.taken = len(b.asks) > 0; a.taken {
		b.at, b.Decide = a.changes, s.cfg.Firmware.Batch(b.asks)
	}
	return a.taken
}

// Answer takes what the firmware has decided. The packets go on as if its Route had just returned
// that. Where a port or a register has changed meanwhile, a packet is asked about anew, and what
// was decided for one that is gone is dropped.
func (s *Switch) Answer(now weft.Time, b *Asks, out *weft.Actions) {
	s.now, s.asks.taken = now, false
	for _, k := range b.asks {
		if sl := &s.slots.slot[k.slot]; sl.asked == askTaken { // else it is free by now, or has another packet
			sl.asked = askKnown
			s.asks.answers[k.slot] = askedAnswer{b.at, s.answered(k)}
			s.advance(k.slot, out)
		}
	}
	out.Asking = out.Asking || nextBit(s.asks.wanted, 0) != noSlot
	s.wake(out)
}

// decide gives the decision for id, unless that has to be asked for: then it asks.
func (s *Switch) decide(id slotID, at Arrival, out *weft.Actions) (d Decision, known bool) {
	sl := &s.slots.slot[id]
	if s.asks == nil { // nobody takes asks: the firmware decides at once
		k := Ask{Packet: sl.hdr, At: at, View: (*view)(s)}
		s.cfg.Firmware.Batch([]*Ask{&k})()
		return s.answered(&k), true
	}
	if s.asks.answers == nil {
		s.asks.answers = make([]askedAnswer, s.slots.most)
	}
	a := &s.asks.answers[id]
	if sl.asked != askKnown || a.at != s.asks.changes {
		s.ask(id, out)
		return d, false
	}
	if s.cfg.Firmware.Reads != (Asked{}) {
		sl.asked = askNone // it may say another thing when it is asked again
	}
	return a.decision, true
}

// answered is what the firmware has decided.
func (s *Switch) answered(k *Ask) Decision {
	if k.Err != nil {
		s.failed(&k.Packet, k.At, k.Err)
		return Discard(RuleNoAnswer)
	}
	return k.Decision
}

// ask has id wait for the firmware.
func (s *Switch) ask(id slotID, out *weft.Actions) {
	sl := &s.slots.slot[id]
	if sl.why&(1<<StallFirmware) == 0 {
		sl.why |= 1 << StallFirmware
		s.stall(sl.in, StallFirmware)
	}
	sl.asked = askWanted
	s.asks.wanted[id/64] |= 1 << (uint(id) % 64)
	out.Asking = true
}

// blockAsked has the packets that wait for the firmware wait to be routed anew instead.
func (s *Switch) blockAsked() {
	for id := range s.slots.slot {
		if sl := &s.slots.slot[id]; sl.asked == askWanted || sl.asked == askTaken {
			sl.asked = askNone
			s.wait.enter(slotID(id), sl.in)
		}
	}
}

// changed notes that a port, a register or the firmware is another than before, so that no answer
// counts any more.
func (s *Switch) changed() {
	if s.asks != nil {
		s.asks.changes++
	}
}
