// Package scenario reads scenario files, runs them on a live fabric and judges what they expect. A
// [Shrinker] reduces a scenario that fails to a smallest one that still does.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ib/opensm"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/wire"
)

// Result is how a run ended. Scripts may rely on its JSON.
type Result struct {
	Pass      bool           `json:"pass"`
	Scenario  string         `json:"scenario"`
	Failed    []string       `json:"failed"` // the expectations that did not hold, in words
	Broken    []string       `json:"broken"` // the same by their names in the file, and ledger, credits, drain
	Ledger    fabric.Ledger  `json:"ledger"`
	Faults    []fault.Report `json:"faults"`
	Reordered uint64         `json:"reordered"`
	Rerouted  uint64         `json:"rerouted"` // decisions to go another way because of a fault
	SimSeed   uint64         `json:"sim_seed"`
	Totals    fabric.Totals  `json:"totals"`
	// Programs are those that the scenario started, in the order of the file.
	Programs []ProgramResult `json:"programs,omitempty"`
	Seconds  float64         `json:"seconds"` // of wall time that the run took
	// TimeFactor, live and where links are paced, is how fast the clock went, compared with that of
	// the machine, on average.
	TimeFactor float64 `json:"time_factor,omitempty"`
	// EventHash, in virtual time alone, is a fingerprint of all that happened: the same seed gives
	// the same one.
	EventHash string `json:"event_hash,omitempty"`
	// VirtualSeconds is how much virtual time passed; 0 live.
	VirtualSeconds float64 `json:"virtual_seconds,omitempty"`
}

// Unusable stands for the [Result] of a scenario that could not be run.
type Unusable struct {
	Pass     bool   `json:"pass"` // false
	Scenario string `json:"scenario"`
	Error    string `json:"error"` // why
}

// Runner runs scenarios.
type Runner struct {
	Transport wire.Transport        // carries the links of a live run; the caller closes it
	Runtime   func() fabric.Runtime // makes the runtime of a run in virtual time; nil: the run is live
	// Progress, unless nil, is called at every step with its text, and about ten times a second by
	// the clock of the fabric with an empty one. It is called from Run's goroutine.
	Progress func(f *fabric.Fabric, at time.Duration, step string)
	Drain    time.Duration // how long the fabric may take to drain, by its clock; 0: DrainTime
	// Watch, unless nil, looks at the run too.
	Watch Watcher
	// NICs gives programs these NICs of a fabric that runs; nil: no scenario may start programs.
	NICs func(ctx context.Context, f *fabric.Fabric, names []string) (NICs, error)
}

// Watcher looks at a run while it goes on. It is called from Run's goroutine and must not change
// the fabric.
type Watcher interface {
	// Every is how often See is to be called, by the clock of the fabric; it may come more often.
	Every() time.Duration
	// See is called at the start, about that often, and right before the traffic stops.
	See(f *fabric.Fabric)
	// Before and After are called around the steps of one instant, After with what they are.
	Before(f *fabric.Fabric)
	After(f *fabric.Fabric, steps []string)
	// End is called once, before the fabric stops, however the run ended: with its result, or with
	// what is known by then and the error that kept it from being judged.
	End(f *fabric.Fabric, r Result, err error)
}

// Run runs s to its end, or until ctx ends, and judges it. An error means that there is nothing to
// judge; a scenario that does not hold is a Result with Pass false.
func (r Runner) Run(ctx context.Context, s *Scenario) (Result, error) {
	began := time.Now()
	o := s.Options
	if o.Transport = r.Transport; r.Runtime != nil {
		o.Runtime = r.Runtime()
	}
	if s.OpenSM && r.Runtime != nil {
		return Result{}, errors.New("OpenSM runs by the clock of this machine: run the scenario live, without --virtual")
	}
	if err := r.mayStart(s); err != nil {
		return Result{}, err
	}
	traffic := o.Traffic
	if s.OpenSM {
		o.Traffic = nic.Traffic{} // until there are tables
	}
	f, err := fabric.New(o)
	if err != nil {
		return Result{}, err
	}
	if err := f.Start(ctx); err != nil {
		return Result{}, err
	}
	defer f.Stop()
	run := run{Runner: r, fabric: f, scenario: s}
	if s.Manager.On() {
		stop, err := manager.Attach(f, s.Routing, s.Manager, o.Switch.VCs, s.Delays)
		if err != nil {
			return Result{}, err
		}
		defer stop()
	}
	if s.OpenSM {
		run.opensm, err = opensm.Attach(ctx, f, opensm.Config{Args: s.Args, Folder: filepath.Dir(s.Path), Options: o})
		if err != nil {
			return Result{}, err
		}
		defer func() { _ = run.opensm.Stop() }() // whether it ended before is judged
		if err := f.SetTraffic(traffic); err != nil {
			return Result{}, err
		}
	}
	if len(s.Programs) > 0 {
		if err := run.openNICs(ctx); err != nil {
			return Result{}, err
		}
		defer func() { _ = run.programs.end() }() // if it was not judged
	}
	res, err := run.whole(ctx, began)
	if r.Watch != nil {
		r.Watch.End(f, res, err)
	}
	if err != nil {
		return Result{}, err
	}
	return res, nil
}

