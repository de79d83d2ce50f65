// Package direct finds ways around faults in tori and meshes, by the method of Gomez, Flich, Lopez,
// Robles and Duato: A Routing Methodology for Achieving Fault Tolerance in Direct Networks. Packets
// go adaptively along shortest paths. For a pair of switches of which any shortest path has a dead
// link, the NICs write a way into the packet: by intermediate nodes, without adaptive routing on
// some sub-paths, with misroutes.
//
//	net, err := direct.New(g)
//	m, err := direct.Parse("I+D")
//	s := net.Solve(m, dead.Cuts, nil)
//	s.Unroutable // pairs that live links join and for which m has no way
//
// The fault model is static: all faults are known when the ways are computed. Everything here is a
// function of its arguments.
//
// # Readings
//
// A sub-path is adaptive when no link of any shortest path between its ends is dead; both
// directions of a link die together. Half way round a torus of even size both halves count. A
// deterministic sub-path is the one path of dimension order, or of direction order when packets may
// be misrouted; half way round it goes as [firmware.ShorterWay] says, or as the source likes with
// [Mechanisms].Either. A sub-path with misroutes takes up to three legs of up to eight hops, in
// strictly increasing order of their directions X+ Y+ Z+ X- Y- Z-, and then a shortest rest, all of
// whose directions are that of the last leg or later ones.
//
// Of all ways the shortest is taken, of these one with the fewest misrouted sub-paths, then the
// fewest deterministic ones, then the fewest intermediate nodes (sections 3.1, 4.1.2 and 5.1.2;
// that misroutes count before the D bit follows from table 3, where D alone is used with I+D+M
// though misroutes reach whatever D does). Ties go to intermediate nodes in turn, by source plus
// destination, so that one fault does not send all packets through one node.
package direct
