// Package reroute answers what a reconfiguration would do: faults come one after another, each is
// reconfigured around and the old packets are gone before the next, and each [Step] tells which
// flows it moved and whether what is left is connected and free from deadlock.
//
//	r, err := reroute.New(ctx, g, "xy", method, reroute.Options{}) // an engine, a method of fabricd/subnet/manage
//	step, err := r.Try(ctx, links...)             // what if these links died now?
//	step, err = r.Fail(ctx, links...)             // they die, and the next fault finds it so
//
// Everything here is a function of its arguments: no clock, no draw and no I/O.
package reroute
