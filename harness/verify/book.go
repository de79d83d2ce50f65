package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/weft-fabric/weft/fabricd/safefile"
)

// book is the file from which an interrupted run goes on: which chunks are done, and what they add
// up to.
type book struct {
	path  string // empty: nothing is kept
	lock  *flock.Flock
	page  page
	next  time.Time    // when it is saved again
	known []uint64     // destinations that earlier runs have explored; not changed any more
	sum   func() ended // what is to be saved of all sets at once; nil: nothing new

	earlier []uint64 // chunks that earlier runs have done; not changed any more
	before  float64  // seconds that they took
	began   time.Time
}

type page struct {
	Of   string   `json:"of"`   // the run's fingerprint
	Done []uint64 `json:"done"` // bit i of the list: chunk i
	// Seconds that it took to come so far.
	Seconds float64 `json:"seconds,omitempty"`
	Lazy    *atOnce `json:"at_once,omitempty"`
	found
}

// atOnce is how far the exploration of all sets at once has come.
type atOnce struct {
	Every int      `json:"every"` // see orbits
	Count int      `json:"count"` // destinations that are explored for others
	Done  []uint64 `json:"done"`  // bit i of the list: that destination
	Sum   ended    `json:"sum"`
}

// found is a result with what its JSON leaves out.
type found struct {
	Result *Result `json:"result,omitempty"`
	Firsts []first `json:"firsts,omitempty"`
	Draws  bool    `json:"draws,omitempty"`
	Queues bool    `json:"queues,omitempty"`
	Now    bool    `json:"now,omitempty"`
	Packet bool    `json:"packet,omitempty"`
}

func (r *Result) found() found {
	x := r.inexactSoFar
	return found{r, r.firsts, x.draws, x.queues, x.now, x.packet}
}

// result undoes found.
func (f found) result() *Result {
	r := f.Result
	r.firsts, r.inexactSoFar = f.Firsts, inexact{f.Draws, f.Queues, f.Now, f.Packet}
	if r.Discards == nil {
		r.Discards = map[string]uint64{}
	}
	return r
}

// saveEvery is how much work an interruption can cost at most, of checkpoints that are not large:
// of the time no more than a part in saveShare goes into saving.
const (
	saveEvery = 2 * time.Second
	saveShare = 20
)

// maxBook bounds a checkpoint that is read, chosen by us: of maxSets sets it has a thousandth of
// that, and of dependencies between channels there are some ten million in the widest trees tried.
const maxBook = 512 << 20

// openBook locks the checkpoint and reads what an earlier run has done.
func openBook(r *run) (_ *book, err error) {
	b := &book{path: r.Checkpoint, next: time.Now().Add(saveEvery), began: time.Now()}
	b.page.Done = make([]uint64, (r.total+r.chunk-1)/r.chunk/64+1)
	b.earlier = make([]uint64, len(b.page.Done))
	if b.path == "" {
		return b, nil
	}
	b.page.Of = r.fingerprint()
	if err := b.take(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.leave())
		}
	}()
	data, err := readBook(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return nil, err
	}
	var p page
	if err = json.Unmarshal(data, &p); err == nil && p.Result == nil && p.Lazy == nil {
		err = errors.New("it has no result")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: checkpoint %s is not one of ours: name another file, or remove it: %w", ErrConfig,
			b.path, err)
	}
	if p.Of != b.page.Of || len(p.Done) != len(b.page.Done) {
		return nil, b.another()
	}
	b.page, b.before = p, p.Seconds
	if p.Result != nil {
		b.earlier, b.before = slices.Clone(p.Done), max(p.Seconds, p.Result.Seconds)
	}
	return b, nil
}

// another is the error that the checkpoint is of another run.
func (b *book) another() error {
	return fmt.Errorf("%w: checkpoint %s is of another run: name another file, or remove it", ErrConfig, b.path)
}

// counts reports whether an earlier run has explored sets one by one.
func (b *book) counts() bool { return b != nil && b.page.Result != nil }

// restore adds what an earlier run has found of single sets to the result.
func (b *book) restore(r *run) error {
	old := b.page.found
	if old.Result == nil {
		return nil
	}
	if found := (doubts{old.Result.Asymmetry, old.Result.SourceBased}); found != (doubts{}) {
		r.doubts = found
		r.believe()
		r.result = r.empty()
	}
	like := r.empty()
	if (old.Result.Numbering == nil) != (like.Numbering == nil) || (old.Result.Duato == nil) != (like.Duato == nil) {
		return b.another()
	}
	r.result.add(old.result())
	return nil
}

// has reports whether an earlier run has done a chunk. It may be called by all workers at once.
func (b *book) has(n uint64) bool { return b.earlier[n/64]>>(n%64)&1 == 1 }

// seconds is how long this and the earlier runs have taken.
func (b *book) seconds() float64 { return b.before + time.Since(b.began).Seconds() }

