package fabric

import (
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/nic"
)

// leading is what the leader knows: its state, the ledger, and the events that it has published.
// Decisions step the state one after the other, in the loop; what is only to be noted is noted at
// once by whoever has seen it. Any goroutine may ask and note.
type leading struct {
	shared[leader.State, leader.Picture]
	clock  Clock
	ledger *sharedLedger
	events *Hub

	awaits atomic.Bool  // somebody wants to know of the next re-route
	effect atomic.Int64 // when something last happened that a fault may be the reason of
	wake   waker        // a fault may have been seen by the last of its ends
}

// Events is the fabric's event stream.
func (ld *leading) Events() *Hub { return ld.events }

// stepState steps the state alone.
func (ld *leading) stepState(ev leader.Event) (out []leader.Effect) {
	ld.change(func(s *leader.State) { out = s.Step(ld.clock.Now(), ev) })
	return out
}

// step steps the state and the ledger in it.
func (ld *leading) step(ev leader.Event) (out []leader.Effect) {
	ld.ledger.change(func(*ledger.Ledger) { out = ld.stepState(ev) })
	return out
}

// note steps the state by an event that concerns no ledger and asks for nothing but to wake
// somebody.
func (ld *leading) note(ev leader.Event) {
	if len(ld.stepState(ev)) > 0 {
		ld.wake.wake()
	}
}

// touch notes that something happened that a fault may have caused.
func (ld *leading) touch(now weft.Time) { ld.effect.Store(int64(now)) }

// portChanged notes that an end has lost its link or has it back.
func (ld *leading) portChanged(c leader.PortChanged) {
	if !c.Up && c.Started {
		ld.awaits.Store(true)
	}
	ld.note(c)
}

// rerouted notes that packets were sent another way.
func (ld *leading) rerouted(now weft.Time) {
	if ld.awaits.Load() {
		ld.awaits.Store(false)
		ld.note(leader.Rerouted{At: now})
	}
}

// generation is the fault generation of packets generated now.
func (ld *leading) generation() (generation uint16) {
	ld.read(func(s *leader.State) { generation = s.Generation })
	return generation
}

// Held reports whether NICs are held.
func (ld *leading) Held() (yes bool) {
	ld.read(func(s *leader.State) { yes = s.Held() })
	return yes
}

// RoundCounts returns these counts.
func (ld *leading) RoundCounts() (c RoundCounts) {
	ld.read(func(s *leader.State) { c = s.Rounds.Clone() })
	return c
}

// Traffic is what the NICs inject now.
func (ld *leading) Traffic() (t nic.Traffic) {
	ld.read(func(s *leader.State) { t = s.Traffic.What })
	return t
}

// crashOf is the incident of the crash of s; 0: it runs.
func (ld *leading) crashOf(s *liveSwitch) (incident int) {
	ld.read(func(state *leader.State) { incident = state.Crashed[s.id] })
	return incident
}

// isMoving reports whether a switch is on its way to another host.
func (ld *leading) isMoving(s *liveSwitch) (yes bool) {
	ld.read(func(state *leader.State) { yes = state.Moving(s.id) != nil })
	return yes
}

// view is what there is to see of a link.
func (ld *leading) view(l *link) (v leader.View) {
	ld.read(func(s *leader.State) { v = s.View(l.ID) })
	return v
}

// faultOn names the faults in force on l; empty: none.
func (ld *leading) faultOn(l *link) (text string) {
	ld.read(func(s *leader.State) { text = s.FaultOn(l.ID) })
	return text
}

// Ports returns which links are dead, as the switches and NICs at their ends see them. It does not
// wait.
func (ld *leading) Ports() Ports {
	p := Ports{At: ld.clock.Now(), Dead: []weft.LinkID{}}
	for i, v := range ld.seen().Links {
		if !v.Up[0] || !v.Up[1] {
			p.Dead = append(p.Dead, weft.LinkID(i))
		}
		if v.Up[0] != v.Up[1] {
			p.Uncertain++
		}
	}
	return p
}

// Ports is the state of all links, as their ends see it at one moment.
type Ports struct {
	At   weft.Time     `json:"at"`
	Dead []weft.LinkID `json:"dead"` // links that an end of theirs takes for down
	// Uncertain counts the links whose ends disagree: one end has not noticed yet, or has crashed.
	Uncertain int `json:"uncertain"`
}

// Set is the dead links as a set.
func (p Ports) Set() *subnet.Dead {
	var d subnet.Dead
	for _, id := range p.Dead {
		d.AddLink(id)
	}
	return &d
}
