package harness

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// DefaultPatience bounds every wait of the harness unless [Patience] says otherwise. What it waits
// for takes milliseconds, but for a loaded machine.
const DefaultPatience = 30 * time.Second

// Option configures New.
type Option func(*config)

// Options makes one option of several, to share what many tests start from.
func Options(options ...Option) Option {
	return func(c *config) {
		for _, o := range options {
			o(c)
		}
	}
}

type config struct {
	opts     fabric.Options
	byName   subnet.Entry // makes the firmware when the topology is there; without New it is in opts
	virtual  bool
	method   manage.Method
	delays   manager.Delays
	patience time.Duration
	mtu      int // of stacks; 0: their default
	err      error
	changes  []func(*fabric.Options)

	transport func(t testing.TB) wire.Transport // nil: memory
}

func defaults() config {
	return config{opts: fabric.Options{Firmware: firmware.AdaptiveLink{}.Firmware()}, patience: DefaultPatience}
}

// Firmware runs f in every switch; without it the fabric runs adaptive-link. The number of virtual
// channels is the least that f accepts, unless VCs or Switches sets
// it.
func Firmware(f switching.Firmware) Option {
	return func(c *config) { c.opts.Firmware, c.byName = f, subnet.Entry{} }
}

// FirmwareByName runs one of the firmwares that come with Weft, with the tables of the topology if
// it needs any.
func FirmwareByName(name string) Option {
	return func(c *config) {
		e, err := subnet.ByName(name)
		c.byName, c.err = e, errors.Join(c.err, err)
	}
}

// Managed gives the fabric a subnet manager with a method, such as "ddrc" or "engine:updn". The
// delays d count in virtual time only: live, the manager takes what it takes. The firmware must be
// given by [FirmwareByName]. A method that does not exist fails the test.
func Managed(method string, d manager.Delays) Option {
	return func(c *config) {
		m, err := manage.Parse(method)
		c.method, c.delays, c.err = m, d, errors.Join(c.err, err)
	}
}

// VCs sets the number of virtual channels of each link direction, 1 to [weft.MaxVCs].
func VCs(n int) Option { return func(c *config) { c.opts.Switch.VCs = n } }

// Buffers sets the input and output buffers of the switches, in packets per VC, 1 to
// [weft.MaxBuffer]; 2 each unless given.
func Buffers(input, output int) Option {
	return func(c *config) { c.opts.Switch.InputBuffer, c.opts.Switch.OutputBuffer = input, output }
}

// Switches sets all that can be set of the switches, and so undoes VCs, Buffers and Requeue before
// it.
func Switches(o settings.Switch) Option { return func(c *config) { c.opts.Switch = o } }

// NICs sets the send queue, the packet size and the tracing of the NICs, and so undoes TraceEvery
// and Notices before it.
func NICs(o settings.NIC) Option { return func(c *config) { c.opts.NIC = o } }

// Links sets rate, pacing and delay of the links. Without it a load of 1 is fabric.DefaultRate, and
// links are as fast as the machine.
func Links(o settings.Link) Option { return func(c *config) { c.opts.Link = o } }

// Notices has a switch that discards a packet notify its source, whose NIC then generates nothing
// for that destination for the time honoured. The firmware must be one that Notifies.
func Notices(honoured time.Duration) Option {
	return func(c *config) { c.opts.NIC.Notices = settings.Duration(honoured.String()) }
}

// Requeue has switches route packets again that are queued for a dead link, instead of losing
// them. The firmware must allow it, see [switching.Firmware].CheckRequeue.
func Requeue() Option { return func(c *config) { c.opts.Switch.Requeue = true } }

// Liveness unless set: a second, far longer than a machine that runs many tests at once holds up a
// hello.
const (
	patientInterval   = 200 * time.Millisecond
	patientMultiplier = 5
)

// Liveness sets when the end of a link takes its neighbour for silent: when multiplier hellos in a
// row are missing, which are sent an interval apart. Without it that is 5 hellos and 200 ms, more
// than elsewhere (3 and 50 ms), so that a slow neighbour does not look dead on a machine that runs
// many tests at once.
func Liveness(interval time.Duration, multiplier int) Option {
	return func(c *config) {
		c.opts.Liveness.Interval, c.opts.Liveness.Multiplier = settings.Interval(interval.String()), multiplier
	}
}

// NoLiveness turns hellos off: a silent cut is then never noticed.
func NoLiveness() Option { return func(c *config) { c.opts.Liveness.Interval = "off" } }

// Damping keeps links down that flap; without it no link is kept down.
func Damping(d settings.Damping) Option { return func(c *config) { c.opts.Liveness.Damping = d } }

// Traffic makes all NICs inject: a pattern and a load, the share of the link rate, as "uniform:0.2"
// ([nic.ParseTraffic]), or the packets of a file, "trace:FILE". A spec that cannot be read fails
// the test.
func Traffic(spec string) Option {
	return func(c *config) {
		t, err := settings.ParseTraffic(spec)
		c.opts.Traffic, c.err = t, errors.Join(c.err, err)
	}
}

// Transport carries the links over what open opens instead of memory, and has t close when the test
// ends. Package harness/live has the one over NATS.
func Transport(open func(t testing.TB) wire.Transport) Option {
	return func(c *config) { c.transport = open }
}

// Configure changes the fabric's own options, those that no other option sets, just before it is
// made.
func Configure(change func(o *fabric.Options)) Option {
	return func(c *config) { c.changes = append(c.changes, change) }
}

// Virtual runs the fabric in virtual time: time goes on only while a call of the harness waits, as
// fast as the machine can, and the same seed gives the same run, event for event. Patience and all
// durations are virtual then. Such a harness is for one goroutine.
func Virtual() Option { return func(c *config) { c.virtual = true } }

// Seed fixes the random draws. The flag -weft.seed overrides it. Live, goroutines still run in any
// order.
func Seed(s uint64) Option { return func(c *config) { c.opts.Seed = s } }

// TraceEvery records the path of every n-th packet that traffic generates, beside the packets of
// Send. The latest 16,384 paths are kept.
func TraceEvery(n int) Option { return func(c *config) { c.opts.NIC.TraceEvery = n } }

// Patience bounds every wait of the harness; DefaultPatience unless given. New waits that long at
// least: how soon a fabric comes up is up to the machine.
func Patience(d time.Duration) Option { return func(c *config) { c.patience = d } }
