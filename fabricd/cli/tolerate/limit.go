package tolerate

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
)

// tolerateLimit is how many faults some mechanisms tolerate wherever they are: a line of --limit
// --json.
type tolerateLimit struct {
	Topology   string           `json:"topology"`
	Mechanisms string           `json:"mechanisms"`
	Region     string           `json:"region"`
	Links      int              `json:"links"`
	Tolerates  int              `json:"tolerates"`      // faults
	Any        bool             `json:"any,omitempty"`  // any number of faults
	Example    *tolerateExample `json:"example"`        // of one fault more
	Searched   int              `json:"searched_pairs"` // the others are the same as these by symmetry
	Complete   bool             `json:"complete"`       // false: interrupted, more may be tolerated
	Seconds    float64          `json:"seconds"`

	by   direct.Mechanisms
	dead []weft.LinkID // of the example
}

// limits finds those of all mechanisms.
func (u *tolerateFlags) limits(ctx context.Context, a tolerating, stdout, stderr io.Writer) error {
	p := command.NewProgress(stderr, command.Terminal(stderr), "pairs searched", u.tellEvery)
	defer p.End()
	var list []tolerateLimit
	for _, m := range a.mechanisms {
		l, err := u.limitOf(ctx, a, m, list, p)
		if err != nil {
			return err
		}
		list = append(list, l)
		if err := u.line(stdout, l); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	p.End()
	var ended error
	if ctx.Err() != nil {
		ended = fmt.Errorf("interrupted: %s may tolerate more than is said above", list[len(list)-1].Mechanisms)
	}
	return u.ended(stdout, func(w io.Writer) error { return printLimits(w, a, list) }, ended, true)
}

// limitOf finds that of some mechanisms. What is known of others saves work: these tolerate
// whatever any tolerate whose ways they include.
func (u *tolerateFlags) limitOf(ctx context.Context, a tolerating, m direct.Mechanisms, known []tolerateLimit, p *command.Progress) (r tolerateLimit, err error) {
	start := time.Now()
	r = tolerateLimit{Topology: a.g.Spec, Mechanisms: m.String(), Region: u.region, Links: len(a.region), by: m}
	defer func() { r.Seconds = time.Since(start).Seconds() }()
	least := 0 // that a set may have which is not tolerated
	for _, less := range known {
		if !m.Includes(less.by) {
			continue
		}
		if r.Tolerates, least = max(r.Tolerates, less.Tolerates), max(least, less.Tolerates+1); less.Any {
			r.Any, r.Complete = true, true
			return r, nil
		}
	}
	for _, other := range known {
		if len(other.dead) == least && least > 0 && !a.solve(m, other.dead).Tolerated() {
			return a.limited(r, other.dead), nil
		}
	}
	l := tolerate.NewLimits(a.g, a.region, tolerate.By{Net: a.net, Mechanisms: m}, tolerate.Symmetries(a.net, m))
	r.Searched = len(l.Pairs())
	open := make([]int, r.Searched) // pairs that some set may meet yet
	for i := range open {
		open[i] = i
	}
	for k := least; len(open) > 0 && ctx.Err() == nil; k++ {
		p.Begin(fmt.Sprintf("pairs searched for sets of %d that %v does not tolerate", k, m))
		dead, left := searchAll(ctx, l, open, k, a.jobs, func(done int) { p.Told(uint64(done), uint64(len(open))) })
		if open = left; dead != nil {
			r.Tolerates = k - 1
			if r = a.limited(r, dead); r.Example.Unroutable == 0 {
				return r, fmt.Errorf("%s: the search says that %v is not tolerated, and the engine finds all ways: a fault of ours", m, r.Example.Links)
			}
			return r, nil
		}
		if ctx.Err() == nil {
			r.Tolerates = k
		}
	}
	if r.Complete = ctx.Err() == nil; r.Complete {
		r.Any, r.Tolerates = true, len(a.region)
	}
	return r, nil
}

// limited is r with a set of one link more than it tolerates that is not tolerated.
func (a tolerating) limited(r tolerateLimit, dead []weft.LinkID) tolerateLimit {
	r.Example, r.Complete, r.dead = a.exampleOf(r.by, dead), true, dead
	return r
}

// searchAll searches pairs for sets of at most k links: the set of the first pair that has one, and
// the pairs that larger sets may meet.
func searchAll(ctx context.Context, l *tolerate.Limits, pairs []int, k, workers int, told func(done int)) (dead []weft.LinkID, left []int) {
	sets := make([][]weft.LinkID, len(pairs))
	ends := make([]tolerate.Found, len(pairs))
	var next, done atomic.Int64
	var first atomic.Int64 // of those that have a set
	first.Store(int64(len(pairs)))
	var wg sync.WaitGroup
	var mu sync.Mutex // guards told
	for range workers {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(len(pairs)) {
					return
				}
				sets[i], ends[i] = l.Search(pairs[i], k, func() bool { return ctx.Err() == nil && i < first.Load() })
				if ends[i] == tolerate.FoundSet {
					for f := first.Load(); i < f && !first.CompareAndSwap(f, i); f = first.Load() {
					}
				}
				n := int(done.Add(1))
				mu.Lock()
				told(n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i, pair := range pairs {
		if ends[i] == tolerate.FoundSet {
			return sets[i], nil
		}
		if ends[i] != tolerate.FoundNever {
			left = append(left, pair)
		}
	}
	return nil, left
}

func printLimits(w io.Writer, a tolerating, list []tolerateLimit) error {
	fmt.Fprintf(w, "%s: how many of %s may die wherever they are\n\n", a.g.Spec, command.Counted(len(a.region), "link"))
	return command.Tabbed(w, func(tab func(...any)) {
		tab("mechanisms", "tolerates", "computed in", "a smallest set that is not tolerated")
		for _, l := range list {
			tolerates, example := fmt.Sprint(l.Tolerates), ""
			switch {
			case l.Any:
				tolerates, example = "any", "none: a pair that live links join has a way"
			case !l.Complete:
				tolerates, example = "at least "+tolerates, "interrupted"
			default:
				example = l.Example.String()
			}
			tab(l.Mechanisms, tolerates, fmt.Sprintf("%.3f s", l.Seconds), example)
		}
	})
}
