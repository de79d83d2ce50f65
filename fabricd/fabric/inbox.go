package fabric

// inboxSize bounds the frames that can be on their way to one port. A frame with packets has taken
// a credit; one without gives a credit that the port cannot have used yet. Both count twice, for an
// epoch that has just ended, and a few are for handshakes and hellos, of which those beyond are
// dropped, see wire.Crowded. An inbox takes memory for all that it can hold.
func (o Options) inboxSize() int {
	credits := o.Switch.VCs * o.Switch.InputBuffer
	return 2*(credits+credits) + 8
}
