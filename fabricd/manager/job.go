package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// Keys of the state.
const (
	keyHead  = "head"
	keyLease = "lease"
)

func keyOf(version uint64) string { return "job." + strconv.FormatUint(version, 10) }

// head says where the jobs of the fabric are.
type head struct {
	Instance string `json:"instance"`
	Routing  string `json:"routing"`
	Method   string `json:"method"`
	First    uint64 `json:"first"` // version of the first job of this instance
	Last     uint64 `json:"last"`  // of the last that is known to be done; there may be later ones
}

// job is what there is to do for one version of the tables. Together with the jobs before, the plan
// follows from it.
type job struct {
	Version uint64 `json:"version"`
	Round   int    `json:"round,omitempty"`  // of the plan: 0, or 1 for the second one
	Rounds  int    `json:"rounds,omitempty"` // that the plan has, if more than one
	// all switches had acknowledged the job before when it was planned
	Acknowledged bool            `json:"acknowledged"`
	Told         bool            `json:"told"`    // the same, under its old name: until 0.2.0
	Settled      bool            `json:"settled"` // the packets of older tables were gone then, too
	Dead         []weft.LinkID   `json:"dead"`
	Died         []weft.LinkID   `json:"died,omitempty"` // of these, those that were alive before
	Static       bool            `json:"static"`         // no packet may be on its way while it is done
	Tells        []weft.SwitchID `json:"tells"`          // the switches for which something changes
	Began        weft.Time       `json:"began"`          // on the fabric's clock, as in a fabric.Round
	Planned      weft.Time       `json:"planned"`
}

// MarshalJSON writes Told for managers that do not know Acknowledged.
func (j job) MarshalJSON() ([]byte, error) {
	type plain job
	j.Told = j.Acknowledged
	return json.Marshal(plain(j))
}

// UnmarshalJSON reads the jobs of such managers, too.
func (j *job) UnmarshalJSON(data []byte) error {
	type plain job
	err := json.Unmarshal(data, (*plain)(j))
	j.Acknowledged = j.Acknowledged || j.Told
	return err
}

// tell lists the switches of a round.
func (j *job) tell(r *manage.Round) {
	j.Tells = nil
	for _, p := range r.Patches {
		j.Tells = append(j.Tells, p.Switch)
	}
}

// last reports whether the plan has come into force with it.
func (j *job) last() bool { return j.Round+1 >= j.Rounds }

func (j job) set() *subnet.Dead {
	var d subnet.Dead
	for _, id := range j.Dead {
		d.AddLink(id)
	}
	return &d
}

// read decodes the value of a key into v; found is false when there is no such key.
func read(ctx context.Context, s State, key string, v any) (revision uint64, found bool, err error) {
	value, revision, err := s.Get(ctx, key)
	if errors.Is(err, reply.ErrNoKey) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if err := json.Unmarshal(value, v); err != nil {
		return 0, false, fmt.Errorf("the state of the subnet manager has %s in a form of its own: %w: take it away", key, err)
	}
	return revision, true, nil
}

// encode makes a value. What is kept here always encodes.
func encode(v any) []byte {
	value, err := json.Marshal(v)
	if err != nil {
		panic("manager: BUG: " + err.Error())
	}
	return value
}
