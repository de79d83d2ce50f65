// Package weft is the vocabulary of the Weft fabric emulator: typed ids, the packet header, the
// frame that travels on a link, units, and the seam between a pure core and the driver that runs
// it. It imports no other package of the project.
//
// # The story of one packet
//
//	NIC core            switch core                                           NIC core
//	generate            receive -> route -> select -> allocate -> transfer     deliver,
//	send queue   link   (input VC queue)                    (output VC queue)  account,
//	    |------------->|                 -> schedule -> transmit ------------->| measure
//	       Frame                                              Frame
//
// The columns are cores: functions of (state, time, event) that return [Actions] and hold no clock,
// lock or goroutine. The arrows between them, and the time, belong to a driver: switch/switchd,
// with goroutines per port over NATS subjects.
package weft
