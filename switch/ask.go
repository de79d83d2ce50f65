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
	View   View // what Route would see; it stays as it is

	Decision Decision // the answer
	// Err says why there is none. The packet is then discarded by RuleNoAnswer, and
	// [Config].Panicked hears of it.
	Err error

	slot slotID
}

// Asks are decisions of one switch that are asked for together. The zero value is empty.
type Asks struct {
	list  [MaxAsks]Ask
	asks  []*Ask
	seen  seen
	batch func([]*Ask)
}

// Decide asks the firmware. It may take long, and the switch may be stepped meanwhile.
func (b *Asks) Decide() { b.batch(b.asks) }

// asking is what a switch keeps whose driver takes its asks. Bound: its slots.
type asking struct {
	changes uint64   // of ports, registers and firmware so far
	slots   []asked  // per slot
	queue   []slotID // those that the driver has not taken yet, in order
	stalls  []uint64 // StallFirmware, per input
}

// asked is where the decision about the packet of one slot stands. There is at most one ask for a
// slot: a packet that comes into it while the driver still has the ask of an earlier one, or for
// which something has changed meanwhile, is asked about once that is answered.
type asked struct {
	wanted   bool     // the packet waits for the answer
	queued   bool     // it is in queue
	out      bool     // the driver has it
	stale    bool     // what is out is not what is wanted
	known    bool     // decision is the answer, as long as nothing has changed
	at       uint64   // changes when it was asked
	decision Decision // has storage of its own
}

// LetAsk has the switch ask for the decisions of a firmware that has a Batch, and not call its Route,
// from now on. It is for drivers that look at [weft.Actions].Asking, call [Switch.Asks], then
// [Asks.Decide] without holding the switch up, and then [Switch.Answer].
func (s *Switch) LetAsk() {
	s.asks = &asking{slots: make([]asked, len(s.slots.slot)), stalls: make([]uint64, len(s.in))}
	s.adopt()
}

// Asks fills b with decisions that the switch waits for, and reports whether there are any. The
// owner of b must bring it back to Answer.
func (s *Switch) Asks(now weft.Time, b *Asks) bool {
	s.now = now
	b.asks, b.batch = b.asks[:0], s.cfg.Firmware.Batch
	taken := 0
	for _, id := range s.asks.queue {
		if len(b.asks) == MaxAsks {
			break
		}
		taken++
		a, sl := &s.asks.slots[id], &s.slots.slot[id]
		a.queued = false
		if !a.wanted {
			continue
		}
		a.out, a.stale, a.at = true, false, s.asks.changes
		k := &b.list[len(b.asks)]
		*k = Ask{Packet: sl.hdr, At: Arrival{Port: sl.port, VC: sl.vc, From: s.place.Roles[sl.port]}, View: &b.seen, slot: id}
		b.asks = append(b.asks, k)
	}
	s.asks.queue = s.asks.queue[:copy(s.asks.queue, s.asks.queue[taken:])]
	if len(b.asks) == 0 {
		return false
	}
	b.seen.look(s)
	return true
}

// Answer takes what the firmware has decided. The packets go on as if its Route had just returned
// that. A packet for which a port or a register has changed since it was asked about is asked about
// anew, and what was decided for one that is gone is dropped.
func (s *Switch) Answer(now weft.Time, b *Asks, out *weft.Actions) {
	s.now = now
	for _, k := range b.asks {
		a := &s.asks.slots[k.slot]
		a.out = false
		switch {
		case !a.wanted:
		case a.stale || a.at != s.asks.changes:
			s.ask(k.slot, out)
		default:
			a.wanted, a.known = false, true
			room := a.decision.Candidates[:0]
			a.decision = k.Decision
			if k.Err != nil {
				a.decision = s.noAnswer(k)
			}
			a.decision.Candidates = append(room, a.decision.Candidates...)
			s.advance(k.slot, out)
		}
	}
	s.wake(out)
}

// decide gives the decision for id, unless that has to be asked for: then it asks.
func (s *Switch) decide(id slotID, at Arrival, out *weft.Actions) (d Decision, known bool) {
	if s.asks == nil {
		return s.askNow(id, at), true
	}
	a := &s.asks.slots[id]
	if !a.known || a.at != s.asks.changes {
		s.ask(id, out)
		return d, false
	}
	r := &s.cfg.Firmware.Reads
	a.known = !r.Queues && !r.Draw && !r.Now // it would say the same when it is asked again
	return a.decision, true
}

