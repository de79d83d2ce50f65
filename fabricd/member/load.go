package member

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/firmware"
)

// AskLoad has a process forward by new tables: a [LoadOrder]. That of the last part is answered when they are in force.
const AskLoad = "load"

// Chosen by us: a part fits into a message of brokers as they are by default (1 MB), and all of them into memory.
const (
	maxPart  = 512 << 10
	maxParts = 128
)

// LoadOrder is part of a [firmware.Patch], as JSON.
type LoadOrder struct {
	To    uint64 `json:"to"` // the version that the patch makes
	Part  int    `json:"part"`
	Parts int    `json:"parts"`
	Data  []byte `json:"data"`
}

// LoadOrders are the parts of a patch, in the order in which they are sent.
func LoadOrders(p *firmware.Patch) ([]LoadOrder, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("patch of switch %d: %w", p.Switch, err)
	}
	parts := (len(data) + maxPart - 1) / maxPart
	if parts > maxParts {
		return nil, fmt.Errorf("patch of switch %d: %d bytes, and at most %d are sent: use a routing with fewer addresses", p.Switch, len(data), maxParts*maxPart)
	}
	list := make([]LoadOrder, 0, parts)
	for i := range parts {
		list = append(list, LoadOrder{To: p.To, Part: i, Parts: parts, Data: data[i*maxPart : min(len(data), (i+1)*maxPart)]})
	}
	return list, nil
}

// loader puts the parts of a patch together. The handler of one verb owns it.
type loader struct {
	to    uint64
	parts int
	next  int
	data  []byte // bound: maxParts*maxPart
}

// errParts means that a part does not follow the one before, as when that was lost.
var errParts = errors.New("parts of a patch are missing or out of order: send it again from the first")

// add takes a part, and returns the patch when it was the last.
func (l *loader) add(o LoadOrder) (*firmware.Patch, error) {
	if o.Part == 0 {
		*l = loader{to: o.To, parts: o.Parts}
	}
	if o.Parts < 1 || o.Parts > maxParts || len(o.Data) > maxPart || o.Part != l.next || o.To != l.to || o.Parts != l.parts {
		*l = loader{}
		return nil, errParts
	}
	l.next++
	l.data = append(l.data, o.Data...)
	if l.next < l.parts {
		return nil, nil
	}
	data := l.data
	*l = loader{}
	p := new(firmware.Patch)
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%w: %w", firmware.ErrPatch, err)
	}
	return p, nil
}

// load takes part of new tables.
func (p *process) load(req []byte) error {
	var o LoadOrder
	if err := json.Unmarshal(req, &o); err != nil {
		return err
	}
	patch, err := p.loader.add(o)
	if err != nil || patch == nil {
		return err
	}
	return p.sw.load(patch)
}

// load makes the switch forward by a patch. Only one goroutine calls it.
func (p *pipeline) load(patch *firmware.Patch) (err error) {
	next, err := p.program.Patched(p.core.Place(), p.vcs, patch)
	if err != nil || next == p.program.Now() {
		return err
	}
	p.Do(func(now weft.Time, out *weft.Actions) {
		if err = p.core.Load(now, next.Firmware, next.Version, out); err == nil {
			p.program.Set(next)
		}
	})
	return err
}
