package fabric

// loop is the receiver of all that may run only in the leader's loop, where decisions are made one
// after the other.
type loop struct{ *Fabric }

// inLoop runs do between decisions and returns when do has returned. Callers are outside the loop.
// In do, wait for no host, no transport, and no lock but leaf locks.
func (f *Fabric) inLoop(do func(l loop)) {
	done := make(chan struct{})
	f.enqueue(&f.inbox, func() {
		defer close(done)
		do(loop{f})
	})
	<-done
}
