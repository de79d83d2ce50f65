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
// go, no more than [Config.AtOnce] of a set need be dead at one moment. A switch that comes back has registers of zero.
//
// What is explored is the firmware's own Route, asked with a [switching.Still] for every arrival, field and set of dead ports that
// comes up; answers are kept, so that a million fault sets cost little more than the walks.
//
// What goes wrong is shown by a [Counterexample], which [Counterexample.Scenario] turns into a scenario that replays it in a fabric.
//
// # What is assumed
//
// Of faults: both ends see a link die or come back at one moment, in both directions; a dead switch is seen as dead links. In a
// fabric the ends may learn it one after the other, and of a silent cut late. [Flapping] has every order of what a packet sees, as
// a link that comes and goes; [Arriving] has not: there what one switch has seen dead is dead for the next. A packet on or queued
// for an element that dies is lost and no finding; one that is queued and routed anew is explored, as one that is routed later.
//
// Of switches: a blocked packet waits for all its candidates and is routed anew when a port changes state, unless
// [Config.FixedChoice] is set. A queue that is not stuck drains at last, so that the buffers' sizes, [switching.Candidate].Need and
// the order in which VCs and inputs have their turn matter to no finding; that two free slots are asked for, as by bubble flow
// control, is not known to prevent a deadlock. Any candidate whose port is up may be taken, whatever its class. Hops beyond
// [weft.MaxHops] are not cut off.
//
// Of registers: they outlast a packet's life. Timers that zero them sooner are not explored, and a value that is zeroed in time may be
// found all the same. Any number of packets of other flows may write between two visits, whatever the moments (see [Shared]).
//
// Of NICs: they send any packet to any other in VC 0, and take every packet that arrives in the end. Pairs with a NIC whose switch is
// in the set are not judged, neither before it dies nor after it is back; what their packets write and wait for is explored. A packet
// that waits for dead ports alone makes its pair unconnected, and is not one that others are taken to wait for.
//
// Of the firmware: the same question has the same answer. One that is [switching.DestinationBased] or [switching.Symmetric] is taken
// at its word. Of draws, queues, time, and a packet's size, age and hops only some values are tried; the result's notes say when
// that matters.
//
// Within all this, more is found than can happen where a cycle of channels needs packets of different moments, and where a livelock needs
// others to write to registers in step with it; less never is.
//
// Memory is bounded for each worker by what it keeps of answers (some 700 MB on the widest trees tried), by the states of one flow in one set and
// by the values that the registers of one switch can have; more of the latter two is an error that says so.
package verify
