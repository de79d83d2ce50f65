package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/work"
)

// Times of a worker, chosen by us.
const (
	aliveEvery = bus.AckWait / 4
	ordersLook = time.Second // at which orders there are
	tellEvery  = 2 * time.Second
	askQueue   = 300 * time.Millisecond // whether a queue is empty, at most so often
	takeWait   = 500 * time.Millisecond // for work, of all orders in turn
	takeLeast  = 50 * time.Millisecond
	doneWait   = 2 * time.Second // for the broker to know that a batch is done
)

// Tries is how often a piece is tried that ends its process.
const Tries = 3

// Status is what a worker says of itself.
type Status struct {
	Name    string    `json:"name"`
	PID     int       `json:"pid"`
	Slots   int       `json:"slots"`
	Version string    `json:"version"`
	Seen    time.Time `json:"seen"`
}

// Worker computes pieces of orders. All but Limits and Server are required.
type Worker struct {
	Status
	Jobs   *bus.Jobs
	Limits Limits
	Cores  int          // of the machine that it may use
	Server []string     // flags by which another process of this program finds the broker
	Note   func(string) // hears, a sentence each, what becomes of orders; must not block

	mu     sync.Mutex
	orders []*serving // guarded by mu: those that may be worked on
	note   map[string]bool
}

// serving is an order as a worker has it.
type serving struct {
	*Order
	w      *Worker
	ctx    context.Context // ends with the order
	cancel context.CancelFunc
	queue  *bus.Queue

	mu    sync.Mutex
	rate  work.Rate // guarded by mu, as are
	share Share
	told  Share
	lead  time.Time // when the order was seen to be led last
	led   uint64    // revision of the word of its leader
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) error {
	w.note = map[string]bool{}
	var wg sync.WaitGroup
	defer wg.Wait()
	for slot := range w.Slots {
		wg.Go(func() { w.slot(ctx, slot) })
	}
	tick := time.NewTicker(ordersLook)
	defer tick.Stop()
	for {
		if err := w.look(ctx, &wg); err != nil && ctx.Err() == nil {
			w.once("the broker does not answer, and is asked again: " + err.Error())
		}
		select {
		case <-ctx.Done():
			bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = w.Jobs.Delete(bye, "worker."+w.Name) // or it is seen to be gone
			return nil
		case <-tick.C:
		}
	}
}

// once notes a sentence the first time.
func (w *Worker) once(text string) {
	w.mu.Lock()
	told := w.note[text]
	if len(w.note) < 1000 { // chosen by us
		w.note[text] = true
	}
	w.mu.Unlock()
	if !told {
		w.Note(text)
	}
}

// look finds out which orders there are, and tells what was done.
func (w *Worker) look(ctx context.Context, wg *sync.WaitGroup) error {
	if now := time.Now().UTC(); now.Sub(w.Seen) > tellEvery {
		w.Seen = now
		if err := put(ctx, w.Jobs, "worker."+w.Name, w.Status); err != nil {
			return err
		}
	}
	list, err := List(ctx, w.Jobs)
	if err != nil {
		return err
	}
	var open []*serving
	w.mu.Lock()
	had := w.orders
	w.mu.Unlock()
	for _, o := range list {
		if o.State != Open || len(o.On) > 0 && !slices.Contains(o.On, w.Name) {
			continue
		}
		if o.Version != w.Version {
			w.once(fmt.Sprintf("leaves job %s to others: it is of version %s, and this program of %s", o.ID, o.Version,
				w.Version))
			continue
		}
		if i := slices.IndexFunc(had, func(s *serving) bool { return s.ID == o.ID }); i >= 0 {
			open = append(open, had[i])
			continue
		}
		q, err := w.Jobs.Queue(ctx, o.ID)
		if err != nil {
			return err
		}
		s := &serving{Order: o, w: w, queue: q, lead: time.Now(), share: Share{Began: time.Now().UTC()}}
		if earlier, err := get[Share](ctx, w.Jobs, s.shareKey()); err == nil {
			s.share = *earlier
		}
		s.ctx, s.cancel = context.WithCancel(ctx)
		w.Note(fmt.Sprintf("works on job %s: %s", o.ID, o.Command()))
		open = append(open, s)
	}
	w.mu.Lock()
	w.orders = open
	w.mu.Unlock()
	for _, s := range had {
		if !slices.Contains(open, s) {
			s.cancel()
			if slices.ContainsFunc(list, func(o *Order) bool { return o.ID == s.ID }) { // it was not cancelled
				if err := s.tell(ctx); err != nil {
					return err
				}
			}
			w.Note(fmt.Sprintf("job %s has ended", s.ID))
		}
	}
	for _, s := range open {
		if err := s.tell(ctx); err != nil {
			return err
		}
		if err := s.standIn(ctx, wg); err != nil {
			return err
		}
	}
	return nil
}

