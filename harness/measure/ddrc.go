package measure

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	switching "github.com/weft-fabric/weft/switch"
)

const (
	ruleTable     = "ddrc: table"
	ruleNoEntry   = "ddrc: no entry"
	ruleTableDead = "ddrc: the link is dead and there are no new tables yet"
	ruleDownAndUp = "ddrc: came down by an older table where its destination is not"
)

// reconfigured forwards by up/down tables that are computed anew; see DDRC. All switches of a run share it.
type reconfigured struct {
	routes     *subnet.UpDownRoutes
	switches   int
	nics       int
	port       []weft.PortID // switch, destination
	unroutable int           // pairs, with what is dead now
}

func newReconfigured(g *topology.Graph) (*reconfigured, error) {
	routes, err := subnet.NewUpDownRoutes(g)
	if err != nil {
		return nil, err
	}
	return &reconfigured{routes: routes, switches: len(g.Switches), nics: len(g.NICs), port: make([]weft.PortID, len(g.Switches)*len(g.NICs))}, nil
}

// load computes the tables without what is dead.
func (r *reconfigured) load(dead *subnet.Dead) {
	r.unroutable = r.routes.Compute(dead)
	for s := range r.switches {
		row := r.port[s*r.nics : (s+1)*r.nics]
		for d := range row {
			row[d] = r.routes.Port(weft.SwitchID(s), weft.NICID(d))
		}
	}
}

// Route implements [switching.Firmware]. A packet that has come down never goes up again, not even where new tables say so: it
// came by older ones, and the turn could close a circle of waiting.
func (r *reconfigured) Route(pkt *weft.Header, at switching.Arrival, sw switching.View) switching.Decision {
	place := sw.Place()
	p := r.port[int(place.Switch)*r.nics+int(pkt.Dst)]
	switch {
	case p == weft.NoPort:
		return switching.Discard(ruleNoEntry)
	case at.From == weft.RoleUp && place.Roles[p] == weft.RoleUp:
		return switching.Discard(ruleDownAndUp)
	case !sw.PortUp(p):
		return switching.Discard(ruleTableDead)
	}
	return switching.To(sw, p, at.VC, pkt.Fields, ruleTable)
}
