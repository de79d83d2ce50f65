package switching

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

var moves = link.Liveness{Interval: weft.Millisecond, Multiplier: 3}

// loaded is a switch of three ports whose queues were filled at random, and what it has inside: by
// number where it came in, and its flow.
func loaded(t *testing.T, seed uint64, c Config) (r *rig, inside map[uint64]string) {
	draw := rand.New(rand.NewPCG(seed, 0))
	c.VCs, c.InputBuffer, c.OutputBuffer, c.Liveness = 2, 4, 2, moves
	r, inside = newRig(t, 3, c), map[uint64]string{}
	for range 200 {
		p, vc := weft.PortID(draw.IntN(3)), weft.VC(draw.IntN(2))
		if draw.IntN(4) == 0 {
			if h, ok := r.send(p); ok {
				require.Contains(t, inside, h.Seq)
				delete(inside, h.Seq)
				continue
			}
		}
		if r.settle(p); r.neighbour[p].Credits(vc) > 0 {
			h := weft.Header{
				VC: vc, Src: weft.NICID(10 + draw.IntN(3)), Dst: weft.NICID(draw.IntN(3)),
				Fields: weft.NewFields(), Traced: true,
			}
			inside[r.arriveHeader(p, h)] = fmt.Sprint(p, vc, h.Src, h.Dst)
		}
	}
	require.Equal(t, r.Held(), len(inside))
	return r, inside
}

// depart has the neighbours and the switch await each other, and ends it there.
func (r *rig) depart() HandOver {
	for p := range r.neighbour {
		r.neighbour[p].Await(r.now, r.now+weft.Second)
		r.call(func() { r.Await(r.now, weft.PortID(p), r.now+weft.Second, &r.out) })
	}
	var h HandOver
	r.call(func() { h = r.Leave(r.now, &r.out) })
	require.Empty(r.t, r.out.Changes, "it is no fault of any link")
	require.Empty(r.t, r.out.Drops)
	require.Zero(r.t, r.Held())
	return h
}

// comeFor begins r in the place of another switch with what that held, at the neighbours of it. No
// neighbour ever takes its link for lost.
func (r *rig) comeFor(was *rig, above weft.Epoch, h HandOver) {
	r.now, r.neighbour, r.seq = was.now, was.neighbour, was.seq
	r.call(func() { require.NoError(r.t, r.Come(r.now, above, &h, &r.out)) })
	require.Equal(r.t, len(h.Packets), r.Held())
	r.call(func() {
		for p := range r.neighbour {
			r.Signal(r.now, weft.PortID(p), true, &r.out)
		}
	})
	for busy := true; busy; {
		busy = false
		for p, n := range r.neighbour {
			for f := (weft.Frame{}); r.ports[p].end.Owes() &&
				r.Transmit(r.now, weft.PortID(p), 0, &f, &r.out); f = (weft.Frame{}) {
				busy = true
				v, err := n.Receive(r.now, &f)
				require.NoError(r.t, err)
				require.False(r.t, v.Lost || v.CameUp, "the neighbour at %d takes the move for a fault", p)
			}
			for n.Owes() {
				busy = true
				var f weft.Frame
				n.Stamp(r.now, &f)
				r.call(func() { r.Receive(r.now, weft.PortID(p), &f, &r.out) })
				require.Empty(r.t, r.out.Drops)
			}
			require.True(r.t, n.Usable())
		}
	}
	for p, n := range r.neighbour {
		require.Equal(r.t, link.Up, n.State(), "port %d", p)
		require.False(r.t, n.Suppressed())
	}
}

// empty lets all packets out. None overtakes another of its flow that came in by the same queue and
// has the same way.
func (r *rig) empty(inside map[uint64]string) {
	for p, n := range r.neighbour {
		for vc := range weft.VC(r.cfg.VCs) {
			for n.Held(vc) > 0 {
				r.free(weft.PortID(p), vc)
			}
		}
	}
	last := map[string]uint64{}
	for busy := true; busy; {
		busy = false
		for p := range r.neighbour {
			for h, ok := r.send(weft.PortID(p)); ok; h, ok = r.send(weft.PortID(p)) {
				busy = true
				require.Contains(r.t, inside, h.Seq, "it came twice, or was never inside")
				if flow := inside[h.Seq]; h.Dst != 1 {
					require.GreaterOrEqual(r.t, h.Seq, last[flow])
					last[flow] = h.Seq
				}
				delete(inside, h.Seq)
				r.free(weft.PortID(p), h.VC)
			}
		}
	}
	require.Empty(r.t, inside)
	require.Zero(r.t, r.Held())
}

