package fabric

import (
	"context"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/subnet"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/tables"
)

// EventTables is the kind of the event that a switch forwards by new tables.
const EventTables = "tables"

// Load gives a switch other tables and its NICs what these say about sending, and returns when both
// are in force. Loading the version in force is no error and changes nothing. Errors: an unknown
// switch; a firmware without tables (wraps [firmware.ErrNotProgrammed]); a patch for another
// version (wraps [firmware.ErrVersion]: a *[firmware.VersionError] has the version in force); a
// malformed patch (wraps [firmware.ErrPatch]); a host that does not answer, whose earlier version
// then counts as in force.
func (mg *management) Load(ctx context.Context, p *tables.Patch) error {
	if int(p.Switch) >= len(mg.switches) {
		return fmt.Errorf("new tables for switch %d: %w: there are %d", p.Switch, ErrUnknown, len(mg.switches))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	s := mg.switches[p.Switch]
	s.Loading.Lock()
	defer s.Loading.Unlock()
	next, err := s.Patched(mg.graph.Place(s.id), mg.opts.Switch.VCs, p, mg.make)
	if err != nil || next == s.Now() {
		return err
	}
	if err := mg.load(s, next, p); err != nil {
		return fmt.Errorf("new tables for switch %s: %w", s.name, err)
	}
	mg.events.Publish(mg.Now(), Event{Kind: EventTables, Switch: s.name, Detail: describe(p)})
	return nil
}

// load has a switch, whose Loading the caller holds, run next.
func (mg *management) load(s *liveSwitch, next *host.Loaded, p *tables.Patch) error {
	for _, h := range mg.hostsOf(s.id.Node()) {
		if err := h.load(next, p); err != nil {
			return err
		}
	}
	s.Set(next)
	mg.checkpoints.tables.Store(nil)
	mg.checkpointSoon()
	return nil
}

// EventFirmware is the kind of the event that a switch runs another firmware.
const EventFirmware = "firmware"

// LoadFirmware gives a switch another firmware, between two packets, and returns when it runs there
// and its NICs send as it says. Registers of the same name and width keep their values. Routing is
// the name by which other processes and later leaders make it. What a manager loads afterwards must
// be for it. Errors: an unknown switch; a firmware that cannot run at that switch; a host that does
// not answer.
func (mg *management) LoadFirmware(ctx context.Context, id weft.SwitchID, fw switching.Firmware, routing string) error {
	if int(id) >= len(mg.switches) {
		return fmt.Errorf("firmware for switch %d: %w: there are %d", id, ErrUnknown, len(mg.switches))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	s := mg.switches[id]
	if err := mg.opts.runs(&fw, mg.graph.Place(id)); err != nil {
		return fmt.Errorf("firmware for switch %s: %w", s.name, err)
	}
	s.Loading.Lock()
	defer s.Loading.Unlock()
	was := mg.routingOf(s)
	next := &host.Loaded{Firmware: fw, Version: max(s.Now().Version, tables.FirstVersion) + 1, Routing: routing}
	if err := mg.load(s, next, &tables.Patch{Switch: id, To: next.Version, Routing: routing}); err != nil {
		return fmt.Errorf("firmware for switch %s: %w", s.name, err)
	}
	mg.events.Publish(mg.Now(),
		Event{Kind: EventFirmware, Switch: s.name, Detail: fmt.Sprintf("runs %s in place of %s", routing, was)})
	return nil
}

// make makes a firmware by name.
func (n *nodes) make(routing string) (switching.Firmware, error) {
	fw, _, err := subnet.Firmware(context.Background(), routing, n.graph)
	return fw, err
}

// CanRun says why a switch cannot run a firmware; nil: it can.
func (mg *management) CanRun(id weft.SwitchID, fw *switching.Firmware) error {
	return mg.opts.runs(fw, mg.graph.Place(id))
}

// RoutingOf names the firmware that a switch runs, when it is another than the fabric's; else "".
func (mg *management) RoutingOf(id weft.SwitchID) string {
	if routing := mg.routingOf(mg.switches[id]); routing != mg.routing() {
		return routing
	}
	return ""
}

// Runs reports whether a switch runs the firmware of that name.
func (mg *management) Runs(id weft.SwitchID, routing string) bool {
	return mg.routingOf(mg.switches[id]) == routing
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

// TableVersion is the version of a switch's tables: [tables.FirstVersion] from the start, 0 if
// there is no such switch or its firmware has no tables.
func (mg *management) TableVersion(id weft.SwitchID) uint64 {
	if int(id) >= len(mg.switches) {
		return 0
	}
	return mg.switches[id].Now().Version
}

// Program is the switch's tables now, with their version; ok is false for a firmware without
// tables.
func (mg *management) Program(id weft.SwitchID) (p tables.Program, version uint64, ok bool) {
	if int(id) >= len(mg.switches) {
		return p, 0, false
	}
	now := mg.switches[id].Now()
	if now.Firmware.Program != nil {
		p = *now.Firmware.Program
	}
	return p, now.Version, now.Firmware.Programmed != nil
}

// TableVersions are the versions of the tables of all switches, by number.
func (mg *management) TableVersions() []uint64 {
	list := make([]uint64, len(mg.switches))
	for i := range list {
		list[i] = mg.TableVersion(weft.SwitchID(i))
	}
	return list
}
