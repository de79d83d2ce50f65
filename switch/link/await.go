package link

import "github.com/weft-fabric/weft"

// A node that moves to another host stops, and goes on there with what it held. Its neighbours are
// told before: their ends send nothing until the node has begun anew, so that nothing is on the
// wires when it goes, and the new epoch that it begins is no loss of the link. What is queued for
// it waits.

// Await has an end that is up send no packets until the neighbour begins a new epoch, which is no
// fault if it does so before a time: the link counts as up all the while. If it does not, the end
// goes on as if nothing had been said. A time that is over ends the waiting.
func (e *End) Await(now, until weft.Time) {
	if e.state == Up && now < until {
		r := e.seldom()
		e.awaiting, r.awaits, r.until = true, until-now, until
		r.explained = max(r.explained, until)
	} else {
		e.endAwait()
	}
}

// endAwait has the end send again.
func (e *End) endAwait() { e.awaiting = false }

// Awaits is how long packets wait for the neighbour to begin anew, from when that was said; 0: they
// do not.
func (e *End) Awaits() weft.Time {
	if !e.awaiting {
		return 0
	}
	return e.rare.awaits
}

// Leave takes signal from the end of a node that goes to another host, which is no loss of the
// link.
func (e *End) Leave() { e.fall() }

// Come has the end of a node that comes from another host, which has no signal and whose buffers
// are empty, begin above an epoch, the latest that the host before may have used.
func (e *End) Come(above weft.Epoch) { e.mine = max(e.mine, above) }

// Keep takes a place in the buffer of vc for a packet that came to the host before. It reports
// whether there was one.
func (e *End) Keep(vc weft.VC) bool {
	c := e.channel(vc)
	if c.held == uint32(e.buffer) {
		return false
	}
	c.held++
	return true
}

// Refuse has the end hear no epoch of its neighbour up to one: another host has run the neighbour
// then, and may still do so although nobody hears from it.
func (e *End) Refuse(epoch weft.Epoch) { e.floor = max(e.floor, epoch) }
