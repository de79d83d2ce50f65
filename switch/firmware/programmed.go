package firmware

import (
	"github.com/weft-fabric/weft"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// The firmwares whose program can be replaced.
var (
	_ tables.Programmed = Layered{}
	_ tables.Programmed = LayeredAdaptive{}
	_ tables.Programmed = Escaping{}
	_ tables.Programmed = Static{}
)

// Program implements [tables.Programmed].
func (f Layered) Program() tables.Program {
	return tables.Program{Tables: f.Tables, Assignment: f.Assignment}
}

// Patched implements [tables.Programmed].
func (f Layered) Patched(place *weft.Place, p *tables.Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return Layered{Tables: r.Tables, Assignment: r.Assignment}, nil
}

// Program implements [tables.Programmed].
func (f LayeredAdaptive) Program() tables.Program {
	return tables.Program{Tables: f.Tables, Assignment: f.Assignment}
}

// Patched implements [tables.Programmed].
func (f LayeredAdaptive) Patched(place *weft.Place, p *tables.Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return LayeredAdaptive{Tables: r.Tables, Assignment: r.Assignment}, nil
}

// Program implements [tables.Programmed].
func (f Escaping) Program() tables.Program {
	return tables.Program{Tables: f.Tables, Assignment: f.Assignment}
}

// Patched implements [tables.Programmed].
func (f Escaping) Patched(place *weft.Place, p *tables.Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return Escaping{Tables: r.Tables, Assignment: r.Assignment, Escape: f.Escape}, nil
}

// Program implements [tables.Programmed].
func (f Static) Program() tables.Program { return tables.Program{Tables: f.Tables} }

// Patched implements [tables.Programmed].
func (f Static) Patched(place *weft.Place, p *tables.Patch) (switching.Firmware, error) {
	r, err := f.Program().Patched(place, p)
	if err != nil {
		return nil, err
	}
	return Static{Tables: r.Tables}, nil
}
