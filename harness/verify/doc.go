// Package verify proves what a firmware does with dead links and switches, by running the firmware itself: every state that a
// packet can come to, for every pair of NICs and every set of faults, taking each choice that the firmware leaves as all of its
// choices.
//
// A state is where a packet is (switch, in port, VC), its routing fields, and what it knows of the switches' registers. From every
// state that a source can bring a packet to, whatever adaptive choice is taken and, when asked, whenever the faults come, the packet
// must be delivered: no discard is reachable (or the pair counts as not connected) and no cycle (livelock). What packets wait for
// is collected as a graph over channels: without a cycle there is no deadlock (Dally and Seitz); with cycles, a deadlock still needs
// a set of channels each of which holds a packet all of whose candidates are in the set (Definition 17 of Sem-Jacobsen, Skeie, Lysne,
// Duato: Dynamic Fault Tolerance in Fat Trees), and the largest such set is computed.
//
// Faults are there before the packets, or arrive, or flap while they travel, or were repaired before (see [When]). Of those that also
// go, no more than [Config.AtOnce] of a set need be dead at one moment.
//
// What is explored is the firmware's own Route, asked with a [switching.Still] for every arrival, field and set of dead ports that
// comes up; answers are kept, so that a million fault sets cost little more than the walks.
//
// What goes wrong is shown by a [Counterexample], which [Counterexample.Scenario] turns into a scenario that replays it in a fabric.
package verify
