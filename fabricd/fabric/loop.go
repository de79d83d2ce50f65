package fabric

// loop is the fabric for whoever decides. Decisions are made one after the other: whatever may be
// done only then has this receiver.
type loop struct{ *Fabric }

// inLoop has something done between decisions, and returns when that is done. It is for those
// outside the loop. What is done there waits for no host, no transport and no lock but leaves.
func (f *Fabric) inLoop(do func(l loop)) {
	done := make(chan struct{})
	f.enqueue(&f.inbox, func() {
		defer close(done)
		do(loop{f})
	})
	<-done
}
