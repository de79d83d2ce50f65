package verify

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Pair is a source and a destination.
type Pair struct {
	Src string `json:"src"`
	Dst string `json:"dst"`

	From, To weft.NICID
}

// holders finds for each channel of a circle a pair whose packets can be in it and want the next
// one: one that leaves its packets the fewest ways there, then one with the most switches still to
// cross, for its packets wait longest, then one of a NIC that sends nothing else. There is none for
// a channel that only packets of dead switches hold.
func (x *explorer) holders(circle []int32) (pairs []Pair, err error) {
	type found struct {
		pair   Pair
		ways   int
		left   int32
		shared bool
	}
	best := make([]found, len(circle))
	for f := range x.m.flows {
		fl := &x.m.flows[f]
		fs := x.prepare(f)
		x.judged = false
		for i, src := range fl.srcs {
			if !x.there(fl, i) {
				continue
			}
			x.nodes.clear()
			if _, _, err := x.from(f, fs, i); err != nil {
				return nil, err
			}
			for _, n := range x.nodes.all {
				st := &fs.states[n.state]
				at := slices.Index(circle, x.m.into(int(st.sw), st.in, st.vc))
				if at < 0 {
					continue
				}
				next := circle[(at+1)%len(circle)]
				shared := slices.ContainsFunc(best, func(b found) bool { return b.ways > 0 && b.pair.From == src })
				x.steps(f, fs, n.nodeKey, func(a *alternative, _, _ int32, _ int) {
					ways := len(a.edges)
					if !slices.ContainsFunc(a.edges, func(e edge) bool { return e.out == next }) {
						return
					}
					b := &best[at]
					same := ways == b.ways && n.hops == b.left
					if b.ways == 0 || ways < b.ways || ways == b.ways && n.hops > b.left || same && b.shared && !shared {
						*b = found{Pair{x.m.g.NICs[src].Name, x.m.g.NICs[fl.dst].Name, src, fl.dst}, ways, n.hops, shared}
					}
				})
			}
		}
		x.release(f)
	}
	for _, b := range best {
		if b.ways > 0 && !slices.Contains(pairs, b.pair) {
			pairs = append(pairs, b.pair)
		}
	}
	return pairs, nil
}
