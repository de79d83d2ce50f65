package measure

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// reconfigured makes the up/down tables that the switches of a run forward by, computed anew; see DDRC.
type reconfigured struct {
	routes  *subnet.UpDownRoutes
	version uint64 // of the tables that were made last
}

// tables computes them without what is dead.
func (r *reconfigured) tables(dead *subnet.Dead) (firmware.Static, error) {
	r.routes.Compute(dead)
	r.version++
	t, err := r.routes.Tables()
	return firmware.Static{Tables: t}, err
}

// newReconfigured is for one tree, with the tables that its switches start with.
func newReconfigured(g *topology.Graph) (*reconfigured, firmware.Static, error) {
	routes, err := subnet.NewUpDownRoutes(g)
	if err != nil {
		return nil, firmware.Static{}, err
	}
	r := &reconfigured{routes: routes}
	fw, err := r.tables(nil)
	return r, fw, err
}

// reload has all switches forward by tables without what is dead by now, all at once.
func (n *network) reload() {
	if n.routes == nil {
		return
	}
	fw, err := n.routes.tables(&n.dead)
	for i, sw := range n.switches {
		n.switchNodes[i].Do(func(now weft.Time, out *weft.Actions) {
			if err == nil {
				err = sw.Load(now, fw, n.routes.version, out)
			}
		})
	}
	if err != nil {
		panic("measure: BUG: tables that were made before cannot be made again: " + err.Error())
	}
}
