package verify

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/work"
	switching "github.com/weft-fabric/weft/switch"
)

// ErrConfig is wrapped by every error about what was asked for.
var ErrConfig = errors.New("cannot verify")

// When says when the faults of a set come.
type When uint8

// The moments at which faults can come.
const (
	Before   When = iota // they are there before the first packet
	Arriving             // one after another between any two hops of a packet, and stay
	Flapping             // they come and go between any two hops
	// some came and were repaired before the packet sets out, the others are there; none changes
	// while it travels
	Repaired
)

// Registers says what a packet finds in the registers of the switches.
type Registers uint8

// What a packet may find.
const (
	// Shared: whatever the packets of all flows can have written before and while it travels.
	// Timers are taken to be longer than a packet's life, so that nothing is zeroed meanwhile.
	Shared Registers = iota
	// Alone: it has the fabric to itself, so that registers hold what it wrote.
	Alone
)

// Config says what to verify.
type Config struct {
	Graph    *topology.Graph
	Firmware switching.Firmware
	// Around, if given, makes the firmware for each set of faults, knowing it: the static fault
	// model, in which packets meet no dead link. Pairs that nothing joins are not judged then.
	// Several goroutines call it at once. Firmware is what is there without a fault.
	Around func(dead *subnet.Dead) (fw switching.Firmware, vcs int, err error)
	// Mixed, if given, is a second firmware: each switch runs one of the two, and every subset of
	// the switches is explored.
	Mixed *Mixed
	// Name of the firmware, for the result. It also tells apart the checkpoints of firmwares that
	// hold pointers.
	Name string
	VCs  int // virtual channels; 0 is the least the firmware accepts
	Sets Sets
	When When
	// AtOnce is how many faults of a set can be dead at one moment, when faults also go (Flapping,
	// Repaired). 0 is all of them.
	AtOnce int
	// OneByOne has a switch of a set that is back (Flapping) with its ports up one by one, in any
	// order. Weft's switches return whole ([switching.ReturnWait]), and their neighbours see them
	// in any order: that is what Flapping has without OneByOne.
	OneByOne bool
	Regs     Registers
	// FixedChoice makes a packet keep to the output it chose first while it waits. Weft's pipeline
	// chooses anew; with a fixed choice adaptive functions have deadlocks that they do not have
	// otherwise.
	FixedChoice bool
	// Subfunction, if given, is checked by Duato's condition; see [Subfunction].
	Subfunction Subfunction
	// NoSymmetry explores every set, or every destination where all sets are explored at once, even
	// when the firmware says it is the same to it as one that was explored. The claim is checked at
	// every decision, in large trees at a sample; where it is wrong, all are explored too, and
	// [Result].Asymmetry says why.
	NoSymmetry bool
	// Exhaustive explores the sets one by one, also where all can be explored at once.
	Exhaustive bool
	Workers    int // goroutines; 0 is one per core
	// Engine explores the sets one by one, or, where there are too many for that, the destinations
	// with all sets at once; nil: goroutines of this process.
	Engine work.Engine
	// Memory is about how many bytes the process may take; 0: what is kept is bounded by our choice, a
	// gigabyte for each worker at most and far less as a rule. Where all sets are explored at once and
	// a destination needs more than its worker's share, it is explored alone, and if that is too
	// little, pair by pair. A pair that needs more is an error that says so.
	Memory int64
	// Progress, if given, is told how many of the sets are done. It is called from one goroutine at
	// a time.
	Progress func(done, total uint64)
	// Destinations, if given, is told the same of destinations, or pairs, while all sets are explored
	// at once.
	Destinations func(done, total uint64)
	// StopAtFirst ends at the first set with a fault found, as soon as smaller sets are done.
	StopAtFirst bool
	// Checkpoint names a file in which the sets that are done, or the destinations, are kept every few
	// seconds, and from which a run that was interrupted goes on. One run at a time can have it. What
	// it holds was found by the firmware's code as it was then: remove it when that has changed.
	Checkpoint string
	// Compare also asks of every set whether all pairs are connected by up/down tables made anew
	// and physically. Several goroutines call it at once.
	Compare func(set []Element) (updown, physical bool)

	questions int // most that a check of symmetry may take; 0: maxQuestions
}