// tell writes what this worker has done of an order, when that is more than it has said.
func (s *serving) tell(ctx context.Context) error {
	s.mu.Lock()
	now := s.share
	same := now == s.told
	s.mu.Unlock()
	if same {
		return nil
	}
	s.told = now
	return put(ctx, s.w.Jobs, s.shareKey(), now)
}

func (s *serving) shareKey() string { return "at." + s.ID + ".host." + s.w.Name }

// standIn hands out the pieces of an order whose leader has gone, in a process that runs its
// command. When several workers do so at once that costs no more than the reading of results.
func (s *serving) standIn(ctx context.Context, wg *sync.WaitGroup) error {
	_, revision, err := s.w.Jobs.Get(ctx, "at."+s.ID+".lead")
	if err != nil && !errors.Is(err, reply.ErrNoKey) {
		return err
	}
	if revision != s.led {
		s.led, s.lead = revision, time.Now()
		return nil
	}
	if time.Since(s.lead) < leadGone {
		return nil
	}
	if _, err = s.w.Jobs.Update(ctx, "at."+s.ID+".lead", []byte(s.w.Name), revision); err != nil {
		return nil // another worker was faster
	}
	s.lead = time.Now()
	cmd, err := ownCommand(append([]string{"job", "results", s.ID, "--" + StandInFlag}, s.w.Server...)...)
	if err != nil {
		return err
	}
	s.w.Note(fmt.Sprintf("hands out the pieces of job %s, whose giver has gone", s.ID))
	wg.Go(func() {
		errs := &tail{}
		cmd.Stderr = errs
		err := cmd.Start()
		if err == nil {
			stop := context.AfterFunc(s.ctx, func() { _ = cmd.Process.Kill() })
			err = cmd.Wait()
			stop()
		}
		if err != nil && s.ctx.Err() == nil {
			s.w.Note(fmt.Sprintf("job %s ends with %v: %s", s.ID, err, errs))
		}
	})
	return nil
}

// slot takes batches of all orders in turn, and has a child of its own.
func (w *Worker) slot(ctx context.Context, number int) {
	l := &slot{w: w, number: number}
	defer l.end()
	for turn := number; ctx.Err() == nil; turn++ {
		w.mu.Lock()
		list := w.orders
		w.mu.Unlock()
		wait := takeWait
		if len(list) > 0 {
			s := list[turn%len(list)]
			wait = max(takeWait/time.Duration(len(list)), takeLeast)
			work, err := s.queue.Take(s.ctx, wait)
			if work != nil {
				l.batch(s, work)
				continue
			}
			if err == nil {
				continue
			}
		}
		select { // there is none, or the broker is away
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// slot is one of the places of a worker.
type slot struct {
	w      *Worker
	number int
	of     *serving // the order of its child
	child  *child
	asked  time.Time // when the queue was looked at last
}

func (l *slot) end() {
	if l.child != nil {
		if err := l.child.stop(); err != nil {
			l.w.once("a folder is left: " + err.Error())
		}
		l.child = nil
	}
}

// batch does a batch, or cuts it. What fails because the broker is away is done again by whoever is
// given the batch next.
func (l *slot) batch(s *serving, t *bus.Work) {
	var b Batch
	if err := json.Unmarshal(t.Data, &b); err != nil || len(b.Pieces) == 0 {
		l.w.once(fmt.Sprintf("job %s: a batch makes no sense: %v", s.ID, err))
		_ = t.Done(s.ctx)
		return
	}
	var again error
	switch n := work.Take(costs(b.Pieces), s.seconds()); {
	case t.Times > 1:
		if again = l.again(s, &b, t.Times); again != nil || len(b.Pieces) != 1 {
			break
		}
		again = l.do(s, b, t)
	case n < len(b.Pieces):
		parts := append([][]Given{b.Pieces[:n]}, work.Parts(b.Pieces[n:], costs(b.Pieces[n:]))...)
		for _, p := range parts {
			if again == nil {
				again = offer(s.ctx, l.w.Jobs, s.ID, Batch{b.Place, p})
			}
		}
	default:
		again = l.do(s, b, t)
	}
	if again == nil {
		// A broker that was killed may have forgotten that it has given this out, and never answers. Then
		// the batch comes back, and is found done.
		ctx, cancel := context.WithTimeout(s.ctx, doneWait)
		again = t.Done(ctx)
		cancel()
	}
	if again != nil {
		_ = t.Back() // else it comes back by itself
	}
}

func costs(list []Given) (costs []float64) {
	for _, g := range list {
		costs = append(costs, g.Cost)
	}
	return costs
}

func (s *serving) seconds() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rate.Seconds()
}

// again makes of a batch that was given out before what is to be done of it: nothing where it
// offers its pieces one by one, so that it is found out which of them ends workers.
func (l *slot) again(s *serving, b *Batch, times int) error {
	var left []Given
	for _, g := range b.Pieces {
		_, _, err := l.w.Jobs.Get(s.ctx, "got."+s.ID+"."+g.Key)
		switch {
		case errors.Is(err, reply.ErrNoKey):
			left = append(left, g)
		case err != nil:
			return err
		}
	}
	if b.Pieces = left; len(left) == 1 {
		g := &left[0]
		if g.Tries += times - 1; g.Tries < Tries {
			return nil
		}
		b.Pieces = nil
		return l.setAside(s, *g, "its worker ended, or its machine")
	}
	b.Pieces = nil
	for _, g := range left {
		if err := offer(s.ctx, l.w.Jobs, s.ID, Batch{b.Place, []Given{g}}); err != nil {
			return err
		}
	}
	return nil
}

func (l *slot) setAside(s *serving, g Given, why string) error {
	l.w.Note(fmt.Sprintf("job %s: gives %s up after %d tries: %s", s.ID, g.Name, g.Tries, why))
	return l.w.insist(s.ctx, func() error {
		return put(s.ctx, l.w.Jobs, "got."+s.ID+"."+g.Key+asideTail,
			Aside{Piece: g.Name, Key: g.Key, Worker: l.w.Name, Tries: g.Tries, Why: why})
	})
}

// insist does something for which the broker must be there, until it is.
func (w *Worker) insist(ctx context.Context, do func() error) error {
	e := &Engine{Note: w.once}
	return e.insist(ctx, do)
}

// do computes the pieces of a batch.
func (l *slot) do(s *serving, b Batch, t *bus.Work) error {
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = t.Alive() // or the batch comes back, and is found done
			}
		}
	})
	for len(b.Pieces) > 0 {
		if err := l.share(s, &b); err != nil {
			return err
		}
		g := b.Pieces[0]
		if err := l.piece(s, g, b.Place); err != nil {
			return err
		}
		b.Pieces = b.Pieces[1:]
	}
	return nil
}

