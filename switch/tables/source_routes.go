package tables

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
)

// SourceRoutes are the ways that NICs write into their packets, per switch that they hang on and
// destination. Read by any number of goroutines.
type SourceRoutes struct {
	nics   int
	base   weft.SwitchID // of the first switch
	routes []weft.SourceRoute
}

// NewSourceRoutes asks for the route to each destination at each switch. No route: a packet for
// there is discarded by the first switch.
func NewSourceRoutes(switches, nics int, of func(weft.SwitchID, weft.NICID) weft.SourceRoute) (*SourceRoutes, error) {
	if switches < 0 || switches > weft.MaxSwitch || nics < 0 || nics > weft.MaxNIC || switches*nics > maxRoutes {
		return nil, fmt.Errorf("source routes of %d switches to %d NICs: at most %d are possible", switches, nics, maxRoutes)
	}
	r := &SourceRoutes{nics: nics, routes: make([]weft.SourceRoute, 0, switches*nics)}
	for s := range weft.SwitchID(switches) {
		for d := range weft.NICID(nics) {
			r.routes = append(r.routes, of(s, d))
		}
	}
	return r, nil
}

// maxRoutes bounds the routes of one fabric: half a GiB. Chosen by us.
const maxRoutes = 1 << 25

// Route is the way from the NICs of switch s to d; none when there is no such switch or NIC.
func (r *SourceRoutes) Route(s weft.SwitchID, d weft.NICID) weft.SourceRoute {
	if list := r.at(s); int(d) < len(list) {
		return list[d]
	}
	return weft.SourceRoute{}
}

// at are the routes of switch s, nil when there are none here.
func (r *SourceRoutes) at(s weft.SwitchID) []weft.SourceRoute {
	i := int(s-r.base) * r.nics
	if s < r.base || i+r.nics > len(r.routes) {
		return nil
	}
	return r.routes[i : i+r.nics : i+r.nics]
}

// patched are the routes of switch s alone, with those of a patch.
func (r *SourceRoutes) patched(s weft.SwitchID, p *Patch) (*SourceRoutes, error) {
	if len(p.Routes) == 0 && p.From != 0 {
		return &SourceRoutes{nics: r.nics, base: s, routes: r.at(s)}, nil
	}
	list := slices.Clone(r.at(s))
	if list == nil || p.From == 0 {
		list = make([]weft.SourceRoute, r.nics)
	}
	next := 0
	for _, x := range p.Routes {
		if int(x.Dst) < next || int(x.Dst) >= r.nics {
			return nil, p.wrong("a route to NIC %d: there are %d, name each once and in their order", x.Dst, r.nics)
		}
		list[x.Dst], next = x.Route, int(x.Dst)+1
	}
	return &SourceRoutes{nics: r.nics, base: s, routes: list}, nil
}
