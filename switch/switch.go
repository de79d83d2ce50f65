package switching

import (
	"cmp"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Switch is one switch: the state of its pipeline. See the package documentation; it implements
// [weft.Core].
type Switch struct {
	// What each frame and each packet needs stands together, in six cache lines that begin with the
	// last words of wait and end with the first of stats: many switches are more than a processor's
	// cache holds.
	suspect      weft.Time // when the first neighbour may have missed a hello
	wait         waiters
	now          weft.Time
	late         weft.Time // by how much what is received now comes later than its Frame.At
	look         weft.Time // when the first link end is due for a hello or for having heard none
	returning    returning
	ports        []port
	in           []queue  // per channel; bound of each: Config.InputBuffer, kept by the credits
	out          []output // per channel
	slots        slots
	place        *weft.Place
	route        func(pkt *weft.Header, at Arrival, sw View) Decision // of the firmware
	bytes        func(f *weft.Fields) int                             // of the firmware, or nil
	registers    []register
	scratch      []Candidate // nil before the firmware needs it
	stranded     int         // packets in the output queues of dead links that are routed anew
	vcs          int         // of cfg, as the next ones
	outputBuffer int
	queueing     Queueing
	requeues     bool
	catches      bool   // Config.Panicked is given
	slow         bool   // the firmware has a Batch
	most         uint16 // hops that a packet may have made on arrival, less than that
	stats        Stats

	turn     uint32            // where the next tie between candidates is broken
	picks    uint32            // where the candidate to wait for is picked next, see WaitForOne
	version  uint64            // of what the firmware forwards by, see Load
	discards map[string]uint64 // per rule
	cfg      Config
	stalls   [][stalls]uint64 // per channel, by Stall; nil before the first
	queuedAt []queuing        // per slot, of traced packets; nil before the first
	// other is, per slot, what the header was on arrival; while it is stranded, what it was to leave
	// with. Only for Config.Requeue.
	other []mark

	asks *asking // nil: the driver takes no asks
}

// port is what the VCs of one port share: two cache lines. A list of ports begins a word after the
// begin of a line, so what each packet needs of end, and the word after it, are in one line.
type port struct {
	end    link.End
	ready  bool    // the driver knows that there may be something to transmit
	nextVC weft.VC // round robin of schedule
	role   weft.Role
	queued int32  // packets in all output queues of the port
	lost   uint64 // packets that were queued for this port when its link died
}

// output is one output VC queue. Bound: queue and reserved together at most Config.OutputBuffer,
// kept by selectOutput.
type output struct {
	queue
	reserved int32 // places promised to packets on their way through the crossbar
	stalled  bool  // it waits for a credit, and that was counted
}

// register is the live value of a declared register.
type register struct {
	Register
	value   uint64
	expires weft.Time
}

// Stats counts what a switch has done since it was made.
type Stats struct {
	Received  uint64 // packets that entered
	Forwarded uint64 // packets that left by a link
	Decisions uint64 // calls of the firmware
	Rerouted  uint64 // packets sent another way because of a fault, U-turns included
	UTurns    uint64
	Discarded uint64 // packets ended by a rule
	LostQueue uint64 // packets in the output queue of a link that died
	Requeued  uint64 // packets that left the output queue of a dead link for another, or were discarded there
	LostCrash uint64 // packets inside when the switch crashed
}

// New returns a switch whose ports have no signal yet. The error wraps [ErrConfig] and says what of
// cfg is not usable, or why the firmware cannot run here.
func New(cfg Config) (*Switch, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	ports := cfg.Place.Ports()
	channels := ports * cfg.VCs
	all := channels * (cfg.InputBuffer + cfg.OutputBuffer)
	s := &Switch{
		cfg: cfg,
		vcs: cfg.VCs, outputBuffer: cfg.OutputBuffer, queueing: cfg.Queueing, requeues: cfg.Requeue,
		catches:  cfg.Panicked != nil,
		version:  cfg.Version,
		place:    cfg.Place,
		ports:    make([]port, ports),
		slots:    slots{most: all},
		in:       make([]queue, channels),
		out:      make([]output, channels),
		wait:     newWaiters(all, channels),
		discards: map[string]uint64{},
		look:     weft.Never,
		suspect:  weft.Never,
	}
	if cap(cfg.Scratch) >= channels {
		s.scratch = cfg.Scratch
	}
	s.adopt()
	if cfg.Requeue {
		s.other = make([]mark, all)
	}
	for i := range s.ports {
		s.ports[i].role = cfg.Place.Roles[i]
		s.ports[i].end = link.New(link.Config{
			VCs: cfg.VCs, Buffer: cfg.InputBuffer, Eager: cfg.EagerCredits, First: cfg.Epoch, Liveness: cfg.Liveness,
		})
	}
	for c := range s.in {
		s.in[c] = queue{head: noSlot, tail: noSlot}
		s.out[c].queue = queue{head: noSlot, tail: noSlot}
	}
	s.returning.until = weft.Never
	if cfg.Epoch > 0 {
		s.holdPorts()
	}
	var err error
	s.registers, err = declared(&cfg.Firmware, cfg.Place)
	return s, err
}

// Ports implements [weft.Core].
func (s *Switch) Ports() int { return len(s.ports) }

// Place is where the switch stands.
func (s *Switch) Place() *weft.Place { return s.place }

func (s *Switch) channel(p weft.PortID, vc weft.VC) channel {
	return channel(int(p)*s.vcs + int(vc))
}

func (s *Switch) portVC(c channel) (weft.PortID, weft.VC) {
	return weft.PortID(int(c) / s.vcs), weft.VC(int(c) % s.vcs)
}

// Signal implements [weft.Core].
func (s *Switch) Signal(now weft.Time, p weft.PortID, up bool, out *weft.Actions) {
	s.now = now
	port := &s.ports[p]
	if port.end.Signal(now, up) {
		s.linkLost(p, weft.BySignal, out)
	}
	if up {
		s.signalled()
	}
	s.lookAt(&port.end)
	if port.end.Owes() {
		s.markReady(p, out)
	}
	s.wake(out)
}

// Receive implements [weft.Core].
func (s *Switch) Receive(now weft.Time, p weft.PortID, f *weft.Frame, out *weft.Actions) {
	s.now, s.late = now, now-cmp.Or(f.At, now)
	port := &s.ports[p]
	v, err := port.end.Receive(now, f)
	if err != nil {
		out.Faults = append(out.Faults, weft.Fault{Port: p, Err: err})
	}
	if v.Lost {
		s.linkLost(p, weft.ByNeighbour, out)
	}
	if v.CameUp {
		s.cameUp(p, out)
		s.rerouteBlocked(out)
	} else if s.returning.on {
		s.openPorts(out)
	}
	if v.Accept && len(f.Packets) > 0 {
		var before [weft.MaxVCs]uint16 // packets of this frame, per VC; at most weft.MaxBatch
		for i := range f.Packets {
			h := &f.Packets[i]
			if int(h.VC) < s.vcs {
				s.receive(p, h, f.Sent[h.VC]+uint64(before[h.VC]), out)
				before[h.VC]++
			} else {
				_, err := port.end.Take(h.VC, 0) // refuses and counts it
				out.Faults = append(out.Faults, weft.Fault{Port: p, Err: err})
			}
		}
	}
	if v.CameUp || v.Lost {
		s.lookAt(&port.end) // a neighbour to be heard from now on, or damping that is to end
	}
	if !port.ready && (s.sendable(p) || port.end.Owes()) {
		s.markReady(p, out)
	}
	s.wake(out)
	s.late = 0
}

// Exempt implements [weft.Core].
func (s *Switch) Exempt(now weft.Time, p weft.PortID) { s.ports[p].end.Exempt(now) }

// LinksDue implements [weft.Core].
func (s *Switch) LinksDue() weft.Time { return s.suspect }

// lookAt has Tick look at a link end in time.
func (s *Switch) lookAt(end *link.End) {
	s.look, s.suspect = min(s.look, end.Due()), min(s.suspect, end.SuspectAt())
}

// Transmit implements [weft.Core].
func (s *Switch) Transmit(now weft.Time, p weft.PortID, limit int, f *weft.Frame, out *weft.Actions) bool {
	s.now = now
	port := &s.ports[p]
	port.end.Resume(now)
	c, ok := s.schedule(p)
	if (!ok || limit == 0) && !port.end.Owes() {
		port.ready, out.More = ok, ok
		return false
	}
	f.Reset()
	packets := port.end.Stamp(now, f)
	for packets && ok && len(f.Packets) < limit {
		s.transmit(p, c, f, out)
		c, ok = s.schedule(p)
	}
	port.ready = ok || port.end.Owes()
	out.More = port.ready
	s.wake(out)
	return true
}

// Tick implements [weft.Core]: link ends say hello or give up on neighbours that do not; registers
// whose time is over become zero, and what waits is routed anew.
func (s *Switch) Tick(now weft.Time, out *weft.Actions) {
	s.now = now
	if s.look <= now {
		s.look, s.suspect = weft.Never, weft.Never
		for p := range s.ports {
			end := &s.ports[p].end
			awaited := end.Awaits() > 0
			lost, hello := end.Tick(now)
			if lost {
				s.linkLost(weft.PortID(p), weft.BySilence, out)
			}
			if awaited && s.sendable(weft.PortID(p)) {
				s.markReady(weft.PortID(p), out)
			}
			if hello {
				s.ports[p].ready = true
				out.Owed = append(out.Owed, weft.PortID(p))
			}
			s.lookAt(end)
		}
	}
	if s.returning.on {
		s.openPorts(out)
	}
	expired := false
	for i := range s.registers {
		r := &s.registers[i]
		if r.expires <= now {
			r.value, r.expires, expired = 0, weft.Never, true
		}
	}
	if expired {
		s.changed()
		s.rerouteBlocked(out)
	}
	s.wake(out)
}

// wake sets when Tick is due.
func (s *Switch) wake(out *weft.Actions) {
	out.WakeAt = min(out.WakeAt, s.look, s.returning.until)
	for i := range s.registers {
		out.WakeAt = min(out.WakeAt, s.registers[i].expires)
	}
}

// Crash loses all the switch holds and takes signal from all its ports. Signal brings them back,
// all together: see returning.go.
func (s *Switch) Crash(now weft.Time, out *weft.Actions) {
	s.now = now
	for id := s.wait.blockedAfter(0); id != noSlot; id = s.wait.blockedAfter(id + 1) {
		s.wait.leave(id)
	}
	for i := range s.registers {
		s.registers[i].value, s.registers[i].expires = 0, weft.Never
	}
	for c := range s.in {
		p, vc := s.portVC(channel(c))
		for q := &s.in[c]; q.n > 0; {
			id := q.head
			s.slots.remove(q, id)
			s.ports[p].end.Free(vc)
			s.loseCrash(id, p, out)
		}
		for q := &s.out[c].queue; q.n > 0; {
			id := q.head
			s.slots.remove(q, id)
			s.ports[p].queued--
			if s.slots.slot[id].stranded {
				s.stranded--
			}
			s.loseCrash(id, p, out)
		}
		s.out[c].stalled = false
	}
	for p := range s.ports {
		if s.ports[p].end.Signal(now, false) {
			out.Changes = append(out.Changes, weft.PortChange{Port: weft.PortID(p), Why: weft.ByCrash})
		}
	}
	s.rest(out)
}

func (s *Switch) loseCrash(id slotID, p weft.PortID, out *weft.Actions) {
	s.stats.LostCrash++
	out.Drops = append(out.Drops, weft.Drop{Account: weft.LostCrash, Port: p, Header: s.slots.slot[id].hdr})
	s.slots.give(id)
}

// cameUp notes that the link at p is up.
func (s *Switch) cameUp(p weft.PortID, out *weft.Actions) {
	s.changed()
	out.Changes = append(out.Changes, weft.PortChange{Port: p, Up: true})
	s.unstrand(p)
}

// linkLost drops what was queued for a link that is no longer up, or routes it anew, and routes
// anew what waited for it.
func (s *Switch) linkLost(p weft.PortID, why weft.Cause, out *weft.Actions) {
	s.changed()
	out.Changes = append(out.Changes, weft.PortChange{Port: p, Why: why})
	s.emptyPort(p, out)
	s.rerouteBlocked(out)
}

// emptyPort drops what is queued for a link that is not up, or routes it anew.
func (s *Switch) emptyPort(p weft.PortID, out *weft.Actions) {
	if s.requeues {
		s.requeue(p, out)
		return
	}
	for vc := range weft.VC(s.vcs) {
		o := &s.out[s.channel(p, vc)]
		for o.n > 0 {
			id := o.head
			s.slots.remove(&o.queue, id)
			out.Drops = append(out.Drops, weft.Drop{Account: weft.LostQueued, Port: p, Header: s.slots.slot[id].hdr})
			s.slots.give(id)
			s.ports[p].queued--
			s.ports[p].lost++
			s.stats.LostQueue++
		}
		o.stalled = false
	}
}

// room is how many packets the output queue c can still take.
func (s *Switch) room(c channel) int {
	return s.outputBuffer - int(s.out[c].n+s.out[c].reserved)
}

// roomFor is the room of c for a packet that waits for nothing: none where it is kept for one that
// does.
func (s *Switch) roomFor(c channel) int {
	if s.wait.isKept(c) {
		return 0
	}
	return s.room(c)
}

// sendable reports whether port p has a packet and the credit to send it.
func (s *Switch) sendable(p weft.PortID) bool {
	port := &s.ports[p]
	if port.queued == 0 {
		return false
	}
	for vc := range weft.VC(s.vcs) {
		if s.out[s.channel(p, vc)].n > 0 && port.end.Credits(vc) > 0 {
			return true
		}
	}
	return false
}

// markReady tells the driver, once, that port p may have something to transmit.
func (s *Switch) markReady(p weft.PortID, out *weft.Actions) {
	if !s.ports[p].ready {
		s.ports[p].ready = true
		out.Ready = append(out.Ready, p)
	}
}

// Preload reads what a frame at port p needs: the state of the port, of its queues, and the slots
// of the packets that come and go next. See package harness/virtual.
func (s *Switch) Preload(p weft.PortID) (x uint64) {
	port, c := &s.ports[p], s.channel(p, 0)
	in, out := &s.in[c], &s.out[c]
	return uint64(port.queued+in.n+out.n) + port.end.Preload() + uint64(len(s.slots.slot)) + uint64(len(s.registers)) +
		uint64(s.place.Switch) + s.stats.Received + s.stats.Decisions + uint64(s.wait.waiting)
}

// PreloadNext reads the slots of the packets that come and go next at port p.
func (s *Switch) PreloadNext(p weft.PortID) (x uint64) {
	if n := len(s.slots.free); n > 0 {
		id := s.slots.free[n-1]
		next := &s.slots.slot[id]
		x += uint64(next.arrived) + next.hdr.Misroute + s.slots.link[id].flow
	}
	if id := s.out[s.channel(p, 0)].head; id != noSlot {
		head := &s.slots.slot[id]
		x += uint64(head.arrived) + head.hdr.Misroute + s.slots.link[id].flow
	}
	return x
}
