// Package virtual drives switches and NICs in virtual time: the cores that forward packets live
// (switch, nic), stepped by their times instead of by goroutines. One goroutine owns an Engine and
// all that hangs on it.
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
// A node does what it has to do in the order of time: at one time first what arrives, then what is
// due by its clock, then what it sends; which of two ports is first is drawn from the time. Nothing
// else has a say, no map, no pointer, no clock, so that two runs of the same build are the same;
// Hash is a fingerprint of what packets and ports do in them.
//
// Nodes affect each other only by frames, which take at least the least delay of a link.
// [Engine.Run] therefore goes through time in windows that are no longer: in each, nodes run one
// after the other, or those of several parts on as many goroutines, which exchange what was sent
// after each window. The result is the same, however the nodes are dealt out. Where a link has no
// delay a window is one instant.
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
