package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft/fabricd/lease"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/harness/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is the one that all processes of a test use. Time is that of the test, so nothing in it is
// measured.
type store struct {
	mu       sync.Mutex
	away     bool // no process gets an answer, and nothing is written
	reads    bool // but what is read is answered, as any server of a cluster does
	revision uint64
	keys     map[string]entry
}

type entry struct {
	value    []byte
	revision uint64
}

func newStore() *store { return &store{keys: map[string]entry{}} }

func (s *store) leave(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// process is a process as the store knows it: a [lease.Store].
type process struct {
	*store
	name string

	cut  bool          // guarded by mu: it does not reach the store
	deaf bool          // guarded by mu: what it writes is written, and it hears no answer
	late time.Duration // guarded by mu: until the store gets what it asks
}

func (p *process) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// ask does something at the store.
func (p *process) ask(ctx context.Context, reads bool, do func() error) error {
	p.mu.Lock()
	late := p.late
	p.mu.Unlock()
	pass(late) // a frozen process does not hear that ctx ends
	p.mu.Lock()
	if p.away && !(reads && p.reads) || p.cut {
		p.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	err := do()
	deaf := p.deaf
	p.mu.Unlock()
	if deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (p *process) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	err = p.ask(ctx, true, func() error {
		e, ok := p.keys[key]
		if !ok {
			return reply.ErrNoKey
		}
		value, revision = e.value, e.revision
		return nil
	})
	return value, revision, err
}

func (p *process) write(ctx context.Context, key string, value []byte, may func(entry) bool) (revision uint64,
	err error,
) {
	err = p.ask(ctx, false, func() error {
		if !may(p.keys[key]) {
			return reply.ErrConflict
		}
		p.revision++
		revision = p.revision
		p.keys[key] = entry{value, revision}
		return nil
	})
	return revision, err
}

func (p *process) Put(ctx context.Context, key string, value []byte) error {
	_, err := p.write(ctx, key, value, func(entry) bool { return true })
	return err
}

func (p *process) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return p.write(ctx, key, value, func(e entry) bool { return e.revision == 0 })
}

func (p *process) Update(ctx context.Context, key string, value []byte, last uint64) (uint64, error) {
	return p.write(ctx, key, value, func(e entry) bool { return e.revision == last })
}

// pass lets the time of a test pass, which is that of its bubble of testing/synctest. It makes no
// timer that is due at once: to receive from one under the race detector ends in a fault of the
// runtime now and then (Go 1.26.8, maybeRunChan).
func pass(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// term is one process that holds the lease.
type term struct {
	process *process
	number  uint64
	began   time.Time
	ended   time.Time // zero: it has not
	err     error
}

// run has processes want the lease, and hold it when they get it, until ctx ends. What they did is
// told in the order in which it happened.
type run struct {
	*store
	mu      sync.Mutex
	terms   []*term // guarded by mu, as what is in them
	running sync.WaitGroup
}

func (r *run) process(ctx context.Context, name string) *process {
	p := &process{store: r.store, name: name}
	r.running.Go(func() {
		for {
			l, err := lease.Acquire(ctx, lease.Config{Store: p, Key: "leader", Holder: []byte(name)})
			if err != nil {
				return
			}
			t := &term{process: p, number: l.Term, began: time.Now()}
			r.mu.Lock()
			r.terms = append(r.terms, t)
			r.mu.Unlock()
			err = l.Keep(ctx)
			r.mu.Lock()
			t.ended, t.err = time.Now(), err
			r.mu.Unlock()
			if err == nil {
				return
			}
		}
	})
	return p
}

// all are the terms until now.
func (r *run) all() (list []term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.terms {
		list = append(list, *t)
	}
	return list
}

// last is the latest term, and how many there were.
func (r *run) last() (term, int) {
	list := r.all()
	return list[len(list)-1], len(list)
}

// each runs a test in its own time, with a process a that holds the lease and b that stands by. It
// comes back to the test when both have ended.
func each(t *testing.T, test func(t *testing.T, r *run, a, b *process)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &run{store: newStore()}
		ctx, end := context.WithCancel(t.Context())
		defer r.running.Wait()
		defer end()
		a := r.process(ctx, "a")
		synctest.Wait()
		b := r.process(ctx, "b")
		pass(time.Minute)
		first, n := r.last()
		require.Equal(t, 1, n, "one that renews its lease is not replaced")
		require.Same(t, a, first.process)
		test(t, r, a, b)
	})
}

