// Package work runs what falls into pieces: the runs of an experiment, the sets of a proof, the
// links of a what-if question. A [Job] says which pieces there are, how one is computed to bytes
// and how results are merged. An [Engine] runs them: [Local] in this process, package jobs on many
// machines.
//
// The result of a piece is a function of its [Piece.Key] and of the program, so that it does not
// matter who computes it, when, or how often.
package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Piece is what can be computed alone.
type Piece struct {
	Name string  // what it is, for people; unique in its job
	Key  string  // hash of all that the result depends on but the program, see [Key]
	Cost float64 // about what it takes, in any unit that is the same for all pieces of the job
}

// Job is a computation in pieces. The same settings and files give the same job in every process.
type Job struct {
	// Part says which part of its command's work this is, where another process may be asked for
	// pieces of any of them: see [Elsewhere].
	Part  string
	What  string // the pieces, as people call many of them: "fault sets"
	Count int
	Piece func(i int) Piece
	Known func(i int) bool // an earlier run has merged it; nil: nothing is known

	// Run computes a piece. Several goroutines call it at once, each with its own number, from 0 to
	// less than the workers of the engine.
	Run func(ctx context.Context, worker, i int) ([]byte, error)
	// Merge takes a result in. One goroutine at a time calls it: in the order of the pieces when
	// Ordered, else as they end. [ErrEnough] ends the job.
	Merge   func(i int, result []byte) error
	Ordered bool
	// More adds pieces to Count that whoever gave the order may come to want; it reports false when
	// there are no more. nil: there are none. Engines that compute for others call it.
	More func() bool
	// Plain is what of a result is the same whoever computes the piece: not how long it took. nil:
	// all.
	Plain func(result []byte) []byte
}

// Engine runs the pieces of a job that are not known and merges their results. The error is the
// first of a piece, that of Merge, or that of the context. A command may run one job after another,
// whose pieces depend on what the first one gave.
type Engine interface {
	Run(ctx context.Context, j *Job) error
}

// Elsewhere is the error of an engine that is asked for a piece of another part of its command's
// work: the command goes on with that.
type Elsewhere struct {
	Part string // empty: any but this
}

// Error implements error.
func (e *Elsewhere) Error() string { return "work: the piece is not one of these, but of " + e.Part }

// ErrEnough is returned by Merge when the pieces that have not begun are not wanted.
var ErrEnough = errors.New("work: enough is known")

// Key is a hash of parts.
func Key(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\x00", p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// JSON makes the Run and the Merge of a job whose results are values, which travel as JSON.
func JSON[T any](run func(ctx context.Context, worker, i int) (T, error), merge func(i int, v T) error) (
	func(context.Context, int, int) ([]byte, error), func(int, []byte) error,
) {
	return func(ctx context.Context, worker, i int) ([]byte, error) {
			v, err := run(ctx, worker, i)
			if err != nil {
				return nil, err
			}
			return json.Marshal(v)
		}, func(i int, result []byte) error {
			var v T
			if err := json.Unmarshal(result, &v); err != nil {
				return fmt.Errorf("work: the result of piece %d: %w", i, err)
			}
			return merge(i, v)
		}
}

// Untimed is a JSON result without what it says of how long it took, for [Job.Plain].
func Untimed(result []byte) []byte {
	var v any
	if json.Unmarshal(result, &v) != nil {
		return result
	}
	plain, err := json.Marshal(untimed(v))
	if err != nil {
		return result
	}
	return plain
}

func untimed(v any) any {
	switch x := v.(type) {
	case map[string]any:
		delete(x, "seconds")
		delete(x, "compute_seconds")
		for k := range x {
			x[k] = untimed(x[k])
		}
	case []any:
		for i := range x {
			x[i] = untimed(x[i])
		}
	}
	return v
}

// Local is the engine that computes in this process.
type Local struct {
	Workers int // goroutines; 0: one per core
}

// Count is how many workers a job of so many pieces has.
func (l Local) Count(pieces int) int {
	if l.Workers <= 0 {
		l.Workers = runtime.GOMAXPROCS(0)
	}
	return max(1, min(l.Workers, pieces))
}

// Run implements [Engine].
func (l Local) Run(ctx context.Context, j *Job) error {
	workers, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	m := NewMerger(j)
	var failed error // guarded by mu, as m is
	var enough atomic.Bool
	Each(workers, l.Workers, j.Count, func(worker, i int) {
		if enough.Load() || j.Known != nil && j.Known(i) {
			return
		}
		r, err := j.Run(workers, worker, i)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case failed != nil || enough.Load() && j.Ordered:
			return
		case err != nil && ctx.Err() != nil:
			return // it was interrupted, and says so
		case err == nil:
			err = m.Add(i, r)
		}
		switch {
		case errors.Is(err, ErrEnough):
			enough.Store(true)
		case err != nil:
			failed = err
			cancel()
		}
	})
	switch {
	case failed != nil:
		return failed
	case enough.Load():
		return nil
	}
	return ctx.Err()
}

// Each calls run for 0 to n-1, in several goroutines, each of which has a number, and waits for
// them. It reports false when the context ended first. Workers below 1 are one per core.
func Each(ctx context.Context, workers, n int, run func(worker, i int)) bool {
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range (Local{workers}).Count(n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				run(worker, i)
			}
		})
	}
	wg.Wait()
	return ctx.Err() == nil
}

// Merger merges results that come in any order, as a job wants them.
type Merger struct {
	job  *Job
	next int
	held map[int][]byte // results that came before their turn
}

// NewMerger returns a merger of the pieces that are not known.
func NewMerger(j *Job) *Merger {
	m := &Merger{job: j, held: map[int][]byte{}}
	m.skip()
	return m
}

// Add takes a result in. The error is that of [Job.Merge].
func (m *Merger) Add(i int, result []byte) error {
	if !m.job.Ordered {
		return m.job.Merge(i, result)
	}
	m.held[i] = result
	for r, ok := m.held[m.next]; ok; r, ok = m.held[m.next] {
		delete(m.held, m.next)
		if err := m.job.Merge(m.next, r); err != nil {
			return err
		}
		m.next++
		m.skip()
	}
	return nil
}

func (m *Merger) skip() {
	for m.job.Known != nil && m.next < m.job.Count && m.job.Known(m.next) {
		m.next++
	}
}
