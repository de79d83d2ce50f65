// Package virtual drives switches and NICs in virtual time: the cores that forward packets live
// (switch, nic), stepped from an event queue instead of by goroutines. One goroutine owns an Engine
// and all that hangs on it.
//
//	e := virtual.New(virtual.Config{})
//	a, b := e.Add(coreA, virtual.NodeConfig{}), e.Add(coreB, virtual.NodeConfig{})
//	e.Connect(virtual.Port{Node: a, Port: 0}, virtual.Port{Node: b, Port: 0}, link.Pace{Rate: 250e6})
//	a.Signal(0, true)
//	b.Signal(0, true)
//	e.Run(10 * weft.Microsecond)
//
// # Time
//
// Events happen in the order of (time, sequence): of two at one time, first the one that was
// scheduled first. Nothing else has a say, no map, no pointer, no clock, so that two runs of the
// same build are the same, event for event; Hash is a fingerprint of them all.
//
// # A link direction
//
// The sending end keeps the same account of rate, delay and impairment as a live one
// ([link.Pacer]). A node with CutThrough set is given a packet when its first byte has arrived and
// RoutingDelay is over, as a switch that forwards virtual cut-through; others when its last byte
// has. A port transmits CrossbarDelay after it has become ready, and no earlier than its link is
// free; only a hello that is due goes before ([link.Pacer.Allow], as live). Frames without packets
// carry credits or are hellos; they take no time to send, and travel behind the packet that is
// being sent.
//
// A cut loses what is on the wire and what is sent from then on, until it is restored. Whether the
// ends are told is not the link's business: see Node.Signal.
package virtual
