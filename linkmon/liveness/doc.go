// Package liveness is the failure detector of one link end. Pure: no clock, no goroutine, no I/O, and nothing is allocated.
//
// A silent cut tells nobody, so each end says hello every interval and takes its neighbour for gone when a multiplier of
// hellos in a row is missing, as BFD does (RFC 5880, asynchronous mode). Every frame is a hello: while packets flow,
// nothing is sent for liveness alone and no hello waits behind data.
//
// # What the owner does, in order
//
//	Start   signal is there        hellos are due from now on
//	Up      the link came up       the neighbour is expected from now on
//	Heard   a valid frame came     the deadline moves on
//	Sent    a frame went out       the next hello is due an interval later
//	Tick    at Due or before       says what is due: Hello, Silent, Released
//	Lost    the link is not up     nothing is expected until Up; damping counts
//	Stop    signal is gone         nothing is sent or expected
//
// Heard and Sent never make Due earlier, so whoever sleeps until the Due it last saw wakes in time; a Tick that is early
// costs nothing. Heard comes before Tick where both happen at one instant.
//
// # Our own absence
//
// BFD leaves open what an end does that did not run itself: a process that was stopped, or a machine that was busy. Its
// clock went on, and would accuse a healthy neighbour. Our rule: when a Tick (or a Sent) comes more than half an interval
// after Due, the deadline moves by that lateness, counted from when the neighbour was last heard if that was later. For
// the first time in a silence it is then also at least one interval away, because the neighbour's hellos may still wait
// in our own queues. Detection takes longer by as much: by the lateness, and by up to one interval more. Later absences
// in the same silence move the deadline by their lateness only, so that an end that is always late finds a dead neighbour
// too.
//
// Absences of up to half an interval are not forgiven. A multiplier of 3 or more bears them while the jitter of the hellos
// and the time to read our queues make less than half an interval together; 1 or 2 need not.
//
// # Damping
//
// A link that flaps costs a reroute each time. As in RFC 2439 (there for routes) and in the event damping of routers'
// interfaces, each loss, signalled or silent, adds 1 to a penalty that halves every half-life. A loss that lifts it above
// Suppress holds the link down until the penalty has fallen to Reuse. See [Damping] for what bounds that time.
package liveness
