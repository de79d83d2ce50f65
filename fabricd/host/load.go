package host

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// Load implements Host.
func (p *Local) Load(_ context.Context, o LoadOrder) (a LoadAnswer, err error) {
	for _, f := range o.Files {
		if err := subnet.Keep(f.Routing, f.Bytes); err != nil {
			return a, err
		}
	}
	for i, patch := range o.Patches {
		if patch != nil && patch.Routing != "" && (o.Made == nil || o.Made[i] == nil) {
			_, _ = p.make(patch.Routing) // before others wait; load makes it again if it failed, for the error
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, patch := range o.Patches {
		var made *Loaded
		if o.Made != nil {
			made = o.Made[i]
		}
		if patch == nil {
			return a, fmt.Errorf("an empty patch: %w", tables.ErrPatch)
		}
		v, err := p.load(patch, made)
		a.Versions = append(a.Versions, LoadedVersion{Switch: patch.Switch, Version: v, Err: text(err)})
	}
	return a, nil
}

// load applies a patch to a switch and its NICs, or puts next in force if the result is known
// already. It returns the version in force. The caller holds mu.
func (p *Local) load(patch *tables.Patch, next *Loaded) (version uint64, err error) {
	prog := p.programs[patch.Switch]
	if prog == nil {
		return 0, errNotHosted(patch.Switch.Node())
	}
	prog.Loading.Lock()
	defer prog.Loading.Unlock()
	was := prog.Now()
	if next == nil {
		next, err = prog.Patched(p.graph.Place(patch.Switch), p.spec.Switch.VCs, patch, p.make)
	}
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
	if len(patch.Addresses) > 0 || patch.From == 0 || patch.Routing != "" {
		p.readdress(patch.Switch)
	}
	return next.Version, nil
}

// make makes a firmware by name, and keeps the latest: all switches get the same, one after the
// other.
func (p *Local) make(routing string) (switching.Firmware, error) {
	p.making.Lock()
	defer p.making.Unlock()
	if p.latest.Routing == routing {
		return p.latest.Firmware, nil
	}
	fw, _, err := subnet.Firmware(context.Background(), routing, p.graph)
	if err == nil {
		p.latest = Loaded{Firmware: fw, Routing: routing}
	}
	return fw, err
}
