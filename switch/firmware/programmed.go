package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
)

// The firmwares whose program can be replaced.
var (
	_ Programmed = Layered{}
	_ Programmed = LayeredAdaptive{}
	_ Programmed = Escaping{}
	_ Programmed = Static{}
)

// Program implements [Programmed].
func (f Layered) Program() Program { return Program{Tables: f.Tables, Assignment: f.Assignment} }

// Patched implements [Programmed].
func (f Layered) Patched(place *weft.Place, p *Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return Layered{Tables: r.Tables, Assignment: r.Assignment}, nil
}

// Program implements [Programmed].
func (f LayeredAdaptive) Program() Program {
	return Program{Tables: f.Tables, Assignment: f.Assignment}
}

// Patched implements [Programmed].
func (f LayeredAdaptive) Patched(place *weft.Place, p *Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return LayeredAdaptive{Tables: r.Tables, Assignment: r.Assignment}, nil
}

// Program implements [Programmed].
func (f Escaping) Program() Program { return Program{Tables: f.Tables, Assignment: f.Assignment} }

// Patched implements [Programmed].
func (f Escaping) Patched(place *weft.Place, p *Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return Escaping{Tables: r.Tables, Assignment: r.Assignment, Escape: f.Escape}, nil
}

// Program implements [Programmed].
func (f Static) Program() Program { return Program{Tables: f.Tables} }

// Patched implements [Programmed].
func (f Static) Patched(place *weft.Place, p *Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return Static{Tables: r.Tables}, nil
}
