// Package lease gives one process of several the right to do something alone: to lead a fabric, or
// to manage it. The right is a key of the fabric's store whose value is the holder. A holder writes
// the key again and again; a candidate that has seen no such write for [Config.Time], while the
// store took its own writes, writes itself into the key.
//
// The revision that a holder begins with is its term. The store puts all writes in an order, and a
// write that names a revision fails when the key has another, so terms grow and no term has two
// holders. No clock of one machine is compared with that of another.
package lease

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/wire"
)

// Default is how long a holder that does not renew its lease still holds it.
const Default = 2 * time.Second

// Errors of leases.
var (
	ErrLost = errors.New("another process has taken over") // it holds the lease, or did
	ErrHeld = errors.New("another process renews the lease")
)

// Shares of the time of a lease, chosen by us: a holder has eight tries to renew before a candidate
// takes over, and a candidate notices within a sixteenth that the store answers.
const (
	renewals = 8  // tries of a holder
	looks    = 16 // of a candidate
	answers  = 4  // the store has a quarter of the time to answer
)

// Store is what a lease needs of a store, as package bus has it.
type Store interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) error
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, last uint64) (revision uint64, err error)
}

// Config says who wants which lease. Store, Key and Holder are required.
type Config struct {
	Store  Store
	Key    string
	Holder []byte        // what others read; no other process has the same, and it is not empty
	Time   time.Duration // 0 is [Default]
	// Once has Acquire give up, with an error that wraps ErrHeld, when it sees that the holder
	// renews the lease.
	Once bool
	// Patience is how long the store may fail to answer before Acquire gives up; 0: for ever.
	Patience time.Duration
	// Standby hears who else holds the lease, when that changes, and the revision of the store at
	// which that was so.
	Standby func(holder []byte, revision uint64)
}

// Lease is held from Acquire on, and for as long as Keep runs.
type Lease struct {
	Term uint64 // above the terms of all holders before

	cfg      Config
	revision uint64 // of the key, as this process wrote it last
}

// read reads who holds the lease of a key. The revision is 0 when nobody ever did; the holder is
// empty when it gave the key back. A holder that has died is read until another process takes over.
func read(ctx context.Context, s Store, key string) (holder []byte, revision uint64, err error) {
	holder, revision, err = s.Get(ctx, key)
	if errors.Is(err, reply.ErrNoKey) {
		return nil, 0, nil
	}
	return holder, revision, err
}

// Acquire waits until this process holds the lease.
func Acquire(ctx context.Context, cfg Config) (*Lease, error) {
	cfg.Time = cmp.Or(cfg.Time, Default)
	c := candidate{Config: cfg}
	began := time.Now()
	for {
		l, err := c.look(ctx)
		switch {
		case l != nil:
			return l, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil || errors.Is(err, reply.ErrConflict):
			began = time.Now()
		case errors.Is(err, ErrHeld), closed(err), cfg.Patience > 0 && time.Since(began) > cfg.Patience:
			return nil, err
		}
		if pause(ctx, cfg.Time/looks); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// pause waits so long, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
}

// closed reports whether the connection to the store has been closed for good.
func closed(err error) bool {
	return errors.Is(err, reply.ErrNoAccess) || errors.Is(err, wire.ErrClosed)
}

// candidate waits for the lease.
type candidate struct {
	Config
	announced []byte    // the holder that Standby has heard of
	seen      uint64    // revision of the key
	since     time.Time // the key has had that revision since then, and the store has taken writes
	answered  time.Time // when the store took a write last
}

// look reads the key, and takes it when nobody holds it. When another process does, look writes a
// key of its own: what the candidate could write, the holder could have written too, so only such
// time counts against the holder.
func (c *candidate) look(ctx context.Context) (*Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Time/answers)
	defer cancel()
	holder, revision, err := read(ctx, c.Store, c.Key)
	if err != nil {
		return nil, err
	}
	switch now := time.Now(); {
	case revision == 0:
		revision, err = c.Store.Create(ctx, c.Key, c.Holder)
		return c.taken(revision, err)
	case len(holder) == 0, bytes.Equal(holder, c.Holder),
		revision == c.seen && now.Sub(c.answered) <= c.Time/answers && now.Sub(c.since) >= c.Time:
		revision, err = c.Store.Update(ctx, c.Key, c.Holder, revision)
		return c.taken(revision, err)
	case c.Once && c.seen != 0 && revision != c.seen:
		return nil, fmt.Errorf("lease: %w", ErrHeld)
	}
	if c.Standby != nil && !bytes.Equal(holder, c.announced) {
		c.announced = holder
		c.Standby(holder, revision)
	}
	if err := c.Store.Put(ctx, c.Key+".candidate", c.Holder); err != nil {
		return nil, err
	}
	now := time.Now()
	if revision != c.seen || now.Sub(c.answered) > c.Time/answers {
		c.seen, c.since = revision, now
	}
	c.answered = now
	return nil, nil
}

func (c *candidate) taken(revision uint64, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return &Lease{Term: revision, cfg: c.Config, revision: revision}, nil
}

// Keep renews the lease until ctx ends, and gives it back then, unless the cause of that is that
// the fabric has ended, whose store goes with it. The error wraps [ErrLost] when another process
// has taken over, and when the connection to the store was closed for good. While the store does
// not answer, Keep goes on: nobody can take over then.
func (l *Lease) Keep(ctx context.Context) error {
	for {
		if pause(ctx, l.cfg.Time/renewals); ctx.Err() != nil {
			if !errors.Is(context.Cause(ctx), reply.ErrEnded) {
				_ = l.write(context.WithoutCancel(ctx), nil) // or a candidate waits for its end
			}
			return nil
		}
		if err := l.write(ctx, l.cfg.Holder); errors.Is(err, ErrLost) {
			return err
		} else if closed(err) {
			return fmt.Errorf("lease: %w, perhaps: %w", ErrLost, err)
		}
	}
}

// write writes the key, unless another process has. The error wraps ErrLost then.
func (l *Lease) write(ctx context.Context, holder []byte) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Time/answers)
	defer cancel()
	revision, err := l.cfg.Store.Update(ctx, l.cfg.Key, holder, l.revision)
	if errors.Is(err, reply.ErrConflict) {
		// Perhaps by a write of this process whose answer was lost.
		var now []byte
		if now, revision, err = read(ctx, l.cfg.Store, l.cfg.Key); err == nil && !bytes.Equal(now, l.cfg.Holder) {
			return fmt.Errorf("lease: %w", ErrLost)
		}
		if err == nil && len(holder) == 0 {
			revision, err = l.cfg.Store.Update(ctx, l.cfg.Key, holder, revision)
		}
	}
	if err == nil {
		l.revision = revision
	}
	return err
}
