package switchd

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// Impair replaces what port p's outgoing direction suffers. The zero Impairment heals it. Frames on
// their way arrive no later than if they had set out now.
func (d *Driver) Impair(p weft.PortID, i link.Impairment) {
	d.senders[p].impairment.Store(&i)
	d.wake(p) // it may be waiting at the old rate
}

// unimpaired is what ports suffer before Impair, one for all: each frame looks at it. Nobody writes
// it.
var unimpaired = new(link.Impairment)
