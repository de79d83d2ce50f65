// Package tolerate counts which sets of dead links a way to route around them tolerates: each set
// of so many links, each set within a region, or sets that are drawn. It finds the smallest set
// that is not tolerated, exactly, where there are far too many to count.
//
// A set is tolerated when every ordered pair of different switches that live links join has a way;
// pairs in different components are excused (Gomez, Flich, Lopez, Robles, Duato: A Routing
// Methodology for Achieving Fault Tolerance in Direct Networks, section 5.1).
//
// Sets that a symmetry of the topology maps onto each other have the same answer, if the ways are
// the same under it. So one of each orbit is judged, and counts for all of them. Which
// translations, reflections and swaps of dimensions do hold is tested on the ways themselves, not
// assumed: routing that prefers one direction loses some. That the orbits hold all sets together is
// a sum that is checked.
package tolerate
