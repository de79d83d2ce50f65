// Package opensm reads and writes what OpenSM, the subnet manager of InfiniBand, says about routes:
// forwarding tables, the tables that map service levels to virtual lanes, the LIDs of ports, the
// service levels of paths, and the roots of its engines.
//
//	r, err := opensm.Open(ctx, g, "opensm-lfts.dump,sl2vl=opensm-sl2vl.dump,path-sl=path-sl.txt") // of tables:...
//	lft, err := opensm.NewLFT(r, lids)
//	err = lft.Write(w) // opensm -R file -U takes it
//
// A LID is an address of a port; a port has 2^LMC of them, which are the paths of [weft.Fields].
// Layer i is virtual lane i. Nodes are told apart by their GUIDs, see [topology.Graph.Identity].
// Port p of a switch is port p-1 here.
package opensm