func (c *Config) check() error {
	if c.Graph == nil || c.Firmware.Route == nil || c.Mixed != nil && c.Mixed.Firmware.Route == nil {
		return fmt.Errorf("%w: a topology and a firmware are required", ErrConfig)
	}
	if len(c.Graph.NICs) < 2 {
		return fmt.Errorf("%w: %s has %d NICs, and a pair needs two", ErrConfig, c.Graph.Spec, len(c.Graph.NICs))
	}
	if c.Workers < 1 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	c.VCs = cmp.Or(c.VCs, c.leastVCs())
	if c.VCs > weft.MaxVCs {
		return fmt.Errorf("%w: %d virtual channels, at most %d", ErrConfig, c.VCs, weft.MaxVCs)
	}
	if err := c.fits(c.firmwares()...); err != nil {
		return err
	}
	if c.Mixed != nil && c.Subfunction != nil {
		return fmt.Errorf("%w: a routing subfunction is that of one firmware, and there is none for a mixture",
			ErrConfig)
	}
	if c.knowing() && c.When != Before {
		return fmt.Errorf("%w: a routing that is computed knowing what is dead has no way for faults that come while "+
			"packets travel", ErrConfig)
	}
	if most := c.Sets.largest(); c.When != Before && most > maxMoving {
		return fmt.Errorf("%w: faults that come while packets travel, at most %d at a time, not %d", ErrConfig,
			maxMoving, most)
	}
	if most := tooMany(c); c.OneByOne && most > 0 {
		return fmt.Errorf("%w: ports that come up one by one: at most %d a switch, not %d", ErrConfig, mostOneByOne, most)
	}
	if c.OneByOne && c.When != Flapping {
		return fmt.Errorf("%w: switches whose ports come up one by one are switches that come back: ask for flapping faults",
			ErrConfig)
	}
	if c.Memory < 0 {
		return fmt.Errorf("%w: %d bytes of memory: give how many the process may take, or 0", ErrConfig, c.Memory)
	}
	if c.AtOnce < 0 || c.AtOnce > 0 && c.When != Flapping && c.When != Repaired {
		return fmt.Errorf("%w: at most %d faults at once: that is for faults that also go, flapping or repaired",
			ErrConfig, c.AtOnce)
	}
	return nil
}

// firmwares are the one, or the two of a mixture.
func (c *Config) firmwares() []switching.Firmware {
	if c.Mixed == nil {
		return []switching.Firmware{c.Firmware}
	}
	return []switching.Firmware{c.Firmware, c.Mixed.Firmware}
}

// leastVCs is the least number of virtual channels that the firmwares run with.
func (c *Config) leastVCs() (least int) {
	for _, fw := range c.firmwares() {
		needs := subnet.LeastVCs(fw, c.Graph)
		least = max(least, cmp.Or(needs, weft.MaxVCs)) // with none the firmware says what else is lacking
	}
	return least
}

// fits asks firmwares whether every switch can run them.
func (c *Config) fits(fws ...switching.Firmware) error {
	for _, fw := range fws {
		for _, s := range c.Graph.Switches {
			if err := fw.Fits(c.Graph.Place(s.ID), c.VCs); err != nil {
				return fmt.Errorf("%w: switch %s: %w", ErrConfig, s.Name, err)
			}
		}
	}
	return nil
}

// maxMoving bounds the faults of a set that move: every subset of them is a moment of its own.
const maxMoving = 6

// mostOneByOne bounds the ports of a switch whose ports come up one by one: every subset of them is
// asked for.
const mostOneByOne = 16

// tooMany is the most ports of a switch, if they are too many for that.
func tooMany(c *Config) (most int) {
	for s := range c.Graph.Switches {
		if n := c.Graph.Place(weft.SwitchID(s)).Ports(); n > mostOneByOne {
			most = max(most, n)
		}
	}
	return most
}