const promised = 3 * time.Second

// A holder that is heard of no more is replaced within 3 s, whenever between two renewals it falls
// silent.
func TestAHolderThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for at := time.Duration(0); at < 400*time.Millisecond; at += 7 * time.Millisecond {
		each(t, func(t *testing.T, r *run, a, b *process) {
			pass(at)
			died := time.Now()
			a.set(func() { a.cut = true })
			pass(promised)
			second, n := r.last()
			require.Equal(t, 2, n)
			require.Same(t, b, second.process)
			require.GreaterOrEqual(t, second.began.Sub(died), lease.Default-250*time.Millisecond)
			require.Greater(t, second.number, r.all()[0].number)

			// It may be alive, and learns of it as soon as it reaches the store.
			require.Zero(t, r.all()[0].ended)
			a.set(func() { a.cut = false })
			pass(time.Second)
			require.ErrorIs(t, r.all()[0].err, lease.ErrLost)
			_, n = r.last()
			require.Equal(t, 2, n)
		})
	}
}

// A store that answers nobody, as while its servers choose which of them writes, costs no holder
// the lease.
func TestAStoreThatIsAwayReplacesNobody(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for away := 100 * time.Millisecond; away < 20*time.Second; away = away * 10 / 9 {
		each(t, func(t *testing.T, r *run, a, b *process) {
			for i := range 6 {
				a.set(func() { r.reads = i%2 == 0 })
				r.leave(true)
				pass(away)
				r.leave(false)
				pass(away)
			}
			_, n := r.last()
			require.Equal(t, 1, n, "away for %v", away)
		})
	}
}

// Store and holder that are gone at once: a candidate takes over within 3 s after the store answers
// again, and not at once, for it cannot know that the holder does not come back with the store.
func TestAHolderThatDiesWithTheStoreIsReplacedWhenThatIsBack(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	for away := 100 * time.Millisecond; away < 20*time.Second; away = away * 10 / 9 {
		each(t, func(t *testing.T, r *run, a, b *process) {
			r.leave(true)
			a.set(func() { a.cut = true })
			pass(away)
			_, n := r.last()
			require.Equal(t, 1, n)
			r.leave(false)
			back := time.Now()
			pass(promised)
			second, n := r.last()
			require.Equal(t, 2, n, "away for %v", away)
			if away > time.Second {
				require.GreaterOrEqual(t, second.began.Sub(back), lease.Default)
			}
		})
	}
}

// A process that was stopped for longer than the lease learns, by the first thing that it writes,
// that it was replaced.
func TestAHolderThatWasStoppedIsToldSo(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *run, a, b *process) {
		a.set(func() { a.late = 10 * time.Second })
		pass(9 * time.Second)
		second, n := r.last()
		require.Equal(t, 2, n)
		require.Same(t, b, second.process)
		require.Zero(t, r.all()[0].ended)
		a.set(func() { a.late = 0 })
		pass(3 * time.Second)
		require.ErrorIs(t, r.all()[0].err, lease.ErrLost)
		_, n = r.last()
		require.Equal(t, 2, n, "it stands by")
	})
}

// Renewals that are written count, though their answers are lost.
func TestAHolderThatHearsNoAnswersKeepsTheLease(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *run, a, b *process) {
		a.set(func() { a.deaf = true })
		pass(300 * time.Millisecond)
		a.set(func() { a.deaf = false })
		pass(time.Minute)
		_, n := r.last()
		require.Equal(t, 1, n)
	})
}

// A lease that is given back is taken at once, also by a process that has held it before.
func TestALeaseThatIsGivenBackIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var before uint64
		for i := range 4 {
			p := &process{store: s, name: fmt.Sprint(i % 2)}
			ctx, end := context.WithCancelCause(t.Context())
			began := time.Now()
			l, err := lease.Acquire(ctx, lease.Config{Store: p, Key: "leader", Holder: []byte(p.name)})
			require.NoError(t, err)
			require.Zero(t, time.Since(began))
			require.Greater(t, l.Term, before)
			before = l.Term
			holder, revision, err := p.Get(ctx, "leader")
			require.NoError(t, err)
			require.Equal(t, p.name, string(holder))
			require.Equal(t, l.Term, revision)
			end(nil)
			require.NoError(t, l.Keep(ctx))
			holder, _, err = p.Get(t.Context(), "leader")
			require.NoError(t, err)
			require.Empty(t, holder)
		}
		// Not when the fabric has ended, whose store goes with it.
		p := &process{store: s}
		ctx, end := context.WithCancelCause(t.Context())
		l, err := lease.Acquire(ctx, lease.Config{Store: p, Key: "leader", Holder: []byte("c")})
		require.NoError(t, err)
		end(fmt.Errorf("no more: %w", reply.ErrEnded))
		require.NoError(t, l.Keep(ctx))
		holder, _, err := p.Get(t.Context(), "leader")
		require.NoError(t, err)
		require.Equal(t, "c", string(holder))
		// And it is the same process that takes it without waiting.
		began := time.Now()
		_, err = lease.Acquire(t.Context(), lease.Config{Store: p, Key: "leader", Holder: []byte("c")})
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
	})
}

func TestACandidateMayGiveUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *run, a, b *process) {
		c := &process{store: r.store}
		_, err := lease.Acquire(t.Context(), lease.Config{Store: c, Key: "leader", Holder: []byte("c"), Once: true})
		require.ErrorIs(t, err, lease.ErrHeld)
		r.leave(true)
		began := time.Now()
		_, err = lease.Acquire(t.Context(),
			lease.Config{Store: c, Key: "leader", Holder: []byte("c"), Patience: 10 * time.Second})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.GreaterOrEqual(t, time.Since(began), 10*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = lease.Acquire(ctx, lease.Config{Store: c, Key: "leader", Holder: []byte("c")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		r.leave(false)
	})
}

// gone is a store whose connection was closed for good.
type gone struct{ *process }

func (gone) Update(context.Context, string, []byte, uint64) (uint64, error) {
	return 0, fmt.Errorf("no more: %w", reply.ErrNoAccess)
}

func TestAHolderThatTheStoreLetsInNoMoreStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, err := lease.Acquire(t.Context(),
			lease.Config{Store: gone{&process{store: newStore()}}, Key: "leader", Holder: []byte("a")})
		require.NoError(t, err)
		err = l.Keep(t.Context())
		require.ErrorIs(t, err, lease.ErrLost)
		require.ErrorIs(t, err, reply.ErrNoAccess)
	})
}

// Whatever happens to three processes and their store: terms grow, no term has two holders, a
// holder is replaced only when it did not reach the store, and somebody holds the lease once they
// all do.
func TestLeasesInRandomTimes(t *testing.T) {
	t.Parallel()
	seeds, replaced := testenv.N(300, 60), 0
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			r := &run{store: newStore()}
			ctx, end := context.WithCancel(t.Context())
			defer r.running.Wait()
			defer end()
			all := []*process{r.process(ctx, "a"), r.process(ctx, "b"), r.process(ctx, "c")}
			last := map[*process]time.Time{} // when it had trouble last
			trouble := func(p *process) { last[p] = time.Now() }
			for range 60 {
				p := all[random.IntN(len(all))]
				switch random.IntN(5) {
				case 0:
					r.leave(!r.away)
				case 1:
					trouble(p)
					p.set(func() { p.cut = !p.cut })
				case 2:
					trouble(p)
					p.set(func() { p.deaf = !p.deaf })
				case 3:
					trouble(p)
					p.set(func() { p.late = time.Duration(random.IntN(2)) * time.Duration(random.IntN(4000)) * time.Millisecond })
				}
				before := len(r.all())
				pass(time.Duration(random.IntN(2000)) * time.Millisecond)
				synctest.Wait()
				for terms, i := r.all(), max(1, before); i < len(terms); i++ {
					old, now := terms[i-1], terms[i]
					require.Greater(t, now.number, old.number)
					if old.ended.IsZero() || !old.ended.Before(now.began) {
						q := old.process
						require.True(t, q.cut || q.deaf || q.late > 0 || now.began.Sub(last[q]) < 5*time.Second,
							"seed %d: %s was replaced", seed, q.name)
						replaced++
					}
				}
			}
			r.leave(false)
			for _, p := range all {
				p.set(func() { p.cut, p.deaf, p.late = false, false, 0 })
			}
			pass(2*4*time.Second + promised) // what was late may be so twice
			synctest.Wait()
			holding := slices.DeleteFunc(r.all(), func(h term) bool { return !h.ended.IsZero() })
			require.Len(t, holding, 1, "seed %d", seed)
			holder, _, err := all[0].Get(t.Context(), "leader")
			require.NoError(t, err)
			require.Equal(t, holding[0].process.name, string(holder))
		})
	}
	t.Logf("%d holders were replaced", replaced)
	require.Greater(t, replaced, seeds/2)
}
