package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
)

// Defaults of Config, those of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat
// Trees, section IX.A, where it gives one.
const (
	DefaultCycle         = 512 * weft.Nanosecond // 2 Gb/s at 128 bytes a cycle
	defaultBytesPerCycle = 128
	defaultWindow        = 10_000 // cycles

	// Chosen by us.
	defaultFaultSpacing = 500 // cycles
	defaultBatch        = 500 // cycles
	defaultBatches      = 4
	defaultTolerance    = 0.05
	defaultMost         = 50_000 // cycles
)

// Bounds of what may be asked for, chosen by us.
const (
	maxCycles  = 1_000_000_000
	maxBatches = 100
)

// Number is a field of a [Config] that is a whole number, and its bounds.
type Number struct {
	Name        string // in an experiment
	Value       *int   // 0: it is not given
	Least, Most int
}

// Within reports whether v is in bounds.
func (x Number) Within(v int) bool { return x.Least <= v && v <= x.Most }

// Numbers are the fields of c that are whole numbers, but for those that a fabric has too.
func (c *Config) Numbers() []Number {
	return []Number{
		{"bytes_per_cycle", &c.BytesPerCycle, 1, weft.MaxPacket},
		{"reconfigure_after", &c.ReconfigureAfter, 0, maxCycles},
		{"register_expire", &c.RegisterExpire, NeverExpire, maxCycles},
		{"fault_spacing", &c.FaultSpacing, 1, maxCycles},
		{"warmup_batch", &c.Warmup.Batch, 1, maxCycles},
		{"warmup_batches", &c.Warmup.Batches, 2, maxBatches},
		{"warmup_most", &c.Warmup.Most, 1, maxCycles},
		{"window", &c.Window, 1, maxCycles},
		{"most_cycles", &c.MostCycles, 1, maxCycles},
	}
}

// settings are those of c that fabrics have too.
func (c Config) settings() settings.Settings { return settings.Settings{Switch: c.Switch, NIC: c.NIC} }

// Filled returns c with the default of each field that is not given. Only the virtual channels may
// still be up to the routing.
func (c Config) Filled() Config {
	s := c.settings().Filled()
	c.Switch, c.NIC = s.Switch, s.NIC
	c.Cycle = cmp.Or(c.Cycle, DefaultCycle)
	c.BytesPerCycle = cmp.Or(c.BytesPerCycle, defaultBytesPerCycle)
	c.FaultKind = cmp.Or(c.FaultKind, LinkFaults)
	c.FaultSpacing = cmp.Or(c.FaultSpacing, defaultFaultSpacing)
	c.Window = cmp.Or(c.Window, defaultWindow)
	c.Warmup.Batch = cmp.Or(c.Warmup.Batch, defaultBatch)
	c.Warmup.Batches = cmp.Or(c.Warmup.Batches, defaultBatches)
	c.Warmup.Tolerance = cmp.Or(c.Warmup.Tolerance, defaultTolerance)
	c.Warmup.Most = cmp.Or(c.Warmup.Most, defaultMost)
	return c
}

