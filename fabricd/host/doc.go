// Package host runs nodes of a fabric: the switches and NICs that one process has. It makes their
// cores and drivers from a [Spec], and opens their links. Package remote serves it to whoever
// leads the fabric, over NATS.
//
// # How a host lives
//
//	host      an agent gets a spec, builds the nodes and serves them; their links have no signal yet
//	order     the leader gives signal, starts traffic, cuts and repairs: many things in one message
//	counters  the leader asks for the host's counters, some times a second
//	end       the leader, or the agent, ends it
//
// A host goes by a clock of its own (clock.go), with the time factor that the leader orders; the
// leader corrects it.
//
// A host adds up what concerns it alone: its nodes, and the links with both ends in it. Of links to
// other hosts it tells the counters of its ends, and the leader compares both sides. It tells
// without being asked what happens: ports that change, packets that end, faults of the protocol. It
// goes on when nobody asks, for the leader may have died; the next leader learns all that it must
// know from the counters.
package host
