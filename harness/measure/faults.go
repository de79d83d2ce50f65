package measure

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// death is a Fault whose name has been looked up.
type death struct {
	isSwitch bool
	sw       weft.SwitchID
	link     weft.LinkID
	before   bool
	at       int64 // cycles after the first warm-up
}

// drawFaults lists what dies, in order: what is dead before the first packet, then by time.
func drawFaults(c *Config) ([]death, error) {
	all, err := namedFaults(c)
	if err != nil {
		return nil, err
	}
	drawn, err := candidates(c.Topology, c.FaultKind)
	if err != nil {
		return nil, err
	}
	rnd := rand.New(rand.NewPCG(c.Seed, streamFaults))
	rnd.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	drawn = slices.DeleteFunc(drawn, func(d death) bool { return slices.ContainsFunc(all, d.same) }) // it dies once
	if c.FaultCount > len(drawn) {
		return nil, fmt.Errorf("%w: fault count: %s has %d of kind %s that can die beside those named, so %d is too many",
			ErrConfig, c.Topology.Spec, len(drawn), c.FaultKind, c.FaultCount)
	}
	for i, d := range drawn[:c.FaultCount] {
		d.before, d.at = c.FaultsBefore, int64(i)*int64(c.FaultSpacing)
		all = append(all, d)
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
func (d death) same(o death) bool {
	return d.isSwitch == o.isSwitch && d.sw == o.sw && d.link == o.link
}

// namedFaults are those that the configuration names.
func namedFaults(c *Config) (all []death, err error) {
	for i, f := range c.Faults {
		d := death{before: f.Before, at: f.At}
		switch {
		case (f.Link == "") == (f.Switch == ""):
			return nil, fmt.Errorf("%w: fault %d: name either a link or a switch", ErrConfig, i+1)
		case f.At < 0 || f.At > maxCycles:
			return nil, fmt.Errorf("%w: fault %d: at must be 0 to %d cycles after the warm-up, not %d", ErrConfig, i+1, maxCycles, f.At)
		case f.Switch != "":
			s, err := c.Topology.SwitchByName(f.Switch)
			if err != nil {
				return nil, fmt.Errorf("%w: fault %d: %w", ErrConfig, i+1, err)
			}
			d.isSwitch, d.sw = true, s
		default:
			l, err := c.Topology.LinkByName(f.Link)
			if err != nil {
				return nil, fmt.Errorf("%w: fault %d: %w", ErrConfig, i+1, err)
			}
			d.link = l.ID
		}
		if slices.ContainsFunc(all, d.same) {
			return nil, fmt.Errorf("%w: fault %d: %s%s dies twice: name it once", ErrConfig, i+1, f.Link, f.Switch)
		}
		all = append(all, d)
	}
	return all, nil
}

// candidates are what faults are drawn from.
func candidates(g *topology.Graph, kind string) ([]death, error) {
	var of []death
	switch kind {
	case LinkFaults:
		for _, l := range g.Links {
			if l.BetweenSwitches() {
				of = append(of, death{link: l.ID})
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
				of = append(of, death{isSwitch: true, sw: s.ID})
			}
		}
	default:
		return nil, fmt.Errorf("%w: fault kind must be %s or %s, not %q", ErrConfig, LinkFaults, SwitchFaults, kind)
	}
	return of, nil
}
