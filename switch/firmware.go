package switching

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// Firmware is the code that a switch runs: the routing function, and what else it declares. Route
// alone is required. One value serves all switches of a fabric: what a switch remembers is in
// Registers, which live in the switch. No function may change or keep what it is given.
//
// Whoever wants another firmware that differs a little copies one and replaces a field.
type Firmware struct {
	Name      string    // as in --routing
	About     string    // what it does, in one line for help
	On        Shape     // the topologies that it routes
	VCs       int       // virtual channels that it needs at least; 0 is 1
	Tolerance Tolerance // the faults with which it still connects every pair
	Options   []Option  // what can follow its name

	// Route decides for one packet that is next in its input queue. It may run again for the same
	// packet when no candidate had room. Its answer may use the storage of sw.Scratch.
	Route func(pkt *weft.Header, at Arrival, sw View) Decision
	// Batch decides for many packets at once, for a firmware that may take long, as another process
	// does; nil: it takes no time. A switch then calls no Route: live the packets wait, with the
	// reason StallFirmware, and the switch goes on; in virtual time all waits for the answer. Batch
	// looks at the asks and takes no time either. The function that it returns may: it sets the
	// Decision or the Err of each ask, and looks at no View. Both may be called by several goroutines.
	// Route decides the same, for whoever explores what the firmware does.
	Batch func(asks []*Ask) (decide func())
	// Reads is what Batch looks at beside the packet, its arrival, the registers and which ports are
	// up. If that is nothing, a packet that has to wait for room keeps its decision.
	Reads Asked

	// Check says why a switch at this place, with so many VCs, cannot run it, and what to do, though
	// On and VCs are met; nil: it can.
	Check func(place *weft.Place, vcs int) error
	// Registers declares the state of a switch at this place; nil: it keeps none.
	Registers func(place *weft.Place) []Register

	// CheckRequeue says why packets may not be routed a second time at a switch in this place when
	// the link that they were queued for has died; nil: they never may.
	//
	// Such a packet is routed as if it had arrived only now, but it waits in the output queue of the
	// dead link, not in the input queue it came by. It waits for what a packet in that input queue
	// would wait for, and nobody waits for the dead channel but packets of its flow behind it, which
	// came by the same channel. So it closes no circle of waiting that was not there, as long as the
	// firmware decides by the arrival, by which links are dead and by its registers, names no dead
	// port, and never asks whether the packet holds a place in the channel it came by. Bubble flow
	// control does ask. See docs/reference/routing.md.
	CheckRequeue func(place *weft.Place) error
	// LeastRoom is how many packets an output queue of a switch at this place must hold, for a
	// firmware that asks for more than one free place (see [Candidate].Need): else none would ever
	// have as many. nil: 1.
	LeastRoom func(place *weft.Place) int

	// Source has NICs write routing fields into the packets that they send: what the NIC at a port of
	// its switch, leaf, knows of the way into the fields of h, which are those of [weft.NewFields] so
	// far. It may run again for the same packet and changes nothing else of h. nil: they write none.
	Source func(leaf *weft.Place, at weft.PortID, h *weft.Header)
	// HeaderBytes is how many bytes fields take on the wire beside the size with which a packet is
	// generated; nil: none.
	HeaderBytes func(f *weft.Fields) int
	// Addresses are those that the NIC at a port of its switch, leaf, chooses among at random for
	// each packet to dst, all alike, and in which virtual layers it sends (A and T of Lysne, Skeie,
	// Reinemo, Theiss: Layered Routing in Irregular Networks); not to be written to. None, or nil:
	// packets go to address 0 of their destination and enter in VC 0.
	Addresses func(leaf *weft.Place, at weft.PortID, dst weft.NICID) []weft.Address
	// MostHops is how many switches a packet crosses at most, the first and the last among them. What
	// has crossed as many is discarded, as looping, by the switch that it comes to then. 0 is
	// [weft.MaxHops].
	MostHops int

	// ChannelNumber is the number of the channel that leaves a switch at this place by a port that
	// leads to a switch: each hop of a packet is in a channel of a higher number than the one before.
	// There is then no deadlock, whatever is dead (Dally and Seitz). nil: they are not numbered.
	ChannelNumber func(place *weft.Place, p weft.PortID, vc weft.VC) int
	// DestinationBased says that the decision depends on where a packet goes, on how it came and on
	// its routing fields, and not on its source, its place in the flow, its size, age or hops.
	// Whoever explores what it does need not look at every source.
	DestinationBased bool
	// Symmetric says, in trees, that the ports of one direction are all alike to it: with up ports
	// and down ports renumbered, it gives the same candidates, renumbered. Fault sets that differ by
	// the digits' values only are then the same to it. Package harness/verify checks the claim.
	Symmetric bool
	// Vectors says, in trees, that every register is a vector of up ports, whose bit j stands for up
	// port j. A decision that looks at a register looks at one, which depends on the switch and the
	// destination alone. It offers up ports, leaves those out whose bit is set or that the packet came
	// by, and sets the bit of this one; of registers it looks at nothing else. Package harness/verify
	// checks the claim.
	Vectors bool
	// Cyclic says, in trees with one radix, that the firmware does the same, moved on, where the
	// subtrees below the highest switches are moved on by any number, the last to the front: it goes
	// through down ports in a circle that begins at the one towards the destination, or they are all
	// alike to it. While the port that a packet came by is up, it does the same also where two of
	// these subtrees without the destination change places: they are nothing to it. Package
	// harness/verify checks the claim, in large trees for a sample of states.
	Cyclic bool
	// Notifies says that some discards set [Decision].Notify.
	Notifies bool

	// Engine is the routing that computes Program, as "updn:layers=2", for a firmware that comes
	// without: Programmed then makes it for a topology, and Route may be nil before. Its NICs send as
	// those of the engine's own firmware do. "": it needs no engine.
	Engine string
	// Program is what it forwards by that was computed for the topology; nil: it has rules alone.
	Program *tables.Program
	// Programmed is the firmware with another program; nil: there can be none.
	Programmed func(p *tables.Program) Firmware
}

