// Package host runs nodes of a fabric: the switches and NICs that one process has. It makes their
// cores and drivers from a [Spec], and opens their links. Package remote serves it to whoever
// leads the fabric, over NATS.
//
// # How a host lives
//
//	host    an agent is given a spec, builds the nodes and serves them; its links have no signal yet
//	order   the leader gives signal, starts traffic, cuts and mends: many things in one message
//	sum     the leader asks what the host has added up, some times a second
//	end     the leader, or the agent, ends it
//
// A host adds up by itself whatever concerns it alone: its nodes, and the links that have both ends
// in it. Of links that cross to other hosts it tells its ends, and the leader compares the two. It
// tells by itself what happens: ports that change, packets that end, faults of the protocol. It
// goes on when nobody asks, for whoever leads may have died; the next leader reads from a sum all
// that it must know.
package host
