package part

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// Load implements Host.
func (p *Local) Load(_ context.Context, o LoadOrder) (a LoadAnswer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, patch := range o.Patches {
		if patch == nil {
			return a, fmt.Errorf("an empty patch: %w", tables.ErrPatch)
		}
		v, err := p.load(patch)
		a.Versions = append(a.Versions, LoadedVersion{Switch: patch.Switch, Version: v, Err: text(err)})
	}
	return a, nil
}

// load makes a switch forward, and the NICs at it send, by a patch. It returns the version in force. The caller holds mu.
func (p *Local) load(patch *tables.Patch) (version uint64, err error) {
	prog := p.programs[patch.Switch]
	if prog == nil {
		return 0, notHere(patch.Switch.Node())
	}
	prog.Loading.Lock()
	defer prog.Loading.Unlock()
	was := prog.Now()
	next, err := prog.Patched(p.graph.Place(patch.Switch), p.spec.Switch.VCs, patch)
	if err != nil || next == was {
		return was.Version, err
	}
	if n := p.nodes.bySwitch[patch.Switch]; n != nil {
		n.Do(func(now weft.Time, out *weft.Actions) {
			if err = n.core.Load(now, next.Firmware, next.Version, out); err == nil {
				prog.Set(next) // at one moment with its packets
			}
		})
	} else {
		prog.Set(next)
	}
	if err != nil {
		return was.Version, err
	}
	if len(patch.Addresses) > 0 || patch.From == 0 {
		p.readdress(patch.Switch)
	}
	return next.Version, nil
}
