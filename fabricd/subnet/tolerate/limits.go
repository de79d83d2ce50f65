package tolerate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/work"
)

// LimitResult is how many faults some mechanisms tolerate wherever they are.
type LimitResult struct {
	Topology   string         `json:"topology"`
	Mechanisms string         `json:"mechanisms"`
	Region     string         `json:"region"`
	Links      int            `json:"links"`          // that may die
	Tolerates  int            `json:"tolerates"`      // faults
	Any        bool           `json:"any,omitempty"`  // any number of faults
	Example    *ExampleResult `json:"example"`        // of one fault more; null: there is none, or it was not found
	Searched   int            `json:"searched_pairs"` // the others are the same as these by symmetry
	Complete   bool           `json:"complete"`       // false: interrupted, more may be tolerated
	Seconds    float64        `json:"seconds"`

	by   direct.Mechanisms
	dead []weft.LinkID // of the example
}

// Limit finds how many faults some mechanisms tolerate wherever they are. What is known of others
// saves work: these tolerate whatever any tolerate whose ways they include. When the context ends,
// the result is what is known until then, and not Complete.
//
// It tells of its progress: of so many pairs searched, of so many, for sets of k links. A k begins
// with none done.
func (q *Query) Limit(ctx context.Context, m direct.Mechanisms, known []LimitResult,
	told func(k, done, of int),
) (r LimitResult, err error) {
	start := time.Now()
	r = LimitResult{Topology: q.Graph.Spec, Mechanisms: m.String(), Region: q.Region, Links: len(q.Links), by: m}
	defer func() { r.Seconds = time.Since(start).Seconds() }()
	least := 0 // links that a set may have which is not tolerated
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
		if len(other.dead) != least || least == 0 {
			continue
		}
		if s := q.solve(ctx, m, other.dead); s != nil && !s.Tolerated() {
			err = q.found(&r, other.dead)
			return r, err
		}
	}
	l := newLimits(q.Graph, q.Links, By{Net: q.Net, Mechanisms: m}, Symmetries(q.Net, m))
	r.Searched = len(l.Pairs())
	open := make([]int, r.Searched) // pairs that some set may meet yet
	for i := range open {
		open[i] = i
	}
	for k := least; len(open) > 0 && ctx.Err() == nil; k++ {
		told(k, 0, len(open))
		dead, left := q.searchAll(ctx, l, open, k, func(done int) { told(k, done, len(open)) })
		if open = left; dead != nil {
			r.Tolerates = k - 1
			err = q.found(&r, dead)
			return r, err
		}
		if ctx.Err() == nil {
			r.Tolerates = k
		}
	}
	if r.Complete = ctx.Err() == nil; r.Complete {
		r.Any, r.Tolerates = true, len(q.Links)
	}
	return r, nil
}

// found completes r with a set of one link more than it tolerates that is not tolerated.
func (q *Query) found(r *LimitResult, dead []weft.LinkID) error {
	r.Complete, r.dead, r.Example = true, dead, q.example(r.by, dead)
	if r.Example.Unroutable > 0 {
		return nil
	}
	return fmt.Errorf("%s: the search says that %v is not tolerated, and the engine finds all ways: a fault of ours",
		r.Mechanisms, r.Example.Links)
}

// searchAll searches pairs for sets of at most k links: the set of the first pair that has one, and
// the pairs that larger sets may meet.
func (q *Query) searchAll(ctx context.Context, l *limits, pairs []int, k int, told func(done int),
) (dead []weft.LinkID, left []int) {
	sets := make([][]weft.LinkID, len(pairs))
	ends := make([]Found, len(pairs))
	var first atomic.Int64 // of those that have a set
	first.Store(int64(len(pairs)))
	var mu sync.Mutex
	done := 0 // guarded by mu, as told is
	work.Each(ctx, max(1, q.Workers), len(pairs), func(_, i int) {
		sets[i], ends[i] = l.Search(pairs[i], k, func() bool { return ctx.Err() == nil && int64(i) < first.Load() })
		if ends[i] == FoundSet {
			for f := first.Load(); int64(i) < f && !first.CompareAndSwap(f, int64(i)); f = first.Load() {
			}
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		told(done)
	})
	for i, pair := range pairs {
		if sets[i] != nil {
			return sets[i], nil
		}
		if ends[i] != FoundNever {
			left = append(left, pair)
		}
	}
	return nil, left
}
