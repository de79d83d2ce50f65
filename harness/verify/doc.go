// Package verify proves what a firmware does with dead links and switches, by running the firmware
// itself: every state that a packet can come to, for every pair of NICs and every set of faults,
// taking each choice that the firmware leaves as all of its choices.
//
// A state is where a packet is (switch, in port, VC), its routing fields, and what it knows of the
// switches' registers. From every state that a source can bring a packet to, whatever adaptive
// choice is taken and, when asked, whenever the faults come, the packet must be delivered: no
// discard is reachable (or the pair counts as not connected) and no cycle (livelock). What packets
// wait for is collected as a graph over channels: without a cycle there is no deadlock (Dally and
// Seitz); with cycles, a deadlock still needs a set of channels each of which holds a packet all of
// whose candidates are in the set (Definition 17 of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic
// Fault Tolerance in Fat Trees), and the largest such set is computed. Where the graph has a cycle,
// the extended one of escape channels and bubble rings is asked as well, see below.
//
// Faults are there before the packets, or arrive, or flap while they travel, or were repaired
// before (see [When]). Of those that also go, no more than [Config.AtOnce] of a set need be dead at
// one moment. A switch that comes back has registers of zero.
//
// What is explored is the firmware's own Route, asked with a [switching.Still] for every arrival,
// field and set of dead ports that comes up; answers are kept, so that a million fault sets cost
// little more than the walks.
//
// Where all sets of up to so many faults are asked for and the firmware looks at the destination
// and at which links are up alone, or at registers that are vectors as well, all sets are explored
// at once: a walk decides a link when the firmware asks for it, see lazyWalk and
// docs/explanation/all-sets.md. What is below is of sets that are explored one by one.
//
// What goes wrong is shown by a [Counterexample], which [Counterexample.Scenario] turns into a
// scenario that replays it in a fabric.
//
// # Bubble rings
//
// A bubble ring is a circle of channels, each of which is entered with one free place from the
// channel before it only, and with two from anywhere else, be it a NIC, another dimension, an
// adaptive channel or another sub-path. That is found from what the firmware asks for. Count the
// free places of a ring in its output queues and input queues: who enters leaves one in the output
// queue that it enters, who moves from an input queue to the next output queue of the ring takes
// one and gives one back, so does who crosses a link, and who leaves gives one back. So there is
// always one (Carrion, Beivide, Gregorio, Vallejo: A Flow Control Mechanism to Avoid Message
// Deadlock in k-ary n-cube Networks; Puente, Izu, Beivide, Gregorio, Vallejo, Prellezo: The
// Adaptive Bubble Router).
//
// Let nothing be able to move, and S be the channels whose input queues hold packets. An output
// queue that some packet waits for is not empty, for it holds two packets at least, and has no
// credit, so the input queue behind it is full and its channel in S. In a ring that is all in S the
// free place is in an output queue, as otherwise a packet would cross the link to it. The packets
// in the input queue before that queue do not want it with one place, or one would go on. So: a set
// that is stuck has a whole ring in it only if in one of the ring's channels a packet can wait for
// channels of the set without wanting the next channel of the ring. The union of two such sets is
// one, so there is a largest. It is what is left when channels are taken out that have no such
// packet, and rings whole.
//
// # The extended graph
//
// R1 keeps of the candidates of each answer those of the last class: the escape channels where
// there are several classes (Duato: A Necessary and Sufficient Condition for Deadlock-Free Routing
// in Cut-Through and Store-and-Forward Networks), otherwise all. The extended graph has an edge
// from every channel that a packet can hold, by whatever candidate of R it came there, to all that
// R1 then offers: the direct dependencies and the direct cross dependencies. A blocked packet is
// held whole by one switch and holds one channel, so that there are no indirect ones. Each ring is
// one channel of the graph; to go on along it depends on nothing, to go on within it in any other
// way on itself. Without a cycle nothing can deadlock: in S there would be a channel or a ring none
// of whose packets wants, by R1, anything else in S, though all that they want is in S. For a
// channel that cannot be; for a ring it means that each of its packets wants the next channel with
// one place, and the one before the free place goes on.
//
// # Mixtures
//
// With [Config.Mixed] each switch runs one of two firmwares, and a NIC does as that of its switch
// says. What is found is what exploring every subset of the switches by itself would find: a pair
// is unconnected, and a set can deadlock or has a cycle, if that is so for some subset. MaxHops is
// of the pairs that every subset delivers; with registers that others write to it is a bound.
// Extended says more only of all subsets together: Connected, Rings, Escape.
//
// A packet settles what a switch runs when it meets the switch and the two firmwares do not do the
// same with it, and forgets that once it cannot meet the switch again. So 2 to the n subsets cost
// little more than one, and what a packet comes to by itself is exact.
//
// What packets wait for is first collected over all of them. A cycle in that graph may need a
// switch to run both. So a switch on the cycle is settled for all packets, one way and the other,
// and the set explored again with each; then the next one, until the cycle is gone or no switch is
// left at which it matters what it runs. Then it is the cycle of a subset. The same goes for what
// packets write to the registers of switches for others to find. The counterexample names the
// switches that run the second firmware, no more than it needs of them for a deadlock. Channel
// numbers are those of one firmware, and not checked.
//
// What a switch runs does not change while packets travel. Not covered are a packet that meets a
// switch before and after it gets the other firmware, packets that wait in a circle although each
// came there under another subset, and values of registers that a switch keeps when it changes.
//
// # What is assumed
//
// Of faults: both ends see a link die or come back at one moment, in both directions; a dead switch
// is seen as dead links. In a fabric the ends may learn it one after the other, and of a silent cut
// late. [Flapping] has every order of what a packet sees, as a link that comes and goes, and so
// every order in which the neighbours of a switch see that it is back. It is back whole, as
// switches are ([switching.ReturnWait]), unless [Config.OneByOne] is set; [Arriving] has not: there
// what one switch has seen dead is dead for the next. A packet on or queued for an element that
// dies is lost and no finding; one that is queued and routed anew is explored, as one that is
// routed later.
//
// Of switches: a blocked packet waits for all its candidates and is routed anew when a port changes
// state, unless [Config.FixedChoice] is set. A queue that is not stuck drains at last, so that the
// buffers' sizes and the order in which VCs and inputs have their turn matter to no finding. An
// output queue holds as many packets as any candidate wants places ([switching.Firmware].LeastRoom
// sees to that), and no packet is requeued into or within a bubble ring (its CheckRequeue says so).
// Any candidate whose port is up may be taken, whatever its class. Hops beyond [weft.MaxHops] are
// not cut off.
//
// Of registers: they outlast a packet's life. Timers that zero them sooner are not explored, and a
// value that is zeroed in time may be found all the same. Any number of packets of other flows may
// write between two visits, whatever the moments (see [Shared]).
//
// Of NICs: they send any packet to any other in VC 0, and take every packet that arrives in the
// end. Pairs with a NIC whose switch is in the set are not judged, neither before it dies nor after
// it is back; what their packets write and wait for is explored. A packet that waits for dead ports
// alone makes its pair unconnected, and is not one that others are taken to wait for.
//
// Of the firmware: the same question has the same answer. One that says it is Symmetric
// is held to it: for every decision that is explored and for all its images, the answers to the
// images by the generators of the group are compared, fields and registers by what answers make of
// them. One that says it is DestinationBased is asked again at every decision, with
// another source and packet each time; not with all of them. What is found wrong is not believed,
// and the result says so ([Result].Asymmetry, [Result].SourceBased). Of draws, queues, time, and a
// packet's size, age and hops only some values are tried; the result's notes say when that matters.
//
// Within all this, more is found than can happen where a cycle of channels needs packets of
// different moments, and where a livelock needs others to write to registers in step with it; less
// never is.
//
// Memory is bounded for each worker by what it keeps of answers (some 700 MB on the widest trees
// tried), by the states of one flow in one set and by the values that the registers of one switch
// can have; more of the latter two is an error that says so.
package verify
