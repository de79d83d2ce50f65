package survey

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Survey is what a routing is like. Pairs are ordered pairs of different NICs.
type Survey struct {
	Routing      *layered.Routing
	Dependencies *layered.Dependencies
	Cycle        []layered.Channel // a shortest cycle of dependencies; nil: there is none

	Pairs      int
	Unroutable int // pairs whose packets have no way, or can end elsewhere or go in circles

	// Loads are per channel between switches, in the order of [layered.Channels], over how many
	// source/address pairs' ways it is: source switches, and addresses of NICs of others.
	Loads []int
	// Flows are per direction of such a link, and all layers, how many pairs of NICs would send
	// over it if each took one of its addresses, layers and ways after the other. Unlike loads they
	// can be compared between engines that leave choices and those that leave none.
	Flows []float64

	// PerLayer is how many source/address pairs can be in each layer. Those of one switch, which
	// cross no link, are not counted.
	PerLayer  []int
	Addresses float64 // of a pair of switches and NICs, on average; Tables.Paths is how many a NIC has at most

	// Links between switches on the ways of pairs: on average if ways are taken in turn, at most,
	// and on average on shortest ways. Of pairs that are routable.
	MeanHops, MeanDistance float64
	MaxHops                int
}

// Of surveys a routing. The error says that ctx has ended.
func Of(ctx context.Context, r *layered.Routing) (*Survey, error) {
	d := r.Dependencies(ctx)
	if d == nil {
		return nil, interrupted(ctx, r)
	}
	s := &Survey{Routing: r, Dependencies: d, Cycle: d.Cycle(), PerLayer: make([]int, r.Layers)}
	w := newWalker(r)
	flows := make([]float64, w.channels.Len())
	addresses, asked, routable := 0, 0, 0
	for at := range r.Graph.Switches {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, r)
		}
		src := weft.SwitchID(at)
		nics := nicsOf(r, src)
		for dst := range weft.NICID(len(r.Graph.NICs)) {
			home, _ := r.Graph.SwitchOf(dst)
			pairs := nics
			if home == src {
				pairs--
			}
			if pairs <= 0 {
				continue
			}
			s.Pairs += pairs
			each, list := w.sent(src, dst)
			if home != src {
				addresses, asked = addresses+len(each), asked+1
				s.layers(each)
			}
			hops, most, ok := s.pair(w, src, dst, each, list, flows, float64(pairs))
			if !ok {
				s.Unroutable += pairs
				continue
			}
			routable += pairs
			s.MeanHops += hops * float64(pairs)
			s.MeanDistance += float64(r.Graph.SwitchDistance(src, home) * pairs)
			s.MaxHops = max(s.MaxHops, most)
		}
	}
	s.Addresses = float64(addresses) / float64(max(1, asked))
	s.MeanHops /= float64(max(1, routable))
	s.MeanDistance /= float64(max(1, routable))
	s.between(flows)
	return s, nil
}

// interrupted is the error when ctx ends before all paths are followed.
func interrupted(ctx context.Context, r *layered.Routing) error {
	return fmt.Errorf("not all paths of %s on %s are followed: %w", r.Engine, r.Graph.Spec, context.Cause(ctx))
}

// layers counts the layers of addresses.
func (s *Survey) layers(each []layered.Traffic) {
	for _, t := range each {
		for layer := range s.PerLayer {
			if t.Layers>>layer&1 == 1 {
				s.PerLayer[layer]++
			}
		}
	}
}

// pair follows all addresses of a source and a destination.
func (s *Survey) pair(w *walker, src weft.SwitchID, dst weft.NICID, each []layered.Traffic, list []weft.Address,
	flows []float64, pairs float64,
) (hops float64, most int, ok bool) {
	ok = len(list) > 0
	for _, t := range each {
		w.follow(src, dst, t, list)
		part := share(t, list)
		ok = ok && w.sure()
		for _, n := range w.nodes {
			if n.by >= 0 {
				flow := n.flow * part
				flows[n.by%w.channels.Len()] += flow * pairs
				hops += flow
			}
			most = max(most, int(n.longest))
		}
	}
	return hops, most, ok
}

// between keeps the figures of channels between switches.
func (s *Survey) between(flows []float64) {
	g, all := s.Routing.Graph, s.Dependencies.Channels
	for layer := range s.Routing.Layers {
		for i, sw := range g.Switches {
			for p := range weft.PortID(sw.Ports) {
				if g.Place(weft.SwitchID(i)).Roles[p] == weft.RoleNIC {
					continue
				}
				if _, _, ok := g.Peer(weft.End{Node: sw.ID.Node(), Port: p}); !ok {
					continue
				}
				n := all.Number(sw.ID, p, weft.VC(layer))
				s.Loads = append(s.Loads, s.Dependencies.Loads[n])
				if layer == 0 {
					s.Flows = append(s.Flows, flows[n])
				}
			}
		}
	}
}

// nicsOf is how many NICs a switch has.
func nicsOf(r *layered.Routing, s weft.SwitchID) (n int) {
	for _, role := range r.Graph.Place(s).Roles {
		if role == weft.RoleNIC {
			n++
		}
	}
	return n
}

// MaxLoad is the greatest of Loads, 0 when there are no channels.
func (s *Survey) MaxLoad() int { return slices.Max(append([]int{0}, s.Loads...)) }

// MeanLoad is the mean of Loads, 0 when there are no channels.
func (s *Survey) MeanLoad() float64 {
	sum := 0
	for _, l := range s.Loads {
		sum += l
	}
	return float64(sum) / float64(max(1, len(s.Loads)))
}

// MaxFlow is the greatest of Flows, 0 when there are no links.
func (s *Survey) MaxFlow() float64 { return slices.Max(append([]float64{0}, s.Flows...)) }

// MeanFlow is the mean of Flows, 0 when there are no links.
func (s *Survey) MeanFlow() float64 {
	sum := 0.0
	for _, f := range s.Flows {
		sum += f
	}
	return sum / float64(max(1, len(s.Flows)))
}

// UniformLimit is the load of uniform traffic, as share of what a link carries, at which the
// busiest link between switches is full; at most 1, for then the links of the NICs are. No buffer
// or arbiter is in it: a fabric carries less.
func (s *Survey) UniformLimit() float64 {
	most := s.MaxFlow()
	if others := float64(len(s.Routing.Graph.NICs) - 1); most > max(others, 0) {
		return others / most
	}
	return 1
}
