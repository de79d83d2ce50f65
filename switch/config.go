package switching

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// ErrConfig is wrapped by every error about a configuration.
var ErrConfig = errors.New("unusable switch configuration")

// Queueing says which packets of an input VC queue may go.
type Queueing uint8

// The ways to queue.
const (
	// VirtualOutput lets any packet go that overtakes none of its own flow: the virtual output
	// queues of the papers.
	VirtualOutput Queueing = iota
	// FIFO lets only the head go.
	FIFO
)

// Selection says which candidate is taken when several have room.
type Selection uint8

// The selection policies. Candidates of a lower class always come first.
const (
	MostCredits Selection = iota // the most room in output queue and neighbour together; ties in turn
	Random                       // uniform over those with room
	RoundRobin                   // in turn
)

// Waiting says which of its candidates a packet waits for when none has room.
type Waiting uint8

// The ways to wait.
const (
	// WaitForAll routes a packet anew as soon as any of its candidates has room.
	WaitForAll Waiting = iota
	// WaitForOne picks one candidate, in turn among those of the lowest class whose ports are up,
	// and waits until it has room. A candidate that is picked is waited for though others may never
	// fill up, so what is free of deadlock only by an escape that is always offered is not: a
	// firmware each of whose candidates is safe by itself is.
	WaitForOne
)

// Rand is a source of random draws. *math/rand/v2.PCG is one.
type Rand interface{ Uint64() uint64 }

// Config of a switch. Immutable once passed to New.
type Config struct {
	Place    *weft.Place
	Firmware Firmware
	Version  uint64 // of the tables that Firmware forwards by, see [Switch.Load]; 0: it has none
	Rand     Rand   // one stream per switch; owned by the switch from then on

	VCs int // virtual channels per link direction, 1 to weft.MaxVCs; 0 means 1
	// InputBuffer is packets per input VC queue, 1 to weft.MaxBuffer; 0 means 2 (512 bytes of 256-byte
	// packets, as in the papers).
	InputBuffer  int
	OutputBuffer int // packets per output VC queue, 1 to weft.MaxBuffer; 0 means 2
	Queueing     Queueing
	Selection    Selection
	Waiting      Waiting
	// Scratch has room for the candidates of a decision, which switches that are stepped by one
	// goroutine can share: as many as the largest of them has ports and VCs. Without the room a switch
	// has its own.
	Scratch []Candidate

	EagerCredits bool // return each credit at once; see link.Config.Eager
	// Requeue routes the packets in the output queue of a link that dies anew, instead of losing
	// them as the papers do. The firmware must allow it.
	Requeue bool
	// Notices has the source of a packet told that it was discarded, where the firmware says so.
	Notices bool

	// Panicked hears of a panic in the firmware's Route, before anything of its stack is gone, and
	// the packet is discarded by RulePanicked. It must return at once and must not call the switch.
	// nil: the panic goes on to whoever called the switch.
	Panicked func(RoutePanic)

	Liveness link.Liveness // of every link; the zero value notices no silence
	Epoch    weft.Epoch    // of every link before its first; see link.Config.First
}

// DefaultBuffer is the papers' buffer: two 256-byte packets per VC.
const DefaultBuffer = 2

// Bounds of the memory of one switch: of the packets it can hold, some 100 bytes each, and of the
// matrix of which of them waits for which output queue, two bits each.
const (
	maxSlots   = 1 << 22
	maxWaiting = 1 << 30
)

func (c Config) withDefaults() Config {
	if c.VCs == 0 {
		c.VCs = 1
	}
	if c.InputBuffer == 0 {
		c.InputBuffer = DefaultBuffer
	}
	if c.OutputBuffer == 0 {
		c.OutputBuffer = DefaultBuffer
	}
	return c
}

func (c Config) validate() error {
	if c.Place == nil || c.Firmware.Route == nil || c.Rand == nil {
		return fmt.Errorf("%w: place, firmware and random source are required", ErrConfig)
	}
	channels := c.Place.Ports() * c.VCs
	slots := channels * (c.InputBuffer + c.OutputBuffer)
	for _, b := range []struct {
		what       string
		v, lo, top int
	}{
		{"ports", c.Place.Ports(), 1, weft.MaxPorts},
		{"virtual channels", c.VCs, 1, weft.MaxVCs},
		{"input buffer (packets)", c.InputBuffer, weft.MinPackets, weft.MaxBuffer},
		{"output buffer (packets)", c.OutputBuffer, weft.MinPackets, weft.MaxBuffer},
		{"packets in all buffers together", slots, 1, maxSlots},
		{"packets in all buffers times output queues", slots * channels, 1, maxWaiting},
	} {
		if b.v < b.lo || b.v > b.top {
			return fmt.Errorf("%w: switch %s: %s must be %d to %d, not %d", ErrConfig, c.Place.Name, b.what, b.lo, b.top, b.v)
		}
	}
	if err := c.Liveness.Validate(); err != nil {
		return fmt.Errorf("%w: switch %s: %w", ErrConfig, c.Place.Name, err)
	}
	if c.Requeue {
		if err := c.Firmware.Requeues(c.Place); err != nil {
			return fmt.Errorf("%w: switch %s: requeue: %w", ErrConfig, c.Place.Name, err)
		}
	}
	if need := c.Firmware.LeastRoom; need != nil && c.OutputBuffer < need(c.Place) {
		return fmt.Errorf("%w: switch %s: firmware %s waits for %d free places in an output queue, "+
			"and the output buffer is of %d packets: raise it",
			ErrConfig, c.Place.Name, c.Firmware.Name, need(c.Place), c.OutputBuffer)
	}
	if err := c.Firmware.Fits(c.Place, c.VCs); err != nil {
		return fmt.Errorf("%w: switch %s: %w", ErrConfig, c.Place.Name, err)
	}
	return nil
}
