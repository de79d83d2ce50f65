package subnet

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// UpDown is [UpDownRoutes.Compute] for one set of faults, with the tables. They are for
// [firmware.Static].
func UpDown(g *topology.Graph, dead *Dead) (tables *tables.Tables, unroutable int, err error) {
	u, err := NewUpDownRoutes(g)
	if err != nil {
		return nil, 0, err
	}
	unroutable = u.Compute(dead)
	tables, err = u.Tables(context.Background())
	return tables, unroutable, err
}

// Routable reports whether the routes of the last Compute lead from src to dst.
func (u *UpDownRoutes) Routable(src, dst weft.NICID) bool {
	s, p := u.g.SwitchOf(src)
	return !u.dead[u.first[s]+int(p)] && u.of(s).has(uint32(dst))
}

// Fitting lists the names of Entries that are for topologies of that shape.
func Fitting(g *topology.Graph) []string {
	var names []string
	for _, e := range Entries() {
		if e.Fits(g) {
			names = append(names, e.Name)
		}
	}
	return names
}

// ByEngine is the entry of a source's firmware that names an engine.
func ByEngine(fw firmware.Firmware) (Entry, error) { return byEngine(Plain(fw), fw) }
