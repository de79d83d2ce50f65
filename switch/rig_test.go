package switching

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// scripted is a firmware that does what the test says: per destination, or by a function of its
// own.
type scripted struct {
	routes    map[weft.NICID]Decision
	route     func(pkt *weft.Header, at Arrival, sw View) Decision
	registers []Register
	refuse    error        // see CheckRequeue
	asked     []weft.NICID // the destinations of the packets it was asked about, in order
}

// scripts are those that are a firmware, by its name.
var scripts sync.Map

// value is the firmware.
func (f *scripted) value() Firmware {
	name := fmt.Sprintf("scripted %p", f)
	scripts.Store(name, f)
	return Firmware{
		Name: name, Route: f.Route,
		Registers:    func(*weft.Place) []Register { return f.registers },
		CheckRequeue: func(*weft.Place) error { return f.refuse },
	}
}

func (f *scripted) Route(pkt *weft.Header, at Arrival, sw View) Decision {
	f.asked = append(f.asked, pkt.Dst)
	if f.route != nil {
		return f.route(pkt, at, sw)
	}
	d, ok := f.routes[pkt.Dst]
	if !ok {
		return Discard("no route")
	}
	return d
}

// ways is the decision for any of the ports, in VC 0, all of one class.
func ways(ports ...weft.PortID) Decision {
	d := Decision{Rule: "scripted"}
	for _, p := range ports {
		d.Candidates = append(d.Candidates, Candidate{Port: p, Fields: weft.NewFields()})
	}
	return d
}

// live is the decision for those of the ports that are up.
func live(ports ...weft.PortID) func(*weft.Header, Arrival, View) Decision {
	return func(_ *weft.Header, _ Arrival, sw View) Decision {
		var up []weft.PortID
		for _, p := range ports {
			if sw.PortUp(p) {
				up = append(up, p)
			}
		}
		return ways(up...)
	}
}

// rig is a switch with a scripted firmware and, at each port, a neighbour that the test plays by
// hand-made frames.
type rig struct {
	t testing.TB
	*Switch
	fw        *scripted
	now       weft.Time
	out       weft.Actions // of the last call
	neighbour []*link.End  // per port
	seq       uint64       // of the next packet that arrives
}

// newRig makes a switch of so many ports, all with signal and up.
func newRig(t testing.TB, ports int, c Config) *rig {
	t.Helper()
	r := newDarkRig(t, ports, c)
	for p := range weft.PortID(ports) {
		r.connect(p)
	}
	return r
}

// newDarkRig makes a switch whose ports have no signal.
func newDarkRig(t testing.TB, ports int, c Config) *rig {
	t.Helper()
	found, _ := scripts.Load(c.Firmware.Name)
	fw, _ := found.(*scripted)
	if c.Firmware.Route == nil {
		fw = &scripted{routes: map[weft.NICID]Decision{}}
		for p := range weft.PortID(ports) {
			fw.routes[weft.NICID(p)] = ways(p)
		}
		c.Firmware = fw.value()
	}
	roles := make([]weft.Role, ports)
	for p := range roles {
		roles[p] = weft.RolePeer
	}
	c.Place = &weft.Place{Name: "s0", Roles: roles}
	if c.Rand == nil {
		c.Rand = rand.NewPCG(1, 2)
	}
	s, err := New(c)
	require.NoError(t, err)
	r := &rig{t: t, Switch: s, fw: fw}
	for range ports {
		end := link.New(link.Config{VCs: s.cfg.VCs, Buffer: s.cfg.InputBuffer, Eager: true, Liveness: link.Liveness{
			Interval: s.cfg.Liveness.Interval, Multiplier: s.cfg.Liveness.Multiplier,
		}})
		r.neighbour = append(r.neighbour, &end)
	}
	return r
}

// call makes one call of the switch an instant later, with empty actions.
func (r *rig) call(f func()) {
	r.now++
	r.out.Reset()
	f()
}

// connect brings signal to both ends of port p and completes the handshake.
func (r *rig) connect(p weft.PortID) {
	r.t.Helper()
	r.neighbour[p].Signal(r.now, true)
	r.call(func() { r.Signal(r.now, p, true, &r.out) })
	r.settle(p)
	require.Equal(r.t, link.Up, r.ports[p].end.State(), "port %v", p)
}

