package switching

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Reading is what is read of a switch again and again while somebody watches it: much less than a
// [Snapshot], into storage that is used anew each time.
type Reading struct {
	Stats     Stats
	Held      int       // packets inside
	Blocked   int       // of them, those that wait for room in an output queue
	Oldest    weft.Time // when that of Snapshot.Oldest came; 0: there is none
	Ports     []PortReading
	Registers []uint64 // values, in the order declared
}

// PortReading is what is read of one port.
type PortReading struct {
	Flow       link.Flow
	Lost       uint64 // packets queued here when the link died
	Queued     int    // packets in its output queues
	Suppressed bool   // damping keeps the link down
}

// VCSum is what a virtual channel comes to over all ports of a switch.
type VCSum struct {
	Input, Output int            // packets in its queues
	Credits       int            // packets that neighbours can take
	Stalls        [stalls]uint64 // by Stall
}

// SumVCs adds up each virtual channel over all ports.
func (s *Switch) SumVCs() []VCSum {
	sums := make([]VCSum, s.vcs)
	for i := range s.ports {
		for vc := range weft.VC(s.vcs) {
			c, sum := s.channel(weft.PortID(i), vc), &sums[vc]
			sum.Input, sum.Output = sum.Input+int(s.in[c].n), sum.Output+int(s.out[c].n)
			sum.Credits += s.ports[i].end.Credits(vc)
			for why, n := range s.stallsAt(c) {
				sum.Stalls[why] += n
			}
		}
	}
	return sums
}

// Read fills r. It allocates nothing but the lists of r, the first time.
func (s *Switch) Read(r *Reading) {
	r.Stats, r.Held, r.Blocked = s.stats, s.Held(), s.wait.waiting
	r.Oldest = 0
	if id := s.oldest(); id != noSlot {
		r.Oldest = s.slots.slot[id].arrived
	}
	r.Ports = slices.Grow(r.Ports[:0], len(s.ports))
	for i := range s.ports {
		p := &s.ports[i]
		pr := PortReading{Flow: p.end.Flow(), Lost: p.lost, Suppressed: p.end.Suppressed()}
		for vc := range weft.VC(s.vcs) {
			pr.Queued += int(s.out[s.channel(weft.PortID(i), vc)].n)
		}
		r.Ports = append(r.Ports, pr)
	}
	r.Registers = slices.Grow(r.Registers[:0], len(s.registers))
	for i := range s.registers {
		r.Registers = append(r.Registers, s.registers[i].value)
	}
}
