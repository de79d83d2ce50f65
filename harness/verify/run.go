package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how many sets a worker takes at a time: enough that handing them out costs nothing, few
// enough that a checkpoint loses little.
const chunk = 32

// Run explores every set of faults that c asks for and returns what it found. A firmware that fails
// is no error: [Result].Pass is false. When ctx ends first, the result is marked as interrupted and
// holds what was found by then. The error wraps [ErrConfig] when c cannot be verified.
func Run(ctx context.Context, c Config) (*Result, error) {
	if c.Graph == nil {
		return nil, c.check()
	}
	if err := errors.Join(c.Sets.resolve(c.Graph), c.check()); err != nil {
		return nil, err
	}
	m, err := newModel(&c)
	if err != nil {
		return nil, err
	}
	r := &run{Config: c, model: m, total: c.Sets.total()}
	began := time.Now()
	res, why, err := r.lazy(ctx)
	if err != nil {
		return nil, err
	}
	if res != nil {
		res.Seconds = time.Since(began).Seconds()
		res.finish()
		return res, nil
	}
	if err := c.Sets.countable(); err != nil {
		return nil, fmt.Errorf("%w; they cannot be explored all at once: %s", err, why)
	}
	r.believe()
	r.result = r.empty()
	if r.book, err = openBook(r); err != nil {
		return nil, err
	}
	// An earlier run that was told to stop at the first may have stopped there.
	r.stop.Store(r.StopAtFirst && len(r.result.firsts) > 0)
	err = r.work(ctx)
	var claim *falseClaim
	for errors.As(err, &claim) { // what has been counted stands for nothing but itself
		r.doubt(claim)
		r.restart()
		err = r.work(ctx)
	}
	if saved := r.book.close(r.result); err == nil {
		err = saved
	}
	if err != nil {
		return nil, err
	}
	res = r.result
	res.Interrupted = ctx.Err() != nil
	res.trim()
	if len(res.firsts) > 0 {
		if res.Counter, err = r.counterexample(res.firsts); err != nil {
			return nil, err
		}
	}
	res.Seconds = r.book.seconds()
	res.finish()
	return res, nil
}

type run struct {
	Config
	model    *model
	eachPair bool // keep what all sets at once find of each pair, for tests
	total    uint64
	symmetry *symmetry
	check    *symmetryCheck // of symmetry
	doubts   doubts
	book     *book

	mu     sync.Mutex
	result *Result // guarded by mu
	done   uint64  // sets; guarded by mu
	next   atomic.Uint64
	stop   atomic.Bool
}

// empty is a result to add to.
func (r *run) empty() *Result {
	res := &Result{
		Method:   Enumeration,
		Topology: r.Graph.Spec, Routing: r.Name, VCs: r.VCs, Kind: r.Sets.Kind, When: [...]string{"before", "arriving", "flapping", "repaired"}[r.When],
		AtOnce: r.AtOnce, OneByOne: r.OneByOne, Pairs: len(r.Graph.NICs) * (len(r.Graph.NICs) - 1), Discards: map[string]uint64{},
	}
	res.fixed = r.FixedChoice
	if r.Mixed != nil {
		res.Mixed = r.Mixed.name()
	}
	if r.model.stateful {
		res.Registers = [...]string{"shared", "alone"}[r.Regs]
	}
	if r.symmetry != nil {
		res.Symmetry = r.symmetry.about
	}
	res.Asymmetry, res.SourceBased = r.doubts.symmetric, r.doubts.destinationBased
	if r.model.number != nil {
		rises := true
		res.Numbering = &rises
	}
	if r.Subfunction != nil {
		res.Duato = &Duato{}
	}
	return res
}

