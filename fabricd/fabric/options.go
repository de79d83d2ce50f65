package fabric

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	linkend "github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/pace"
	"github.com/weft-fabric/weft/switch/wire"
)

// Options of a fabric.
type Options struct {
	Topology  *topology.Graph
	Firmware  switching.Firmware
	Transport wire.Transport // of a live fabric; closed by its owner, after Stop
	Runtime   Runtime        // nil: it is live. Built by this fabric, and of no use to another

	Switch  SwitchOptions
	NIC     NICOptions
	Link    LinkOptions
	Traffic nic.Traffic // injected from Start on; zero is none
	Seed    uint64      // of every random choice

	// Processes says how switches can be processes of their own; nil: none can be.
	Processes *ProcessOptions

	// Hosts run in other processes; nodes on none of them run in this process. Hosts require
	// Processes and Host.
	Hosts []HostOptions
	// Host makes the agent of that name create a host, and returns when the host is about to
	// answer. It is called again for a host that is lost.
	Host func(ctx context.Context, name string, c host.Spec) error
	// Checkpoint gets the state that another leader would need, whenever that has changed; nil:
	// none is kept. It must neither call the fabric nor wait. The channel that it returns is closed
	// when another leader would find this State or a later one; nil: at once.
	Checkpoint func(State) <-chan struct{}
	// Adopt is the state kept under another leader, whose hosts run: Start takes them over with
	// their traffic. All nodes must be on hosts.
	Adopt *State
	Term  uint64 // of this leader, above those of all before it; 0: there is never another
	// Replaced is called when a host refuses this leader because it has heard a higher term,
	// perhaps more than once. It must not block.
	Replaced func()

	// Progress hears how far New and Start have come, called by their goroutine; nil: nobody does.
	Progress func(stage Stage, done, total int)

	Record Recorder     // hears of single packets; nil: nobody
	Log    *slog.Logger // nil: discarded
	// Panicked hears of panics in the firmware of this process's switches, see [switching.Config],
	// perhaps from several goroutines; nil: they are not caught.
	Panicked func(switching.RoutePanic)
	// TransportEvent hears, beside the event stream, of what should not happen to links; nil:
	// nobody does.
	TransportEvent func(wire.Event)
}

// Options of switches and NICs are those of hosts.
type (
	SwitchOptions = host.SwitchOptions
	NICOptions    = host.NICOptions
)

// Bounds on options; rates have those of [fault.Rate].
const (
	MaxDelay      = settings.MaxDelay // of a link
	MaxNotices    = settings.MaxNotices
	MaxQueueBytes = settings.MaxQueueBytes
)

// LinkOptions are the options of every link.
type LinkOptions struct {
	Rate  float64       // bytes per second, what a load of 1 means; 0 means DefaultRate
	Paced bool          // links send no faster than Rate; otherwise as fast as the transport goes
	Delay time.Duration // propagation

	// Liveness is how ends find out that a neighbour is silent. The zero value means
	// DefaultInterval, longer in large fabrics, DefaultMultiplier, and no damping.
	Liveness linkend.Liveness
	// NoLiveness turns liveness off: nobody notices a silent fault.
	NoLiveness bool
}

// Default liveness: a silent neighbour is dead after 150 ms. Chosen by us: ten times what a busy
// machine of two cores delays a hello.
const (
	DefaultInterval   = 50 * weft.Millisecond
	DefaultMultiplier = 3
	// maxHellos bounds the hellos a second of an idle fabric, some 5 us of CPU each; larger fabrics
	// say hello less often.
	maxHellos = 20_000
)

func (o LinkOptions) liveness(links int) linkend.Liveness {
	c := o.Liveness
	switch {
	case o.NoLiveness:
		return linkend.Liveness{Damping: c.Damping}
	case c.Interval == 0:
		c.Interval = max(DefaultInterval, weft.Second*weft.Time(2*links)/maxHellos)
	}
	if c.Multiplier == 0 {
		c.Multiplier = DefaultMultiplier
	}
	return c
}