// share gives half of what is left of a batch back when others have nothing.
func (l *slot) share(s *serving, b *Batch) error {
	if len(b.Pieces) < 2 || time.Since(l.asked) < askQueue {
		return nil
	}
	l.asked = time.Now()
	if waiting, _, err := s.queue.Length(s.ctx); err != nil || waiting > 0 {
		return nil // it is asked again
	}
	n := work.Halve(costs(b.Pieces))
	if err := offer(s.ctx, l.w.Jobs, s.ID, Batch{b.Place, b.Pieces[n:]}); err != nil {
		return err
	}
	b.Pieces = b.Pieces[:n]
	return nil
}

// piece computes one piece and keeps its result. A piece that ends its child is tried again later,
// by whoever is given it.
func (l *slot) piece(s *serving, g Given, at Place) error {
	if err := l.ready(s, at.Ends); err != nil {
		return err
	}
	began := time.Now()
	a, err := l.child.ask(s.ctx, g, at, l.w.Limits)
	switch {
	case s.ctx.Err() != nil:
		l.end()
		return s.ctx.Err()
	case err != nil:
		l.end()
		if g.Tries++; g.Tries >= Tries {
			return l.setAside(s, g, err.Error())
		}
		l.w.once(fmt.Sprintf("job %s: %s is tried again: %v", s.ID, g.Name, err))
		return l.w.insist(s.ctx, func() error { return offer(s.ctx, l.w.Jobs, s.ID, Batch{at, []Given{g}}) })
	}
	took := time.Since(began).Seconds()
	twice := false
	if a.Error == "" {
		err = l.w.insist(s.ctx, func() (err error) {
			if twice, err = keep(s.ctx, l.w.Jobs, s.ID, g.Key, l.w.Name, a); errors.Is(err, ErrDiffers) {
				a.Error, err = err.Error(), nil
			}
			return err
		})
	}
	if err == nil && a.Error != "" {
		err = l.w.insist(s.ctx, func() error {
			return put(s.ctx, l.w.Jobs, "got."+s.ID+"."+g.Key+asideTail,
				Aside{Piece: g.Name, Key: g.Key, Worker: l.w.Name, Tries: g.Tries + 1, Why: a.Error, Error: true})
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate.Add(g.Cost, took)
	s.share.Seconds += took
	s.share.Last = time.Now().UTC()
	if twice {
		s.share.Twice++
	} else {
		s.share.Pieces++
		s.share.Cost += g.Cost
	}
	return err
}

// ready has a child that is for the order, and where the batch is.
func (l *slot) ready(s *serving, ends []work.End) error {
	if l.child != nil && l.of == s && l.child.fits(ends) {
		return nil
	}
	l.end()
	folder, err := os.MkdirTemp("", "weft-work-")
	if err != nil {
		return err
	}
	dir := ""
	if err = l.w.insist(s.ctx, func() (err error) {
		dir, err = Unpack(s.ctx, l.w.Jobs, s.Order, folder)
		return err
	}); err == nil {
		l.child, err = startChild(s.Order, dir, folder, l.w.Limits, l.w.Cores/l.w.Slots)
		l.of = s
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	return nil
}
