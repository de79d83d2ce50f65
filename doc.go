// Package weft is the vocabulary of the Weft fabric emulator: typed ids, the packet header, the frame that travels on a
// link, units, and the seam between a pure core and the driver that runs it. It imports no other package of the project.
//
// # The story of one packet
//
//	NIC core            switch core                                           NIC core
//	generate            receive -> route -> select -> allocate -> transfer     deliver,
//	send queue   link   (input VC queue)                    (output VC queue)  account,
//	    |------------->|                 -> schedule -> transmit ------------->| measure
//	       Frame                                              Frame
//
// Everything on the left of an arrow is a core: a function of (state, time, event) that returns [Actions] and holds no
// clock, lock or goroutine. Everything on an arrow belongs to a driver: switch/switchd with goroutines and NATS subjects
// in live time.
package weft
