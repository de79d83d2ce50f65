package fabric

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/member"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/firmware"
)

// EventTables is the kind of event of a switch that forwards by new tables.
const EventTables = "tables"

// program is what a switch forwards by, whoever is that switch. Its NICs ask it how to send.
type program struct {
	loading sync.Mutex // serialises what changes the rest
	now     atomic.Pointer[loaded]
}

// loaded is a firmware with its tables. Constant.
type loaded struct {
	fw      switching.Firmware
	version uint64
}

func (p *program) set(fw switching.Firmware, version uint64) { p.now.Store(&loaded{fw, version}) }

func (p *program) firmware() switching.Firmware { return p.now.Load().fw }

// Load has a switch forward by other tables, and its NICs send as these have it, and returns when that is in force there. To load the
// version that it has is no error, and changes nothing. Errors are an unknown switch, a firmware without tables (wraps
// [firmware.ErrNotProgrammed]), a patch of another version (wraps [firmware.ErrVersion]: a *[firmware.VersionError] says which it has),
// one that is not in order (wraps [firmware.ErrPatch]), and a process that does not answer; then the version before counts as in force.
func (f *Fabric) Load(ctx context.Context, p *firmware.Patch) error {
	if int(p.Switch) >= len(f.switches) {
		return fmt.Errorf("new tables for switch %d: %w: there are %d", p.Switch, ErrUnknown, len(f.switches))
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	s := f.switches[p.Switch]
	s.loading.Lock()
	defer s.loading.Unlock()
	was := s.now.Load()
	fw, err := firmware.Apply(was.fw, was.version, f.graph.Place(s.id), f.opts.Switch.VCs, p)
	if err != nil || was.version == p.To {
		return err
	}
	next := &loaded{fw, p.To}
	if r := s.process(); r != nil {
		if err := r.load(next, p); err != nil {
			return fmt.Errorf("new tables for switch %s: %w", s.name, err)
		}
	}
	if err := s.loadNow(next, p); err != nil {
		return fmt.Errorf("new tables for switch %s: %w", s.name, err)
	}
	f.keeper.tables.Store(nil)
	f.keepSoon()
	if len(p.Addresses) > 0 || p.From == 0 {
		f.readdress(s.id)
	}
	f.events.Publish(f.Now(), Event{Kind: EventTables, Switch: s.name, Detail: describe(p)})
	return nil
}

// loadNow has whoever runs the switch forward by next, of which p is what has changed.
func (s *liveSwitch) loadNow(next *loaded, p *firmware.Patch) (err error) {
	if s.part != nil {
		if err := s.part.load(next, p); err != nil {
			return err
		}
		s.now.Store(next)
		return nil
	}
	s.Do(func(now weft.Time, out *weft.Actions) {
		// Also for when it is ours again.
		if err = s.core.Load(now, next.fw, p.To, out); err == nil {
			s.now.Store(next)
		}
	})
	return err
}

// describe puts a patch into words.
func describe(p *firmware.Patch) string {
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

// readdress has the NICs of a switch send by the addresses of now.
func (f *Fabric) readdress(s weft.SwitchID) {
	for p := range weft.PortID(f.graph.Place(s).Ports()) {
		if e, _, ok := f.graph.Peer(weft.End{Node: s.Node(), Port: p}); ok && !e.Node.IsSwitch() {
			if n := f.nics[e.Node.Index]; n.part == nil { // a part does so by itself when it loads
				n.Readdress()
			}
		}
	}
}

// TableVersion is the version of the tables by which a switch forwards: [firmware.FirstVersion] from the start, 0 if there is no such
// switch or its firmware has no tables.
func (f *Fabric) TableVersion(id weft.SwitchID) uint64 {
	if int(id) >= len(f.switches) {
		return 0
	}
	return f.switches[id].now.Load().version
}

// Program is what a switch forwards by now, and its version; ok is false for a firmware without tables.
func (f *Fabric) Program(id weft.SwitchID) (p firmware.Program, version uint64, ok bool) {
	if int(id) >= len(f.switches) {
		return p, 0, false
	}
	now := f.switches[id].now.Load()
	fw, ok := now.fw.(firmware.Programmed)
	if ok {
		p = fw.Program()
	}
	return p, now.version, ok
}

// load has a process forward by tables, of which p is what has changed.
func (r *process) load(next *loaded, p *firmware.Patch) error {
	last := r.last.Load()
	if last == nil || p.From != 0 && last.Snapshot.Version != p.From {
		return r.loadWhole(next)
	}
	err := r.order(p)
	if errors.Is(err, errQuiet) || err == nil {
		return err
	}
	if now := r.last.Load(); now.Snapshot.Version != p.From { // it has been another one meanwhile
		return r.loadWhole(next)
	}
	return err
}

// loadWhole has a process forward by tables whatever it has.
func (r *process) loadWhole(next *loaded) error {
	fw, ok := next.fw.(firmware.Programmed)
	if !ok {
		return nil
	}
	return r.order(firmware.Diff(r.sw.id, firmware.Program{}, fw.Program(), 0, next.version))
}

// order sends a patch, in as many parts as messages have room for. The last is answered when it is in force.
func (r *process) order(p *firmware.Patch) error {
	parts, err := member.LoadOrders(p)
	if err != nil {
		return err
	}
	for _, o := range parts {
		if err := r.ask(member.AskLoad, o); err != nil {
			return err
		}
	}
	if v := r.last.Load().Snapshot.Version; v != p.To {
		return fmt.Errorf("%v has tables of version %d, not %d", r, v, p.To)
	}
	return nil
}

// reload gives a process the tables in force, unless it has them.
func (r *process) reload() {
	r.sw.loading.Lock()
	defer r.sw.loading.Unlock()
	now := r.sw.now.Load()
	if last := r.last.Load(); now.version == 0 || last != nil && last.Snapshot.Version == now.version {
		return
	}
	if err := r.loadWhole(now); err != nil {
		r.fabric.opts.Log.Warn("tables of a switch process", "switch", r.sw.name, "err", err)
	}
}
