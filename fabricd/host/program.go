package host

import (
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Program is what a switch forwards by. Its NICs ask it how to send, on whichever host they are.
type Program struct {
	Loading sync.Mutex // serialises what changes the rest
	now     atomic.Pointer[Loaded]
}

// Loaded is a firmware with its tables. Constant.
type Loaded struct {
	Firmware switching.Firmware
	Version  uint64 // 0: it has no tables
}

// NewProgram returns a Program with the tables that fw is made with.
func NewProgram(fw switching.Firmware) *Program {
	p := &Program{}
	p.Set(&Loaded{fw, fw.Version()})
	return p
}

// Set puts l in force. The caller holds Loading, unless nobody else has p yet.
func (p *Program) Set(l *Loaded) { p.now.Store(l) }

// Now is what is in force.
func (p *Program) Now() *Loaded { return p.now.Load() }

// Firmware is that of Now. Constant.
func (p *Program) Firmware() *switching.Firmware { return &p.Now().Firmware }

// Patched is the result of a patch, or Now if the switch has that version already. Errors are those
// of [switching.Firmware.Patched]. The caller holds Loading.
func (p *Program) Patched(place *weft.Place, vcs int, patch *tables.Patch) (*Loaded, error) {
	was := p.Now()
	fw, err := was.Firmware.Patched(was.Version, place, vcs, patch)
	if err != nil || was.Version == patch.To {
		return was, err
	}
	return &Loaded{fw, patch.To}, nil
}
