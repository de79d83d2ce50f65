package nic

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
)

// SetSource replaces what the NIC generates from now on. The source is n's from then on: its
// destinations may have a state.
func (n *NIC) SetSource(now weft.Time, s Source, out *weft.Actions) error {
	s.Bytes = cmp.Or(s.Bytes, DefaultPacketBytes)
	if err := s.check(n.cfg.NICs); err != nil {
		return fmt.Errorf("nic %d: source: %w", n.cfg.ID, err)
	}
	n.to, n.traceEvery, n.began, n.plan, n.nextAt = s.To, s.TraceEvery, now, s.Plan, weft.Never
	n.brim = n.cfg.QueueBytes
	switch {
	case s.To != nil:
		n.sizes, n.process = newMix(s.Sizes, s.Bytes), newProcess(s.Arrivals, s.Mean)
		n.brim -= n.sizes.least
		n.nextAt = now + n.process.first(n.cfg.Rand)
	case len(n.plan) > 0:
		n.nextAt = now + n.plan[0].At
	}
	n.wake(out)
	return nil
}

func (s *Source) check(nics int) error {
	switch {
	case s.To != nil && len(s.Plan) > 0:
		return errors.New("it has destinations to draw and a plan: expected one of them")
	case s.To != nil && (s.Mean <= 0 || s.Bytes < 1 || s.Bytes > weft.MaxPacket):
		return fmt.Errorf("mean interval must be above 0 and packets 1 to %d bytes, not %v and %d", weft.MaxPacket, s.Mean,
			s.Bytes)
	}
	var last weft.Time
	for i, p := range s.Plan {
		switch {
		case p.At < last || p.At > MaxTraceTime:
			return fmt.Errorf("packet %d of the plan is at %v: expected from %v, the one before, to %v", i, p.At, last,
				MaxTraceTime)
		case int(p.Dst) >= nics:
			return fmt.Errorf("packet %d of the plan is for nic %d: %w: there are %d", i, p.Dst, ErrNoSuchNIC, nics)
		case p.Bytes < 1 || p.Bytes > weft.MaxPacket:
			return fmt.Errorf("packet %d of the plan: %w: 1 to %d, not %d", i, ErrSize, weft.MaxPacket, p.Bytes)
		}
		last = p.At
	}
	if err := s.Arrivals.check(); err != nil {
		return err
	}
	return s.Sizes.check()
}

// nextNumber is that of the next packet for dst.
func (n *NIC) nextNumber(dst weft.NICID) uint64 {
	if n.cfg.Unordered {
		return n.number
	}
	return n.number + n.sequence.get(dst)
}

// takeNumber gives the next packet for dst its number.
func (n *NIC) takeNumber(dst weft.NICID) (seq uint64) {
	if n.cfg.Unordered {
		n.number++
		return n.number - 1
	}
	sent := n.sequence.get(dst)
	n.sequence.set(dst, sent+1)
	return n.number + sent
}

// generate queues one packet, or refuses it because the queue is full.
func (n *NIC) generate(now weft.Time, dst weft.NICID, size uint32, traced bool) bool {
	if n.queue.bytes+int(size) > n.cfg.QueueBytes {
		n.stats.Refused++
		return false
	}
	n.enqueue(now, dst, size, traced, 0)
	return true
}

// enqueue puts a packet into the send queue.
func (n *NIC) enqueue(now weft.Time, dst weft.NICID, size uint32, traced bool, payload weft.Payload) {
	var a weft.Address
	if n.cfg.Addresses != nil {
		a = n.address(dst)
	}
	n.queue.fifos[a.VC].PushBack(packet{
		seq: n.takeNumber(dst), injected: now, dst: dst, size: size, generation: n.generation, path: a.Path,
		layers: a.Layers, traced: traced, carries: payload != 0,
	})
	if payload != 0 {
		n.queue.payloads[a.VC].PushBack(payload)
	}
	n.queue.pushed(a.VC, size)
	n.stats.Injected++
	n.generations.at(n.generation, n.generation).Injected++
}

// refusesEvery is how often a source counts what a full send queue refuses. Chosen by us: people
// read it. What is refused is not drawn, so a full queue costs nothing until it has room.
const refusesEvery = 100 * weft.Millisecond

// full reports whether the send queue has no room for a packet of the source, whose next is then
// not drawn.
func (n *NIC) full() bool {
	return n.queue.bytes > n.brim && n.nextAt != weft.Never
}

// generatesAt is when the source has something to do.
func (n *NIC) generatesAt() weft.Time {
	if n.full() {
		return max(n.nextAt, n.looked+refusesEvery)
	}
	return n.nextAt
}

// produce generates what the source owes up to now.
func (n *NIC) produce(now weft.Time) {
	n.looked = now
	for n.nextAt <= now && n.to != nil {
		if n.full() {
			due := uint64((now-n.nextAt)/n.process.mean) + 1
			n.stats.Refused += due
			n.nextAt += weft.Time(due) * n.process.mean
			continue
		}
		dst, ok := n.to.Next(n.cfg.Rand)
		if !ok {
			n.nextAt = weft.Never // this NIC has nobody to send to
			return
		}
		n.due(dst, n.sizes.next(n.cfg.Rand))
		n.nextAt += max(1, n.process.next(n.cfg.Rand))
	}
	for n.nextAt <= now {
		n.due(n.plan[0].Dst, n.plan[0].Bytes)
		n.plan, n.nextAt = n.plan[1:], weft.Never
		if len(n.plan) > 0 {
			n.nextAt = n.began + n.plan[0].At
		}
	}
}

// due generates the packet that is due, unless a notice withholds it.
func (n *NIC) due(dst weft.NICID, size uint32) {
	if n.withholds(dst) {
		n.stats.Withheld++
		return
	}
	every := uint64(n.traceEvery)
	n.generate(n.nextAt, dst, size, every > 0 && n.stats.Injected%every == 0)
}

// withholds reports whether the packet that is due next is not generated because of a notice.
func (n *NIC) withholds(dst weft.NICID) bool {
	return n.stats.Notices > 0 && n.cfg.HonourNotices > 0 && n.nextAt < n.withheld.get(dst)
}
