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
	saved time.Time

	earlier []uint64 // what earlier runs have done; not changed any more
	before  float64  // seconds that they took
	began   time.Time
}

type page struct {
	Of   string   `json:"of"`   // the run's fingerprint
	Done []uint64 `json:"done"` // bit i of the list: chunk i
	found
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

// saveEvery is how much work an interruption can cost at most.
const saveEvery = 2 * time.Second

// maxBook bounds a checkpoint that is read, chosen by us: of maxSets sets it has a tenth of that.
const maxBook = 128 << 20

// openBook locks the checkpoint, reads what an earlier run has done, and adds it to the result.
func openBook(r *run) (_ *book, err error) {
	b := &book{path: r.Checkpoint, saved: time.Now(), began: time.Now()}
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
	if err = json.Unmarshal(data, &p); err == nil && p.Result == nil {
		err = errors.New("it has no result")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: checkpoint %s is not one of ours: name another file, or remove it: %w", ErrConfig,
			b.path, err)
	}
	if found := (doubts{p.Result.Asymmetry, p.Result.SourceBased}); found != (doubts{}) {
		r.doubts = found
		r.believe()
		r.result = r.empty()
	}
	like := r.empty()
	if p.Of != b.page.Of || len(p.Done) != len(b.page.Done) ||
		(p.Result.Numbering == nil) != (like.Numbering == nil) || (p.Result.Duato == nil) != (like.Duato == nil) {
		return nil, fmt.Errorf("%w: checkpoint %s is of another run: name another file, or remove it", ErrConfig, b.path)
	}
	b.page, b.earlier, b.before = p, slices.Clone(p.Done), p.Result.Seconds
	r.result.add(p.result())
	return b, nil
}

// has reports whether an earlier run has done a chunk. It may be called by all workers at once.
func (b *book) has(n uint64) bool { return b.earlier[n/64]>>(n%64)&1 == 1 }

// seconds is how long this and the earlier runs have taken.
func (b *book) seconds() float64 { return b.before + time.Since(b.began).Seconds() }

// done notes a chunk, and saves now and then.
func (b *book) done(n uint64, r *Result) error {
	b.page.Done[n/64] |= 1 << (n % 64)
	if b.path == "" || time.Since(b.saved) < saveEvery {
		return nil
	}
	return b.save(r)
}

func (b *book) close(r *Result) error {
	if b.path == "" {
		return nil
	}
	return errors.Join(b.save(r), b.leave())
}

// save writes the file anew: a kill leaves the old one or the new one.
func (b *book) save(r *Result) error {
	b.saved = time.Now()
	r.Seconds = b.seconds()
	b.page.found = r.found()
	data, err := json.Marshal(&b.page)
	if err == nil {
		err = safefile.Write(b.path, data)
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
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