// askNow has the firmware decide for id at once: nobody takes asks.
func (s *Switch) askNow(id slotID, at Arrival) Decision {
	k := s.single[0]
	*k = Ask{Packet: s.slots.slot[id].hdr, At: at, View: (*view)(s)}
	s.cfg.Firmware.Batch(s.single)
	if k.Err != nil {
		return s.noAnswer(k)
	}
	return k.Decision
}

// noAnswer is the decision where the firmware gave none.
func (s *Switch) noAnswer(k *Ask) Decision {
	s.failed(&k.Packet, k.At, k.Err)
	return Discard(RuleNoAnswer)
}

// ask has id wait for the firmware.
func (s *Switch) ask(id slotID, out *weft.Actions) {
	a, sl := &s.asks.slots[id], &s.slots.slot[id]
	if sl.why&(1<<StallFirmware) == 0 {
		sl.why |= 1 << StallFirmware
		s.asks.stalls[sl.in]++
	}
	a.wanted = true
	switch {
	case a.out:
		a.stale = true
	case !a.queued:
		a.queued = true
		s.asks.queue = append(s.asks.queue, id)
		out.Asking = true
	}
}

// forgetAsk drops what was asked and decided about id.
func (s *Switch) forgetAsk(id slotID) {
	if s.asks != nil {
		s.asks.slots[id].wanted, s.asks.slots[id].known = false, false
	}
}

// forgetAsks drops what was asked and decided about all packets.
func (s *Switch) forgetAsks() {
	if s.asks != nil {
		for id := range s.asks.slots {
			s.forgetAsk(slotID(id))
		}
	}
}

// blockAsked has the packets that wait for the firmware wait to be routed anew instead.
func (s *Switch) blockAsked() {
	if s.asks == nil {
		return
	}
	for id := range s.asks.slots {
		if s.asks.slots[id].wanted {
			s.wait.enter(slotID(id), s.slots.slot[id].in)
		}
		s.forgetAsk(slotID(id))
	}
}

// changed notes that a port, a register or the firmware is another than before, so that what was
// asked before is to be asked anew.
func (s *Switch) changed() {
	if s.asks != nil {
		s.asks.changes++
	}
}

// seen is what a firmware sees of a switch in an Ask.
type seen struct {
	place     *weft.Place
	vcs       int
	up        PortSet
	registers []uint64
	queues    []queueSeen // per output; empty where the firmware does not read them
	draw      uint64
	now       weft.Time
}

type queueSeen struct{ room, occupancy, credits int }

// look takes the switch as it is.
func (v *seen) look(s *Switch) {
	v.place, v.vcs, v.up, v.now = s.place, s.cfg.VCs, PortSet{}, s.now
	for p := range s.ports {
		if s.portUp(weft.PortID(p)) {
			v.up.Add(weft.PortID(p))
		}
	}
	v.registers = v.registers[:0]
	for i := range s.registers {
		v.registers = append(v.registers, s.registers[i].value)
	}
	v.queues, v.draw = v.queues[:0], 0
	if s.cfg.Firmware.Reads.Queues {
		for c := range s.out {
			p, vc := s.portVC(channel(c))
			v.queues = append(v.queues, queueSeen{s.room(channel(c)), int(s.out[c].n), s.ports[p].end.Credits(vc)})
		}
	}
	if s.cfg.Firmware.Reads.Draw {
		v.draw = s.cfg.Rand.Uint64()
	}
}

func (v *seen) queue(p weft.PortID, vc weft.VC) (q queueSeen) {
	if c := int(p)*v.vcs + int(vc); int(vc) < v.vcs && c < len(v.queues) {
		q = v.queues[c]
	}
	return q
}

func (v *seen) Place() *weft.Place                      { return v.place }
func (v *seen) VCs() int                                { return v.vcs }
func (v *seen) PortUp(p weft.PortID) bool               { return v.up.Has(p) }
func (v *seen) Room(p weft.PortID, vc weft.VC) int      { return v.queue(p, vc).room }
func (v *seen) Occupancy(p weft.PortID, vc weft.VC) int { return v.queue(p, vc).occupancy }
func (v *seen) Credits(p weft.PortID, vc weft.VC) int   { return v.queue(p, vc).credits }
func (v *seen) Register(i int) uint64                   { return v.registers[i] }
func (v *seen) Draw() uint64                            { return v.draw }
func (v *seen) Now() weft.Time                          { return v.now }
func (v *seen) Scratch() []Candidate                    { return nil }
