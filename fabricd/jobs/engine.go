package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/work"
)

// Times of an engine, chosen by us.
const (
	lookEvery = time.Second // at the results
	lookAgain = 50 * time.Millisecond
	leadEvery = 5 * time.Second  // it says that it is there
	leadGone  = 20 * time.Second // without a word of it
	again     = time.Second      // before a broker that is away is asked again
)

// Batch is what is in a queue: pieces that one worker is given.
type Batch struct {
	Place
	Pieces []Given `json:"pieces"`
}

// Place is where in the work of their command pieces are.
type Place struct {
	Part string     `json:"part,omitempty"` // see [work.Job]
	Ends []work.End `json:"ends,omitempty"` // what the command was through before
}

// Given is a piece of a batch.
type Given struct {
	Name  string  `json:"name"`
	Key   string  `json:"key"`
	Cost  float64 `json:"cost"`
	Tries int     `json:"tries,omitempty"` // that came to nothing
}

// Engine implements [work.Engine]: workers of an order compute the pieces. Its methods are for one
// goroutine.
type Engine struct {
	Jobs  *bus.Jobs
	Order *Order
	Note  func(string) // hears, a sentence each, what people should know

	ends  []work.End
	stage int
	led   time.Time // when it said last that it is there
}

// run is one job of the command.
type run struct {
	*Engine
	job    *work.Job
	merger *work.Merger
	of     map[string][]int // pieces that are to come, by key
	aside  map[string]Aside
	place  uint64
	quiet  int // looks in a row at which nothing was new and the queue was empty
}

// Run implements [work.Engine].
func (e *Engine) Run(ctx context.Context, j *work.Job) error {
	r := &run{Engine: e, job: j, merger: work.NewMerger(j), of: map[string][]int{}, aside: map[string]Aside{}}
	for i := range j.Count {
		key := j.Piece(i).Key
		if j.Known == nil || !j.Known(i) {
			r.of[key] = append(r.of[key], i)
		}
	}
	e.stage++
	stage := fmt.Sprintf("at.%s.stage.%d", e.Order.ID, e.stage)
	if err := r.insist(ctx, func() error { return put(ctx, e.Jobs, stage, Stage{j.What, len(r.of)}) }); err != nil {
		return err
	}
	err := r.all(ctx)
	var end *ended
	if !errors.As(err, &end) {
		return err
	}
	e.ends = append(e.ends, end.by)
	if err := r.insist(ctx, func() error { return e.Jobs.Empty(ctx, e.Order.ID) }); err != nil {
		return err
	}
	if errors.Is(end.why, work.ErrEnough) {
		return nil
	}
	return end.why
}

// ended is the end of a job by one result.
type ended struct {
	by  work.End
	why error
}

// Error implements error.
func (e *ended) Error() string { return e.why.Error() }

