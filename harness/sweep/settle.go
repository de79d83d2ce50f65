package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dustin/go-humanize/english"

	"github.com/weft-fabric/weft/fabricd/work"
)

// Sizes of stages, chosen by us.
const (
	look        = 2    // samples of every point, which draw the plots
	firstStage  = 8    // samples of what an open statement is about; each further stage doubles them
	settledMost = 1024 // samples of a point, unless the options say otherwise
)

// Settling makes the samples of an experiment in stages, until each statement of its checks is
// decided. Two samples of all points come first, and decide nothing. Then stage 1 makes eight, and
// each further one twice as many as the one before, of the points on which an undecided statement
// about means depends, so that samples go where they are needed. At last all points get as many as
// the experiment says, and what these show counts.
//
// To look again and again at growing samples until an interval lies on one side would err far more
// often than in 5 of 100 cases. So the interval of stage k misses with the probability
// 0.025/(k(k+1)): over all stages, however many there are, these add up to 0.025. The other half is
// for the look at the experiment's own number of samples.
//
// What is decided is a function of the samples alone. After an interruption the stages are gone
// through again, with the runs that the journal has.
type Settling struct {
	start    *start
	most     int
	stage    int     // the next, 0 for the samples that decide nothing
	open     []int   // indices of the checks that are not decided
	wanted   []bool  // by point: open checks depend on it
	work     float64 // of the next stage; negative: it is not known yet
	findings []Finding
}

// Settle begins to settle an experiment. [Options.Samples] is how many samples a point gets at the
// most: 1024 unless given. Where all sets of faults are counted nothing is drawn, and it is 1. The
// caller ends it with [Settling.End] or [Settling.Close].
func (e *Experiment) Settle(o Options) (*Settling, error) {
	most := cmp.Or(o.Samples, settledMost)
	if e.drawsNothing() {
		most = 1
	}
	o.Samples = min(firstStage, most)
	w, err := e.start(o)
	if err != nil {
		return nil, err
	}
	w.most = most
	clear(w.samples)
	s := &Settling{start: w, most: most, work: -1, findings: w.empty().findings()}
	for i := range e.Checks {
		s.open = append(s.open, i)
	}
	s.want(w.empty())
	return s, nil
}

// drawsNothing reports whether all samples of a point are the same.
func (e *Experiment) drawsNothing() bool {
	return !slices.ContainsFunc(e.full.points, func(pt point) bool { return !pt.complete(e.Measure) })
}

// Name is that of the experiment.
func (s *Settling) Name() string { return s.start.e.Name }

// Done reports whether no further stage is to come: all is decided, or there are as many samples as
// there may be; and all points have as many as the experiment says.
func (s *Settling) Done() bool {
	return len(s.next().points) == 0
}

// Open is how many statements are not decided.
func (s *Settling) Open() int { return len(s.open) }

// Next says what the next stage makes, as "16 samples of 20 points".
func (s *Settling) Next() string {
	n := s.next()
	return english.Plural(n.samples, "sample", "") + " of " + english.Plural(len(n.points), "point", "")
}

// own is how many samples of a point the experiment asks for, or may have.
func (s *Settling) own() int { return min(s.start.plan.samples, s.most) }

// addition is what a stage makes: so many samples of each of these points.
type addition struct {
	samples int
	points  []int
	rest    bool // up to what the experiment asks for: no open statement depends on them
}

// next is what the next stage makes, nothing when all is done.
func (s *Settling) next() addition {
	have := s.start.samples
	if s.stage == 0 {
		n := min(look, s.most)
		return addition{samples: n, points: ofFewer(have, n)}
	}
	n := min(firstStage<<(s.stage-1), s.most)
	points := slices.DeleteFunc(ofFewer(have, n), func(i int) bool { return !s.wanted[i] })
	if len(points) > 0 {
		return addition{samples: n, points: points}
	}
	return addition{samples: s.own(), points: ofFewer(have, s.own()), rest: true}
}

// ofFewer are the points with fewer samples than n.
func ofFewer(samples []int, n int) (points []int) {
	for i, have := range samples {
		if have < n {
			points = append(points, i)
		}
	}
	return points
}

// size is how much work the next stage is, beside that of other experiments. What the journal has
// is none, so that an interrupted settling is first where it was.
func (s *Settling) size() float64 {
	if s.work >= 0 {
		return s.work
	}
	w := s.start
	n := s.next()
	s.work = 0
	for _, i := range n.points {
		pt := &w.plan.points[i]
		for k := range n.samples {
			if _, done := w.journal.done[pt.key(w.e.Measure, k, pt.seed(w.e.Seed, k))]; !done {
				s.work += w.size(i)
			}
		}
	}
	return s.work
}

// before reports whether the next stage of s comes before that of another experiment.
func (s *Settling) before(o *Settling) bool {
	if rest := s.next().rest; rest != o.next().rest {
		return !rest
	}
	return s.size() < o.size()
}