// done notes a chunk, and saves now and then.
func (b *book) done(n uint64, r *Result) error {
	b.page.Done[n/64] |= 1 << (n % 64)
	if b.path == "" || time.Now().Before(b.next) {
		return nil
	}
	b.page.found = r.found()
	return b.save()
}

// destinations is what earlier runs have found of all sets at once, where so many destinations are
// explored for others, and one in every states is compared; nil: nothing.
func (b *book) destinations(m *model, every, count int) (*ended, error) {
	if b == nil {
		return nil, nil
	}
	old := b.page.Lazy
	if old == nil || old.Every > every { // see untrue
		nothing := lazyFind{sum: noPairs}
		b.page.Lazy = &atOnce{Every: every, Count: count, Done: make([]uint64, count/64+1), Sum: nothing.ended(nil)}
		b.known = make([]uint64, count/64+1)
		return nil, nil
	}
	if old.Every != every || old.Count != count || len(old.Done) != count/64+1 || !old.Sum.of(m) {
		return nil, b.another()
	}
	b.known = slices.Clone(old.Done)
	return &old.Sum, nil
}

// untrue reports whether an earlier run has found that the firmware is not cyclic, though it says
// so.
func (b *book) untrue() bool { return b != nil && b.page.Lazy != nil && b.page.Lazy.Every == 1 }

// hasDestination reports whether an earlier run has explored a destination. It may be called by all
// workers at once.
func (b *book) hasDestination(i int) bool { return b != nil && b.known[i/64]>>(i%64)&1 == 1 }

// ended notes a destination, and saves now and then the sum of all.
func (b *book) ended(i int, sum func() ended) error {
	if b == nil || b.path == "" {
		return nil
	}
	b.page.Lazy.Done[i/64] |= 1 << (i % 64)
	b.sum = sum
	if time.Now().Before(b.next) {
		return nil
	}
	return b.save()
}

// close saves and gives the checkpoint back.
func (b *book) close(r *Result) error {
	if b.path == "" {
		return nil
	}
	if r != nil {
		b.page.found = r.found()
	}
	if b.page.Result == nil && b.page.Lazy == nil { // nothing was explored
		return b.leave()
	}
	return errors.Join(b.save(), b.leave())
}

// save writes the file anew: a kill leaves the old one or the new one.
func (b *book) save() error {
	began := time.Now()
	if b.page.Seconds = b.seconds(); b.page.Result != nil {
		b.page.Result.Seconds = b.page.Seconds
	}
	if b.sum != nil {
		b.page.Lazy.Sum = b.sum()
		b.sum = nil
	}
	data, err := json.Marshal(&b.page)
	if err == nil {
		err = safefile.Write(b.path, data)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	now := time.Now()
	b.next = now.Add(max(saveEvery, saveShare*now.Sub(began)))
	return nil
}

// readBook reads a checkpoint. Anything but a file is refused: a device may have no end.
func readBook(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: checkpoint %s is not a regular file: name another", ErrConfig, path)
	}
	if info.Size() > maxBook {
		return nil, fmt.Errorf("%w: checkpoint %s has more than %d bytes, so it is not one of ours: name another file, "+
			"or remove it", ErrConfig, path, maxBook)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return data, nil
}

// take makes the checkpoint this run's own. Of two runs that write one, each would throw away what
// the other has done. The lock is a file beside it, because the checkpoint itself is replaced by
// every save; it ends with the process, however that ends.
func (b *book) take() error {
	for {
		lock := safefile.NewLock(b.path+".lock", 0o600)
		got, err := lock.TryLock()
		if err != nil {
			return fmt.Errorf("checkpoint: lock %s: %w", lock.Path(), err)
		}
		if !got {
			return fmt.Errorf("%w: checkpoint %s is in use by another run: wait for its end, or name another file",
				ErrConfig, b.path)
		}
		held, err := lock.Stat()
		if err == nil && held.Size() > 0 { // it is removed at the end
			return errors.Join(fmt.Errorf("%w: checkpoint %s: %s stands where its lock is to be, and holds something: name "+
				"another file", ErrConfig, b.path, lock.Path()), lock.Unlock())
		}
		if err == nil {
			var there fs.FileInfo
			if there, err = os.Stat(lock.Path()); err == nil && os.SameFile(held, there) {
				b.lock = lock
				return nil
			}
		}
		// Its last holder has removed it between our opening and our locking it, and the next run
		// would make a new one.
		if unlocked := lock.Unlock(); unlocked != nil || !errors.Is(err, fs.ErrNotExist) && err != nil {
			return fmt.Errorf("checkpoint: lock %s: %w", lock.Path(), errors.Join(err, unlocked))
		}
	}
}

// leave gives the checkpoint back.
func (b *book) leave() error {
	if b.lock == nil {
		return nil
	}
	if err := errors.Join(os.Remove(b.lock.Path()), b.lock.Unlock()); err != nil {
		return fmt.Errorf("checkpoint: unlock: %w", err)
	}
	return nil
}
