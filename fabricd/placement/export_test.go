package placement

import "github.com/weft-fabric/weft"

// HostOf is the position in Parts of who runs a switch.
func (p *Placement) HostOf(s weft.SwitchID) int { return p.of[s] }
