// Package subnet is what a subnet manager computes: from the graph of a fabric, and from what is
// dead in it, how each switch is to forward, and which pairs of NICs that leaves unconnected. It
// also makes firmwares by name ([Firmware]), because some are their tables, and tables belong to
// one topology.
//
//	fw, vcs, err := subnet.Firmware(ctx, "deterministic-table", g) // R^link_deterministic, by Algorithm 1
//	fw, vcs, err = subnet.Firmware(ctx, "updn:layers=2,tree=dfs", g) // an engine of package layered, for any topology
//
//	var dead subnet.Dead
//	dead.AddLink(3)
//	routes, err := subnet.NewUpDownRoutes(g) // DDRC: up/down without what is dead
//	unroutable := routes.Compute(&dead)
//	tables, err := routes.Tables(ctx)
//	cut := subnet.Connected(g, &dead) // what no routing could connect
//
// Everything here is a function of its arguments: no clock, no draw, and no I/O but that of reading
// the files which the name of a routing names.
package subnet