// Validate says what is wrong with the configuration, without building anything large; nil: [Run]
// can use it. The error wraps ErrConfig and names the field.
func (c Config) Validate(ctx context.Context) error {
	if c.Topology == nil {
		return fmt.Errorf("%w: topology: none is given: give one, as kary-ntree:4,3", ErrConfig)
	}
	c = c.Filled()
	if wrong := c.settings().Check(); len(wrong) > 0 {
		return fmt.Errorf("%w: %s: %w", ErrConfig, wrong[0].Path, wrong[0].Err)
	}
	for _, x := range c.Numbers() {
		if v := *x.Value; v != 0 && !x.Within(v) {
			return fmt.Errorf("%w: %s must be %d to %d, not %d", ErrConfig, x.Name, x.Least, x.Most, v)
		}
	}
	for _, t := range []struct {
		name          string
		v, least, top weft.Time
	}{
		{"cycle", c.Cycle, 1, weft.Second},
		{"wire delay", c.WireDelay, 0, weft.Second},
		{"routing delay", c.RoutingDelay, 0, weft.Second},
		{"crossbar delay", c.CrossbarDelay, 0, weft.Second},
	} {
		if t.v < t.least || t.v > t.top {
			return fmt.Errorf("%w: %s must be %v to %v, not %v", ErrConfig, t.name, t.least, t.top, t.v)
		}
	}
	switch largest := cmp.Or(c.Traffic.Largest(), c.NIC.PacketBytes); {
	case c.NIC.QueueBytes < largest:
		return fmt.Errorf("%w: nic.queue_bytes: a send queue of %d bytes cannot hold a packet of %d", ErrConfig,
			c.NIC.QueueBytes, largest)
	case c.FaultCount < 0:
		return fmt.Errorf("%w: fault count must be 0 or more, not %d", ErrConfig, c.FaultCount)
	case !(c.Warmup.Tolerance > 0 && c.Warmup.Tolerance <= 1):
		return fmt.Errorf("%w: warm-up tolerance is relative, above 0 and at most 1, not %v", ErrConfig, c.Warmup.Tolerance)
	case c.Hunt && c.MostCycles == 0:
		return fmt.Errorf("%w: most cycles: a hunt for a deadlock ends after so many: give their number, as 200000",
			ErrConfig)
	case c.StopWhenSafe && !c.Hunt:
		return fmt.Errorf("%w: stop when safe: only a hunt for a deadlock stops when there can be none: set Hunt, too",
			ErrConfig)
	case c.NIC.Notices.Time() > 0 || c.NIC.TraceEvery > 0:
		return fmt.Errorf("%w: nic: there are neither notices nor traces in a measurement: leave them out", ErrConfig)
	case len(c.Topology.NICs) < 2:
		return fmt.Errorf("%w: topology: %s has %d NICs, and packets need two", ErrConfig, c.Topology.Spec,
			len(c.Topology.NICs))
	}
	if err := c.Traffic.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	faults, err := drawFaults(&c)
	if err != nil {
		return err
	}
	if c.BypassPlanes {
		if _, _, err := c.bypassed(faults); err != nil {
			return err
		}
	}
	if most := max(c.longest(faults), int64(c.ReconfigureAfter),
		int64(c.RegisterExpire)); most > int64(weft.Never/4/c.Cycle) {
		return fmt.Errorf("%w: up to %d cycles of %v each are longer than the clock goes: ask for fewer or shorter ones",
			ErrConfig, most, c.Cycle)
	}
	return c.validateRouting(ctx)
}

// validateRouting checks that the firmware can run on the topology.
func (c Config) validateRouting(ctx context.Context) error {
	if c.ddrc() {
		if c.Topology.Place(0).Tree == nil {
			return fmt.Errorf("%w: routing: %s computes up/down tables for trees only, and %s is none", ErrConfig, DDRC,
				c.Topology.Spec)
		}
		return nil
	}
	fw, least, err := c.named(ctx)
	if err != nil {
		return err
	}
	for _, s := range c.Topology.Switches {
		if err := fw.Fits(c.Topology.Place(s.ID), cmp.Or(c.Switch.VCs, least)); err != nil {
			return fmt.Errorf("%w: routing: switch %s: %w", ErrConfig, s.Name, err)
		}
	}
	return nil
}

// named makes the firmware that is not DDRC's, and says how many virtual channels it needs at
// least.
func (c Config) named(ctx context.Context) (fw switching.Firmware, vcs int, err error) {
	if c.Firmware.Route != nil {
		return c.Firmware, max(1, subnet.LeastVCs(c.Firmware, c.Topology)), nil
	}
	e, err := subnet.ByName(c.Routing)
	switch {
	case err != nil && subnet.Known(c.Routing): // its options
		return fw, 0, fmt.Errorf("%w: routing: %w", ErrConfig, err)
	case err != nil:
		names := append(subnet.Names(), subnet.None, subnet.FromFiles, DDRC)
		slices.Sort(names)
		return fw, 0, fmt.Errorf("%w: %w", ErrConfig, document.Unknown("routing", c.Routing, names))
	}
	fw, vcs, err = e.New(ctx, c.Topology)
	switch {
	case err != nil && ctx.Err() != nil:
		return fw, 0, ctx.Err()
	case err != nil:
		return fw, 0, fmt.Errorf("%w: routing: %w", ErrConfig, err)
	}
	return fw, vcs, nil
}

func (c Config) ddrc() bool { return c.Firmware.Route == nil && c.Routing == DDRC }

// around is the routing, if it is one that is told what is dead.
func (c Config) around() (e subnet.Entry, ok bool) {
	if c.Firmware.Route != nil || c.ddrc() {
		return e, false
	}
	e, err := subnet.ByName(c.Routing)
	return e, err == nil && e.Around != nil
}

// reconfigures reports whether something is computed anew for what is dead.
func (c Config) reconfigures() bool {
	_, ok := c.around()
	return ok || c.ddrc()
}

// reconfigured is nil for a routing that is the same whatever is dead.
func (c Config) reconfigured(ctx context.Context) (*reconfigured, error) {
	if c.ddrc() {
		r, err := newUpDown(ctx, c.Topology)
		if err != nil {
			return nil, fmt.Errorf("%w: routing: %w", ErrConfig, err)
		}
		return r, nil
	}
	if e, ok := c.around(); ok {
		return newAround(ctx, e, c.Topology), nil
	}
	return nil, nil
}
