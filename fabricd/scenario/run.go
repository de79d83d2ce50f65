package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// Result is how a run ended. Its JSON is stable (DESIGN section 5).
type Result struct {
	Pass      bool           `json:"pass"`
	Scenario  string         `json:"scenario"`
	Failed    []string       `json:"failed"` // the expectations that did not hold, in words
	Ledger    fabric.Ledger  `json:"ledger"`
	Faults    []fault.Report `json:"faults"`
	Reordered uint64         `json:"reordered"`
	Rerouted  uint64         `json:"rerouted"` // decisions to go another way because of a fault
	SimSeed   uint64         `json:"sim_seed"`
	Totals    fabric.Totals  `json:"totals"`
	Seconds   float64        `json:"seconds"` // that the run took
}

// Runner runs scenarios.
type Runner struct {
	Transport bus.Transport // of the links; closed by its owner
	// Progress hears what happens: about ten times a second with an empty step, and at every step. nil: nobody. It is
	// called from Run's goroutine.
	Progress func(f *fabric.Fabric, at time.Duration, step string)
}

// drainTime bounds how long a fabric may take to drain after the traffic has stopped. One that is stuck is told from one that
// is slow, so this is only for packets that go round for ever.
const drainTime = 10 * time.Minute

// Run runs s to its end, or until ctx ends, and judges it. An error means that there is nothing to judge; a scenario that
// does not hold is a Result with Pass false.
func (r Runner) Run(ctx context.Context, s *Scenario) (Result, error) {
	began := time.Now()
	o := s.Options
	o.Transport = r.Transport
	f, err := fabric.New(o)
	if err != nil {
		return Result{}, err
	}
	if err := f.Start(ctx); err != nil {
		return Result{}, err
	}
	defer f.Stop()
	if err := r.timeline(ctx, f, s); err != nil {
		return Result{}, err
	}
	res := Result{Scenario: s.Name, SimSeed: o.Seed, Failed: []string{}}
	r.judge(ctx, f, s, &res)
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	res.Pass = len(res.Failed) == 0
	res.Seconds = time.Since(began).Seconds()
	return res, nil
}

// timeline lets the traffic run and does each step at its time.
func (r Runner) timeline(ctx context.Context, f *fabric.Fabric, s *Scenario) error {
	start := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	until := func(at time.Duration) error {
		timer := time.NewTimer(time.Until(start.Add(at)))
		defer timer.Stop()
		for {
			select {
			case <-timer.C:
				return nil
			case <-tick.C:
				r.progress(f, time.Since(start), "")
			case <-ctx.Done():
				return fmt.Errorf("interrupted: %w", ctx.Err())
			}
		}
	}
	for _, a := range s.Timeline {
		if err := until(a.At); err != nil {
			return err
		}
		if err := a.do(ctx, f); err != nil {
			return fmt.Errorf("at %v: %s: %w", a.At, a.Text, err)
		}
		r.progress(f, time.Since(start), a.Text)
	}
	return until(s.Duration)
}

func (r Runner) progress(f *fabric.Fabric, at time.Duration, step string) {
	if r.Progress != nil {
		r.Progress(f, at, step)
	}
}

func (a Action) do(ctx context.Context, f *fabric.Fabric) (err error) {
	switch a.Verb {
	case VerbCut:
		_, _, err = f.Cut(a.Link)
	case VerbRestore:
		_, err = f.Restore(ctx, a.Link)
	case VerbCrash:
		_, _, err = f.Crash(a.Switch)
	case VerbRestart:
		_, err = f.Restart(ctx, a.Switch)
	case VerbHeal:
		_, err = f.Heal(ctx)
	case VerbTraffic:
		err = f.SetTraffic(a.Traffic)
	}
	return err
}

// judge drains the fabric, checks what the scenario expects and fills res.
func (r Runner) judge(ctx context.Context, f *fabric.Fabric, s *Scenario, res *Result) {
	fail := func(format string, args ...any) { res.Failed = append(res.Failed, fmt.Sprintf(format, args...)) }
	ledger, err := r.drain(ctx, f)
	if err != nil {
		fail("the fabric does not drain: %v", err)
	}
	res.Totals = f.Totals() // before the probe, whose burst is no part of the latencies
	if err == nil && s.Expect.AllPairsConnected {
		if ledger, err = r.probe(ctx, f, ledger); err != nil {
			fail("all_pairs_connected: %v", err)
		}
	}
	res.Ledger, res.Faults = ledger, f.Faults()
	res.Reordered, res.Rerouted = res.Totals.Reordered, res.Totals.Rerouted

	e := s.Expect
	if !ledger.Balanced {
		fail("the ledger does not balance: %d injected, %d delivered + %d lost + %d discarded + %d in flight",
			ledger.Injected, ledger.Delivered, ledger.Lost, ledger.Discarded, ledger.InFlight)
	}
	if err := f.CreditsHome(); err != nil {
		fail("%v", err)
	}
	if e.LostAtMost != nil && ledger.Lost > *e.LostAtMost {
		fail("lost_at_most %d: %d packets were lost", *e.LostAtMost, ledger.Lost)
	}
	if e.Discarded != nil && ledger.Discarded > *e.Discarded {
		fail("discarded %d: %d packets were discarded: %v", *e.Discarded, ledger.Discarded, ledger.DiscardedBy)
	}
	if e.LostOnlyAtFaults {
		if err := f.LossesExplained(); err != nil {
			fail("lost_only_at_faults: %v", err)
		}
	}
	if e.InOrder && res.Reordered > 0 {
		fail("in_order: %d packets arrived after a later one of their flow", res.Reordered)
	}
	if res.Rerouted < e.ReroutesAtLeast {
		fail("reroutes_at_least %d: there were %d", e.ReroutesAtLeast, res.Rerouted)
	}
	if n := f.ReroutedInLastEra(); e.DirectAfterHeal && n > 0 {
		fail("direct_after_heal: %d packets generated after the last repair were re-routed", n)
	}
	if ledger.Delivered < e.DeliveredAtLeast {
		fail("delivered_at_least %d: %d were delivered", e.DeliveredAtLeast, ledger.Delivered)
	}
}

func (r Runner) drain(ctx context.Context, f *fabric.Fabric) (fabric.Ledger, error) {
	if err := f.StopTraffic(); err != nil {
		return f.Ledger(), err
	}
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	return f.Quiesce(ctx)
}

// probe sends one packet from every NIC to every other and drains the fabric again.
func (r Runner) probe(ctx context.Context, f *fabric.Fabric, before fabric.Ledger) (fabric.Ledger, error) {
	nics := weft.NICID(len(f.Topology().NICs))
	sent := uint64(0)
	for distance := weft.NICID(1); distance < nics; distance++ {
		for src := range nics {
			if _, err := f.Send(src, (src+distance)%nics, false); err != nil {
				return before, err
			}
			sent++
		}
	}
	after, err := r.drain(ctx, f)
	if err == nil && after.Delivered-before.Delivered != sent {
		err = fmt.Errorf("of %d pairs %d are connected", sent, after.Delivered-before.Delivered)
	}
	var stuck *fabric.StuckError
	if errors.As(err, &stuck) {
		err = fmt.Errorf("of %d pairs %d are connected: %w", sent, after.Delivered-before.Delivered, err)
	}
	return after, err
}