// work explores all chunks that are not in the book yet.
func (r *run) work(ctx context.Context) error {
	chunks := (r.total + chunk - 1) / chunk
	errs := make([]error, r.Workers)
	var workers sync.WaitGroup
	for w := range r.Workers {
		workers.Go(func() {
			x := newExplorer(r.model, r.Subfunction)
			x.record = r.symmetry != nil
			for !r.stop.Load() && ctx.Err() == nil {
				n := r.next.Add(1) - 1
				if n >= chunks {
					return
				}
				if r.book.has(n) {
					r.tell(n)
					continue
				}
				part := r.empty()
				ended, err := r.explore(ctx, x, n, part)
				if err != nil {
					errs[w] = err
					r.stop.Store(true)
					return
				}
				if ended {
					return
				}
				if errs[w] = r.add(n, part); errs[w] != nil {
					r.stop.Store(true)
					return
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

// explore explores one chunk. It reports that it was interrupted; then what it found is not to be
// counted.
func (r *run) explore(ctx context.Context, x *explorer, n uint64, part *Result) (ended bool, err error) {
	var image, ids []int32
	for i := n * chunk; i < min((n+1)*chunk, r.total); i++ {
		if ctx.Err() != nil {
			return true, nil
		}
		set := r.Sets.at(i)
		weight := 1
		if r.symmetry != nil {
			ids = ids[:0]
			for _, e := range set {
				ids = append(ids, int32(r.Sets.index(e)))
			}
			if weight = r.symmetry.orbit(ids, image); weight == 0 {
				continue
			}
		}
		t, err := x.run(set)
		if err != nil {
			return false, err
		}
		if x.wrong != nil {
			return false, &falseClaim{of: destinationBased, err: x.wrong}
		}
		if r.symmetry != nil {
			if err := r.check.check(x.space, func() bool { return ctx.Err() != nil }); err != nil {
				return false, &falseClaim{of: symmetric, err: err}
			}
			if ctx.Err() != nil {
				return true, nil
			}
		}
		part.count(i, set, t, uint64(weight), r.FixedChoice)
		if r.Compare != nil {
			s := part.size(len(set))
			s.Compared = true
			updown, physical := r.Compare(set)
			if updown {
				s.UpDown += uint64(weight)
			}
			if physical {
				s.Physical += uint64(weight)
			}
		}
	}
	part.inexactSoFar = x.inexact
	return false, nil
}

// add adds a chunk to the result and to the book.
func (r *run) add(n uint64, part *Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.add(part)
	if r.StopAtFirst && len(part.firsts) > 0 {
		r.stop.Store(true)
	}
	if err := r.book.done(n, r.result); err != nil {
		return err
	}
	r.progress(n)
	return nil
}

// tell counts a chunk that an earlier run has done.
func (r *run) tell(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress(n)
}

func (r *run) progress(n uint64) {
	r.done += min((n+1)*chunk, r.total) - n*chunk
	if r.Progress != nil {
		r.Progress(r.done, r.total)
	}
}

// fingerprint tells runs apart whose results must not be added.
func (r *run) fingerprint() string {
	fw := cmp.Or(r.Name, r.Firmware.Name)
	if r.Mixed != nil {
		fw += " mixed with " + r.Mixed.name()
	}
	graph := sha256.New()
	_ = r.Graph.WriteJSON(graph) // a hash takes everything; a topology file may have been edited under its name
	sub := "false"
	if r.Subfunction != nil {
		sub = runtime.FuncForPC(reflect.ValueOf(r.Subfunction).Pointer()).Name()
	}
	list := ""
	if r.Sets.List != nil {
		list = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, r.Sets.List)))
	}
	return fmt.Sprintf("%s %x %s vcs=%d %s %d-%d samples=%d seed=%d group=%t list=%s when=%d most=%d onebyone=%t "+
		"regs=%d fixed=%t around=%t sub=%s nosym=%t checked=true compare=%t total=%d",
		r.Graph.Spec, graph.Sum(nil), fw, r.VCs, r.Sets.Kind, r.Sets.Min, r.Sets.Max, r.Sets.Samples, r.Sets.Seed,
		r.Sets.PerGroup, list, r.When, r.AtOnce, r.OneByOne, r.Regs, r.FixedChoice, r.knowing(), sub, r.NoSymmetry,
		r.Compare != nil, r.total)
}
