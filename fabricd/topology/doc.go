// Package topology is the graph of a fabric: which switches and NICs there are, and which port each
// link joins. It makes the regular topologies of the field, reads and writes files, and answers
// what the rest of Weft asks of a graph: who is at the other end of a port, what a name means,
// where a switch stands, how far two NICs are apart.
//
//	g, err := topology.Parse("kary-ntree:4,3") // or mesh:8x8, torus:4x4x4, irregular:16,32,7, fabric.yaml, fabric.net ...
//	link, err := g.LinkByName("s0.00-s1.10")
//	place := g.Place(3)                        // what the firmware of switch 3 may know
//
// A [Graph] is complete when it is returned and never changes: all its methods may be called from
// many goroutines, and nobody may write to its fields. A cut link is not a change of the graph but
// a state of the link.
//
// # Ports
//
// In trees down port j is port j, to the switch whose digit l is j or, at the bottom, to the NIC
// with last digit j; the up ports follow, up port j to the switch whose digit l-1 is j. In meshes
// and tori dimension i has port 2i towards smaller and 2i+1 towards larger coordinates, and at the
// edge of a mesh one of them leads nowhere; a ring is a torus of one dimension. In irregular
// topologies ports are given in the order of the neighbours' numbers. NIC ports come after all of
// these. In a file ports are as written, or the lowest free ones in the order of the file.
package topology
