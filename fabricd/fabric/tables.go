package fabric

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/tables"
)

// EventTables is the kind of event of a switch that forwards by new tables.
const EventTables = "tables"

// Load has a switch forward by other tables, and its NICs send as these have it, and returns when
// that is in force there. To load the version that it has is no error, and changes nothing. Errors
// are an unknown switch, a firmware without tables (wraps [firmware.ErrNotProgrammed]), a patch of
// another version (wraps [firmware.ErrVersion]: a *[firmware.VersionError] says which it has), one
// that is not in order (wraps [firmware.ErrPatch]), and a host that does not answer; then the
// version before counts as in force.
func (f *Fabric) Load(ctx context.Context, p *tables.Patch) error {
	if int(p.Switch) >= len(f.switches) {
		return fmt.Errorf("new tables for switch %d: %w: there are %d", p.Switch, ErrUnknown, len(f.switches))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	s := f.switches[p.Switch]
	s.Loading.Lock()
	defer s.Loading.Unlock()
	next, err := s.Patched(f.graph.Place(s.id), f.opts.Switch.VCs, p)
	if err != nil || next == s.Now() {
		return err
	}
	for _, h := range f.hostsOf(s.id.Node()) {
		if err := h.load(next, p); err != nil {
			return fmt.Errorf("new tables for switch %s: %w", s.name, err)
		}
	}
	s.Set(next)
	f.checkpoints.tables.Store(nil)
	f.checkpointSoon()
	f.events.Publish(f.Now(), Event{Kind: EventTables, Switch: s.name, Detail: describe(p)})
	return nil
}

// describe puts a patch into words.
func describe(p *tables.Patch) string {
	entries := len(p.Routes) + len(p.Ways)
	for _, set := range p.Set {
		entries += set.N
	}
	for _, a := range p.Addresses {
		entries += a.N
	}
	all := ""
	if p.From == 0 {
		all = ", all that there are"
	}
	return fmt.Sprintf("version %d: %d entries%s", p.To, entries, all)
}

// TableVersion is the version of the tables by which a switch forwards: [tables.FirstVersion] from
// the start, 0 if there is no such switch or its firmware has no tables.
func (f *Fabric) TableVersion(id weft.SwitchID) uint64 {
	if int(id) >= len(f.switches) {
		return 0
	}
	return f.switches[id].Now().Version
}

// Program is what a switch forwards by now, and its version; ok is false for a firmware without
// tables.
func (f *Fabric) Program(id weft.SwitchID) (p tables.Program, version uint64, ok bool) {
	if int(id) >= len(f.switches) {
		return p, 0, false
	}
	now := f.switches[id].Now()
	fw, ok := now.Firmware.(tables.Programmed)
	if ok {
		p = fw.Program()
	}
	return p, now.Version, ok
}