// whole does all there is to do while the fabric runs. With an error, the result is what is known
// by then.
func (r *run) whole(ctx context.Context, began time.Time) (Result, error) {
	f := r.fabric
	res := Result{Scenario: r.scenario.Name, SimSeed: r.scenario.Options.Seed, Failed: []string{}, Broken: []string{}}
	see := func() {
		if r.Watch != nil {
			r.Watch.See(f)
		}
	}
	see()
	wall, clock := time.Now(), f.Now()
	err := r.timeline(ctx)
	if err == nil {
		see()
	}
	if ended := r.programs.end(); err == nil {
		err = ended
	}
	if err == nil {
		if r.judge(ctx, &res); ctx.Err() != nil {
			err = fmt.Errorf("interrupted: %w", ctx.Err())
		}
	}
	if err != nil {
		res.Failed, res.Broken = []string{}, []string{} // what did not hold may be because of the interrupt
		res.Ledger, res.Faults, res.Totals = f.Ledger(), f.Faults(), f.Totals()
		res.Reordered, res.Rerouted = res.Totals.Reordered, res.Totals.Rerouted
	}
	res.Programs = r.programs.results()
	res.Pass = err == nil && len(res.Failed) == 0
	res.Seconds = time.Since(began).Seconds()
	if f.Tempo().Factor > 0 {
		res.TimeFactor = float64((f.Now() - clock).Duration()) / float64(time.Since(wall))
	}
	if hash, ok := f.Hash(); ok {
		res.EventHash, res.VirtualSeconds = fmt.Sprintf("%016x", hash), f.Now().Duration().Seconds()
	}
	return res, err
}

// run is one run of a scenario.
type run struct {
	Runner
	fabric   *fabric.Fabric
	scenario *Scenario
	opensm   *opensm.Manager // nil: none
	programs *programs       // nil: none

	silences silences
	losses   losses
}

// progressEvery is how often a run is looked at, by its own clock, unless a [Watcher] wants to look
// more often.
const progressEvery = 100 * time.Millisecond

func (r *run) every() time.Duration {
	if r.Watch == nil {
		return progressEvery
	}
	return min(progressEvery, max(time.Millisecond, r.Watch.Every()))
}

// timeline lets the traffic run and does each step at its time, those of one time together.
func (r *run) timeline(ctx context.Context) error {
	start := r.fabric.Now()
	passed := func() time.Duration { return (r.fabric.Now() - start).Duration() }
	every := r.every()
	until := func(at time.Duration) error {
		for passed() < at {
			next := min(at, passed()/every*every+every)
			if err := r.fabric.Pause(ctx, next-passed(), nil); err != nil {
				return fmt.Errorf("interrupted: %w", err)
			}
			if next < at {
				r.silences.hear(r.fabric.Events())
				r.losses.look(r.fabric, r.scenario.lostWithin)
				r.progress(passed(), "")
				if r.Watch != nil {
					r.Watch.See(r.fabric)
				}
			}
		}
		if ctx.Err() != nil { // a run that is behind its times does not pause
			return fmt.Errorf("interrupted: %w", context.Cause(ctx))
		}
		return nil
	}
	for rest := r.scenario.Timeline; len(rest) > 0; {
		now := together(rest)
		rest = rest[len(now):]
		if err := until(now[0].At); err != nil {
			return err
		}
		if r.Watch != nil {
			r.Watch.Before(r.fabric)
		}
		if err := r.do(ctx, now); err != nil {
			return fmt.Errorf("at %v: %w", now[0].At, err)
		}
		var steps []string
		for _, a := range now {
			r.progress(passed(), a.Text)
			steps = append(steps, a.Text)
		}
		if r.Watch != nil {
			r.Watch.After(r.fabric, steps)
		}
	}
	return until(r.scenario.Duration)
}

// together are the first steps of list that happen at one instant.
func together(list []Action) []Action {
	n := 1
	for n < len(list) && list[0].ofFaults() && list[n].ofFaults() && list[n].At == list[0].At {
		n++
	}
	return list[:n]
}

// do does steps of one instant.
func (r *run) do(ctx context.Context, now []Action) error {
	defer r.silences.hear(r.fabric.Events())
	r.losses.look(r.fabric, r.scenario.lostWithin) // before a fault that would explain them
	if t := now[0].Traffic; t != nil {
		if err := r.fabric.SetTraffic(*t); err != nil {
			return fmt.Errorf("%s: %w", now[0].Text, err)
		}
		return nil
	}
	if p := now[0].Send; p != nil {
		for range p.Count {
			if _, err := r.fabric.Send(p.From, p.To, r.scenario.Options.Record != nil); err != nil {
				return fmt.Errorf("%s: %w", now[0].Text, err)
			}
		}
		return nil
	}
	if p := now[0].Program; p != nil {
		r.programs.start(p)
		return nil
	}
	var specs []fault.Spec
	for _, a := range now {
		specs = append(specs, a.Faults...)
	}
	_, err := r.fabric.Apply(ctx, specs...) // its error names the order
	return err
}

func (r *run) progress(at time.Duration, step string) {
	if r.Progress != nil {
		r.Progress(r.fabric, at, step)
	}
}
