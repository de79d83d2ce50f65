package manager

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/switch/tables"
)

// Fabric is the fabric as its manager sees it: that of package remote over the broker, or [Local]
// in the same process. Methods may be called concurrently.
type Fabric interface {
	// Spec says what there is to manage.
	Spec(ctx context.Context) (Spec, error)
	// Begin makes this one the manager: what those before it ask is refused from then on, with
	// [ErrSuperseded]. All below are for who has begun.
	Begin(ctx context.Context) error
	// Watch calls heard after any end of a link has changed its mind about it, until ctx ends or
	// nothing can be heard any more.
	Watch(ctx context.Context, heard func()) error
	// Ports says which links are dead, and what time it is there.
	Ports(ctx context.Context) (fabric.Ports, error)
	// Versions are those of the tables of all switches.
	Versions(ctx context.Context) ([]uint64, error)
	// Load has a switch forward by a patch and returns when that is in force there, with the time
	// it was there. It is in force too when the switch had that version.
	Load(ctx context.Context, p *tables.Patch) (weft.Time, error)
	// Hold has all NICs inject nothing and returns when no packet is on its way; Resume has them
	// inject again.
	Hold(ctx context.Context) error
	Resume(ctx context.Context) error
	// Report puts a round into the reports of the faults that it was for, and returns it with the
	// times since the first of them.
	Report(ctx context.Context, r fabric.Round) (fault.Reconfiguration, error)
	// Settle returns when the packets of tables before that version are gone.
	Settle(ctx context.Context, version uint64) error
}

// ErrSuperseded means that another manager has begun since, or the fabric was started again.
var ErrSuperseded = reply.Code{
	Name: "superseded",
	Text: "the term of this manager is over: another has begun, or the fabric was started again",
}

// Spec is what a manager must know of its fabric.
type Spec struct {
	Instance string `json:"instance"` // of the fabric: another one each time it is started
	Topology string `json:"topology"` // as a file has it
	Routing  string `json:"routing"`
	VCs      int    `json:"vcs"`
}

// State is where a manager writes down what the next one must know; a store of the broker is one,
// and so is [Memory]. Errors wrap [reply.ErrNoKey] and [reply.ErrConflict].
type State interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) error
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, last uint64) (revision uint64, err error)
	Delete(ctx context.Context, key string) error
}
