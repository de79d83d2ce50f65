package subnet

import (
	"cmp"
	"context"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/tables"
)

// FromManager is the name of the routing whose tables a subnet manager of InfiniBand writes. It is
// not among Entries, for without a manager nothing is forwarded.
const FromManager = "infiniband"

// managerLanes is how many virtual lanes there are unless given: as switches of InfiniBand have.
const managerLanes = 8

// managerEntry begins with empty tables: nothing has a way until a manager writes one.
func managerEntry(name string) (Entry, error) {
	head, options, given := strings.Cut(name, ":")
	var o layered.Options
	var err error
	if given {
		o, err = parseOptions(options, []string{"layers"}, optionKeys)
	}
	e := Entry{
		Name: name, About: "what a subnet manager of InfiniBand writes, as OpenSM; see fabricd up --ib",
		On: firmware.Anything,
	}
	return computed(e, func(_ context.Context, g *topology.Graph) (*layered.Routing, error) {
		return unwritten(g, cmp.Or(o.Layers, managerLanes))
	}), named(head, err)
}

// IsFromManager reports whether it is the name of that routing, with options or without.
func IsFromManager(name string) bool {
	head, _, _ := strings.Cut(name, ":")
	return head == FromManager
}

func unwritten(g *topology.Graph, lanes int) (*layered.Routing, error) {
	shape := tables.TablesShape{VCs: lanes, NICs: len(g.NICs)}
	for _, s := range g.Switches {
		shape.Ports = append(shape.Ports, s.Ports)
	}
	t, err := tables.NewTablesOf(shape)
	if err != nil {
		return nil, err
	}
	none := func(weft.SwitchID, weft.NICID) []weft.Address { return nil }
	a, err := tables.NewAssignment(len(g.Switches), len(g.NICs), lanes, 1, none)
	return &layered.Routing{
		Engine: FromManager, Graph: g, Kind: layered.Deterministic, Layers: lanes, Tables: t, Assignment: a,
		Unroutable: len(g.NICs) * (len(g.NICs) - 1),
	}, err
}
