// Package member is one switch of a running fabric as a process of its own: the process side, and the words in which it and
// the fabric speak with each other (see fabricd/fabric for the other side).
//
// # How a process becomes a switch
//
//	join    the fabric ends its own emulation of the switch and answers with a [Charter]: all that the process needs
//	        the process opens its links, starts its pipeline and serves what the fabric asks
//	attach  the fabric gives the links signal and answers when they are up
//	leave   the process hands over what it has counted; the fabric emulates the switch itself again
//
// The process is asked for its state ten times a second and whenever the fabric adds up. It tells by itself what happens:
// ports that change, packets that end, faults of the protocol. Telling never holds up the pipeline.
package member
