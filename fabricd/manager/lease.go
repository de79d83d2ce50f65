package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/reply"
)

// lease is who manages. It changes whenever it is renewed.
type lease struct {
	Holder string `json:"holder"`
	Count  uint64 `json:"count"`
	Over   bool   `json:"over,omitempty"` // it was given back
}

// errLost says that another manager has taken over.
var errLost = errors.New("another manager has taken over")

// acquire waits until this manager may manage and returns the revision of its lease. Clocks of machines differ, so a lease is over when it has not
// changed for a while by the clock of who waits.
func (m *Manager) acquire(ctx context.Context) (revision uint64, err error) {
	var seen uint64
	since := time.Now()
	told := false
	tick := time.NewTicker(m.cfg.Lease / 6)
	defer tick.Stop()
	for {
		var l lease
		now, found, err := read(ctx, m.cfg.State, keyLease, &l)
		mine := lease{Holder: m.cfg.Holder, Count: l.Count + 1}
		switch {
		case err != nil:
		case !found:
			if revision, err = m.cfg.State.Create(ctx, keyLease, encode(mine)); err == nil {
				return revision, nil
			}
		case l.Over || l.Holder == m.cfg.Holder || now == seen && time.Since(since) > m.cfg.Lease:
			if revision, err = m.cfg.State.Update(ctx, keyLease, encode(mine), now); err == nil {
				return revision, nil
			}
		case now != seen:
			seen, since = now, time.Now()
			if !told {
				told = true
				m.tell(Note{Kind: NoteStandby, Text: "standing by: " + l.Holder + " manages"})
			}
		}
		if err != nil && !errors.Is(err, reply.ErrConflict) {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-tick.C:
		}
	}
}

// keep renews the lease until ctx ends, and then gives it back. It ends managing when it has lost it.
func (m *Manager) keep(ctx context.Context, revision uint64, lost context.CancelCauseFunc) {
	tick := time.NewTicker(m.cfg.Lease / 4)
	defer tick.Stop()
	count, renewed := uint64(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, errLost) && !errors.Is(why, reply.ErrEnded) {
				end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer cancel()
				_, _ = m.cfg.State.Update(end, keyLease, encode(lease{Holder: m.cfg.Holder, Over: true}), revision) // or it runs out
			}
			return
		case <-tick.C:
		}
		count++
		try, cancel := context.WithTimeout(ctx, m.cfg.Lease/4)
		next, err := m.cfg.State.Update(try, keyLease, encode(lease{Holder: m.cfg.Holder, Count: count}), revision)
		cancel()
		switch {
		case err == nil:
			revision, renewed = next, time.Now()
		case errors.Is(err, reply.ErrConflict):
			lost(errLost)
		case time.Since(renewed) > m.cfg.Lease:
			lost(fmt.Errorf("%w, perhaps: the lease could not be renewed: %w", errLost, err))
		}
	}
}
