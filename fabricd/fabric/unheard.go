package fabric

import (
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/part"
)

// A part that does not answer, such as a stopped process, is counted by its last answer. Its neighbours
// are counted by their latest. The ledger corrects two differences between the two:
//
//   - A neighbour has received more packets from the part than the part had reported as sent. The part
//     has forwarded or injected these packets. They are where the neighbours count them, and no longer
//     on the way to the part or inside it.
//   - The part counts its nodes one after the other while packets move between them, so its own
//     counters may disagree by some packets.
//
// The correction changes what is in flight around such parts and inside them, and nothing else. A packet
// that the part has discarded since counts as in flight until the part answers.

// unheard are the parts that are there and do not answer.
func (f *Fabric) unheard() []*outpost {
	return slices.DeleteFunc(f.elsewhere(), func(p *outpost) bool { return !p.quiet.Load() || p.lost.Load() })
}

// correct applies these corrections for all parts that do not answer.
func (l *Ledger) correct(f *Fabric) {
	silent := f.unheard()
	if len(silent) == 0 {
		return
	}
	var around part.Sum // what is in flight around them and inside
	var more, less uint64
	adjust := func(accounted, actual uint64) {
		more += actual - min(actual, accounted)
		less += accounted - min(actual, accounted)
	}
	links, nics, seen := map[weft.LinkID]bool{}, false, map[*outpost]bool{}
	for _, p := range silent {
		s := p.known.Load()
		around.Held, around.Queued, around.Wires = around.Held+s.all.Held, around.Queued+s.all.Queued, around.Wires+s.all.Wires
		nics = nics || p.sw == nil
		in, out := s.all.Counters.NICs.Injected, s.all.Held+s.all.Queued+s.all.Wires+s.ended()
		for e, end := range s.ends {
			in, out = in+end.flow.Received, out+end.flow.Sent
			peer, id, _ := f.graph.Peer(e)
			if g := f.guestAt(peer.Node); g != nil && !seen[g] && !slices.Contains(silent, g) {
				seen[g] = true
				less += g.passedOnUnsent()
			}
			if links[id] {
				continue
			}
			links[id] = true
			mine, theirs := f.endState(e), f.endState(peer)
			for _, d := range [2][2]endState{{mine, theirs}, {theirs, mine}} {
				wire, lost := onWire(d[0], d[1])
				around.Wires += wire
				adjust(d[1].flow.Received+wire+lost, d[0].flow.Sent)
			}
		}
		adjust(out, in)
	}
	l.Waiting.Wires += more
	around.Wires += more
	for _, w := range [3][2]*uint64{{&around.Wires, &l.Waiting.Wires}, {&around.Held, &l.Waiting.Switches}, {&around.Queued, &l.Waiting.Queues}} {
		n := min(less, *w[0], *w[1])
		less, *w[1] = less-n, *w[1]-n
	}
	if nics {
		l.Injected += less // since they were last heard
	}
}

// ended is how many packets have ended in the part.
func (a *account) ended() uint64 {
	s := &a.all
	n := s.Counters.Ended()
	for _, lost := range a.lost {
		n += lost.Wire
	}
	return n
}

// passedOnUnsent is how many packets processes which have died have passed on that nobody is known to have sent to them.
func (p *outpost) passedOnUnsent() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owed
}
