package fabric

import "github.com/weft-fabric/weft/fabricd/host"

// linkOptions are the options of links as hosts get them.
func (f *Fabric) linkOptions() host.LinkOptions {
	o := f.opts.Link
	return host.LinkOptions{Rate: o.Rate, Pace: o.pace(), Liveness: o.Liveness, Inbox: f.inboxSize()}
}

// inboxSize bounds the frames that can be on their way to one port. A frame with packets has taken
// a credit; one without gives a credit that the port cannot have used yet. Both count twice, for an
// epoch that has just ended, and some are for handshakes.
func (f *Fabric) inboxSize() int {
	credits := f.opts.Switch.VCs * f.opts.Switch.InputBuffer
	return 2*(credits+credits) + 32
}
