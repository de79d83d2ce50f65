package cluster

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/weft-fabric/weft/fabricd/lease"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/wire"
)

// checkpoint is the state of a fabric as it is written down: msgpack, compressed as
// [wire.Compress] does.
type checkpoint struct {
	Term   uint64 // of who wrote it
	State  []byte // as it writes itself; nil: there is none yet
	Tables chunks
}

// readState reads the state that the last leader wrote, and its revision; 0: there is none.
func (b StateStore) readState(ctx context.Context) (k checkpoint, rev uint64, err error) {
	data, rev, err := b.Store.Get(ctx, keyState)
	if errors.Is(err, reply.ErrNoKey) {
		return k, 0, nil
	}
	if err != nil {
		return k, 0, err
	}
	body, err := wire.Decompress(data)
	if err == nil {
		err = msgpack.Unmarshal(body, &k)
	}
	if err != nil {
		return k, 0, fmt.Errorf("cluster: read the state of the fabric: %w: did another version of fabricd write it?",
			err)
	}
	return k, rev, nil
}

// State is the state that the last leader wrote, as it encodes itself, and the term of that leader;
// nil: there is none.
func (b StateStore) State(ctx context.Context) (term uint64, state []byte, err error) {
	k, _, err := b.readState(ctx)
	return k.Term, k.State, err
}

// Checkpointer writes the state of a leader down, the latest only, as fast as the broker takes it.
type Checkpointer struct {
	store StateStore
	term  uint64
	rev   uint64
	warn  func(error)

	// Of Run.
	tables  chunks   // that the state names
	written []byte   // what they hold
	number  int      // of the chunks that were begun last
	over    []chunks // that no state names, or none will: to be taken away

	mu     sync.Mutex
	latest *latest       // to be written; nil: nothing
	wake   chan struct{} // cap 1: there is something
}

// latest is the latest state that a Checkpointer was given.
type latest struct {
	state  encoding.BinaryMarshaler
	tables []byte
	// done are closed when the state is written, the newest last: one for this state, and one for
	// each write that failed. Bound: maxWaiting.
	done []chan struct{}
}

// maxWaiting is of how many writes that failed it is still told when a later one has not. They are
// a second apart at least: who waited for those before has given up.
const maxWaiting = 64

// TakeOver reads the state that the last leader wrote into out, and its tables, and makes it this
// leader's, so that none before can write it any more; there is false when there is none. Run of
// the Checkpointer writes later states. Warn hears when it cannot, and must not block.
func (b StateStore) TakeOver(
	ctx context.Context, term uint64, out encoding.BinaryUnmarshaler, tables *[]byte, warn func(error),
) (checkpointer *Checkpointer, there bool, err error) {
	before, rev, err := b.claim(ctx, term)
	if err != nil {
		return nil, false, err
	}
	if len(before.State) > 0 {
		if err := out.UnmarshalBinary(before.State); err != nil {
			return nil, false, fmt.Errorf("cluster: %w", err)
		}
	}
	// From here on nobody else changes what the state names.
	held, err := b.readChunks(ctx, before.Tables)
	if err == nil {
		err = b.dropUnnamed(ctx, before)
	}
	if err != nil {
		return nil, false, err
	}
	*tables = held
	return &Checkpointer{
		store: b, term: term, rev: rev, warn: warn, tables: before.Tables, written: held,
		wake: make(chan struct{}, 1),
	}, len(before.State) > 0, nil
}

// Claim makes the state that of a leader of this term: leaders before it can write it no more. The
// error wraps [lease.ErrLost] when it is that of a later one.
func (b StateStore) Claim(ctx context.Context, term uint64) error {
	_, _, err := b.claim(ctx, term)
	return err
}

// claim is Claim, and returns the state as it was before, and its revision since.
func (b StateStore) claim(ctx context.Context, term uint64) (before checkpoint, rev uint64, err error) {
	before, rev, err = b.readState(ctx)
	if err != nil {
		return before, 0, err
	}
	if before.Term > term {
		return before, 0, fmt.Errorf("cluster: %w: a leader of term %d, and this one's is %d", lease.ErrLost,
			before.Term,
			term)
	}
	now := before
	now.Term = term
	data, err := now.encode()
	if err != nil {
		return before, 0, err
	}
	if rev == 0 {
		rev, err = b.Store.Create(ctx, keyState, data)
	} else {
		rev, err = b.Store.Update(ctx, keyState, data, rev)
	}
	return before, rev, err
}

