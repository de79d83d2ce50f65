package measure

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/verify"
)

// death is a Fault whose name has been looked up.
type death struct {
	verify.Element
	before bool
	at     int64 // cycles after the first warm-up
}

// drawFaults lists what dies, in order: what is dead before the first packet, then by time.
func drawFaults(c *Config) ([]death, error) {
	all, err := namedFaults(c)
	if err != nil {
		return nil, err
	}
	drawn, err := c.Faultable()
	if err != nil {
		return nil, err
	}
	// it dies once
	drawn = slices.DeleteFunc(drawn,
		func(e verify.Element) bool { return slices.ContainsFunc(all, death{Element: e}.same) })
	if c.FaultCount > len(drawn) {
		return nil, fmt.Errorf("%w: fault count: %s has %d of kind %s that can die beside those named, so %d is too many",
			ErrConfig, c.Topology.Spec, len(drawn), c.FaultKind, c.FaultCount)
	}
	for i, e := range drawn[:c.FaultCount] {
		all = append(all, death{Element: e, before: c.FaultsBefore, at: int64(i) * int64(c.FaultSpacing)})
	}
	slices.SortStableFunc(all, func(a, b death) int {
		if a.before != b.before {
			if a.before {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	return all, nil
}

// same reports whether the same link or switch dies.
func (d death) same(o death) bool { return d.Element == o.Element }

// namedFaults are those that the configuration names.
func namedFaults(c *Config) (all []death, err error) {
	for i, f := range c.Faults {
		d := death{before: f.Before, at: f.At}
		switch {
		case (f.Link == "") == (f.Switch == ""):
			return nil, fmt.Errorf("%w: fault %d: name either a link or a switch", ErrConfig, i+1)
		case f.At < 0 || f.At > maxCycles:
			return nil, fmt.Errorf("%w: fault %d: at must be 0 to %d cycles after the warm-up, not %d", ErrConfig, i+1,
				maxCycles, f.At)
		case f.Switch != "":
			s, err := c.Topology.SwitchByName(f.Switch)
			if err != nil {
				return nil, fmt.Errorf("%w: fault %d: %w", ErrConfig, i+1, err)
			}
			d.Element = verify.Element{Switch: true, ID: uint32(s)}
		default:
			l, err := c.Topology.LinkByName(f.Link)
			if err != nil {
				return nil, fmt.Errorf("%w: fault %d: %w", ErrConfig, i+1, err)
			}
			d.ID = uint32(l.ID)
		}
		if slices.ContainsFunc(all, d.same) {
			return nil, fmt.Errorf("%w: fault %d: %s%s dies twice: name it once", ErrConfig, i+1, f.Link, f.Switch)
		}
		all = append(all, d)
	}
	return all, nil
}

// Faultable is all that faults of c's kind are drawn from, in the order that c's seed draws. The
// error wraps ErrConfig.
func (c *Config) Faultable() (of []verify.Element, err error) {
	g := c.Topology
	switch c.FaultKind {
	case LinkFaults:
		for _, l := range g.Links {
			if l.BetweenSwitches() {
				of = append(of, verify.Element{ID: uint32(l.ID)})
			}
		}
	case SwitchFaults:
		leaf := make([]bool, len(g.Switches))
		for _, n := range g.NICs {
			s, _ := g.SwitchOf(n.ID)
			leaf[s] = true
		}
		for _, s := range g.Switches {
			if !leaf[s.ID] {
				of = append(of, verify.Element{Switch: true, ID: uint32(s.ID)})
			}
		}
	default:
		return nil, fmt.Errorf("%w: fault kind must be %s or %s, not %q", ErrConfig, LinkFaults, SwitchFaults, c.FaultKind)
	}
	draw := rand.New(weft.Stream(c.Seed, weft.StreamFaults, 0, 0))
	draw.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return of, nil
}
