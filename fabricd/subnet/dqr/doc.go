// Package dqr is dynamic quick reconfiguration: new paths for the flows that a fault has
// disconnected, and for no others, found so that the dependencies of the old and of the new paths
// together have no cycle (Sem-Jacobsen, Lysne: Topology Agnostic Dynamic Quick Reconfiguration for
// Large-Scale Interconnection Networks). Its tables may therefore come into force while traffic
// runs, in any order within each of two rounds.
//
//	r, err := dqr.New(ctx, routing, dqr.Options{})     // in advance: the channel list of each layer
//	result, err := r.Fail(ctx, func(l *topology.Link) bool { return dead.Cuts(l) })
//	first, err := r.First()                       // to be uploaded before, in many cases not needed: see there
//	tables, err := r.Routing()                    // to be uploaded
//	r.Settle()                                    // when the packets that travelled by old tables are gone
//
// The channel list (section III) is a topological order of the channels of a layer: every
// dependency in force leads upward in it. A turn that leads upward is free. Another one may be
// enabled when its target can be moved up, along with what depends on it, without meeting the
// channel that the turn leaves. See docs/explanation/dqr.md for the options and why they are as
// they are.
//
// Everything here is a function of its arguments, and belongs to one goroutine.
package dqr
