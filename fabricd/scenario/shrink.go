package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/scenario/format"
)

// Bounds unless given. Chosen by us.
const (
	DefaultShrinkTries  = 3
	DefaultShrinkBudget = 5 * time.Minute
	mostShrinkRuns      = 500
)

// Shrinker says how to reduce a scenario that fails to a smallest one that still does: fewer
// faults, simpler ones, less traffic, a shorter run. A scenario is live, so a failure need not come
// every time: a candidate counts as failing when one of so many runs does, on an expectation that
// the original failed on.
type Shrinker struct {
	// Run runs one candidate.
	Run func(ctx context.Context, s *Scenario) (Result, error)

	Tries   int           // runs before a candidate counts as passing; 0 means DefaultShrinkTries
	Budget  time.Duration // time for all runs; 0 means DefaultShrinkBudget
	MaxRuns int           // of all candidates together; 0 means 500

	// Progress hears of every candidate that has been judged; nil: nobody.
	Progress func(ShrinkProgress)
}

// ShrinkProgress is one candidate judged.
type ShrinkProgress struct {
	Runs  int // so far, of all candidates
	Trial string
	Fails bool
	Best  format.File // the smallest that fails so far
}

// Shrunk is a smallest scenario that fails.
type Shrunk struct {
	File    format.File
	Result  Result // of a run of it that failed
	Runs    int
	Stopped string // why it may not be the smallest; "" when it is
}

// ErrPasses means that the scenario did not fail.
var ErrPasses = errors.New("the scenario passes")

// Shrink reduces f. Errors: f is no valid scenario, it cannot be run, it passes ([ErrPasses]), or
// it fails for want of something, so that any smaller one fails too. An end of ctx is no error once
// it has failed: the outcome is the best so far.
func (c Shrinker) Shrink(ctx context.Context, f format.File) (Shrunk, error) {
	if c.Tries <= 0 {
		c.Tries = DefaultShrinkTries
	}
	if c.Budget <= 0 {
		c.Budget = DefaultShrinkBudget
	}
	if c.MaxRuns <= 0 {
		c.MaxRuns = mostShrinkRuns
	}
	s := &search{Shrinker: c, user: ctx, tried: map[string]bool{}}
	ctx, cancel := context.WithTimeout(ctx, c.Budget)
	defer cancel()
	s.ctx = ctx
	if err := s.original(f); err != nil {
		return Shrunk{}, err
	}
	s.reduce()
	return Shrunk{File: s.best, Result: s.result, Runs: s.runs, Stopped: s.why()}, nil
}

// search is one Shrink.
type search struct {
	Shrinker
	user, ctx context.Context // the caller's, and the same with the budget
	want      []string        // expectations, one of which must break
	best      format.File     // fails
	result    Result          // of best
	runs      int
	tried     map[string]bool // by text: candidates that do not fail
}

// original finds out how f fails.
func (s *search) original(f format.File) error {
	text, err := format.Write(f)
	if err != nil {
		return err
	}
	sc, err := Load(s.ctx, f.Name, text)
	if err != nil {
		return err
	}
	for range s.Tries {
		s.runs++
		r, err := s.Run(s.ctx, sc)
		if err != nil {
			return err
		}
		if r.Pass {
			continue
		}
		if s.want, err = reducible(r.Broken); err != nil {
			return err
		}
		s.best, s.result = f, r
		s.tell("as it is", true)
		return nil
	}
	return fmt.Errorf("%w in %d runs: there is nothing to shrink", ErrPasses, s.Tries)
}

// scarce are the expectations that something happens often enough. What is smaller fails them the
// more, and says nothing.
var scarce = []string{"lost_at_least", "reroutes_at_least", "requeued_at_least"}

// tooFew is scarce too, but fewer faults are a reduction that says something: they do not take
// packets away.
const tooFew = "delivered_at_least"

// reducible leaves out of the expectations that broke those that any smaller scenario breaks.
func reducible(broken []string) ([]string, error) {
	want := slices.DeleteFunc(slices.Clone(broken), func(name string) bool { return slices.Contains(scarce, name) })
	if len(want) == 0 {
		return nil,
			fmt.Errorf("it fails %s alone: with fewer faults or less traffic that fails all the more, so there is nothing to "+
				"shrink",
				strings.Join(broken, ", "))
	}
	if i := slices.Index(want, tooFew); i >= 0 && len(want) > 1 {
		want = slices.Delete(want, i, i+1)
	}
	return want, nil
}

// stop reports whether no more runs may be begun.
func (s *search) stop() bool { return s.ctx.Err() != nil || s.runs >= s.MaxRuns }

// why says why the search ended early, if it did.
func (s *search) why() string {
	switch {
	case s.user.Err() != nil:
		return "interrupted"
	case s.ctx.Err() != nil:
		return fmt.Sprintf("its budget of %v is spent", s.Budget)
	case s.runs >= s.MaxRuns:
		return fmt.Sprintf("its %d runs are spent", s.MaxRuns)
	}
	return ""
}

// fails runs f and reports whether it fails as the original does; then it is the best so far. One
// that is no valid scenario, or cannot be run, does not.
func (s *search) fails(trial string, f format.File) bool {
	text, err := format.Write(f)
	if err != nil || s.tried[string(text)] {
		return false
	}
	sc, err := Load(s.ctx, f.Name, text)
	if err != nil {
		s.tried[string(text)] = true
		return false
	}
	for range s.Tries {
		if s.stop() {
			return false
		}
		s.runs++
		r, err := s.Run(s.ctx, sc)
		if err != nil {
			break
		}
		if slices.ContainsFunc(r.Broken, func(name string) bool { return slices.Contains(s.want, name) }) {
			s.best, s.result = f, r
			s.tell(trial, true)
			return true
		}
	}
	s.tried[string(text)] = true
	if s.ctx.Err() == nil {
		s.tell(trial, false)
	}
	return false
}

func (s *search) tell(trial string, fails bool) {
	if s.Progress != nil {
		s.Progress(ShrinkProgress{Runs: s.runs, Trial: trial, Fails: fails, Best: s.best})
	}
}
