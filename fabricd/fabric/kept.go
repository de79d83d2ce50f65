package fabric

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/deflate"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	linkend "github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/tables"
)

// State is what a leader must know to take the place of another, beside what parts say of themselves. It travels as JSON.
type State struct {
	Now          weft.Time         `json:"now"` // on the fabric's clock
	Era          uint16            `json:"era"`
	Incarnations uint64            `json:"incarnations"` // numbers of charters that were given
	Events       uint64            `json:"events"`       // the number of the latest event
	Traffic      host.TrafficOrder `json:"traffic"`
	Chance       []byte            `json:"chance"` // the state of the PCG that traffic patterns draw from
	Parts        []KeptPart        `json:"parts"`

	HeldUntil weft.Time `json:"held_until,omitempty"` // NICs inject nothing until then; weft.Never: until somebody says so; 0: they do

	Faults  []KeptFault  `json:"faults,omitempty"`  // in force
	Reports []KeptReport `json:"reports,omitempty"` // those that are open, and the latest others
	Rounds  RoundCounts  `json:"rounds"`
	// Ledger is the checkpoint of the ledger, see [ledger.Ledger.Checkpoint], compressed.
	Ledger []byte `json:"ledger"`

	// Tables are the programs of switches that have others than at the start: a list of patches as JSON, compressed. They may be large, so they are the
	// same slice as in the State before until they change, and whoever keeps it keeps them apart.
	Tables []byte `json:"-"`
}

// KeptPart is what is known of a part and it does not say itself.
type KeptPart struct {
	Name   string                `json:"name"`
	Number uint64                `json:"number"`           // of its incarnation
	Lives  []linkend.Incarnation `json:"lives,omitempty"`  // the latest incarnations
	User   string                `json:"user,omitempty"`   // of its credentials
	Again  uint32                `json:"again"`            // how many there were before
	Past   host.Sum              `json:"past"`             // what these have counted and the ledger does not know
	Report int                   `json:"report,omitempty"` // of its absence; 0: it is there
	Lost   bool                  `json:"lost,omitempty"`   // nobody answers for it
}

// KeptFault is a fault in force.
type KeptFault struct {
	Spec   fault.Spec          `json:"spec"`
	Report int                 `json:"report"` // its number
	Link   string              `json:"link,omitempty"`
	Switch string              `json:"switch,omitempty"`
	Cuts   [2]bool             `json:"cuts"`    // the directions that it cuts
	Impair [2]bool             `json:"impair"`  // that it impairs
	Suffer [2]fault.Impairment `json:"suffer"`  // all that these suffer
	Rest   bool                `json:"resting"` // of a flap: the link is up for now
}

// KeptReport is a report with what it takes to go on with it.
type KeptReport struct {
	Report fault.Report  `json:"report"`
	Began  weft.Time     `json:"began"`
	Closes weft.Time     `json:"closes"`
	Dipped bool          `json:"dipped,omitempty"`
	Seen   bool          `json:"seen,omitempty"`
	Era    uint16        `json:"first_era"`
	Links  []weft.LinkID `json:"links,omitempty"` // but for those of a part, whose name is the report's target
	Switch string        `json:"switch,omitempty"`
}

// Chosen by us: a State stays below what brokers take as a message by default (1 MB), unless thousands of faults are in force.
const (
	maxKept     = 64 // reports that are closed
	maxKeptEnds = 32 // ends that a kept report names
)

// keeper keeps the state of the fabric where a later leader finds it.
type keeper struct {
	keep   func(State) <-chan struct{} // nil: nobody does
	poke   poker
	tables atomic.Pointer[keptTables] // nil: they have changed
}

// keptTables is State.Tables.
type keptTables struct {
	data []byte // nil while they are being packed, and when there are none
	done bool   // else they are being packed
}

// keepSoon has the state kept soon after a change.
func (f *Fabric) keepSoon() { f.keeper.poke.poke() }

// attendState keeps the state after changes that nobody waits for, until the world stops.
func (f *Fabric) attendState() {
	if f.keeper.keep == nil {
		return
	}
	f.keeper.poke.set(f.world.Agent(0, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.keepNow()
	}))
	f.keepSoon()
}

// keepNow keeps the state before what has been planned is done, so that who leads next knows of it, from when what it returns is closed; nil: at once. The
// caller holds mu.
func (f *Fabric) keepNow() <-chan struct{} {
	if f.keeper.keep != nil && f.started.Load() {
		return f.keeper.keep(f.stateNow())
	}
	return nil
}

// keptTime is how long whoever orders something waits until a later leader would know of it; longer than servers take to choose anew which of
// them keeps the state.
const keptTime = 10 * time.Second

