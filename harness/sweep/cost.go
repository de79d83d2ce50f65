package sweep

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/measure"
)

// Bounds of the trial that an estimate is made by, chosen by us.
const (
	trialPoints = 24
	trialTime   = 4 * time.Second
	trialCycles = 3000 // of each run
)

// Cost is about what an experiment takes.
type Cost struct {
	CPU  time.Duration // of all cores together
	Wall time.Duration // with the jobs of the options, on cores that have nothing else to do
	runs []float64     // seconds of each
}

// On is about how long so many workers on other machines take, with a core like one of this
// machine's each: by the code that cuts their work, in virtual time.
func (c Cost) On(workers int) time.Duration {
	if len(c.runs) == 0 {
		return 0
	}
	d := work.Farm{Workers: workers, Trip: tripTime.Seconds()}.Run(c.runs)
	return startTime + time.Duration(d.Seconds*float64(time.Second))
}

// What is between machines, chosen by us after tests with agents on one machine: a question to the
// queue, and the start of a process that makes runs, on all workers at once.
const (
	tripTime  = 2 * time.Millisecond
	startTime = time.Second
)

// Forecast is what an experiment asks for, and about what it takes.
type Forecast struct {
	Experiment string  `json:"experiment"`
	Points     int     `json:"points"`
	Runs       int     `json:"runs"`
	CPU        float64 `json:"about_cpu_seconds"` // of all cores together
	Seconds    float64 `json:"about_seconds"`     // with the jobs of the options, on cores that have nothing else to do

	// Of so many workers on other machines, if they are asked for.
	Workers       int     `json:"workers,omitempty"`
	WorkerSeconds float64 `json:"about_worker_seconds,omitempty"` // from the beginning to the end
	Money         float64 `json:"about_money,omitempty"`          // for as many hours of all of them
}

// Estimate says about what all runs take on this machine. It makes the beginnings of a few of them,
// which takes seconds, and notes none.
func (e *Experiment) Estimate(ctx context.Context, o Options) (c Cost, err error) {
	p, samples, err := e.plan(o)
	if err != nil {
		return c, err
	}
	o.Samples = samples
	w := &start{e: e, plan: p, Options: o.withDefaults(e)}
	var tried, wanted float64 // cycles, or runs where there are none
	var lasted float64        // of each: see lastsOf
	points := e.costly(p)
	for _, i := range points {
		wanted += cyclesOf(&p.points[i].config, e.Measure) * float64(samples)
	}
	var spent, fixed time.Duration
	order := rand.New(rand.NewPCG(1, 1)).Perm(len(points))
	trials := 0
	for _, n := range order[:min(len(order), trialPoints)] {
		i := points[n]
		if trials > 0 && spent+fixed > trialTime {
			break
		}
		trials++
		if e.Measure == ofNetwork { // what a run takes whatever its length
			_, took, err := w.trial(ctx, i, 1)
			if err != nil {
				return c, err
			}
			fixed += took
		}
		r, took, err := w.trial(ctx, i, trialOf(&p.points[i].config))
		if err != nil {
			return c, err
		}
		spent += took
		lasted++
		if e.Measure == ofTolerate {
			tried += float64(r.Events)
			continue
		}
		if e.Measure != ofNetwork {
			tried++
			continue
		}
		tried += float64(r.Cycles)
		lasted += lastsOf(&p.points[i].config, &r) - 1
	}
	if trials == 0 || tried == 0 {
		return c, nil
	}
	// by the same points, so that what is fixed is not counted by the cycle
	each := float64(max(0, spent-fixed)) / tried
	all := each*wanted*lasted/float64(trials) + float64(fixed)/float64(trials)*float64(len(p.points)*samples)
	cores := min(w.Jobs, runtime.GOMAXPROCS(0), len(p.points)*samples)
	c = Cost{CPU: time.Duration(all), Wall: time.Duration(all / float64(cores))}
	for _, i := range points {
		run := each*cyclesOf(&p.points[i].config, e.Measure)*lasted/float64(trials) + float64(fixed)/float64(trials)
		for range samples {
			c.runs = append(c.runs, run/float64(time.Second))
		}
	}
	return c, nil
}

