package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
	"github.com/weft-fabric/weft/harness/measure"
)

// Tolerate is the [Runner] of experiments that measure which sets of dead links are tolerated: of
// all sets of so many links of the region, or of sets that are drawn. There is no traffic, so of
// the result only Tolerated and the fields after it are set, Events as the sets that were judged,
// and Connected, so that no run is left out.
func Tolerate(ctx context.Context, c measure.Config) (measure.Result, error) {
	r := measure.Result{Faults: c.FaultCount, Stable: true, DeadlockAt: -1}
	q, m, err := tolerating(&c)
	if err != nil {
		return r, err
	}
	judge := q.Net.NewEvaluator(m)
	var sum tolerate.Counts
	more := func(uint64) bool {
		// the bound is that of a trial
		return ctx.Err() == nil && (c.MostCycles == 0 || sum.Judged < uint64(c.MostCycles))
	}
	if c.FaultSets > 0 {
		_, err = tolerate.Sample(q.Links, c.FaultCount, 0, uint64(c.FaultSets), tolerate.Draws(c.Seed), judge, &sum, more)
	} else {
		err = all(q, m, c.FaultCount, judge, &sum, more)
	}
	switch {
	case err != nil:
		return r, fmt.Errorf("%s by %s: %w", c.Topology.Spec, c.Mechanisms, err)
	case ctx.Err() != nil:
		return r, ctx.Err()
	}
	fillTolerated(&r, &sum, len(c.Topology.Switches))
	return r, nil
}

// all counts all sets, or as many as there may be.
func all(q *tolerate.Query, m direct.Mechanisms, k int, j tolerate.Judge, sum *tolerate.Counts,
	more func(uint64) bool,
) error {
	sets, err := tolerate.NewSets(q.Links, k, tolerate.Symmetries(q.Net, m))
	if err != nil {
		return err
	}
	for i := range sets.Parts() {
		if !sets.Count(i, j, sum, more) {
			return nil
		}
	}
	return sets.Complete(sum)
}

// tolerating reads what is asked.
func tolerating(c *measure.Config) (*tolerate.Query, direct.Mechanisms, error) {
	m, err := direct.Parse(c.Mechanisms)
	if err != nil {
		return nil, m, err
	}
	q, err := tolerate.NewQuery(c.Topology, c.Region, "", 1)
	return q, m, err
}

// judged notes how many sets of faults there are, and how many of them are not tolerated. Connected
// is set so that means leave no run out.
func judged(r *measure.Result, sets, not uint64) {
	r.Connected, r.Tolerated, r.Sets, r.NotTolerated = true, not == 0, sets, not
	if sets > 0 {
		r.NotToleratedShare = float64(not) / float64(sets)
	}
}

func fillTolerated(r *measure.Result, n *tolerate.Counts, switches int) {
	r.Events = n.Judged
	judged(r, n.Sets, n.NotTolerated)
	if t := float64(n.Tolerated()); t > 0 {
		affected, all := float64(n.Pairs.Affected)/t, float64(switches)
		r.AffectedShare, r.AffectedOfAll = affected/(all*(all-1)), affected/(all*all)
	}
	for use, pairs := range n.Pairs.Each() {
		share := &r.UseI
		switch via := use.Intermediate(); {
		case use.Deterministic() && use.Misroute() && via > 0:
			share = &r.UseIDM
		case use.Deterministic() && use.Misroute():
			share = &r.UseDM
		case use.Deterministic() && via > 0:
			share = &r.UseID
		case use.Misroute() && via > 0:
			share = &r.UseIM
		case use.Deterministic():
			share = &r.UseD
		case use.Misroute():
			share = &r.UseM
		case via == 2:
			share = &r.UseI2
		case via > 2:
			share = &r.UseI3
		}
		*share += float64(pairs) / float64(n.Pairs.Affected)
	}
}

// judgedOf is about how many sets a run judges.
func judgedOf(c *measure.Config) float64 {
	if c.FaultSets > 0 {
		return float64(c.FaultSets)
	}
	q, m, err := tolerating(c)
	if err != nil {
		return 1
	}
	one, err := tolerate.NewSets(q.Links, min(1, len(q.Links)), tolerate.Symmetries(q.Net, m))
	if err != nil {
		return 1
	}
	all, _ := tolerate.Choose(len(q.Links), c.FaultCount)
	return max(1, float64(all)/float64(one.Symmetries()))
}

// tolerate checks which sets of links may die, and what is to tolerate them. The topology has been
// read.
func (s *settled) tolerate(kind string, c *measure.Config, bad func(string, error)) {
	c.Mechanisms, c.Region, c.FaultSets = get(s.Mechanisms), get(s.Region), get(s.FaultSets)
	if kind != ofTolerate {
		for _, name := range []string{"mechanisms", "region", "fault_sets"} {
			if s.has(name) {
				bad(name, fmt.Errorf("%s is for measure: %s", name, ofTolerate))
			}
		}
		return
	}
	for _, name := range []string{"routing", "layers_of", "fault_kind"} {
		if s.has(name) {
			bad(name, fmt.Errorf("%s is not for measure: %s, which asks what mechanisms do about links", name,
				ofTolerate))
		}
	}
	if s.Mechanisms == nil {
		bad("mechanisms", errors.New("there are no mechanisms: give them in base, or by an axis, as I+D"))
		return
	}
	if s.FaultSets != nil && (c.FaultSets < 1 || c.FaultSets > maxFaultSets) {
		bad("fault_sets", fmt.Errorf("%d sets of faults, expected 1 to %d, or none given for all", c.FaultSets,
			maxFaultSets))
	}
	if _, err := direct.Parse(c.Mechanisms); err != nil {
		bad("mechanisms", err)
		return
	}
	if c.Topology == nil {
		return
	}
	q, _, err := tolerating(c)
	switch {
	case err != nil && c.Region != "":
		bad("region", err)
	case err != nil:
		bad("topology", err)
	case c.FaultCount > len(q.Links):
		bad("faults", fmt.Errorf("%d faults, and only %d links may die", c.FaultCount, len(q.Links)))
	case c.FaultSets == 0:
		if _, ok := tolerate.Choose(len(q.Links), c.FaultCount); !ok {
			bad("faults", fmt.Errorf("%d faults of %d links: more than 2^63 sets: give fault_sets", c.FaultCount,
				len(q.Links)))
		}
	}
}

// maxFaultSets bounds the sets that a run draws, chosen by us.
const maxFaultSets = 1_000_000_000