// A switch that moves takes along every packet in its queues and every register; neighbours see the
// link up all the time, and lose nothing. It moves back to where it was as well.
func TestASwitchMovesWithAllItHolds(t *testing.T) {
	held := 0
	for seed := range uint64(300) {
		c := Config{Requeue: seed%2 == 1, Queueing: Queueing(seed / 2 % 2)}
		c.Firmware = (&scripted{routes: map[weft.NICID]Decision{0: ways(0), 1: ways(1, 2), 2: ways(2)}}).value()
		r, inside := loaded(t, seed, c)
		before := len(inside)
		h := r.depart()
		require.Len(t, h.Packets, before)
		held += before
		c.VCs, c.InputBuffer, c.OutputBuffer, c.Liveness, c.Epoch = 2, 4, 2, moves, 1000
		c.Firmware = r.fw.value()
		next := newDarkRig(t, 3, c)
		next.comeFor(r, 0, h)
		if seed%3 == 0 { // and back
			h := next.depart()
			r.comeFor(next, 2000, h)
			next = r
		}
		next.empty(inside)
		require.NotContains(t, next.Snapshot().Discards, "no route")
	}
	assert.Greater(t, held, 300*10, "there was something to take along")
}

// Registers go along with the time that is left to them.
func TestRegistersMove(t *testing.T) {
	regs := []Register{{Name: "a", Width: 8, Expire: 10 * weft.Millisecond}, {Name: "b", Width: 8}}
	fw := &scripted{registers: regs}
	fw.route = func(h *weft.Header, _ Arrival, _ View) Decision {
		d := ways(1)
		d.Write = RegisterWrite{Do: true, Index: int(h.Dst), Value: 5}
		return d
	}
	c := Config{Firmware: fw.value(), Liveness: moves}
	r := newRig(t, 2, c)
	r.arrive(0, 0, 9, 0)
	r.arrive(0, 0, 9, 1)
	r.now += 4 * weft.Millisecond
	h := r.depart()
	c.Epoch = 1000
	next := newDarkRig(t, 2, c)
	was := next.now
	next.comeFor(r, 0, h)
	sn := next.Snapshot()
	assert.EqualValues(t, 5, sn.Registers[0].Value)
	assert.EqualValues(t, 5, sn.Registers[1].Value)
	assert.Equal(t, weft.Never, sn.Registers[1].Expires)
	assert.Greater(t, sn.Registers[0].Expires, was)
	assert.LessOrEqual(t, sn.Registers[0].Expires-next.now, 6*weft.Millisecond)
	assert.Zero(t, r.Snapshot().Registers[0].Value)
}

// A link that is cut while the switch moves is as one that is cut before: what is queued for it is
// lost there, and the rest goes on.
func TestALinkThatIsCutDuringAMove(t *testing.T) {
	c := Config{Liveness: moves}
	r := newRig(t, 3, c)
	r.arrive(0, 0, 9, 1)
	r.arrive(0, 0, 9, 2)
	h := r.depart()
	r.neighbour[1].Signal(r.now, false)
	c.Epoch, c.Firmware = 1000, r.fw.value()
	next := newDarkRig(t, 3, c)
	next.now, next.neighbour = r.now, r.neighbour
	next.call(func() { require.NoError(t, next.Come(next.now, 0, &h, &next.out)) })
	next.call(func() {
		next.Signal(next.now, 0, true, &next.out)
		next.Signal(next.now, 2, true, &next.out)
	})
	var all weft.Actions
	for range 4 {
		for _, p := range []weft.PortID{0, 2} {
			next.settle(p)
			all.Drops = append(all.Drops, next.out.Drops...)
		}
	}
	require.Len(t, all.Drops, 1)
	assert.Equal(t, weft.LostQueued, all.Drops[0].Account)
	assert.Equal(t, weft.PortID(1), all.Drops[0].Port)
	assert.EqualValues(t, 1, next.Snapshot().Ports[1].Lost)
	_, ok := next.send(2)
	assert.True(t, ok)
}