// Option is what can follow the name of a firmware, as step in "myfw:step=3". It is of one value:
// whoever makes the firmware anew has options anew, which are set before Route is called first.
type Option struct {
	Name   string                  `json:"name"`
	Values string                  `json:"values"` // that it takes, in words: "a number from 1 to 16"
	About  string                  `json:"about"`
	Set    func(value string) bool `json:"-"` // false: it is none of these
}

// Number is an option that takes a number from one to another and writes it to p, which holds the
// default.
func Number(name, about string, from, to int, p *int) Option {
	return Option{name, fmt.Sprintf("a number from %d to %d", from, to), about, func(value string) bool {
		n, err := strconv.Atoi(value)
		if err != nil || n < from || n > to {
			return false
		}
		*p = n
		return true
	}}
}

// Word is an option that takes one of some words and writes which to p, from 0; p holds the
// default.
func Word(name, about string, p *int, words ...string) Option {
	last := len(words) - 1
	values := strings.TrimPrefix(strings.Join(words[:last], ", ")+" or "+words[last], " or ")
	return Option{name, values, about, func(value string) bool {
		i := slices.Index(words, value)
		if i < 0 {
			return false
		}
		*p = i
		return true
	}}
}

// NeedsVCs is how many virtual channels the firmware needs at least.
func (f *Firmware) NeedsVCs() int { return max(1, f.VCs) }

// Fits says whether a switch at this place with so many VCs can run the firmware, and if not, why
// and what to do.
func (f *Firmware) Fits(place *weft.Place, vcs int) error {
	switch {
	case f.On == Trees && place.Tree == nil:
		return fmt.Errorf("firmware %s routes trees only: choose such a topology, as kary-ntree:4,3", f.Name)
	case f.On == Grids && place.Grid == nil:
		return fmt.Errorf("firmware %s routes meshes, tori and rings only: choose such a topology, as torus:4x4",
			f.Name)
	case vcs < f.NeedsVCs():
		return fmt.Errorf("firmware %s needs %d virtual channels, there are %d: raise the number",
			f.Name, f.NeedsVCs(), vcs)
	case f.Check == nil:
		return nil
	}
	if err := f.Check(place, vcs); err != nil {
		return fmt.Errorf("firmware %s %w", f.Name, err)
	}
	return nil
}

// Requeues says why packets cannot be routed a second time at a switch in this place; nil: they
// can.
func (f *Firmware) Requeues(place *weft.Place) error {
	if f.CheckRequeue == nil {
		return fmt.Errorf("firmware %s does not say that packets may be routed a second time without deadlock: "+
			"run it without requeue", f.Name)
	}
	return f.CheckRequeue(place)
}

// RegistersAt are those of a switch at this place.
func (f *Firmware) RegistersAt(place *weft.Place) []Register {
	if f.Registers == nil {
		return nil
	}
	return f.Registers(place)
}

// Version is that of the program with which a switch starts; 0: it has none that can be replaced.
func (f *Firmware) Version() uint64 {
	if f.Programmed == nil {
		return 0
	}
	return tables.FirstVersion
}

// ErrNotProgrammed means that a firmware decides by rules alone.
var ErrNotProgrammed = errors.New("it has no tables that could be replaced")

// Patched is the firmware of the switch at a place, of so many virtual channels, once it has a
// patch; f itself, whose program has that version, if it has it already. It shares what has not
// changed with f, which stays as it was, and knows the tables of this switch alone. The patch is
// not kept.
func (f *Firmware) Patched(version uint64, place *weft.Place, vcs int, p *tables.Patch) (Firmware, error) {
	if f.Programmed == nil {
		return *f, fmt.Errorf("new tables for switch %s: firmware %s: %w", place.Name, f.Name, ErrNotProgrammed)
	}
	program, err := f.Program.Next(version, place, p)
	if err != nil || program == nil {
		return *f, err
	}
	next := f.Programmed(program)
	if err := next.Fits(place, vcs); err != nil {
		return *f, fmt.Errorf("%w: %w", tables.ErrPatch, err)
	}
	return next, nil
}

// Write has h, a packet that the NIC at a port of its switch, leaf, sends, written to as the
// firmware asks, and makes it as much longer as its HeaderBytes says, but no longer than
// [weft.MaxPacket].
func (f *Firmware) Write(leaf *weft.Place, at weft.PortID, h *weft.Header) {
	if f.Source != nil {
		f.Source(leaf, at, h)
	}
	if f.HeaderBytes != nil {
		h.Size = longer(h.Size, f.HeaderBytes(&h.Fields))
	}
}

// Writes reports whether Write changes any packet.
func (f *Firmware) Writes() bool { return f.Source != nil || f.HeaderBytes != nil }
