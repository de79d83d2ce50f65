package fabric

import "github.com/weft-fabric/weft/fabricd/part"

// What makes cores, in this process and in others, takes options that travel.

func (o SwitchOptions) forParts() part.SwitchOptions {
	return part.SwitchOptions{
		VCs: o.VCs, InputBuffer: o.InputBuffer, OutputBuffer: o.OutputBuffer, Queueing: o.Queueing, Selection: o.Selection,
		Waiting: o.Waiting, EagerCredits: o.EagerCredits, Requeue: o.Requeue, Batch: o.Batch,
	}
}

func (o NICOptions) forParts() part.NICOptions {
	return part.NICOptions{QueueBytes: o.QueueBytes, PacketBytes: o.PacketBytes, TraceEvery: o.TraceEvery, Notices: o.Notices}
}

func (f *Fabric) linkOptions() part.LinkOptions {
	o := f.opts.Link
	return part.LinkOptions{Rate: o.Rate, Pace: o.pace(), Liveness: o.Liveness, Inbox: f.inboxSize()}
}

// inboxSize bounds the frames that can be on their way to one port: each with packets has taken a credit, each without
// gives one that the port cannot have used yet, twice over for an epoch that has just ended, and some for handshakes.
func (f *Fabric) inboxSize() int {
	credits := f.opts.Switch.VCs * f.opts.Switch.InputBuffer
	return 2*(credits+credits) + 32
}
