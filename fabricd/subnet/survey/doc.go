// Package survey looks at what an engine of fabricd/subnet/layered has computed: which ways packets
// take, how long they are, how they load the channels, whether all arrive, and in what two routings
// differ. It follows the tables and the assignments, as packets do, and knows nothing of how an
// engine came to them.
//
//	s, err := survey.Of(ctx, r)
//	s.Unroutable   // ordered pairs of NICs whose packets do not surely arrive
//	s.Cycle        // of channel dependencies; nil: free from deadlock
//	survey.Ways(r, src, dst)
//
// Everything here is a function of its arguments.
package survey
