package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Keys of the bucket of a fabric. The subnet manager has others, see package manager.
const (
	keyLeader    = "leader"
	keyFabric    = "fabric"
	keyEnded     = "ended"
	keyPlacement = "placement"
	keyState     = "state"
)

// ErrLost means that this process leads no more.
var ErrLost = errors.New("this process leads the fabric no more")

// LeaseTime is how long a leader counts as one that does not say anything. Chosen by us: the servers of a cluster that has lost one take 4 to 9 s to
// choose who of them writes now (nats-server's election timeouts), during which nobody can renew. A leader outlives that: it renews every twelfth of
// the lease, and gives a renewal that is not answered up after a sixth.
const LeaseTime = 12 * time.Second

// Leader is who leads a fabric, as others see it.
type Leader struct {
	ID    string    `json:"id"` // no other has it
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"` // by the clock of its host
	Page  string    `json:"page,omitempty"`
}

// String says where it is.
func (l Leader) String() string { return fmt.Sprintf("process %d on host %s", l.PID, l.Host) }

// Lead is the right to lead a fabric, as long as Run runs.
type Lead struct {
	Term uint64 // above that of every leader before

	store *bus.Store
	me    Leader
	lease time.Duration
	rev   uint64
	since time.Time // when it was last renewed, at the earliest
	asked time.Time // when it was first asked for since, without an answer; zero: it was not
}

// CampaignConfig says who wants to lead. Store and Me are required.
type CampaignConfig struct {
	Store *bus.Store
	Me    Leader
	Lease time.Duration // in whole seconds; 0 is LeaseTime
	// Standby hears who leads, when that changes, with the revision of the store at which that was so.
	Standby func(Leader, uint64)
}

// Campaign waits until this process leads. That is by a key that only one can create and that runs out unless it is renewed, by the clock of the
// broker alone.
func Campaign(ctx context.Context, cfg CampaignConfig) (*Lead, error) {
	if cfg.Lease == 0 {
		cfg.Lease = LeaseTime
	}
	me, err := json.Marshal(cfg.Me)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(cfg.Lease / 20)
	defer tick.Stop()
	told := ""
	for {
		began := time.Now()
		rev, err := cfg.Store.CreateFor(ctx, keyLeader, me, cfg.Lease)
		switch {
		case err == nil:
			return &Lead{Term: rev, store: cfg.Store, me: cfg.Me, lease: cfg.Lease, rev: rev, since: began}, nil
		case errors.Is(err, bus.ErrNoTTL), errors.Is(err, bus.ErrNoAccess), ctx.Err() != nil:
			return nil, err
		case errors.Is(err, reply.ErrConflict):
			l, rev, err := leading(ctx, cfg.Store)
			switch {
			case err != nil || rev == 0:
			case l.ID == cfg.Me.ID:
				// It led, could not renew, and gave up; nobody else has led since. A new term all the same: who leads begins anew.
				if rev, err := cfg.Store.UpdateFor(ctx, keyLeader, me, rev, cfg.Lease); err == nil {
					return &Lead{Term: rev, store: cfg.Store, me: cfg.Me, lease: cfg.Lease, rev: rev, since: began}, nil
				}
			case l.ID != told && cfg.Standby != nil:
				told = l.ID
				cfg.Standby(l, rev)
			}
		} // or the broker does not answer just now
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// Leading is who leads, if somebody does.
func Leading(ctx context.Context, s *bus.Store) (l Leader, there bool, err error) {
	l, rev, err := leading(ctx, s)
	return l, rev > 0, err
}

// leading is Leading with the revision of the key, 0 when nobody does.
func leading(ctx context.Context, s *bus.Store) (l Leader, rev uint64, err error) {
	data, rev, err := s.Get(ctx, keyLeader)
	switch {
	case errors.Is(err, reply.ErrNoKey):
		return l, 0, nil
	case err != nil:
		return l, 0, err
	}
	return l, rev, json.Unmarshal(data, &l)
}

// Run keeps the right to lead until ctx ends, and gives it back then. The error wraps ErrLost when another leads, and when this process cannot know
// because it could not renew in time.
func (l *Lead) Run(ctx context.Context) error {
	me, err := json.Marshal(l.me)
	if err != nil {
		return err
	}
	tick := time.NewTicker(l.lease / 12)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.giveBack(context.WithoutCancel(ctx))
			return nil
		case <-tick.C:
		}
		began := time.Now()
		if l.asked.IsZero() {
			l.asked = began
		}
		try, cancel := context.WithTimeout(ctx, l.lease/6)
		rev, err := l.store.UpdateFor(try, keyLeader, me, l.rev, l.lease)
		if errors.Is(err, reply.ErrConflict) {
			rev, err = l.caughtUp(try)
			began = l.asked // or later: one of those that were asked for since then has been written
		}
		cancel()
		switch silent := time.Since(l.since); {
		case err == nil:
			l.rev, l.since, l.asked = rev, began, time.Time{}
		case errors.Is(err, ErrLost):
			return err
		case silent > l.lease:
			return fmt.Errorf("cluster: %w, perhaps: the lease could not be renewed for %v: %w", ErrLost, silent.Round(time.Millisecond), err)
		}
	}
}

// giveBack has the key go now, or it runs out.
func (l *Lead) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := l.store.DeleteAt(ctx, keyLeader, l.rev); errors.Is(err, reply.ErrConflict) {
		if rev, err := l.caughtUp(ctx); err == nil {
			_ = l.store.DeleteAt(ctx, keyLeader, rev)
		}
	}
}

// caughtUp is the revision of the key when it was this process that has changed it: by a renewal whose answer was lost. Else the error wraps ErrLost.
func (l *Lead) caughtUp(ctx context.Context) (rev uint64, err error) {
	who, rev, err := leading(ctx, l.store)
	if err == nil && (rev == 0 || who.ID != l.me.ID) {
		err = fmt.Errorf("cluster: %w: another has taken over, or the lease has run out", ErrLost)
	}
	return rev, err
}
