package fabric

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/wire"
)

// Options of a fabric.
type Options struct {
	Topology *topology.Graph
	Firmware switching.Firmware
	// Unnamed says that no process can make Firmware by its name: it has choices settled, or single
	// switches run another.
	Unnamed   bool
	Transport wire.Transport // of a live fabric; closed by its owner, after Stop
	Runtime   Runtime        // nil: it is live. Built by this fabric, and of no use to another

	Switch     settings.Switch // VCs: 1 unless given
	NIC        settings.NIC
	Link       settings.Link
	Liveness   settings.Liveness // Interval: DefaultInterval unless given, longer in large fabrics
	TimeFactor float64           // of a live fabric whose links are paced, see [Fabric.SetTimeFactor]; 1 unless given
	FixedTime  bool              // it is fixed
	Traffic    nic.Traffic       // injected from Start on; zero is none
	Held       time.Duration     // NICs inject nothing for so long from Start on, see [Fabric.HoldNICsFor]
	Seed       uint64            // of every random choice

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
	// perhaps from several goroutines; nil: they are events.
	Panicked func(switching.RoutePanic)
	// TransportEvent hears, beside the event stream, of what should not happen to links; nil:
	// nobody does.
	TransportEvent func(wire.Event)
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

// DefaultRate is chosen by us for live runs on a laptop: a thousand 256-byte packets per second and
// link, slow enough to watch and light enough for 64 NICs on one core.
const DefaultRate = 256_000

// settings are those of o that files and flags have too.
func (o Options) settings() settings.Settings {
	return settings.Settings{Switch: o.Switch, NIC: o.NIC, Link: o.Link, Liveness: o.Liveness}
}

func (o Options) withDefaults() Options {
	s := o.settings().Filled()
	o.Switch, o.NIC, o.Link, o.Liveness = s.Switch, s.NIC, s.Link, s.Liveness
	o.Switch.VCs = cmp.Or(o.Switch.VCs, 1)
	if o.Topology != nil && o.Liveness.Interval == "" {
		longer := weft.Second * weft.Time(2*len(o.Topology.Links)) / maxHellos
		o.Liveness.Interval = settings.Interval(max(DefaultInterval, longer).Duration().String())
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Topology == nil || o.Firmware.Route == nil || o.Transport == nil && o.Runtime == nil:
		return fmt.Errorf("fabric: topology, firmware and transport are required")
	case o.Runtime != nil && o.Transport != nil:
		return fmt.Errorf("fabric: links over a transport are live ones, in virtual time there is none: leave it out")
	case o.Runtime != nil && o.Processes != nil:
		return fmt.Errorf("fabric: a switch that is a process of its own lives by the clock on the wall: run it live")
	}
	if wrong := o.settings().Check(); len(wrong) > 0 {
		return fmt.Errorf("fabric: %s: %w", wrong[0].Path, wrong[0].Err)
	}
	if err := o.validateHosts(); err != nil {
		return err
	}
	if err := o.Liveness.Detector().Validate(); err != nil {
		return fmt.Errorf("fabric: liveness: %w", err)
	}
	switch {
	case o.Unnamed && o.Processes != nil:
		return fmt.Errorf("fabric: choices are settled for %s, or single switches run others, and a switch process, which "+
			"makes its firmware by name, knows none of it: run all switches in one process", o.Firmware.Name)
	case o.NIC.Notices.Time() > 0 && !o.Firmware.Notifies:
		return fmt.Errorf("fabric: notices: firmware %s tells no sources of discards: leave notices off, or choose one "+
			"that does, as adaptive-link", o.Firmware.Name)
	}
	return o.Fits(o.Traffic)
}

// runs says why the switch at a place cannot run a firmware.
func (o *Options) runs(fw *switching.Firmware, place *weft.Place) error {
	if o.Switch.Requeue {
		if err := fw.Requeues(place); err != nil {
			return err
		}
	}
	if fw.LeastRoom != nil && fw.LeastRoom(place) > cmp.Or(o.Switch.OutputBuffer, switching.DefaultBuffer) {
		return fmt.Errorf("firmware %s waits for %d free places in an output queue, and the switch has %d", fw.Name,
			fw.LeastRoom(place), o.Switch.OutputBuffer)
	}
	return fw.Fits(place, o.Switch.VCs)
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