// What a switch has no place for is refused, and nothing of it is taken.
func TestAHandOverThatDoesNotFit(t *testing.T) {
	c := Config{Liveness: moves}
	r := newDarkRig(t, 2, c)
	held := func(k HeldPacket, n int) (h HandOver) {
		for range n {
			h.Packets = append(h.Packets, k)
		}
		return h
	}
	for name, h := range map[string]HandOver{
		"too many in an input":   held(HeldPacket{}, 3),
		"too many in an output":  held(HeldPacket{Queued: true}, 3),
		"a port that is not":     held(HeldPacket{In: 2}, 1),
		"an output that is not":  held(HeldPacket{Queued: true, Out: 2}, 1),
		"a VC that is not":       held(HeldPacket{InVC: 1}, 1),
		"a VC of the header":     held(HeldPacket{Header: weft.Header{VC: 3}}, 1),
		"an output VC of none":   held(HeldPacket{Queued: true, Header: weft.Header{VC: 1}}, 1),
		"an input of one queued": held(HeldPacket{Queued: true, In: 7}, 1),
	} {
		require.ErrorIs(t, r.Come(1, 0, &h, &r.out), ErrHandOver, name)
		require.Zero(t, r.Held())
	}
	h := held(HeldPacket{}, 2)
	require.NoError(t, r.Come(1, 0, &h, &r.out))
	require.ErrorIs(t, r.Come(1, 0, &h, &r.out), ErrHandOver, "it has packets of its own")
}

// A neighbour that waits for a switch which does not come goes on with the old one, or finds out
// that it is gone.
func TestAwaitingEnds(t *testing.T) {
	c := Config{Liveness: moves}
	r := newRig(t, 2, c)
	r.arrive(0, 0, 9, 1)
	r.call(func() { r.Await(r.now, 1, r.now+20*weft.Millisecond, &r.out) })
	_, ok := r.send(1)
	require.False(t, ok, "it waits")
	r.now += 20 * weft.Millisecond
	r.grant(1) // the neighbour speaks
	r.call(func() { r.Tick(r.now, &r.out) })
	require.Contains(t, r.out.Ready, weft.PortID(1), "the driver is told to send")
	r.settle(1)
	_, ok = r.send(1)
	require.True(t, ok)
	r.arrive(0, 0, 9, 1)
	r.call(func() { r.Await(r.now, 1, r.now+weft.Second, &r.out) })
	_, ok = r.send(1)
	require.False(t, ok)
	r.call(func() { r.Await(r.now, 1, 0, &r.out) })
	require.Contains(t, r.out.Ready, weft.PortID(1))
	r.call(func() { r.Await(r.now, 1, r.now+5*weft.Millisecond, &r.out) })
	r.now += 4 * weft.Millisecond // beyond the detection time
	r.call(func() { r.Tick(r.now, &r.out) })
	require.True(t, r.portUp(1), "silence is none while it waits")
	for range 10 {
		r.now += weft.Millisecond
		r.call(func() { r.Tick(r.now, &r.out) })
	}
	require.False(t, r.portUp(1))
}

// Whatever happens before the links are up, no packet is routed: it would find no way.
func TestNothingIsRoutedBeforeTheLinksAreUp(t *testing.T) {
	c := Config{Liveness: moves}
	fw := &scripted{}
	fw.route = live(1)
	c.Firmware = fw.value()
	next := newDarkRig(t, 2, c)
	h := HandOver{Packets: []HeldPacket{{Header: weft.Header{Dst: 1, Fields: weft.NewFields()}}}}
	next.call(func() { require.NoError(t, next.Come(next.now, 0, &h, &next.out)) })
	next.call(func() { require.NoError(t, next.Load(next.now, fw.value(), 2, &next.out)) })
	require.Empty(t, next.out.Drops)
	next.call(func() {
		next.Signal(next.now, 0, true, &next.out)
		next.Signal(next.now, 1, true, &next.out)
	})
	for p := range next.neighbour {
		next.neighbour[p].Signal(next.now, true)
	}
	for range 3 {
		next.settle(0)
		next.settle(1)
	}
	_, ok := next.send(1)
	require.True(t, ok)
}
