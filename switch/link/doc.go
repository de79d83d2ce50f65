// Package link is one end of a link, as switches and NICs hold it: whether it is up, how many
// packets it may send, how much room it has granted to its neighbour, and when it takes its
// neighbour for gone. Pure: no clock, no goroutine, no I/O.
//
// Every frame is a hello, and a frame is sent when a hello is due even if there is nothing else to
// say. So a hello is never queued behind packets: while they flow there is no need for one, and
// while they wait it goes past them.
//
// # Credits
//
// Credits are absolute counters within an epoch, as InfiniBand's FCTBS and FCCL: a frame says how
// many packets had been sent before it and how many the other side may have sent in all. A lost
// frame therefore costs only its packets, a repeated one nothing.
//
// # How a link comes up
//
// Each end numbers its own incarnations (epochs) and puts its own epoch and the one it last heard
// from its neighbour into every frame. An end is up once it has received a frame that names its
// current epoch: then both know that they mean the same incarnation of the link, and every counter
// starts at zero. Nobody else has to coordinate them.
//
//	Down --signal--> Init --frame to my epoch--> Up
//	  ^---no signal---'  ^--frame of a new epoch, silence--'
//
// A hello is a frame sent because it is time. It makes up for a frame of the handshake, of credits
// or of packets that was lost without anybody noticing.
//
// # Liveness
//
// A silent cut tells nobody, so each end says hello every interval and takes its neighbour for gone
// when a multiplier of hellos in a row is missing, as BFD does (RFC 5880, asynchronous mode). While
// packets flow, nothing is sent for liveness alone and no hello waits behind data.
//
// # What the owner does
//
//	Signal     there is signal, or none any more
//	Receive    a frame came; Take each of its packets, Free its place when it has gone on
//	Resume     before each frame that it sends; then Stamp, and Spend for each packet
//	Tick       at Due or before: the end says hello, or gives up on its neighbour
//
// Receive and Stamp never make Due earlier, unless the link comes up or goes down: whoever sleeps
// until the Due it last saw wakes in time. A Tick that is early costs nothing. Receive comes before
// Tick where both happen at one instant.
//
// # Our own absence
//
// BFD leaves open what an end does that did not run itself: a process that was stopped, or a
// machine that was busy. Its clock went on, and would accuse a healthy neighbour. Our rule: when a
// Tick (or a Stamp) comes more than half an interval after Due, the deadline moves by that
// lateness, counted from when the neighbour was last heard if that was later. For the first time in
// a silence it is then also at least one interval away, because the neighbour's hellos may still
// wait in our own queues. Detection takes longer by as much: by the lateness, and by up to one
// interval more. Later absences in the same silence move the deadline by their lateness only, so
// that an end that is always late finds a dead neighbour too.
//
// Absences of up to half an interval are not forgiven. A multiplier of 3 or more bears them while
// the jitter of the hellos and the time to read our queues make less than half an interval
// together; 1 or 2 need not.
//
// A node that was stopped for the detection time has neighbours that may have given its links up,
// each or none. It finds out link by link, and its links must not go down and up one after the
// other meanwhile: packets would find no way on. So an end that has said nothing for the detection
// time sends no packets until it has asked its neighbour whether the link is still up. Where the
// neighbour has begun a new epoch, the link counts as up at this end while both agree on the
// epochs, for the detection time at the longest: the new epoch is no fault, it shows that the
// neighbour is there.
//
// # Pace
//
// A [Pacer] is how fast a direction of the link carries frames, and how badly: its rate, its delay,
// and what it suffers. It is the sending end's account of when the link is free, what may leave and
// when what was sent arrives. Live and virtual drivers keep the same one, outside the end.
//
// # Damping
//
// A link that flaps costs a reroute each time. As in RFC 2439 (there for routes) and in the event
// damping of routers' interfaces, each loss, signalled or silent, adds 1 to a penalty that halves
// every half-life. A loss that lifts it above Suppress holds the link down until the penalty has
// fallen to Reuse. See [Damping] for what bounds that time.
package link
