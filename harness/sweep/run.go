package sweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/measure"
)

// Runner makes one run. The result must be a function of the configuration.
type Runner func(ctx context.Context, c measure.Config) (measure.Result, error)

// Options of [Experiment.Run].
type Options struct {
	Dir     string // where results go; it is made if it is not there
	Samples int    // 0: those of the experiment
	Quick   bool
	Where   map[string]Some // points with these values of these axes only
	Jobs    int             // runs at once; 0: one per core
	Engine  work.Engine     // what makes the runs; nil: this process
	Part    string          // which of several experiments of a command this is, for Engine
	Runner  Runner          // nil: what the experiment's measure says
	// Progress, if given, is told how many of all runs are done, those of earlier starts included.
	// One goroutine calls it.
	Progress func(done, total int)
	Again    int    // how many runs of other versions of the program are made once more, and compared
	Version  string // of the program, for README.md
	Command  string // likewise

	// For tests.
	open func(path string) (file, error) // how the journal is opened for writing
	cpu  func() time.Duration            // the clock of estimates
}

func (o Options) withDefaults(e *Experiment) Options {
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Engine == nil {
		o.Engine = work.Local{Workers: o.Jobs}
	}
	if o.Runner == nil {
		o.Runner = map[string]Runner{
			ofNetwork: measure.Run, ofConnectivity: connectivity, ofLayers: Layers,
			ofReroute: newReroute(), ofTolerate: Tolerate,
		}[e.Measure]
	}
	if o.cpu == nil {
		o.cpu = cpuTime
	}
	return o
}

// Report says what came of an experiment.
type Report struct {
	Experiment string    `json:"experiment"`
	Dir        string    `json:"dir"`
	Quick      bool      `json:"quick"`
	Points     int       `json:"points"`
	Samples    int       `json:"samples"`                 // of the points with most
	Least      int       `json:"least_samples,omitempty"` // of those with fewest, where they differ
	Runs       int       `json:"runs"`
	Versions   []string  `json:"versions"`           // of the program that made the runs
	Firmware   []string  `json:"firmware,omitempty"` // that is not of the program, with its SHA-256
	Again      *Again    `json:"again,omitempty"`
	Earlier    int       `json:"earlier"` // of these, done by earlier starts
	Findings   []Finding `json:"findings"`
	Failed     int       `json:"failed"` // claims of ours that do not hold
	Files      []string  `json:"files"`
	Seconds    float64   `json:"seconds"`     // that this start took
	CPUSeconds float64   `json:"cpu_seconds"` // of all cores together
	Notes      []string  `json:"notes"`
}

// Again is how many runs of other versions this version has made once more; all were the same.
type Again struct {
	Runs    int    `json:"runs"`
	Version string `json:"version"`
}

// text follows the versions that made the runs; it is empty if none was made once more.
func (a *Again) text() string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf(" (%s made once more by %s: the same)", english.Plural(a.Runs, "run", ""), a.Version)
}

// ErrInterrupted is wrapped by the error of a run that its context ended.
var ErrInterrupted = errors.New("interrupted")

// plan is what these options ask for, and how many samples of each point.
func (e *Experiment) plan(o Options) (p *plan, samples int, err error) {
	p = &e.full
	if o.Quick {
		p = &e.quick
	}
	if p, err = p.only(o.Where); err != nil {
		return nil, 0, err
	}
	samples = cmp.Or(o.Samples, p.samples)
	if samples < 0 || samples > maxSamples || samples*len(p.points) > maxRuns {
		return nil, 0, fmt.Errorf("%d samples of %d points: expected at most %d samples and %d runs", samples, len(p.points),
			maxSamples, maxRuns)
	}
	return p, samples, nil
}

// Size is how many points and runs options ask for.
func (e *Experiment) Size(o Options) (points, runs int, err error) {
	p, samples, err := e.plan(o)
	if err != nil {
		return 0, 0, err
	}
	return len(p.points), len(p.points) * samples, nil
}