// costly are the points whose runs take time. Of reconfigurations, runs of fewer faults are the
// beginnings of those of more.
func (e *Experiment) costly(p *plan) []int {
	most := map[string]int{} // by all but the number of faults: the point with most of them
	for i := range p.points {
		key := strconv.Itoa(i)
		if e.Measure == ofReroute {
			s := p.points[i].set.copied()
			s.Faults = nil
			key = ""
			for _, name := range settingNames {
				key += s.text(name) + "\n"
			}
		}
		if k, known := most[key]; !known || p.points[k].config.FaultCount < p.points[i].config.FaultCount {
			most[key] = i
		}
	}
	return slices.Sorted(maps.Values(most))
}

// trialOf is how many cycles of a run are tried: of a hunt some after its last fault, for then
// there are the deadlocks that end it.
func trialOf(c *measure.Config) int {
	if c.Hunt {
		return int(warmupOf(c)) + c.FaultCount*c.FaultSpacing + trialCycles
	}
	return trialCycles
}

// trial makes the first cycles of a run, and says how long that took.
func (w *start) trial(ctx context.Context, point, most int) (r measure.Result, took time.Duration, err error) {
	pt := w.plan.points[point] // a copy
	if w.e.Measure == ofNetwork || w.e.Measure == ofTolerate {
		pt.config.MostCycles = min(most, cmp.Or(pt.config.MostCycles, most))
	}
	began := w.cpu()
	r, err = w.one(ctx, &pt, 0)
	return r, w.cpu() - began, err
}

// lastsOf is how many times longer a run is than cyclesOf says, by what its trial has come to: less
// where a deadlock ends it, more where the network is not steady by then.
func lastsOf(c *measure.Config, trial *measure.Result) float64 {
	cycles := cyclesOf(c, ofNetwork)
	switch {
	case trial.Deadlocked:
		return float64(trial.Cycles) / cycles
	case trial.Stable || c.Warmup.Skip || c.Warmup.Most <= trialCycles || !c.FaultsBefore && trial.Faults > 0:
		return 1
	}
	// Chosen by us: between what was tried and the longest, so that neither is missed by far.
	more := math.Sqrt(trialCycles*float64(c.Warmup.Most)) - warmupOf(c)
	if c.FaultCount > 0 && !c.FaultsBefore && !c.Hunt {
		more *= 2 // again after the faults
	}
	all := cycles + more
	if c.MostCycles > 0 {
		all = min(all, float64(c.MostCycles))
	}
	return all / cycles
}

// warmupOf is about how long a warm-up is: a little longer than the shortest.
func warmupOf(c *measure.Config) float64 {
	if c.Warmup.Skip {
		return 0
	}
	return 1.3 * float64(c.Warmup.Batch*c.Warmup.Batches)
}

// cyclesOf is about how many cycles a run takes: warm-ups, faults, window. Of sets that are judged
// it is their number, and otherwise 1.
func cyclesOf(c *measure.Config, kind string) float64 {
	if kind == ofTolerate {
		return judgedOf(c)
	}
	if kind != ofNetwork {
		return 1
	}
	faults := 0
	if !c.FaultsBefore {
		faults = c.FaultCount
	}
	warm := warmupOf(c)
	if faults > 0 && !c.Hunt {
		warm *= 2
	}
	all := warm + float64(faults*c.FaultSpacing)
	if faults > 0 {
		all += float64(c.ReconfigureAfter)
	}
	if c.Hunt {
		all += float64(c.MostCycles)
	} else {
		all += float64(c.Window)
	}
	if c.MostCycles > 0 {
		all = min(all, float64(c.MostCycles))
	}
	return all
}
