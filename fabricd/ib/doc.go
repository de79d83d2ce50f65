// Package ib is the management side of an InfiniBand fabric: what the subnet management agents and
// performance agents of all switches and channel adapters know and answer, how a management
// datagram travels from node to node, and what switches forward by once a subnet manager has
// written tables. Numbers in comments are of the InfiniBand Architecture Specification, volume 1,
// release 1.4.
//
// Everything here is a function of its arguments: no clock, goroutine or I/O. Package ibd drives it
// in a live fabric, package sim has the sockets by which unmodified programs come in.
//
//	s := ib.New(graph, ib.Config{VLs: 8})
//	d := ib.Datagram{...}                    // as a program at a node sends it
//	for s.Step(&d) == ib.Forwarded {}        // hop by hop, over links as they are
//	reply, effects := s.Answer(d.At, &d.MAD) // where it was delivered
//
// Port p of a switch is port p-1 of the graph; port 0 of a switch is its own.
package ib
