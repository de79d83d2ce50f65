package measure

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// Defaults of Config, those of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in Fat
// Trees, section IX.A, where it gives one.
const (
	DefaultCycle         = 512 * weft.Nanosecond // 2 Gb/s at 128 bytes a cycle
	DefaultBytesPerCycle = 128
	DefaultWindow        = 10_000 // cycles

	// Chosen by us.
	DefaultFaultSpacing = 500 // cycles
	DefaultBatch        = 500 // cycles
	DefaultBatches      = 4
	defaultTolerance    = 0.05
	defaultMost         = 50_000 // cycles
)

// Bounds of what may be asked for, chosen by us.
const (
	maxCycles  = 1_000_000_000
	maxBatches = 100
	maxFaults  = 1 << 16
)

func (c Config) withDefaults() Config {
	c.InputBuffer = cmp.Or(c.InputBuffer, switching.DefaultBuffer)
	c.OutputBuffer = cmp.Or(c.OutputBuffer, switching.DefaultBuffer)
	c.PacketBytes = cmp.Or(c.PacketBytes, nic.DefaultPacketBytes)
	c.QueueBytes = cmp.Or(c.QueueBytes, nic.DefaultQueueBytes)
	c.Cycle = cmp.Or(c.Cycle, DefaultCycle)
	c.BytesPerCycle = cmp.Or(c.BytesPerCycle, DefaultBytesPerCycle)
	c.FaultKind = cmp.Or(c.FaultKind, LinkFaults)
	c.FaultSpacing = cmp.Or(c.FaultSpacing, DefaultFaultSpacing)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.Warmup.Batch = cmp.Or(c.Warmup.Batch, DefaultBatch)
	c.Warmup.Batches = cmp.Or(c.Warmup.Batches, DefaultBatches)
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
	c = c.withDefaults()
	for _, f := range []struct {
		name          string
		v, least, top int
	}{
		{"vcs", c.VCs, 0, weft.MaxVCs},
		{"input buffer (packets)", c.InputBuffer, weft.MinPackets, weft.MaxBuffer},
		{"output buffer (packets)", c.OutputBuffer, weft.MinPackets, weft.MaxBuffer},
		{"packet bytes", c.PacketBytes, 1, weft.MaxPacket},
		{"queue bytes (the largest packet must fit in)", c.QueueBytes, cmp.Or(c.Traffic.Largest(), c.PacketBytes), maxCycles},
		{"bytes per cycle", c.BytesPerCycle, 1, weft.MaxPacket},
		{"reconfigure after (cycles)", c.ReconfigureAfter, 0, maxCycles},
		{"register expire (cycles)", c.RegisterExpire, NeverExpire, maxCycles},
		{"window (cycles)", c.Window, 1, maxCycles},
		{"most cycles", c.MostCycles, 0, maxCycles},
		{"fault count", c.FaultCount, 0, maxFaults},
		{"fault spacing (cycles)", c.FaultSpacing, 1, maxCycles},
		{"warm-up batch (cycles)", c.Warmup.Batch, 1, maxCycles},
		{"warm-up batches", c.Warmup.Batches, 2, maxBatches},
		{"warm-up most (cycles)", c.Warmup.Most, 1, maxCycles},
	} {
		if f.v < f.least || f.v > f.top {
			return fmt.Errorf("%w: %s must be %d to %d, not %d", ErrConfig, f.name, f.least, f.top, f.v)
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
	switch {
	case !(c.Warmup.Tolerance > 0 && c.Warmup.Tolerance <= 1):
		return fmt.Errorf("%w: warm-up tolerance is relative, above 0 and at most 1, not %v", ErrConfig, c.Warmup.Tolerance)
	case c.Hunt && c.MostCycles == 0:
		return fmt.Errorf("%w: most cycles: a hunt for a deadlock ends after so many: give their number, as 200000", ErrConfig)
	case len(c.Topology.NICs) < 2:
		return fmt.Errorf("%w: topology: %s has %d NICs, and packets need two", ErrConfig, c.Topology.Spec, len(c.Topology.NICs))
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
	if most := max(c.longest(faults), int64(c.ReconfigureAfter), int64(c.RegisterExpire)); most > int64(weft.Never/4/c.Cycle) {
		return fmt.Errorf("%w: up to %d cycles of %v each are longer than the clock goes: ask for fewer or shorter ones", ErrConfig, most, c.Cycle)
	}
	return c.validateRouting(ctx)
}

// validateRouting checks that the firmware can run on the topology.
func (c Config) validateRouting(ctx context.Context) error {
	if c.ddrc() {
		if c.Topology.Place(0).Tree == nil {
			return fmt.Errorf("%w: routing: %s computes up/down tables for trees only, and %s is none", ErrConfig, DDRC, c.Topology.Spec)
		}
		return nil
	}
	fw, least, err := c.named(ctx)
	if err != nil {
		return err
	}
	if k, ok := fw.(switching.Checker); ok {
		for _, s := range c.Topology.Switches {
			if err := k.Check(c.Topology.Place(s.ID), cmp.Or(c.VCs, least)); err != nil {
				return fmt.Errorf("%w: routing: switch %s: %w", ErrConfig, s.Name, err)
			}
		}
	}
	return nil
}

// named makes the firmware that is not DDRC's, and says how many virtual channels it needs at
// least.
func (c Config) named(ctx context.Context) (fw switching.Firmware, vcs int, err error) {
	if c.Firmware != nil {
		return c.Firmware, max(1, subnet.LeastVCs(c.Firmware, c.Topology)), nil
	}
	e, err := subnet.ByName(c.Routing)
	switch {
	case err != nil && subnet.Known(c.Routing): // its options
		return nil, 0, fmt.Errorf("%w: routing: %w", ErrConfig, err)
	case err != nil:
		names := append(subnet.Names(), subnet.None, subnet.FromFiles, DDRC)
		slices.Sort(names)
		return nil, 0, fmt.Errorf("%w: %w", ErrConfig, document.Unknown("routing", c.Routing, names))
	}
	fw, vcs, err = e.New(ctx, c.Topology)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil:
		return nil, 0, fmt.Errorf("%w: routing: %w", ErrConfig, err)
	}
	return fw, vcs, nil
}

func (c Config) ddrc() bool { return c.Firmware == nil && c.Routing == DDRC }

// around is the routing, if it is one that is told what is dead.
func (c Config) around() (e subnet.Entry, ok bool) {
	if c.Firmware != nil || c.ddrc() {
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