// Run runs what is not yet done, and writes all results. Errors are those of files, with what to
// do, a configuration that cannot be run, and [ErrInterrupted].
func (e *Experiment) Run(ctx context.Context, o Options) (_ *Report, err error) {
	w, err := e.start(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.journal.close()) }()
	w.list()
	if err = w.again(ctx); err == nil {
		err = w.all(ctx)
	}
	if err != nil {
		return nil, err
	}
	return w.write(w.table().findings())
}

// start opens the folder of results. The samples of a point are those of the options. The caller
// closes the journal.
func (e *Experiment) start(o Options) (*start, error) {
	p, samples, err := e.plan(o)
	if err != nil {
		return nil, err
	}
	o.Samples = samples
	o = o.withDefaults(e)
	w := &start{
		e: e, plan: p, Options: o, began: time.Now(), computed: o.cpu(),
		samples: slices.Repeat([]int{samples}, len(p.points)),
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	if w.journal, err = openJournal(o.Dir, e.header(p, o.Version)); err != nil || o.open == nil {
		return w, err
	}
	f, err := o.open(w.journal.path)
	if err != nil {
		return nil, errors.Join(err, w.journal.close())
	}
	_ = w.journal.file.Close() // replaced
	w.journal.file = f
	return w, nil
}

func (e *Experiment) header(p *plan, version string) header {
	h := header{
		Experiment: e.Name, Settings: map[string]string{"measure": e.Measure, "seed": fmt.Sprint(e.Seed)},
		Version: version,
	}
	for _, c := range columns {
		h.Columns = append(h.Columns, c.name)
	}
	for _, name := range settingNames {
		if text := p.base.text(name); text != "" && p.index(name) < 0 {
			h.Settings[name] = text
		}
	}
	return h
}

// start is a start of an experiment.
type start struct {
	Options
	e       *Experiment
	plan    *plan
	journal *journal

	began    time.Time
	computed time.Duration // CPU time until then

	samples []int      // by point
	keys    [][]string // of the runs, by point and sample
	offered int        // samples of every point that are in todo, wanted or not: see more
	most    int        // samples of every point that a process that is asked for runs may be asked for
	todo    []job      // what is wanted or offered
	total   int        // that are wanted
	left    int        // of these, not done
	made    int        // by this start
	remade  *Again     // by this version, now or before
	workers int        // that each run uses, see measure.Config
}

type job struct {
	point, sample int
	key           string
	known         bool // it is done, or not wanted yet
}

// list finds what is to be done. One sample of all points comes before the next sample of any, so
// that what is done when a run is interrupted can be looked at.
func (w *start) list() {
	w.keys, w.todo, w.total, w.left = make([][]string, len(w.plan.points)), nil, 0, 0
	type found struct {
		at     int // in todo
		wanted bool
	}
	listed := map[string]found{} // by key: another point may be the same network
	for s := range max(w.offered, slices.Max(w.samples)) {
		for i := range w.plan.points {
			wanted := s < w.samples[i]
			if !wanted && s >= w.offered {
				continue
			}
			pt := &w.plan.points[i]
			key := pt.key(w.e.Measure, s, pt.seed(w.e.Seed, s))
			f, again := listed[key]
			if !again {
				f.at = len(w.todo)
				w.todo = append(w.todo, job{i, s, key, true})
			}
			if wanted {
				w.keys[i] = append(w.keys[i], key)
			}
			if _, done := w.journal.done[key]; wanted && !f.wanted {
				w.total++
				if !done {
					w.left++
					w.todo[f.at].known = false
				}
			}
			f.wanted = f.wanted || wanted
			listed[key] = f
		}
	}
}

// more lists more samples of every point than are wanted: whoever computes for another process
// knows no results, and cannot say which samples that one wants. It reports false when all are
// listed.
func (w *start) more() bool {
	listed := max(w.offered, slices.Max(w.samples))
	if listed >= w.most {
		return false
	}
	w.offered = min(2*listed, w.most)
	w.list()
	return true
}

// all does what is to be done.
func (w *start) all(ctx context.Context) error {
	w.workers = w.Jobs / max(1, w.left) // of a run, where there are fewer runs than cores
	done := w.total - w.left
	w.reportProgress(done)
	j := work.Job{
		Part: w.Part, What: "runs", Count: len(w.todo), Piece: w.piece,
		Known: func(i int) bool { return w.todo[i].known },
	}
	j.Run, j.Merge = work.JSON(func(ctx context.Context, _, i int) (row, error) {
		r, err := w.one(ctx, &w.plan.points[w.todo[i].point], w.todo[i].sample)
		return rowOf(r), err
	}, func(i int, r row) error {
		err := r.check()
		if err == nil {
			err = w.journal.add(w.todo[i].key, r)
		}
		if err == nil {
			done++
			w.made++
			w.reportProgress(done)
		}
		return err
	})
	j.Plain = untimed
	j.More = func() bool {
		more := w.more()
		j.Count = len(w.todo)
		return more
	}
	err := w.Engine.Run(ctx, &j)
	if err != nil && ctx.Err() != nil {
		return w.interrupted(done)
	}
	return err
}

// untimed is a row without the columns of times that a computation took.
func untimed(result []byte) []byte {
	var r row
	if json.Unmarshal(result, &r) != nil {
		return result
	}
	for i, c := range columns {
		if i < len(r) && c.timed() {
			r[i] = ""
		}
	}
	return fmt.Append(nil, r)
}

func (w *start) piece(i int) work.Piece { return w.pieceOf(w.todo[i]) }

func (w *start) pieceOf(t job) work.Piece {
	name := fmt.Sprintf("sample %d of %s", t.sample, w.plan.points[t.point].text(w.plan.axes))
	return work.Piece{Name: name, Key: t.key, Cost: w.size(t.point)}
}

// size says how much work a run of a point is, beside other runs.
func (w *start) size(point int) float64 {
	c := &w.plan.points[point].config
	size := cyclesOf(c, w.e.Measure)
	if c.Topology == nil {
		return size
	}
	pairs := float64(len(c.Topology.Switches) * len(c.Topology.Switches))
	switch w.e.Measure {
	case ofNetwork:
		size *= float64(len(c.Topology.NICs)) // a cycle moves about so many packets
	case ofReroute, ofConnectivity:
		size *= pairs
	case ofLayers:
		size *= 10 * pairs // which are taken one by one
	}
	if c.EverySet && w.e.Measure == ofReroute {
		size *= float64(len(c.Topology.Links))
	}
	return size
}

func (w *start) reportProgress(done int) {
	if w.Progress != nil {
		w.Progress(done, w.total)
	}
}

// one makes one run. A panic in it is told with what was run, because nobody would find that again
// among thousands.
func (w *start) one(ctx context.Context, pt *point, sample int) (r measure.Result, err error) {
	c := pt.config
	c.Seed = pt.seed(w.e.Seed, sample)
	c.Workers = w.workers
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("sweep: BUG: sample %d of %s, seed %d: panic: %v\n%s", sample, pt.text(w.plan.axes), c.Seed, v,
				debug.Stack())
		}
	}()
	layers, err := w.e.nets.fill(ctx, &c, &pt.set.Settings, sample, w.e.Measure)
	if err == nil && layers > c.Switch.VCs {
		err = fmt.Errorf("%s needs %d virtual channels on %s, and vcs is %d",
			c.Routing, layers, c.Topology.Spec, c.Switch.VCs)
	}
	if err == nil {
		r, err = w.Runner(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("sample %d of %s: %w", sample, pt.text(w.plan.axes), err)
	}
	if w.e.Measure == ofNetwork {
		r.Layers = layers
	}
	return r, err
}

// interrupted says how to go on.
func (w *start) interrupted(done int) error {
	text := fmt.Sprintf("after %d of %d runs: the same command goes on from %s", done, w.total,
		filepath.Join(w.Dir, journalName))
	whole := 0
	for ; whole < slices.Min(w.samples); whole++ {
		complete := true
		for i := range w.keys {
			_, ok := w.journal.done[w.keys[i][whole]]
			complete = complete && ok
		}
		if !complete {
			break
		}
	}
	if whole > 0 {
		text += fmt.Sprintf("; --samples %d makes tables and plots of what is there", whole)
	}
	return fmt.Errorf("%w %s", ErrInterrupted, text)
}
