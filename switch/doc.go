// Package switching is the core of a switch: one pipeline for live and for virtual time. The folder
// is called switch, which is a keyword in Go, hence the package's name.
//
// # The path of a packet
//
// Each stage is a function in pipeline.go, in this order:
//
//	receive   frame -> header; the packet takes a place in its input VC queue
//	route     the firmware names the candidates, or discards; one that takes long is asked (ask.go)
//	select    among the candidates with room, by the selection policy
//	allocate  a slot in the output VC queue is reserved
//	transfer  through the crossbar; the place in the input goes back as a credit
//	schedule  round robin over the VCs that have a packet and a credit
//	transmit  a credit is spent, the header goes into the frame
//
// Receive runs the first five, Transmit the last two; a packet that finds no room waits in its
// input queue, is entered as a waiter at each of its candidates (waiters.go), and is routed anew
// when any of them gets room or a port changes state. Nothing polls.
//
// # What blocks and what never does
//
// Lossless and virtual cut-through at packet granularity: a packet moves on only into a reserved
// slot, leaves only with a credit, and waits whole in one switch. So two rings of packets that wait
// for each other hang, as in a real fabric; [FindDeadlock] finds them in snapshots. Every queue is
// bounded by its configured buffer; slots are allocated once, in New.
//
// # Who drives it
//
// A [Switch] has one owner at a time, holds no lock, clock or goroutine, and implements
// [weft.Core]. switch/switchd drives it live, harness/virtual in virtual time. What it needs from
// outside, the time and random draws, is passed in.
package switching
