package ibd

import "sync"

// notes are what the operator is told of programs and switches: of each the first alone, for a
// program that talks nonsense may do so a million times. Any goroutine may call it.
type notes struct {
	note func(string)

	mu   sync.Mutex // not held while the operator is told
	told map[string]bool
}

// mostNotes bounds all that is told of; chosen by us.
const mostNotes = 256

// add tells something of who, unless something of it was told before.
func (n *notes) add(who, text string) {
	n.mu.Lock()
	known := n.told[who] || len(n.told) >= mostNotes
	if !known {
		n.told[who] = true
	}
	last := !known && len(n.told) == mostNotes
	n.mu.Unlock()
	switch {
	case known:
		return
	case last:
		text += " (what else there is of the kind is not told any more)"
	}
	n.note(who + ": " + text)
}
