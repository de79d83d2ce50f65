package host

import (
	"fmt"
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
	Version  uint64 // 0: it has no tables, and is the one that the fabric began with
	// Routing is the name by which it was made, when it was loaded in place of another; "" when it is
	// the fabric's.
	Routing string
}

// Whole is what makes a switch that is as the fabric began run l; nil: it does already.
func (l *Loaded) Whole(id weft.SwitchID, first uint64) *tables.Patch {
	switch {
	case l.Firmware.Programmed != nil && (l.Version != first || l.Routing != ""):
		p := tables.Diff(id, tables.Program{}, *l.Firmware.Program, 0, l.Version)
		p.Routing = l.Routing
		return p
	case l.Routing != "":
		return &tables.Patch{Switch: id, To: l.Version, Routing: l.Routing}
	}
	return nil
}

// Maker makes a firmware by name for the topology of the fabric.
type Maker func(routing string) (switching.Firmware, error)

// NewProgram returns a Program with the tables that fw is made with.
func NewProgram(fw switching.Firmware) *Program {
	p := &Program{}
	p.Set(&Loaded{Firmware: fw, Version: fw.Version()})
	return p
}

// Set puts l in force. The caller holds Loading, unless nobody else has p yet.
func (p *Program) Set(l *Loaded) { p.now.Store(l) }

// Now is what is in force.
func (p *Program) Now() *Loaded { return p.now.Load() }

// Firmware is that of Now. Constant.
func (p *Program) Firmware() *switching.Firmware { return &p.Now().Firmware }

// Patched is the result of a patch, or Now if the switch has that version already. Errors are those
// of [switching.Firmware.Patched] and of make, which is asked for the other firmware where the
// patch names one. The caller holds Loading.
func (p *Program) Patched(place *weft.Place, vcs int, patch *tables.Patch, make Maker) (*Loaded, error) {
	was := p.Now()
	next := *was
	if patch.Routing != "" {
		switch {
		case patch.To == was.Version && patch.Routing == was.Routing:
			return was, nil
		case patch.To <= was.Version: // a leader that was held up does not undo what the next one did
			return was, &tables.VersionError{Switch: place.Switch, Has: was.Version, To: patch.To}
		}
		fw, err := make(patch.Routing)
		if err == nil {
			err = fw.Fits(place, vcs)
		}
		if err != nil {
			return was, fmt.Errorf("firmware for switch %s: %w", place.Name, err)
		}
		if next = (Loaded{fw, 0, patch.Routing}); patch.Empty() {
			next.Version = patch.To
			return &next, nil
		}
	}
	fw, err := next.Firmware.Patched(next.Version, place, vcs, patch)
	if err != nil || next.Version == patch.To {
		return was, err
	}
	return &Loaded{fw, patch.To, next.Routing}, nil
}
