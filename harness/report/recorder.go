package report

import (
	"math"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Bounds of what is kept, chosen by us for a file of a few megabytes at most.
const (
	wanted    = 200  // samples of a run
	maxEvents = 2000 // the first of them
	maxScenes = 30   // maps
	// restAfter is how many times as long as a sample takes no other is taken in a live run:
	// looking is to cost it little.
	restAfter = 30
)

// sample is the state of a fabric at one moment.
type sample struct {
	At                                                       float64 // seconds since the fabric started
	Injected, Delivered, Lost, Discarded, Rerouted, InFlight uint64  // packets since then, the last of them now
	// latency in microseconds of what was delivered since the sample before; NaN: nothing was
	P50, P99 float64
}

// scene is a moment that is shown as a map.
type scene struct {
	At       float64 // seconds
	What     string
	Links    []fabric.LinkState
	Crashed  []string
	Reroutes []fabric.SwitchReroutes // when it began
	Until    []fabric.SwitchReroutes // when the next one did
	End      float64                 // seconds: then
	Faults   []int                   // numbers of the reports that began with it
}

// Recorder collects what a report shows while a scenario runs. It is a [scenario.Watcher], of one
// run.
type Recorder struct {
	length time.Duration // of the scenario

	samples []sample
	latency *hdrhistogram.Histogram // at the last of them
	next    time.Duration           // when the next is due
	scenes  []scene
	hidden  int // scenes that are not kept
	before  []fabric.SwitchReroutes
	seen    int // number of the latest report of a fault

	events []fabric.Event
	seq    uint64 // of the latest event
	missed uint64 // events that are not kept

	graph   *topology.Graph
	virtual bool
	ended   bool
	result  scenario.Result
	err     error // that kept the run from being judged
}

// NewRecorder is a recorder for a run of s.
func NewRecorder(s *scenario.Scenario) *Recorder { return &Recorder{length: s.Duration} }

// Every implements [scenario.Watcher].
func (r *Recorder) Every() time.Duration { return max(10*time.Millisecond, r.length/wanted) }

// See implements [scenario.Watcher].
func (r *Recorder) See(f *fabric.Fabric) {
	r.hear(f.Events())
	// The last time always: on a busy machine the rest after a sample is long.
	if now := f.Now().Duration(); now >= min(r.next, r.length) {
		r.sample(f)
	}
}

// Before implements [scenario.Watcher].
func (r *Recorder) Before(f *fabric.Fabric) {
	r.See(f)
	r.before = f.Reroutes()
}

// After implements [scenario.Watcher].
func (r *Recorder) After(f *fabric.Fabric, steps []string) {
	r.hear(f.Events())
	r.scene(f, strings.Join(steps, "; "), len(r.scenes) < maxScenes)
}

// End implements [scenario.Watcher].
func (r *Recorder) End(f *fabric.Fabric, res scenario.Result, err error) {
	r.result, r.err, r.ended = res, err, true
	r.graph, r.virtual = f.Topology(), f.Virtual()
	// otherwise there is one of when the traffic stopped, and what came then is no part of it
	if err != nil && f.Now().Duration() >= r.next {
		r.sample(f)
	}
	r.before = f.Reroutes()
	r.scene(f, "the end", true)
	r.hear(f.Events())
}

// sample takes a sample, and says when the next is due.
func (r *Recorder) sample(f *fabric.Fabric) {
	began := time.Now()
	l, all := f.Ledger(), f.Latencies()
	s := sample{
		At: f.Now().Duration().Seconds(), Injected: l.Injected, Delivered: l.Delivered, Lost: l.Lost, Discarded: l.Discarded,
		InFlight: l.InFlight,
		P50:      math.NaN(), P99: math.NaN(),
	}
	for _, sw := range f.Reroutes() {
		s.Rerouted += sw.Rerouted
	}
	if since := difference(all, r.latency); since.TotalCount() > 0 {
		s.P50, s.P99 = float64(since.ValueAtQuantile(50))/1000, float64(since.ValueAtQuantile(99))/1000
	}
	r.latency = all
	r.samples = append(r.samples, s)
	// A little early is not too early: steps come at any time.
	now := f.Now().Duration()
	r.next = now + r.Every()*9/10
	if !f.Virtual() {
		r.next = max(r.next, now+restAfter*time.Since(began))
	}
}

// difference is what has come to a histogram since it was before.
func difference(now, before *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if before == nil {
		return now
	}
	a, b := now.Export(), before.Export()
	for i := range a.Counts {
		a.Counts[i] -= b.Counts[i]
	}
	return hdrhistogram.Import(a)
}

// scene keeps the fabric as it is now, right after a step.
func (r *Recorder) scene(f *fabric.Fabric, what string, keep bool) {
	at := f.Now().Duration().Seconds()
	if n := len(r.scenes); n > 0 && r.scenes[n-1].Until == nil {
		r.scenes[n-1].Until, r.scenes[n-1].End = r.before, at
	}
	var begun []int
	for _, rep := range f.Faults() {
		if rep.ID > r.seen {
			r.seen = rep.ID
			begun = append(begun, rep.ID)
		}
	}
	if !keep {
		r.hidden++
		return
	}
	r.scenes = append(r.scenes,
		scene{At: at, What: what, Links: f.LinkStates(), Crashed: f.CrashedSwitches(), Reroutes: r.before, Faults: begun})
}

// hear keeps the events since it was called before.
func (r *Recorder) hear(hub *fabric.Hub) {
	for _, e := range hub.Since(r.seq) {
		r.missed += e.Seq - r.seq - 1
		r.seq = e.Seq
		if len(r.events) < maxEvents {
			r.events = append(r.events, e)
		} else {
			r.missed++
		}
	}
}