// Stage makes the next stage. When it is interrupted, what was decided before stands.
func (s *Settling) Stage(ctx context.Context) error {
	w := s.start
	n := s.next()
	s.work = -1
	before := slices.Clone(w.samples)
	for _, i := range n.points {
		w.samples[i] = n.samples
	}
	w.list()
	var err error
	if s.stage == 0 {
		err = w.again(ctx)
	}
	if err == nil {
		err = w.all(ctx)
	}
	if err != nil {
		w.samples = before
		w.list()
		return err
	}
	own, stage := s.own(), s.stage
	if !n.rest {
		s.stage++
	}
	if slices.Min(before) < own && slices.Min(w.samples) >= own {
		s.lookAtAll()
		return nil
	}
	if stage == 0 {
		return nil
	}
	t := w.table()
	t.level = ofStage(stage)
	s.open = slices.DeleteFunc(s.open, func(k int) bool {
		c := w.e.Checks[k]
		if !slices.ContainsFunc(t.about(c), func(p subject) bool {
			return slices.Contains(n.points, p.point) || slices.Contains(n.points, p.with)
		}) {
			return false // nothing is new
		}
		s.findings[k] = t.finding(c)
		if n.samples < own && (!c.plain() || t.alike(c)) {
			return false // they say less than their interval, which has no width
		}
		return s.findings[k].decided()
	})
	s.want(t)
	return nil
}

// want finds out on which points the open statements depend.
func (s *Settling) want(t *table) {
	s.wanted = make([]bool, len(t.rows))
	for _, k := range s.open {
		for _, p := range t.unsure(s.start.e.Checks[k]) {
			s.wanted[p] = true
		}
	}
}

// lookAtAll decides by as many samples as the experiment asks for, but for what needed more.
func (s *Settling) lookAtAll() {
	t := s.start.table()
	t.level = usual / 2
	for k, c := range s.start.e.Checks {
		if s.findings[k].Samples > s.own() {
			continue
		}
		s.findings[k] = t.finding(c)
		s.open = slices.DeleteFunc(s.open, func(o int) bool { return o == k })
		if !s.findings[k].decided() {
			s.open = append(s.open, k)
		}
	}
	s.want(t)
	for firstStage<<(s.stage-1) <= s.own() {
		s.stage++
	}
}

// alike reports whether a statement is about values that are the same in all samples of a point.
// Few samples that are alike do not show that none differs, and a least or largest value is one of
// so many samples.
func (t *table) alike(c Check) bool {
	list, _ := t.measured(c)
	return slices.ContainsFunc(list, func(e located) bool { return e.high <= e.low })
}

// ofStage is the level of intervals at a stage, the first of which is 1. All together are half of
// the usual.
func ofStage(stage int) level { return usual / level(2*stage*(stage+1)) }

// decided reports whether more samples would not change the verdict.
func (f *Finding) decided() bool {
	return f.Points > 0 && f.verdict() != Unsure
}

// End writes all results of the stages that were made, and closes the folder. Before the first
// stage there are none, and results that are there stay.
func (s *Settling) End() (*Report, error) {
	w := s.start
	if s.stage == 0 {
		_, err := os.Stat(filepath.Join(w.Dir, recordName))
		if !errors.Is(err, fs.ErrNotExist) {
			r := &Report{Experiment: s.Name(), Dir: w.Dir, Findings: s.findings, Notes: []string{s.late()}}
			return r, errors.Join(err, s.Close())
		}
		w.list()
	}
	r, err := w.write(s.findings)
	if s.stage == 0 && err == nil {
		r.Notes = append(r.Notes, s.late())
	}
	return r, errors.Join(err, s.Close())
}

// late says that there was no time for the first samples.
func (s *Settling) late() string {
	return fmt.Sprintf("there was no time for the first %s: the same command goes on", s.Next())
}

// Close closes the folder and writes nothing. The runs that were made are kept.
func (s *Settling) Close() error { return s.start.journal.close() }

// SettleAll makes stages until all experiments are done, always that which is least work, so that
// what can be decided soon is not kept waiting. What brings all points to the experiment's own
// number of samples comes last. It calls onStage ahead of each. An engine that is asked for runs of
// one of them by another process makes those of that one.
func SettleAll(ctx context.Context, list []*Settling, onStage func(*Settling)) error {
	for {
		at := -1
		for i, s := range list {
			if !s.Done() && (at < 0 || s.before(list[at])) {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		onStage(list[at])
		err := list[at].Stage(ctx)
		var other *work.Elsewhere
		for tried := 0; errors.As(err, &other); tried++ {
			if at = elsewhere(list, tried, other); at < 0 {
				return err
			}
			err = list[at].Stage(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// elsewhere is the experiment whose run is asked for; where it is not known which, the next that
// has not been tried. -1: there is none.
func elsewhere(list []*Settling, tried int, e *work.Elsewhere) int {
	if e.Part != "" {
		return slices.IndexFunc(list, func(s *Settling) bool { return s.start.Part == e.Part })
	}
	if tried == len(list) {
		return -1
	}
	return tried
}

// empty is the table before there is any run.
func (w *start) empty() *table {
	return &table{e: w.e, plan: w.plan, rows: make([][]row, len(w.plan.points)), level: usual}
}

// unsure are the points of which more samples may decide a statement about means: those where the
// interval reaches over the bound, and those that they are compared with; all, where it is about
// the mean of them.
func (t *table) unsure(c Check) (points []int) {
	if !c.plain() {
		return nil
	}
	list, _ := t.measured(c)
	for _, p := range t.about(c) {
		i := slices.IndexFunc(list, func(e located) bool { return e.point == p.point })
		if i < 0 || c.Of == ofMean || !c.certain(list[i]) && c.possible(list[i].estimate) {
			points = append(points, p.point, p.with)
		}
	}
	return points
}
