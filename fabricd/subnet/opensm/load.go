package opensm

import (
	"context"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Files are what a routing is read from.
type Files struct {
	LFT      File  // forwarding tables, as OpenSM or infiniband-diags dump them
	SL2VL    *File // service levels to virtual lanes, as OpenSM dumps them; nil: lane i for level i
	PathSL   *File // service levels of paths; nil: 0
	GUID2LID *File // LIDs of ports, as OpenSM keeps them; nil: those that the tables or the topology name
}

// Load makes a routing of tables that were dumped. A table that sends packets nowhere or round and
// round is taken: such pairs are counted in Unroutable, and its dependencies have the cycle. Errors
// have the file and line: what is not of the format, a switch that is missing or not in the graph,
// a LID that is nobody's, a port that the switch does not have or that leads to another NIC. When
// ctx ends first the error wraps the cause.
func Load(ctx context.Context, g *topology.Graph, files Files) (*layered.Routing, error) {
	known := nodesOf(g)
	lids, _ := GraphLIDs(g)
	if files.GUID2LID != nil {
		var err error
		if lids, err = ReadGUID2LID(g, *files.GUID2LID); err != nil {
			return nil, err
		}
	}
	f, err := readLFT(known, lids, files.LFT)
	if err != nil {
		return nil, err
	}
	b := newBuilder(f, files.LFT.Name)
	if b.lids, err = f.addresses(files.LFT.Name); err != nil {
		return nil, err
	}
	if files.SL2VL != nil {
		b.vlFile = files.SL2VL.Name
		if b.vl, err = readSL2VL(known, *files.SL2VL); err != nil {
			return nil, err
		}
	}
	if files.PathSL != nil {
		if b.sl, err = readPathSL(known, b.lids, *files.PathSL); err != nil {
			return nil, err
		}
	}
	return b.routing(ctx)
}