// settle exchanges frames without packets at port p as long as any is owed.
func (r *rig) settle(p weft.PortID) {
	var all weft.Actions
	for owes := true; owes; {
		owes = false
		if r.ports[p].end.Owes() {
			var f weft.Frame
			r.Transmit(r.now, p, 0, &f, &all)
			_, err := r.neighbour[p].Receive(r.now, &f)
			require.NoError(r.t, err)
			owes = true
		}
		if r.neighbour[p].Owes() {
			r.grant(p)
			all.Changes = append(all.Changes, r.out.Changes...)
			all.Ready = append(all.Ready, r.out.Ready...)
			all.Drops = append(all.Drops, r.out.Drops...)
			owes = true
		}
	}
	if !r.sendable(p) {
		var f weft.Frame
		require.False(r.t, r.Transmit(r.now, p, 1, &f, &all), "a driver asks until there is nothing more")
	}
	r.out = all
}

// cut takes signal from the switch's end of port p, and from the neighbour's.
func (r *rig) cut(p weft.PortID) {
	r.neighbour[p].Signal(r.now, false)
	r.call(func() { r.Signal(r.now, p, false, &r.out) })
}

// arrive lets a packet come in at port p and returns its number.
func (r *rig) arrive(p weft.PortID, vc weft.VC, src, dst weft.NICID) uint64 {
	r.t.Helper()
	return r.arriveHeader(p, weft.Header{VC: vc, Src: src, Dst: dst, Fields: weft.NewFields()})
}

func (r *rig) arriveHeader(p weft.PortID, h weft.Header) uint64 {
	r.t.Helper()
	r.settle(p)
	require.Positive(r.t, r.neighbour[p].Credits(h.VC), "the neighbour at %v has no credit", p)
	h.Seq = r.seq
	r.seq++
	var f weft.Frame
	r.neighbour[p].Stamp(r.now, &f)
	r.neighbour[p].Spend(h.VC)
	f.Packets = []weft.Header{h}
	r.call(func() { r.Receive(r.now, p, &f, &r.out) })
	require.Empty(r.t, r.out.Faults)
	return h.Seq
}

// send lets port p transmit one packet, which the neighbour takes. It reports whether there was
// one.
func (r *rig) send(p weft.PortID) (weft.Header, bool) {
	r.t.Helper()
	for {
		var f weft.Frame
		more := false
		r.call(func() { more = r.Transmit(r.now, p, 1, &f, &r.out) })
		if !more {
			return weft.Header{}, false
		}
		_, err := r.neighbour[p].Receive(r.now, &f)
		require.NoError(r.t, err)
		if len(f.Packets) == 0 {
			continue // credits alone
		}
		h := f.Packets[0]
		fresh, err := r.neighbour[p].Take(h.VC, f.Sent[h.VC])
		require.NoError(r.t, err)
		require.True(r.t, fresh)
		return h, true
	}
}

// sent is the numbers of the packets that port p transmits until it has no more.
func (r *rig) sent(p weft.PortID) []uint64 {
	r.t.Helper()
	var seqs []uint64
	for h, ok := r.send(p); ok; h, ok = r.send(p) {
		seqs = append(seqs, h.Seq)
	}
	return seqs
}

// free lets the neighbour at port p make a place free, and tell.
func (r *rig) free(p weft.PortID, vc weft.VC) {
	r.neighbour[p].Free(vc)
	r.grant(p)
}

// grant lets the neighbour send a frame without packets.
func (r *rig) grant(p weft.PortID) {
	var f weft.Frame
	r.neighbour[p].Stamp(r.now, &f)
	r.call(func() { r.Receive(r.now, p, &f, &r.out) })
}

// fill puts packets of flow 90->dst into output queues until the one they go to is full; they
// arrive at port in.
func (r *rig) fill(in weft.PortID, dst weft.NICID) (seqs []uint64) {
	r.t.Helper()
	for range r.cfg.OutputBuffer {
		seqs = append(seqs, r.arrive(in, 0, 90, dst))
	}
	require.Empty(r.t, r.blocked())
	return seqs
}

// blocked is the numbers of the packets that wait for an output, in order of slots.
func (r *rig) blocked() (seqs []uint64) {
	for _, b := range r.Snapshot().Blocked {
		seqs = append(seqs, b.Header.Seq)
	}
	return seqs
}

func (r *rig) stalls(p weft.PortID, vc weft.VC) map[Stall]uint64 {
	m := map[Stall]uint64{}
	for _, s := range Stalls() {
		if n := r.Snapshot().Ports[p].VCs[vc].Stalls[s]; n > 0 {
			m[s] = n
		}
	}
	return m
}
