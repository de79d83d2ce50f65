package scenario

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// failureStream tells the draws of failures from others with the same seed.
const failureStream = 0xfa11

// failures puts the cuts that a file asks for by their number into its timeline: each of a link
// between switches that the seed draws, and that no other drawn cut holds at that moment.
func (p *parser) failures(f *format.File, g *topology.Graph, s *Scenario) {
	if f.Failures == nil {
		return
	}
	x := *f.Failures
	f.Failures = nil // from here on they are steps, which can be reduced one by one
	from, every := p.duration("$.failures.from", x.From), p.duration("$.failures.every", x.Every)
	lasts := p.duration("$.failures.for", x.For)
	p.within("$.failures.count", x.Count, mostFailures)
	var links []string
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			links = append(links, l.Name)
		}
	}
	if p.errs.Len() > 0 {
		return
	}
	if every <= 0 || lasts <= 0 || int(lasts/every) >= len(links) {
		p.fail("$.failures", fmt.Errorf("expected every and for above 0, and fewer links cut at once than the %d "+
			"between switches, found every %v, for %v", len(links), every, lasts))
		return
	}
	if end := from + time.Duration(x.Count-1)*every; end > s.Duration {
		p.fail("$.failures.count", fmt.Errorf("the last of %d is at %v, after the end of the scenario at %v: "+
			"lengthen duration or ask for fewer", x.Count, end, s.Duration))
		return
	}
	draw := rand.New(rand.NewPCG(s.Options.Seed, failureStream))
	until := map[string]time.Duration{} // when a link is back
	for i := range x.Count {
		at := from + time.Duration(i)*every
		name := links[draw.IntN(len(links))]
		for until[name] >= at && at > 0 {
			name = links[draw.IntN(len(links))]
		}
		until[name] = at + lasts
		f.Timeline = append(f.Timeline, format.Step{
			At: format.Duration(at.String()), Cut: format.Names{name}, For: x.For,
		})
	}
	slices.SortStableFunc(f.Timeline, func(a, b format.Step) int {
		x, _ := time.ParseDuration(string(a.At)) // what is wrong with it is said where it is read
		y, _ := time.ParseDuration(string(b.At))
		return cmp.Compare(x, y)
	})
}

// mostFailures bounds the cuts that a file may ask for; chosen by us.
const mostFailures = 100_000