// awaitKept waits until kept is closed, and reports whether it is.
func awaitKept(ctx context.Context, kept <-chan struct{}) bool {
	if kept == nil {
		return true
	}
	timer := time.NewTimer(keptTime)
	defer timer.Stop()
	select {
	case <-kept:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// stateNow is the state. The caller holds mu.
func (f *Fabric) stateNow() State {
	s := State{
		Now: f.Now(), Era: f.era, Incarnations: f.incarnations, Events: f.events.Last(),
		Rounds: f.rounds, Traffic: *f.trafficOrder(), Tables: f.tablesNow(),
		HeldUntil: weft.Time(f.holding.until.Load()),
	}
	s.Ledger = f.checkpoint()
	s.Chance, _ = f.chance.MarshalBinary() // of a PCG it never fails
	for _, p := range f.parts {
		s.Parts = append(s.Parts, p.kept())
	}
	taken := map[*active]bool{}
	for _, l := range f.links {
		for d := range l.dirs {
			for _, a := range []*active{l.cut[d], l.impaired[d]} {
				if a != nil && !taken[a] {
					taken[a] = true
					s.Faults = append(s.Faults, a.kept())
				}
			}
		}
	}
	for _, sw := range f.switches {
		if sw.crash != nil {
			s.Faults = append(s.Faults, sw.crash.kept())
		}
	}
	closed := 0
	for _, r := range slices.Backward(f.records) {
		if !r.report.Open {
			if closed++; closed > maxKept {
				continue
			}
		}
		s.Reports = append(s.Reports, f.keptReport(r))
	}
	slices.Reverse(s.Reports)
	return s
}

// checkpoint is the ledger for who leads next.
func (f *Fabric) checkpoint() (data []byte) {
	var err error
	f.accounts.read(func(l *ledger.Ledger) { data, err = l.Checkpoint(maxKept) })
	if err == nil {
		data, err = deflate.Compress(data)
	}
	if err != nil {
		f.opts.Log.Error("the ledger for who leads next", "err", err)
	}
	return data
}

// kept is p for who leads next. The caller holds Fabric.mu.
func (p *outpost) kept() KeptPart {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := KeptPart{Name: p.name, Number: p.number, Lives: p.allLives(), User: p.user, Again: p.again, Past: p.past, Lost: p.lost.Load()}
	if p.gone != nil {
		k.Report = p.gone.report.ID
	}
	return k
}

// kept is a for who leads next.
func (a *active) kept() KeptFault {
	k := KeptFault{Spec: a.spec, Report: a.rec.report.ID, Rest: a.resting}
	if a.sw != nil {
		k.Switch = a.sw.name
		return k
	}
	k.Link = a.link.Name
	for d := range a.link.dirs {
		k.Cuts[d] = a.link.cut[d] == a
		if k.Impair[d] = a.link.impaired[d] == a; k.Impair[d] {
			k.Suffer[d] = a.link.suffers[d]
		}
	}
	return k
}

// keptReport is r for who leads next.
func (f *Fabric) keptReport(r *record) KeptReport {
	k := KeptReport{Report: r.report.Clone(), Began: r.began, Closes: r.closes, Dipped: r.dipped, Seen: r.seen, Era: r.firstEra}
	k.Report.Detected = k.Report.Detected[:min(len(k.Report.Detected), maxKeptEnds)]
	ofPart := r.report.Kind == KindPart
	for _, l := range slices.Concat(r.links, r.over) {
		if !ofPart {
			k.Links = append(k.Links, l.ID)
		}
	}
	if r.sw != nil {
		k.Switch = r.sw.name
	}
	return k
}

// tablesNow are the programs of switches that have others than at the start.
func (f *Fabric) tablesNow() []byte {
	if t := f.keeper.tables.Load(); t != nil && t.done {
		return t.data
	}
	packing := new(keptTables) // what is loaded from here on takes it away again
	f.keeper.tables.Store(packing)
	first := tables.VersionOf(f.opts.Firmware)
	var list []*tables.Patch
	for _, s := range f.switches {
		now := s.Now()
		if fw, ok := now.Firmware.(tables.Programmed); ok && now.Version != first {
			list = append(list, tables.Diff(s.id, tables.Program{}, fw.Program(), 0, now.Version))
		}
	}
	var data []byte
	if len(list) > 0 {
		text, err := json.Marshal(list)
		if err == nil {
			data, err = deflate.Compress(text)
		}
		if err != nil {
			f.opts.Log.Error("tables for who leads next", "err", err)
		}
	}
	f.keeper.tables.CompareAndSwap(packing, &keptTables{data, true})
	return data
}

// String says how much a state holds.
func (s State) String() string {
	return fmt.Sprintf("%d parts, %d faults in force, %d reports, at %v", len(s.Parts), len(s.Faults), len(s.Reports), s.Now.Duration())
}
