package host

import (
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Program is what a switch forwards by. Its NICs ask it how to send, wherever they are.
type Program struct {
	Loading sync.Mutex // serialises what changes the rest
	now     atomic.Pointer[Loaded]
}

// Loaded is a firmware with its tables. Constant.
type Loaded struct {
	Firmware switching.Firmware
	Version  uint64 // 0: it has no tables
}

// NewProgram returns one that forwards by fw as it is made.
func NewProgram(fw switching.Firmware) *Program {
	p := &Program{}
	p.Set(&Loaded{fw, tables.VersionOf(fw)})
	return p
}

// Set makes l what the switch forwards by. The caller holds Loading, unless nobody else has p yet.
func (p *Program) Set(l *Loaded) { p.now.Store(l) }

// Now is what the switch forwards by.
func (p *Program) Now() *Loaded { return p.now.Load() }

// Firmware is that of Now.
func (p *Program) Firmware() switching.Firmware { return p.Now().Firmware }

// Patched is what the switch forwards by once a patch is applied; Now itself when it has that
// version already. Errors are those of [tables.Apply]. The caller holds Loading.
func (p *Program) Patched(place *weft.Place, vcs int, patch *tables.Patch) (*Loaded, error) {
	was := p.Now()
	fw, err := tables.Apply(was.Firmware, was.Version, place, vcs, patch)
	if err != nil || was.Version == patch.To {
		return was, err
	}
	return &Loaded{fw, patch.To}, nil
}
