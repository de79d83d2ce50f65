package tables

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
)

// FirstVersion is the version of the tables that a switch starts with. A firmware without tables
// has version 0.
const FirstVersion = 1

// Program is what a switch forwards by that is computed elsewhere, and may be replaced while
// packets travel. What a firmware does not use is nil.
type Program struct {
	Tables     *Tables
	Assignment *Assignment
	Routes     *SourceRoutes
	Ways       *Ways
}

// Only is what of a program a firmware uses that has like for its own: its patches may hold no
// more.
func (r Program) Only(like Program) Program {
	if like.Tables == nil {
		r.Tables = nil
	}
	if like.Assignment == nil {
		r.Assignment = nil
	}
	if like.Routes == nil {
		r.Routes = nil
	}
	if like.Ways == nil {
		r.Ways = nil
	}
	return r
}

// Patch is what changes in the program of one switch: in its tables, and in how its NICs send. It
// does not depend on how either side numbers its rows, so whoever has tables that forward alike can
// apply it.
type Patch struct {
	Switch weft.SwitchID `json:"switch"`
	From   uint64        `json:"from"` // the version that it changes; 0: any, it is a whole program
	To     uint64        `json:"to"`   // the version that it makes
	// Routing, unless empty, is another firmware that the switch is to run, by name, with the program
	// that it has by itself but for what follows. From is 0 then.
	Routing string `json:"routing,omitempty"`

	// of the tables; in a whole program, and where there are more virtual channels than before
	Shape     *PatchShape      `json:"shape,omitempty"`
	Rows      []PatchRow       `json:"rows,omitempty"`      // those that Set names
	Set       []PatchSet       `json:"set,omitempty"`       // ascending, none twice
	Addresses []PatchAddresses `json:"addresses,omitempty"` // ascending, none twice; those with a port by port
	Routes    []PatchRoute     `json:"routes,omitempty"`    // ascending, none twice
	Ways      []PatchWay       `json:"ways,omitempty"`      // ascending, none twice
}

// PatchShape is what a TablesShape says of one switch.
type PatchShape struct {
	VCs      int  `json:"vcs"`
	Paths    int  `json:"paths"`
	PerLayer bool `json:"per_layer"`
}

// PatchRow is a way of forwarding, as [Tables.AddChoices] takes one: one entry, or one for each in
// port and what else the tables tell apart. An entry is port, VC, port, VC, ...: its hops.
type PatchRow [][]uint16

// PatchSet gives so many addresses in a row, the first of them number At, a row of the patch; -1:
// none. Addresses are numbered by layer, where tables have rows for each, then by NIC, then by
// path.
type PatchSet struct {
	At  int `json:"at"`
	N   int `json:"n"`
	Row int `json:"row"`
}

// PatchAddresses says by which addresses the NICs of the switch send to N destinations, the first
// of them Dst. With a Port it says it of the NIC at that port alone and one destination, after an
// entry for all of them, which has these addresses too.
type PatchAddresses struct {
	Dst  weft.NICID     `json:"dst"`
	N    int            `json:"n"`
	Port *weft.PortID   `json:"port,omitempty"`
	List []weft.Address `json:"list,omitempty"`
}

// PatchRoute says by which route the NICs of the switch send to Dst.
type PatchRoute struct {
	Dst   weft.NICID       `json:"dst"`
	Route weft.SourceRoute `json:"route"`
}

// PatchWay says by which sub-headers the NICs of the switch send to those of switch Dst; none: by
// none, adaptively.
type PatchWay struct {
	Dst weft.SwitchID   `json:"dst"`
	Sub weft.SubHeaders `json:"sub"`
}

// Errors of [Program.Next].
var (
	ErrPatch   = errors.New("unusable patch")                   // wrapped by all errors about what is in a patch
	ErrVersion = errors.New("the patch is for another version") // wrapped by [VersionError]
)

// VersionError is the error of a patch of another version than the one that a switch has.
type VersionError struct {
	Switch        weft.SwitchID
	Has, From, To uint64
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("switch %d has tables of version %d, the patch changes version %d to %d: send the difference "+
		"from version %d, or a whole program",
		e.Switch, e.Has, e.From, e.To, e.Has)
}

// Unwrap returns [ErrVersion].
func (e *VersionError) Unwrap() error { return ErrVersion }

// Next is the program of the switch at a place once it has a patch; nil when it has that version
// already. It shares what has not changed with r, which stays as it was, and is of this switch
// alone. The patch is not kept.
func (r Program) Next(version uint64, place *weft.Place, p *Patch) (*Program, error) {
	switch {
	case p.Switch != place.Switch:
		return nil, p.wrong("it is for another switch than %s, which is number %d", place.Name, place.Switch)
	case p.To == version:
		return nil, nil
	// a manager that was held up does not undo what the next one did
	case p.From != 0 && p.From != version, p.To < version:
		return nil, &VersionError{Switch: p.Switch, Has: version, From: p.From, To: p.To}
	}
	next, err := r.Patched(place, p)
	return &next, err
}

// Empty reports whether nothing changes but the version.
func (p *Patch) Empty() bool {
	return p.Shape == nil && len(p.Set) == 0 && len(p.Addresses) == 0 && len(p.Routes) == 0 && len(p.Ways) == 0
}

func (p *Patch) wrong(format string, args ...any) error {
	return fmt.Errorf("%w of switch %d to version %d: %s", ErrPatch, p.Switch, p.To, fmt.Sprintf(format, args...))
}
