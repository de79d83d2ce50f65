package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// judge drains the fabric, checks what the scenario expects and fills res.
func (r *run) judge(ctx context.Context, res *Result) {
	f, s := r.fabric, r.scenario
	told := map[string]int{}
	fail := func(name, format string, args ...any) {
		if told[name]++; told[name] <= maxTold {
			res.Failed = append(res.Failed, fmt.Sprintf(format, args...))
		}
		if !slices.Contains(res.Broken, name) {
			res.Broken = append(res.Broken, name)
		}
	}
	r.losses.look(r.fabric, s.lostWithin)
	r.programs.judge(fail)
	if r.opensm != nil && r.opensm.Err() != nil {
		fail("manager", "OpenSM ended before the scenario: %v", r.opensm.Err())
	}
	ledger, err := r.drain(ctx)
	if err != nil {
		fail("drain", "the fabric does not drain: %v", err)
	}
	res.Totals = f.Totals() // before the probe, whose burst is no part of the latencies
	if err == nil && s.Expect.AllPairsConnected {
		if ledger, err = r.probe(ctx, ledger); err != nil {
			fail("all_pairs_connected", "all_pairs_connected: %v", err)
		}
	}
	f.CloseReports()
	res.Ledger, res.Faults = ledger, f.Faults()
	res.Reordered, res.Rerouted = res.Totals.Reordered, res.Totals.Rerouted

	if !ledger.Balanced && ledger.NotChecked == "" {
		fail("ledger", "the ledger does not balance: %d injected, %d delivered + %d lost + %d discarded + %d in flight",
			ledger.Injected, ledger.Delivered, ledger.Lost, ledger.Discarded, ledger.InFlight)
	}
	if !deadlocked(err) && ledger.NotChecked == "" { // packets that wait for each other hold credits, and none are missing
		if err := f.CreditsHome(); err != nil {
			fail("credits", "%v", err)
		}
	}
	s.judgeCounts(res, fail)
	if s.Expect.LostOnlyAtFaults {
		if err := f.LossesExplained(); err != nil {
			fail("lost_only_at_faults", "lost_only_at_faults: %v", err)
		}
	}
	if n := f.ReroutedInLastGeneration(); s.Expect.DirectAfterHeal && n > 0 {
		fail("direct_after_heal", "direct_after_heal: %d packets generated after the last repair were re-routed", n)
	}
	r.silences.hear(f.Events())
	for _, e := range r.silences.failed {
		fail("firmware", "at %s the %s", e.Switch, e.Detail)
	}
	for i, at := range r.losses.late {
		more := ""
		if i == maxTold-1 && r.losses.more > 0 {
			more = fmt.Sprintf(", and %d times more", r.losses.more)
		}
		fail("lost_within", "lost_within %v: at %.3f s packets were lost, and no fault began or ended within it%s",
			s.lostWithin, at, more)
	}
	s.judgeReports(res.Faults, &r.silences, fail)
	for _, name := range res.Broken {
		if n := told[name] - maxTold; n > 0 {
			res.Failed = append(res.Failed, fmt.Sprintf("%s: %d more", name, n))
		}
	}
}

func deadlocked(err error) bool {
	stuck, ok := errors.AsType[*fabric.StuckError](err)
	return ok && len(stuck.Cycle) > 0
}

// maxTold is how often a result says that the same expectation does not hold.
const maxTold = 5

// judgeCounts judges what is counted over the whole run.
func (s *Scenario) judgeCounts(res *Result, fail func(name, format string, args ...any)) {
	e, ledger, t := s.Expect, res.Ledger, res.Totals
	for _, c := range []struct {
		name    string
		most    *uint64
		counted uint64
		did     string // %s stands for the packets
	}{
		{"lost_at_most", e.LostAtMost, ledger.Lost, "lost %s"},
		{"discarded", e.Discarded, ledger.Discarded, "discarded %s"},
		{"duplicated", e.Duplicated, t.Duplicated, "delivered %s twice"},
	} {
		if c.most != nil && c.counted > *c.most {
			why := ""
			if c.name == "discarded" {
				why = ": " + fault.ByRule(ledger.DiscardedBy)
			}
			did := fmt.Sprintf(c.did, english.Plural(int(c.counted), "packet", ""))
			fail(c.name, "%s %d: the fabric %s%s", c.name, *c.most, did, why)
		}
	}
	if e.InOrder && res.Reordered > 0 {
		fail("in_order", "in_order: %d packets arrived after a later one of their flow", res.Reordered)
	}
	if e.HopsAtMost > 0 && t.MaxHops > e.HopsAtMost {
		fail("hops_at_most", "hops_at_most %d: a packet crossed %d switches", e.HopsAtMost, t.MaxHops)
	}
	for _, c := range []struct {
		name            string
		fewest, counted uint64
		what            string
	}{
		{"lost_at_least", e.LostAtLeast, ledger.Lost, "were lost"},
		{"reroutes_at_least", e.ReroutesAtLeast, res.Rerouted, "there were"},
		{"requeued_at_least", e.RequeuedAtLeast, t.Requeued, "were requeued"},
		{"delivered_at_least", e.DeliveredAtLeast, ledger.Delivered, "were delivered"},
	} {
		if c.counted < c.fewest {
			words := fmt.Sprintf("%d %s", c.counted, c.what)
			if c.what == "there were" {
				words = fmt.Sprintf("%s %d", c.what, c.counted)
			}
			fail(c.name, "%s %d: %s", c.name, c.fewest, words)
		}
	}
}

// DrainTime is how long a fabric may take to drain after the traffic has stopped, unless a [Runner]
// says otherwise. One that is stuck is told from one that is slow, so this is only for packets that
// go round for ever.
const DrainTime = 10 * time.Minute

func (r *run) drain(ctx context.Context) (fabric.Ledger, error) {
	if err := r.fabric.StopTraffic(); err != nil {
		return r.fabric.Ledger(), err
	}
	ctx, cancel := r.fabric.WithTimeout(ctx, cmp.Or(r.Drain, DrainTime))
	defer cancel()
	return r.fabric.Quiesce(ctx)
}

// probe sends one packet from every NIC to every other and drains the fabric again.
func (r *run) probe(ctx context.Context, before fabric.Ledger) (fabric.Ledger, error) {
	nics := weft.NICID(len(r.fabric.Topology().NICs))
	sent := uint64(0)
	for distance := weft.NICID(1); distance < nics; distance++ {
		for src := range nics {
			if _, err := r.fabric.Send(src, (src+distance)%nics, false); err != nil {
				return before, err
			}
			sent++
		}
	}
	after, err := r.drain(ctx)
	if err == nil && after.Delivered-before.Delivered != sent {
		err = fmt.Errorf("of %d pairs %d are connected", sent, after.Delivered-before.Delivered)
	}
	if _, ok := errors.AsType[*fabric.StuckError](err); ok {
		err = fmt.Errorf("of %d pairs %d are connected: %w", sent, after.Delivered-before.Delivered, err)
	}
	return after, err
}
