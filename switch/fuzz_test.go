package switching

import (
	"math/rand/v2"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

const fuzzPorts = 4

// oracle is a rig with the little that must hold whatever happens.
type oracle struct {
	*rig
	in, out, dropped int
	last             map[flowOnVC]uint64 // per flow and VC with one way only, the last number seen on its output, plus one
}

type flowOnVC struct {
	src, dst weft.NICID
	vc       weft.VC
}

// The neighbours of the fuzzed switch say nothing unless a step has them, so links die of silence
// too.
var fuzzLiveness = link.Liveness{
	Interval: weft.Microsecond, Multiplier: 3,
	Damping: link.Damping{HalfLife: 2 * weft.Microsecond, Suppress: 2.5, Reuse: 0.5, Max: 9 * weft.Microsecond},
}

// FuzzSwitch drives one switch by a script of bytes: the first two are the configuration, each
// other one a step. Destinations below 4 have one way, port dst; 4 to 7 any live port; 8 and above
// an escape port that needs two slots.
func FuzzSwitch(f *testing.F) {
	f.Add([]byte{0, 0})
	for seed := range byte(32) {
		script := []byte{seed, seed * 37}
		for i, x := 0, uint32(seed)*2654435761+7; i < 600; i++ {
			x = x*1664525 + 1013904223
			script = append(script, byte(x>>24))
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 2 || len(script) > 4096 {
			return
		}
		a, b := script[0], script[1]
		c := Config{
			VCs: int(a&3) + 1, InputBuffer: int(a>>2&3) + 1, OutputBuffer: int(a>>4&3) + 1,
			Queueing: Queueing(a >> 6 & 1), EagerCredits: a>>7 == 1, Selection: Selection(b % 3), Rand: rand.NewPCG(uint64(a),
				uint64(b)),
			Requeue: b>>7 == 1, Waiting: Waiting(b >> 5 & 1),
		}
		if b>>6&1 == 1 {
			c.Liveness = fuzzLiveness
		}
		c.Firmware = (&scripted{route: fuzzRoute, registers: []Register{{Name: "a", Width: 2, Expire: 9}}}).value()
		o := &oracle{rig: newRig(t, fuzzPorts, c), last: map[flowOnVC]uint64{}}
		for i := 2; i+1 < len(script); i += 2 {
			o.step(script[i], script[i+1])
			o.check()
		}
		o.drain()
	})
}

func fuzzRoute(pkt *weft.Header, at Arrival, sw View) Decision {
	if pkt.Dst < fuzzPorts {
		return To(sw, weft.PortID(pkt.Dst), at.VC, pkt.Fields, "one way")
	}
	d := Decision{Candidates: sw.Scratch(), Rule: "any"}
	for p := range weft.PortID(fuzzPorts) {
		if sw.PortUp(p) && uint64(p) != sw.Register(0) {
			d.Candidates = append(d.Candidates, Candidate{
				Port: p, VC: at.VC, Class: uint8(pkt.Dst >> 3 & 1 & weft.NICID(p)),
				Need: uint8(pkt.Dst >> 3),
			})
		}
	}
	d.Write = RegisterWrite{Do: pkt.Dst == 7, Value: uint64(at.Port)}
	return d
}

func (o *oracle) step(op, arg byte) {
	p, vc := weft.PortID(arg&3), weft.VC(int(arg>>2&3)%o.cfg.VCs)
	switch n := o.neighbour[p]; op & 15 {
	case 0, 1, 2, 3, 4, 5:
		dst := weft.NICID(op >> 4)
		if dst >= 8 {
			dst -= 8 * (weft.NICID(arg) >> 7) // mostly plain flows
		}
		if (o.cfg.OutputBuffer == 1) && dst >= 8 {
			dst -= 8 // a bubble of two never fits
		}
		if n.State() != link.Up || n.Credits(vc) == 0 {
			return
		}
		mine, _ := o.ports[p].end.Epochs()
		if _, peer := n.Epochs(); peer != mine || o.ports[p].end.State() != link.Up {
			return
		}
		o.in++
		o.arrive(p, vc, weft.NICID(p), dst)
		o.drops()
	case 6, 7, 8, 9:
		for range op>>4 + 1 {
			if !o.sendOne(p) {
				break
			}
		}
	case 10, 11, 12:
		for range op>>4 + 1 {
			if n.Held(vc) > 0 {
				n.Free(vc)
			}
		}
		if n.Owes() {
			o.hand(p)
		}
	case 13:
		if op&0x10 == 0 {
			o.call(func() { o.Signal(o.now, p, op&0x20 != 0, &o.rig.out) })
			o.drops()
		} else {
			n.Signal(o.now, op&0x20 != 0)
		}
	case 14:
		if op>>4 == 15 {
			o.call(func() { o.Crash(o.now, &o.rig.out) })
			o.drops()
		} else {
			o.now += weft.Time(op >> 4)
			if arg&1 == 1 {
				o.now += weft.Time(op>>4) * weft.Microsecond / 4
			}
			o.call(func() { o.Tick(o.now, &o.rig.out) })
			o.drops()
		}
	default:
		o.up(p)
	}
}

// up gives signal to both ends of p and lets them meet.
func (o *oracle) up(p weft.PortID) {
	o.neighbour[p].Signal(o.now, true)
	o.call(func() { o.Signal(o.now, p, true, &o.rig.out) })
	o.drops()
	for range 20 {
		for o.neighbour[p].Owes() {
			o.hand(p)
		}
		if !o.ports[p].end.Owes() {
			return
		}
		o.sendOne(p)
	}
	o.t.Fatal("the ends go on exchanging frames for ever")
}

func (o *oracle) hand(p weft.PortID) {
	o.grant(p)
	o.drops()
}

func (o *oracle) drops() { o.dropped += len(o.rig.out.Drops) }

// sendOne lets port p send a frame of at most one packet, and the neighbour take it. It reports
// whether there was one.
func (o *oracle) sendOne(p weft.PortID) bool {
	var f weft.Frame
	more := false
	o.call(func() { more = o.Transmit(o.now, p, 1, &f, &o.rig.out) })
	o.drops()
	if !more {
		return false
	}
	o.out += len(f.Packets)
	v, err := o.neighbour[p].Receive(o.now, &f)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, h := range f.Packets {
		if h.Dst < fuzzPorts {
			k := flowOnVC{h.Src, h.Dst, h.VC}
			if h.Seq < o.last[k] || weft.PortID(h.Dst) != p {
				o.t.Fatalf("packet %d of flow %v comes out of %v after %d", h.Seq, k, p, o.last[k]-1)
			}
			o.last[k] = h.Seq + 1
		}
		if v.Accept {
			if fresh, err := o.neighbour[p].Take(h.VC, f.Sent[h.VC]); err != nil || !fresh {
				o.t.Fatalf("packet not taken: %v, %v", fresh, err)
			}
		}
	}
	return true
}

func (o *oracle) check() {
	sn := o.Snapshot()
	st := sn.Stats
	if o.in != o.out+o.dropped+sn.Held || uint64(o.in) != st.Received || uint64(o.out) != st.Forwarded {
		o.t.Fatalf("%d in, %d out, %d dropped, %d held: %+v", o.in, o.out, o.dropped, sn.Held, st)
	}
	held := 0
	for i, p := range sn.Ports {
		queued := 0
		for vc, v := range p.VCs {
			if v.Credits < 0 || v.Credits > o.cfg.InputBuffer || v.Input != v.Epoch.Held || v.Input > o.cfg.InputBuffer ||
				v.Output > o.cfg.OutputBuffer {
				o.t.Fatalf("p%d vc%d: %+v", i, vc, v)
			}
			queued += v.Output
			held += v.Input + v.Output
		}
		port := &o.ports[i]
		if int(port.queued) != queued || queued > 0 && !port.end.Usable() && !o.cfg.Requeue {
			o.t.Fatalf("p%d %v: %d counted, %d queued", i, p.State, port.queued, queued)
		}
		if o.look > port.end.Due() {
			o.t.Fatalf("p%d is due at %v and looked at no earlier than %v", i, port.end.Due(), o.look)
		}
		if !port.ready && (o.sendable(weft.PortID(i)) || port.end.Owes()) {
			o.t.Fatalf("p%d has something to send and nobody knows", i)
		}
	}
	o.checkStranded()
	if held != sn.Held {
		o.t.Fatalf("%d in the queues, %d held", held, sn.Held)
	}
	if o.wait.waiting != len(sn.Blocked) {
		o.t.Fatalf("%d packets wait, and %d are counted", len(sn.Blocked), o.wait.waiting)
	}
	for _, b := range sn.Blocked {
		for _, out := range b.For {
			need := 1
			if b.Header.Dst >= 8 {
				need = 2
			}
			c := o.channel(out.Port, out.VC)
			if o.portUp(out.Port) && o.room(c) >= need && !o.keptForAnother(c, b.Header.Seq) {
				o.t.Fatalf("packet %d waits for %v, which has room", b.Header.Seq, out)
			}
		}
	}
}

// keptForAnother sees that places of c are kept only for a packet that will have what it asks for
// when the queue has moved, and reports whether they are.
func (o *oracle) keptForAnother(c channel, seq uint64) bool {
	if !o.wait.isKept(c) {
		return false
	}
	id := o.wait.kept[c]
	p, vc := o.portVC(c)
	if leave := min(int(o.Switch.out[c].n), o.ports[p].end.Credits(vc)); !o.wait.waits(id, c) ||
		o.room(c)+leave < int(o.slots.slot[id].need) {
		o.t.Fatalf("places of %v %v are kept for packet %d, which will not have them", p, vc, o.slots.slot[id].hdr.Seq)
	}
	return o.slots.slot[id].hdr.Seq != seq
}

// checkStranded sees that just what is queued for dead links is stranded, and waits for something.
func (o *oracle) checkStranded() {
	stranded := 0
	for c := range o.Switch.out {
		p, _ := o.portVC(channel(c))
		for id := o.Switch.out[c].head; id != noSlot; id = o.slots.link[id].next {
			sl := &o.slots.slot[id]
			if sl.stranded == o.portUp(p) || sl.out != channel(c) {
				o.t.Fatalf("packet %d in the queue of p%d, up %t: stranded %t", sl.hdr.Seq, p, o.portUp(p), sl.stranded)
			}
			if !sl.stranded {
				continue
			}
			stranded++
			if o.wait.blockedAfter(id) != id {
				o.t.Fatalf("packet %d is stranded at p%d and waits for nothing", sl.hdr.Seq, p)
			}
		}
	}
	if stranded != o.stranded {
		o.t.Fatalf("%d stranded, %d counted", stranded, o.stranded)
	}
}

// drain brings all links up and takes all packets: nothing may stay behind.
func (o *oracle) drain() {
	for p := range weft.PortID(fuzzPorts) {
		o.neighbour[p].Signal(o.now, false)
		o.call(func() { o.Signal(o.now, p, false, &o.rig.out) })
		o.drops()
	}
	o.now += fuzzLiveness.Damping.Max
	o.call(func() { o.Tick(o.now, &o.rig.out) })
	o.drops()
	for p := range weft.PortID(fuzzPorts) {
		o.up(p)
	}
	o.now += 100 // no register lasts so long
	o.call(func() { o.Tick(o.now, &o.rig.out) })
	o.drops()
	for moved := true; moved; {
		moved = false
		for p := range weft.PortID(fuzzPorts) {
			for o.sendOne(p) {
				moved = true
			}
			for vc := range weft.VC(o.cfg.VCs) {
				for o.neighbour[p].Held(vc) > 0 {
					o.neighbour[p].Free(vc)
				}
			}
			if o.neighbour[p].Owes() {
				o.hand(p)
				moved = true
			}
		}
		o.check()
	}
	if o.Held() != 0 {
		o.t.Fatalf("%d packets stay behind: %+v", o.Held(), o.Snapshot().Blocked)
	}
}