func (k checkpoint) encode() ([]byte, error) {
	body, err := msgpack.Marshal(&k)
	if err != nil {
		return nil, err
	}
	return wire.Compress(body)
}

// Write has a state written, and tables, when they are not the slice that they were. Neither must
// change any more. It does not wait: what it returns is closed when it, or what was given later,
// has been written.
func (k *Checkpointer) Write(state encoding.BinaryMarshaler, tables []byte) <-chan struct{} {
	k.mu.Lock()
	next := &latest{state: state, tables: tables}
	if k.latest != nil {
		next.done = k.latest.done
	} else {
		next.done = []chan struct{}{make(chan struct{})}
	}
	done := next.done[len(next.done)-1]
	k.latest = next
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
	return done
}

// Times of a Checkpointer, chosen by us.
const (
	writeTime  = 3 * time.Second
	writeAgain = time.Second // after it could not
)

// Run writes until ctx ends, and then what is left. The error wraps lease.ErrLost when another
// leader has written.
func (k *Checkpointer) Run(ctx context.Context) error {
	again := time.NewTimer(writeAgain)
	defer again.Stop()
	whole := context.WithoutCancel(ctx) // a write that has begun is finished
	for {
		select {
		case <-ctx.Done():
			return k.flush(whole)
		case <-k.wake:
		case <-again.C:
		}
		if err := k.flush(whole); err != nil {
			return err
		}
		again.Reset(writeAgain)
	}
}

// flush writes what is to be written, and tries again later if it cannot.
func (k *Checkpointer) flush(ctx context.Context) error {
	k.mu.Lock()
	now := k.latest
	k.latest = nil
	k.mu.Unlock()
	if now == nil {
		return nil
	}
	err := k.write(ctx, now)
	switch {
	case err == nil:
		for _, done := range now.done {
			close(done)
		}
		return nil
	case errors.Is(err, lease.ErrLost):
		return err
	}
	k.warn(fmt.Errorf("cluster: the state for the next leader could not be written, it is tried again: %w", err))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.latest == nil {
		k.latest = now
	} else {
		all := append(now.done, k.latest.done...)
		k.latest.done = all[max(0, len(all)-maxWaiting):]
	}
	return nil
}

// write writes the tables, where they are others, then the state that names them, and takes away
// those that none names any more.
func (k *Checkpointer) write(ctx context.Context, now *latest) error {
	state, err := now.state.MarshalBinary()
	if err != nil {
		return err
	}
	tables := k.tables
	if !same(now.tables, k.written) {
		tables = chunks{}
		if len(now.tables) > 0 {
			k.number++
			tables, err = k.store.writeChunks(ctx, chunks{Term: k.term, Number: k.number}, now.tables)
		}
		if err != nil {
			k.over = append(k.over, tables)
			return err
		}
	}
	err = within(ctx, func(ctx context.Context) error { return k.writeState(ctx, checkpoint{k.term, state, tables}) })
	if err != nil {
		switch {
		case tables == k.tables:
		case errors.Is(err, lease.ErrLost): // nobody will
			_, dropped := k.store.dropChunks(ctx, tables)
			err = errors.Join(err, dropped)
		default: // the state may have been written, and only the answer lost
			k.over = append(k.over, tables)
		}
		return err
	}
	if tables != k.tables {
		k.over = append(k.over, k.tables)
	}
	k.tables, k.written = tables, now.tables
	for len(k.over) > 0 {
		if _, err := k.store.dropChunks(ctx, k.over[0]); err != nil {
			k.warn(fmt.Errorf("cluster: tables that were replaced could not be deleted, it is tried again: %w", err))
			return nil
		}
		k.over = k.over[1:]
	}
	return nil
}

// same reports whether a and b are one slice.
func same(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func (k *Checkpointer) writeState(ctx context.Context, state checkpoint) error {
	data, err := state.encode()
	if err != nil {
		return err
	}
	for range 2 {
		var rev uint64
		if rev, err = k.store.Store.Update(ctx, keyState, data, k.rev); err == nil {
			k.rev = rev
			return nil
		}
		if !errors.Is(err, reply.ErrConflict) {
			return err
		}
		// Perhaps by a write of ours whose answer was lost.
		was, rev, e := k.store.readState(ctx)
		switch {
		case e != nil:
			return e
		case was.Term != k.term || rev == 0:
			return fmt.Errorf("cluster: %w: the state is another leader's", lease.ErrLost)
		}
		k.rev = rev
	}
	return err
}