// insist does something for which the broker must be there, until it is.
func (e *Engine) insist(ctx context.Context, do func() error) error {
	told := false
	for {
		err := do()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !told && e.Note != nil:
			e.Note(fmt.Sprintf("the job waits for its broker: %v", err))
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// all merges all results, and has pieces offered that nobody works on.
func (r *run) all(ctx context.Context) error {
	below := "got." + r.Order.ID
	wait := lookAgain // what is there comes at once
	for len(r.of) > 0 {
		var list []bus.Written
		if err := r.lead(ctx); err != nil {
			return err
		}
		if err := r.insist(ctx, func() (err error) {
			list, r.place, err = r.Jobs.Written(ctx, below, r.place, wait)
			return err
		}); err != nil {
			return err
		}
		for _, w := range list {
			if err := r.take(ctx, w); err != nil {
				return err
			}
		}
		if len(list) > 0 {
			r.quiet = 0
			continue
		}
		if err := r.stuck(); err != nil {
			return err
		}
		if err := r.insist(ctx, func() error { return r.offer(ctx) }); err != nil {
			return err
		}
		if wait = lookEvery; r.quiet > 0 {
			wait = lookAgain
		}
	}
	return nil
}

// take takes in what was written.
func (r *run) take(ctx context.Context, w bus.Written) error {
	key := strings.Split(w.Key, ".")[2]
	list, ok := r.of[key]
	if !ok {
		return nil // of another job of the command, or merged
	}
	if strings.HasSuffix(w.Key, asideTail) {
		var a Aside
		if err := json.Unmarshal(w.Value, &a); err != nil {
			return fmt.Errorf("jobs: %s makes no sense: %w", w.Key, err)
		}
		if a.Error {
			return fmt.Errorf("%s, on %s: %s", a.Piece, a.Worker, a.Why)
		}
		r.aside[key] = a
		return nil
	}
	var data []byte
	if err := r.insist(ctx, func() (err error) {
		data, err = kept(ctx, r.Jobs, w.Value)
		return err
	}); err != nil {
		return err
	}
	delete(r.of, key)
	delete(r.aside, key)
	for _, i := range list {
		if err := r.merger.Add(i, data); err != nil {
			return &ended{work.End{Key: key, Result: data}, err}
		}
	}
	return nil
}

// stuck is the error when all that is to come was set aside.
func (r *run) stuck() error {
	if len(r.aside) < len(r.of) {
		return nil
	}
	var errs []error
	for _, a := range r.aside {
		errs = append(errs, fmt.Errorf("%s was given up after %d tries, the last on %s: %s; to see it again: "+
			"fabricd job replay %s %s", a.Piece, a.Tries, a.Worker, a.Why, r.Order.ID, a.Key))
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// offer has the pieces offered that are to come, when nobody has any: they are new, or who offered
// them has gone before all were.
func (r *run) offer(ctx context.Context) error {
	q, err := r.Jobs.Queue(ctx, r.Order.ID)
	if err != nil {
		return err
	}
	waiting, taken, err := q.Length(ctx)
	if err != nil || waiting+taken > 0 {
		r.quiet = 0
		return err
	}
	// A worker offers parts of what it has before it lets go of the whole, so that an empty queue says
	// that nobody works. What was written just before it was looked at is read first.
	if r.quiet++; r.quiet == 1 {
		return nil
	}
	r.quiet = 0
	var pieces []int
	for key, list := range r.of {
		if _, given := r.aside[key]; !given {
			pieces = append(pieces, list[0])
		}
	}
	slices.Sort(pieces)
	for _, batch := range work.Deal(pieces, func(i int) float64 { return r.job.Piece(i).Cost }) {
		b := Batch{Place: Place{r.job.Part, r.ends}}
		for _, i := range batch {
			p := r.job.Piece(i)
			b.Pieces = append(b.Pieces, Given{Name: p.Name, Key: p.Key, Cost: p.Cost})
		}
		if err := offer(ctx, r.Jobs, r.Order.ID, b); err != nil {
			return err
		}
	}
	return nil
}

func offer(ctx context.Context, j *bus.Jobs, order string, b Batch) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if len(data) > j.Room() && len(b.Pieces) > 1 {
		for part := range slices.Chunk(b.Pieces, (len(b.Pieces)+1)/2) {
			if err := offer(ctx, j, order, Batch{b.Place, part}); err != nil {
				return err
			}
		}
		return nil
	}
	return j.Offer(ctx, order, data)
}

// ErrCancelled means that somebody has ended the order.
var ErrCancelled = errors.New("the job was cancelled")

// lead says that somebody hands out the pieces. When the broker does not take it a worker stands
// in, which does no harm.
func (e *Engine) lead(ctx context.Context) error {
	if time.Since(e.led) < leadEvery {
		return nil
	}
	e.led = time.Now()
	if _, _, err := e.Jobs.Get(ctx, "order."+e.Order.ID); errors.Is(err, reply.ErrNoKey) {
		return fmt.Errorf("job %s: %w", e.Order.ID, ErrCancelled)
	}
	_ = e.Jobs.Put(ctx, "at."+e.Order.ID+".lead", []byte(e.Order.By))
	return nil
}

// Give gives an order, with its files. One that is there already is taken as it is; one that has
// failed goes on.
func Give(ctx context.Context, j *bus.Jobs, o *Order, data map[string][]byte) (already bool, err error) {
	for hash, file := range data {
		if err := j.PutFile(ctx, hash, file); err != nil {
			return false, err
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return false, err
	}
	if _, err = j.Create(ctx, "order."+o.ID, text); !errors.Is(err, reply.ErrConflict) {
		return false, err
	}
	was, err := get[Order](ctx, j, "order."+o.ID)
	if err != nil {
		return true, err
	}
	on := o.On
	*o = *was
	if o.State != Failed && slices.Equal(on, o.On) {
		return true, nil
	}
	if o.On = on; o.State == Failed {
		o.State, o.Error = Open, ""
		if err := j.Forget(ctx, "got."+o.ID+".*"+asideTail); err != nil {
			return true, err
		}
	}
	return true, put(ctx, j, "order."+o.ID, o)
}

// End notes how an order has ended.
func End(ctx context.Context, j *bus.Jobs, o *Order, failed error) error {
	o.State, o.Ended = Done, time.Now().UTC()
	if failed != nil {
		o.State, o.Error = Failed, failed.Error()
	}
	if _, _, err := j.Get(ctx, "order."+o.ID); errors.Is(err, reply.ErrNoKey) {
		return nil // it was cancelled
	}
	return errors.Join(put(ctx, j, "order."+o.ID, o), j.DropQueue(ctx, o.ID))
}
