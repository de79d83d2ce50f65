// Package member is one switch of a running fabric as a process of its own: the process side, and
// the words in which it joins and leaves (see fabricd/fabric for the other side). Once it has a
// spec it is a host of the fabric like any other, see fabricd/host.
//
// # How a process becomes a switch
//
//	join    the fabric ends its own emulation of the switch and answers with a host.Spec: all that the process needs
//	        the process opens the host and serves what the fabric asks; its links have no signal yet
//	attach  the fabric gives the links signal and answers when they are up
//	leave   the fabric takes what the process has counted, and emulates the switch itself again
package member
