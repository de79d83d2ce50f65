package fabric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	linkend "github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// State is what a leader must know to take the place of another, beside what hosts say of
// themselves. It writes itself down as msgpack, see [State.MarshalBinary].
type State struct {
	Now          weft.Time         `json:"now"` // on the fabric's clock
	Generation   uint16            `json:"era"`
	Incarnations uint64            `json:"incarnations"` // numbers of specs that were given
	Events       uint64            `json:"events"`       // the number of the latest event
	Traffic      host.TrafficOrder `json:"traffic"`
	Chance       []byte            `json:"chance"` // the state of the PCG that traffic patterns draw from
	Hosts        []HostCheckpoint  `json:"hosts"`
	Own          []OwnCheckpoint   `json:"own,omitempty"`   // hosts of one switch alone
	Moves        []leader.Move     `json:"moves,omitempty"` // of switches, under way

	Tempo leader.Tempo `json:"tempo,omitzero"` // of all clocks

	// NICs inject nothing until then; weft.Never: until somebody says so; 0: they do
	HeldUntil weft.Time `json:"held_until,omitempty"`

	Faults    []leader.FaultCheckpoint    `json:"faults,omitempty"`    // in force
	Incidents []leader.IncidentCheckpoint `json:"incidents,omitempty"` // those that are open, and the latest others
	Rounds    RoundCounts                 `json:"rounds"`
	// Ledger is the checkpoint of the ledger, see [ledger.Ledger.Checkpoint].
	Ledger []byte `json:"ledger,omitempty"`

	// Tables are the programs of switches that have others than at the start: a list of patches as
	// JSON, compressed. They may be large, so they are the same slice as in the State before until
	// they change, and whoever keeps it keeps them apart.
	Tables []byte `json:"-"`
}

// HostCheckpoint is what is known of a host and it does not say itself.
type HostCheckpoint struct {
	Name         string                `json:"name"`
	Number       uint64                `json:"number"`                 // of its incarnation
	Incarnations []linkend.Incarnation `json:"incarnations,omitempty"` // the latest incarnations
	User         string                `json:"user,omitempty"`         // of its credentials
	Again        uint32                `json:"again"`                  // how many there were before
	// what these have counted and the ledger does not know
	Retired  host.Counters `json:"retired"`
	Incident int           `json:"incident,omitempty"` // of its absence; 0: it is there
	Failed   bool          `json:"failed,omitempty"`   // nobody answers for it
}

// OwnCheckpoint is what is known of a switch that was moved, and of its host of its own.
type OwnCheckpoint struct {
	HostCheckpoint                       // its name is the switch's; number 0: it has no owner
	Lives          []linkend.Incarnation `json:"lives"` // who has run the switch
	Runs           bool                  `json:"runs,omitempty"`
	Agent          string                `json:"agent,omitempty"` // that is the owner; empty: a process is
	PID            int                   `json:"pid,omitempty"`
	Machine        string                `json:"machine,omitempty"`
}

// maxClosed bounds the reports of a State that are closed. Chosen by us: it stays below what
// brokers take as a message by default (1 MB), unless thousands of faults are in force.
const maxClosed = 64

// checkpoints keeps the state of the fabric where a later leader finds it.
type checkpoints struct {
	write  func(State) <-chan struct{} // nil: nobody does
	wake   waker
	tables atomic.Pointer[packedTables] // nil: they have changed
}

// packedTables is State.Tables.
type packedTables struct {
	data []byte // nil while they are being packed, and when there are none
	done bool   // else they are being packed
}

// checkpointSoon has the state kept soon after a change.
func (d *decisions) checkpointSoon() { d.checkpoints.wake.wake() }

// startCheckpoints keeps the state after changes that nobody waits for, until the world stops.
func (d *decisions) startCheckpoints() {
	if d.checkpoints.write == nil {
		return
	}
	d.checkpoints.wake.set(d.runtime.Task(0, func() {
		d.inLoop(func(l loop) { l.checkpointNow() })
	}))
	d.checkpointSoon()
}

// checkpointNow keeps the state before what has been planned is done, so that who leads next knows
// of it, from when what it returns is closed; nil: at once.
func (l loop) checkpointNow() <-chan struct{} {
	if l.checkpoints.write != nil && l.started.Load() {
		return l.checkpoints.write(l.stateNow())
	}
	return nil
}

