package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/lease"
)

// Keys of the bucket of a fabric. The subnet manager has others, see package manager.
const (
	keyLeader    = "leader"
	keyFabric    = "fabric"
	keyEnded     = "ended"
	keyPlacement = "placement"
	keyState     = "state"
)

// Leader is the process that leads a fabric, as others see it.
type Leader struct {
	ID    string    `json:"id"` // no other has it
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"` // by the clock of its host
	Page  string    `json:"page,omitempty"`
}

// ThisLeader is this process as a leader.
func ThisLeader() (l Leader, err error) {
	l = Leader{ID: rand.Text(), PID: os.Getpid(), Since: time.Now().UTC()}
	if l.Host, err = os.Hostname(); err != nil {
		err = fmt.Errorf("name of this host: %w", err)
	}
	return l, err
}

// String says where it is.
func (l Leader) String() string { return fmt.Sprintf("process %d on host %s", l.PID, l.Host) }

// CampaignConfig says who wants to lead. Store and Me are required.
type CampaignConfig struct {
	Store *bus.Store
	Me    Leader
	Lease time.Duration // 0 is [lease.Default]
	// Once has Campaign fail, with an error that wraps [lease.ErrHeld], when another process leads.
	Once bool
	// Standby hears who leads, when that changes, and the revision of the store at which that was
	// so.
	Standby func(Leader, uint64)
}

// Campaign waits until this process leads. The term of the lease is that of the leader.
func Campaign(ctx context.Context, cfg CampaignConfig) (*lease.Lease, error) {
	me, err := json.Marshal(cfg.Me)
	if err != nil {
		return nil, err
	}
	return lease.Acquire(ctx, lease.Config{
		Store: cfg.Store, Key: keyLeader, Holder: me, Time: cfg.Lease, Once: cfg.Once,
		Standby: func(leaseholder []byte, revision uint64) {
			var l Leader
			if json.Unmarshal(leaseholder, &l) != nil {
				l = Leader{Host: "unknown"} // of another version of fabricd
			}
			if cfg.Standby != nil {
				cfg.Standby(l, revision)
			}
		},
	})
}
