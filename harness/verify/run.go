package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/work"
)

// A chunk is how many sets a worker takes at a time: enough that handing them out costs nothing,
// few enough that a checkpoint loses little. Of many sets there are at most maxChunks. Chosen by
// us.
const (
	leastChunk = 32
	maxChunks  = 1 << 14
)

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
	r.chunk = max(leastChunk, (r.total+maxChunks-1)/maxChunks)
	if r.book, err = openBook(r); err != nil {
		return nil, err
	}
	res, err := r.explored(ctx)
	if err == nil {
		res.Classes, res.OtherPairs = r.classes, r.otherPairs
	}
	if saved := r.book.close(r.result); err == nil {
		err = saved
	}
	if err != nil {
		return nil, err
	}
	res.Seconds = r.book.seconds()
	res.finish()
	return res, nil
}

// explored explores all sets at once or, where that cannot be, one by one.
func (r *run) explored(ctx context.Context) (*Result, error) {
	res, why, err := r.lazy(ctx)
	if res != nil || err != nil {
		return res, err
	}
	if err := r.Sets.countable(); err != nil {
		return nil, fmt.Errorf("%w; they cannot be explored all at once: %s", err, why)
	}
	r.believe()
	r.result = r.empty()
	if old := r.book.page.Lazy; old != nil && old.Sum.Failing > 0 { // all at once was explored before
		r.classes, r.otherPairs = sorted(old.Sum.Classes), old.Sum.More
	}
	if err = r.book.restore(r); err != nil {
		return nil, err
	}
	err = r.work(ctx)
	var claim *falseClaim
	for errors.As(err, &claim) { // what has been counted stands for nothing but itself
		r.doubt(claim)
		r.restart()
		err = r.work(ctx)
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
	return res, nil
}

type run struct {
	Config
	model      *model
	folded     bool  // fold states also where there are few sets, for tests
	spare      int64 // bytes for walks, for tests
	eachPair   bool  // keep what all sets at once find of each pair, for tests
	total      uint64
	symmetry   *symmetry
	check      *symmetryCheck // of symmetry
	doubts     doubts
	classes    []PairClass // of the pairs, where some fail
	otherPairs int
	book       *book
	chunk      uint64 // sets of a chunk
	result     *Result
	done       uint64 // sets
}

// empty is a result to add to.
func (r *run) empty() *Result {
	res := &Result{
		Method:   Enumeration,
		Topology: r.Graph.Spec, Routing: r.Name, VCs: r.VCs, Kind: r.Sets.Kind,
		When:   [...]string{"before", "arriving", "flapping", "repaired"}[r.When],
		AtOnce: r.AtOnce, OneByOne: r.OneByOne, Pairs: len(r.Graph.NICs) * (len(r.Graph.NICs) - 1),
		Discards: map[string]uint64{},
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

// part is what was found in a chunk, or that the firmware is not what it says.
type part struct {
	found
	Claim    *claim `json:"claim,omitempty"`
	Why      string `json:"why,omitempty"`
	TooLarge bool   `json:"too_large,omitempty"` // why is that the check takes too many decisions
}

// work explores all chunks that are not in the book yet.
func (r *run) work(ctx context.Context) error {
	chunks := int((r.total + r.chunk - 1) / r.chunk)
	explorers := make([]*explorer, work.Local{Workers: r.Workers}.Count(chunks))
	same := r.fingerprint()
	j := work.Job{What: "fault sets", Count: chunks, Known: func(i int) bool { return r.book.has(uint64(i)) }}
	j.Piece = func(i int) work.Piece {
		from, to := r.sets(uint64(i))
		return work.Piece{
			Name: fmt.Sprintf("fault sets %d to %d", from, to-1), Key: work.Key(same, r.doubts, i), Cost: float64(to - from),
		}
	}
	j.Run, j.Merge = work.JSON(func(ctx context.Context, worker, i int) (part, error) {
		if explorers[worker] == nil {
			explorers[worker] = newExplorer(r.model, r.Subfunction)
			explorers[worker].record = r.symmetry != nil
		}
		res := r.empty()
		err := r.explore(ctx, explorers[worker], uint64(i), res)
		if c := (*falseClaim)(nil); errors.As(err, &c) {
			return part{Claim: &c.of, Why: c.err.Error(), TooLarge: errors.Is(c.err, errQuestions)}, nil
		}
		return part{found: res.found()}, err
	}, func(i int, p part) error {
		if p.Claim != nil {
			return p.falseClaim()
		}
		return r.add(uint64(i), p.result())
	})
	for i := range chunks {
		if j.Known(i) {
			r.progress(uint64(i))
		}
	}
	if r.StopAtFirst && len(r.result.firsts) > 0 { // an earlier run that was told to stop there may have
		return nil
	}
	engine := r.Engine
	if engine == nil {
		engine = work.Local{Workers: r.Workers}
	}
	if err := engine.Run(ctx, &j); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (p *part) falseClaim() error {
	err := errors.New(p.Why)
	if p.TooLarge {
		err = errQuestions
	}
	return &falseClaim{of: *p.Claim, err: err}
}

// sets are those of a chunk: the first one, and the one after the last.
func (r *run) sets(n uint64) (from, to uint64) { return n * r.chunk, min((n+1)*r.chunk, r.total) }

// explore explores one chunk. The error is that of the context when it was interrupted.
func (r *run) explore(ctx context.Context, x *explorer, n uint64, part *Result) error {
	var image, ids []int32
	from, to := r.sets(n)
	for i := from; i < to; i++ {
		if ctx.Err() != nil {
			return ctx.Err()
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
			return err
		}
		if x.wrong != nil {
			return &falseClaim{of: destinationBased, err: x.wrong}
		}
		if r.symmetry != nil {
			if err := r.check.check(x.space, func() bool { return ctx.Err() != nil }); err != nil {
				return &falseClaim{of: symmetric, err: err}
			}
			if ctx.Err() != nil {
				return ctx.Err()
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
	return nil
}

// add adds a chunk to the result and to the book.
func (r *run) add(n uint64, part *Result) error {
	r.result.add(part)
	if err := r.book.done(n, r.result); err != nil {
		return err
	}
	r.progress(n)
	if r.StopAtFirst && len(part.firsts) > 0 {
		return work.ErrEnough
	}
	return nil
}

func (r *run) progress(n uint64) {
	from, to := r.sets(n)
	r.done += to - from
	if r.Progress != nil {
		r.Progress(r.done, r.total)
	}
}

func mixedName(m *Mixed) string {
	if m == nil {
		return ""
	}
	return m.name()
}

// fingerprint tells runs apart whose results must not be added.
func (r *run) fingerprint() string {
	fw := cmp.Or(r.Name, r.Firmware.Name)
	if r.Mixed != nil {
		fw += " mixed with " + r.Mixed.name()
	}
	for _, name := range []string{r.Name, mixedName(r.Mixed)} { // a module may have been compiled anew under its name
		if _, module, err := subnet.Pin(name); err == nil && module != nil {
			fw += fmt.Sprintf(" module %x", sha256.Sum256(module))
		}
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