// checkpointTime is how long whoever orders something waits until a later leader would know of it;
// longer than servers take to choose anew which of them keeps the state.
const checkpointTime = 10 * time.Second

// awaitCheckpoint waits until kept is closed, and reports whether it is.
func awaitCheckpoint(ctx context.Context, checkpointed <-chan struct{}) bool {
	if checkpointed == nil {
		return true
	}
	timer := time.NewTimer(checkpointTime)
	defer timer.Stop()
	select {
	case <-checkpointed:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

// stateNow is the state.
func (l loop) stateNow() State {
	d := l.decisions
	s := State{
		Now: d.Now(), Incarnations: d.incarnations, Events: d.events.Last(),
		Tables: d.tablesNow(),
	}
	s.Chance, _ = d.chance.MarshalBinary() // of a PCG it never fails
	for _, h := range d.remote {
		s.Hosts = append(s.Hosts, l.checkpoint(h))
	}
	var own []*hostState
	for _, sw := range d.switches {
		if h := sw.own.Load(); h != nil && sw.home.late() {
			own, s.Own = append(own, h), append(s.Own, l.checkpointOwn(sw, h))
		}
	}
	var err error
	d.ledger.read(func(current *ledger.Ledger) { // both at one moment: they have the same incidents
		s.Ledger, err = current.Checkpoint(maxClosed)
		d.read(func(l *leader.State) {
			s.Generation, s.Rounds, s.Faults, s.Incidents = l.Generation, l.Rounds.Clone(), l.Faults(),
				l.IncidentCheckpoints(current.CheckpointIncidents(maxClosed))
			s.Moves = slices.Clone(l.Moves)
			s.HeldUntil, s.Traffic, s.Tempo = l.HeldUntil, trafficOrder(&l.Traffic), l.Tempo
			for i, h := range d.remote {
				s.Hosts[i].Incident = l.Host(h.id).Incident
			}
			for i, h := range own {
				s.Own[i].Incident = l.Host(h.id).Incident
			}
		})
	})
	if err != nil {
		d.opts.Log.Error("the ledger for who leads next", "err", err)
	}
	return s
}

// checkpoint is h for who leads next.
func (loop) checkpoint(h *hostState) HostCheckpoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := HostCheckpoint{
		Name: h.name, Number: h.number, Incarnations: h.allIncarnations(), User: h.user,
		Again: h.again.Load(), Retired: h.retired, Failed: h.failed.Load(),
	}
	return k
}

// checkpointOwn is a switch's host of its own for who leads next.
func (l loop) checkpointOwn(s *liveSwitch, h *hostState) OwnCheckpoint {
	k := OwnCheckpoint{HostCheckpoint: l.checkpoint(h), Lives: s.allLives(), Runs: s.moved.Load()}
	o := h.owner.Load()
	if o == nil {
		k.Number = 0 // of one that is about to be its owner: the next leader does not wait for it
		return k
	}
	k.User, k.Agent, k.PID, k.Machine = o.user, o.agent, o.pid, o.machine
	return k
}

// tablesNow are the programs of switches that have others than at the start.
func (d *decisions) tablesNow() []byte {
	if t := d.checkpoints.tables.Load(); t != nil && t.done {
		return t.data
	}
	packing := new(packedTables) // what is loaded from here on takes it away again
	d.checkpoints.tables.Store(packing)
	first := d.opts.Firmware.Version()
	var o host.LoadOrder
	var err error
	for _, s := range d.switches {
		if whole := s.Now().Whole(s.id, first); whole != nil {
			o.Patches, err = append(o.Patches, whole), errors.Join(err, attach(&o, whole.Routing))
		}
	}
	var data []byte
	if len(o.Patches) > 0 {
		var text []byte
		if text, err = json.Marshal(o); err == nil {
			data, err = wire.Compress(text)
		}
		if err != nil {
			d.opts.Log.Error("tables for who leads next", "err", err)
		}
	}
	d.checkpoints.tables.CompareAndSwap(packing, &packedTables{data, true})
	return data
}

// String says how much a state holds.
func (s State) String() string {
	return fmt.Sprintf("%d hosts, %d faults in force, %d reports, at %v", len(s.Hosts), len(s.Faults), len(s.Incidents),
		s.Now.Duration())
}