// DefaultRate is chosen by us for live runs on a laptop: a thousand 256-byte packets per second and
// link, slow enough to watch and light enough for 64 NICs on one core.
const DefaultRate = 256_000

func (o Options) withDefaults() Options {
	if o.Link.Rate == 0 {
		o.Link.Rate = DefaultRate
	}
	if o.NIC.PacketBytes == 0 {
		o.NIC.PacketBytes = nic.DefaultPacketBytes
	}
	if o.Switch.VCs == 0 {
		o.Switch.VCs = 1
	}
	if o.Switch.InputBuffer == 0 {
		o.Switch.InputBuffer = switching.DefaultBuffer
	}
	if o.Switch.OutputBuffer == 0 {
		o.Switch.OutputBuffer = switching.DefaultBuffer
	}
	if o.Topology != nil {
		o.Link.Liveness = o.Link.liveness(len(o.Topology.Links))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Topology == nil || o.Firmware == nil || o.Transport == nil && o.Runtime == nil:
		return fmt.Errorf("fabric: topology, firmware and transport are required")
	case o.Runtime != nil && o.Transport != nil:
		return fmt.Errorf("fabric: links over a transport are live ones, in virtual time there is none: leave it out")
	case o.Runtime != nil && o.Processes != nil:
		return fmt.Errorf("fabric: a switch that is a process of its own lives by the clock on the wall: run it live")
	case !(o.Link.Rate >= fault.MinRate && o.Link.Rate <= fault.MaxRate):
		return fmt.Errorf("fabric: the link rate must be %v to %v, not %v bytes per second", fault.Rate(fault.MinRate), fault.Rate(fault.MaxRate), o.Link.Rate)
	case o.Link.Delay < 0 || o.Link.Delay > MaxDelay:
		return fmt.Errorf("fabric: the link delay must be 0s to %v, not %v", MaxDelay, o.Link.Delay)
	case o.NIC.PacketBytes < 1 || o.NIC.PacketBytes > weft.MaxPacket:
		return fmt.Errorf("fabric: packets must be 1 to %d bytes, not %d", weft.MaxPacket, o.NIC.PacketBytes)
	case o.NIC.QueueBytes < 0 || o.NIC.QueueBytes > MaxQueueBytes:
		return fmt.Errorf("fabric: send queues must have 1 to %d bytes, or 0 for the default, not %d", MaxQueueBytes, o.NIC.QueueBytes)
	case o.NIC.Notices < 0 || o.NIC.Notices > MaxNotices:
		return fmt.Errorf("fabric: notices must be honoured for 0s to %v, not %v", MaxNotices, o.NIC.Notices)
	case o.NIC.TraceEvery < 0:
		return fmt.Errorf("fabric: one packet in so many is traced, or 0 for none, not %d", o.NIC.TraceEvery)
	}
	if err := o.validateHosts(); err != nil {
		return err
	}
	if err := o.Link.Liveness.Validate(); err != nil {
		return fmt.Errorf("fabric: liveness: %w", err)
	}
	if w, ok := o.Firmware.(interface{ Unwrap() switching.Firmware }); ok && o.Processes != nil {
		return fmt.Errorf("fabric: choices are settled for %T, and a switch process, which makes its firmware by name, knows none: run all switches in one process", w.Unwrap())
	}
	return o.Fits(o.Traffic)
}

// pace is the pacing of links for switchd.
func (o LinkOptions) pace() pace.Pace {
	p := pace.Pace{Delay: o.Delay}
	if o.Paced {
		p.Rate = o.Rate
	}
	return p
}

// Fits returns the error that SetTraffic would return in a fabric with these options.
func (o Options) Fits(t nic.Traffic) error { return t.Fits(o.withDefaults().over(nil)) }

// over is the network as traffic sees it.
func (o Options) over(r nic.Rand) nic.Over {
	return nic.Over{
		NICs: len(o.Topology.NICs), Rate: o.Link.Rate, PacketBytes: o.NIC.PacketBytes, TraceEvery: o.NIC.TraceEvery, Rand: r,
		Find: o.Topology.NICByName,
	}
}
