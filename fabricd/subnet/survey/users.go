package survey

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// User is a source switch and an address of a destination.
type User struct {
	Src  weft.SwitchID
	Dst  weft.NICID
	Path uint16
}

// Users are, for each channel of a cycle, all whose packets may go on from it into the next (after
// the last comes the first). The error says that ctx has ended.
func Users(ctx context.Context, r *layered.Routing, cycle []layered.Channel) ([][]User, error) {
	list := make([][]User, len(cycle))
	w := newWalker(r)
	place := map[int]int{} // of a channel in the cycle
	for i, c := range cycle {
		place[w.channels.Number(weft.SwitchID(c.From.Node.Index), c.From.Port, c.Layer)] = i
	}
	for s := range r.Graph.Switches {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, r)
		}
		for dst := range weft.NICID(len(r.Graph.NICs)) {
			each, all := w.sent(weft.SwitchID(s), dst)
			for _, t := range each {
				w.follow(weft.SwitchID(s), dst, t, all)
				for _, n := range w.nodes {
					i, on := place[n.by]
					if !on {
						continue
					}
					for _, to := range w.edges[n.first:n.last] {
						if next, on := place[w.nodes[to].by]; on && next == (i+1)%len(cycle) {
							list[i] = append(list[i], User{weft.SwitchID(s), dst, t.Path})
						}
					}
				}
			}
		}
	}
	return list, nil
}
