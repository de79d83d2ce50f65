package leader

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// Event is what [State.Step] takes: one of the types below.
type Event interface{ event() }

// Apply asks for several things at one instant: all of them or, when one cannot be done, none. It
// is answered by [Begun] or [Refused].
type Apply struct{ Specs []fault.Spec }

// Acted says that hosts have acted on what an action ordered.
type Acted struct{ Action int }

// Finished says that what an action repaired is back, or that nobody waits for it any longer.
// Damped are the links that damping keeps down.
type Finished struct {
	Action int
	Damped []weft.LinkID
}

// Drop forgets an action, of which nobody wants to know anything any more.
type Drop struct{ Action int }

// Revive brings a switch back that nobody runs. It is answered by [Begun].
type Revive struct{ Switch weft.SwitchID }

// TimerDue says that the time has come for which [SetTimer] asked.
type TimerDue SetTimer

// CarrierDue says that an end of a link may get carrier which [Scatter] put off.
type CarrierDue struct {
	Link weft.LinkID
	Side int
}

// PortChanged says that an end has lost its link or has it back, when, and why it lost it. Started
// says that this is news: while a fabric comes up it is not.
type PortChanged struct {
	End     weft.End
	Up      bool
	At      weft.Time
	Why     weft.Cause
	Started bool
}

// PortSynced says what an end makes of its link, when what it told before may have been lost.
type PortSynced struct {
	End weft.End
	Up  bool
}

// Rerouted says that packets were sent another way.
type Rerouted struct{ At weft.Time }

// Seen says that a fault may have been found out by the last of its ends, see [Notice].
type Seen struct{}

// Counted is what hosts have counted that the ledger does not know: per host the most extra hops of
// a re-routed packet, by fault generation; and when the last effect of any fault was noticed.
type Counted struct {
	Extra  []ExtraHops
	Effect weft.Time
}

// ExtraHops is the most extra hops of a re-routed packet, by the fault generation of the packet
// from First on.
type ExtraHops struct {
	First int
	Most  []int
}

// Sampled says how many packets have been delivered by now.
type Sampled struct{ Delivered uint64 }

// Suffered says what programs' connections have suffered since a fault began.
type Suffered struct {
	Incident    int
	Connections fault.Connections
}

// Tick says that time has passed. What was due at Asked begins or is closed: hosts have been asked
// since, if [State.Due] said that anything was. What is due only since then waits for the next.
type Tick struct{ Asked weft.Time }

// Close ends the counting of effects for all faults that have been repaired, as when a run is over.
type Close struct{}

// SetTraffic has NICs inject something else.
type SetTraffic struct{ Traffic Traffic }

// Hold has all NICs inject nothing for some time from now on, whatever was asked for before;
// weft.Never: until somebody says so; 0: they inject again.
type Hold struct {
	For    weft.Time
	Longer bool // only if they are held
}

// Generate begins a new fault generation.
type Generate struct{}

// Found asks for the incidents that the ledger has begun by itself, see [State.HasFound].
type Found struct{}

// Adopted says that the hosts which another leader has led have told what they have counted. Links
// that lost packets meanwhile count as silent.
type Adopted struct{}

// Reached says that NICs of a host that another leader has led generate in a later fault
// generation.
type Reached struct{ Generation uint16 }

// Sync gives the ends of links the carrier that they should have.
type Sync struct{ Links []weft.LinkID }

// BrokerLost says that a connection to the broker is lost, which carried these links.
type BrokerLost struct {
	Shard        int
	Links        []weft.LinkID
	Note, Detail string
}

// BrokerBack says that it is back. It ends the outage of every link that it carried when it was
// lost. It is answered by [Begun].
type BrokerBack struct{ Shard int }

// HostAdded says that there is another host, of one switch alone. It runs nothing yet, see
// [MoveBegins].
type HostAdded struct{ Host Host }

// HostAnswers says whether a host is asked for anything, and whether anybody answers for it.
type HostAnswers struct {
	Host            ledger.HostID
	Suspect, Failed bool
}

// HostSuspect says that a host does not answer. It was last heard at Heard. What says so in words.
type HostSuspect struct {
	Host  ledger.HostID
	Heard weft.Time
	What  string
	Who   string // of a switch process, see [Published]
}

// HostFailed says that nobody answers for a host: its neighbours lose carrier, and its nodes count
// as crashed. It is answered by [Concerns].
type HostFailed struct {
	Host       ledger.HostID
	Heard      weft.Time
	What, Note string
}

// HostWrittenOff says that the neighbours of a lost host have been heard.
type HostWrittenOff struct {
	Host     ledger.HostID
	Incident int
	Who      string
}

// HostBack says that a host answers again and knows all that it should. It is answered by [Begun]
// and [Concerns], unless there is no incident of its absence.
type HostBack struct{ Host ledger.HostID }

// HostReported says that the links of a host that is back are up, or how that went.
type HostReported struct {
	Host     ledger.HostID
	Incident int
	How, Who string
}

// HostLeft says that the host of a switch alone is gone, and ends the incident of its absence.
type HostLeft struct {
	Host     ledger.HostID
	Repaired bool // its absence counts as repaired
}

// Resync asks for the order that tells a host all that it should know. Applied is what it knows;
// nil: it has just been made. It is answered by [ResyncOrder].
type Resync struct {
	Host    ledger.HostID
	Applied *Applied
}

// Applied is what was done to a host and lasts.
type Applied struct {
	Cut      []Direction
	Impaired []weft.End
	Carrier  []weft.End      // that have it
	Away     []weft.SwitchID // that it knows another host to run
	Traffic  string          // as [nic.ParseTraffic] reads it
	Draws    []byte          // see [Traffic]
}

// Managed is what a subnet manager tells of tables. It is answered by [Reconfigured].
type Managed struct{ Round Round }

// Settled says that the packets of tables before that version are gone.
type Settled struct{ Version uint64 }

// Resume has restored faults, and a restored hold, change and end by themselves as they should
// have.
type Resume struct{}

func (Apply) event()          {}
func (Acted) event()          {}
func (Finished) event()       {}
func (Drop) event()           {}
func (Revive) event()         {}
func (TimerDue) event()       {}
func (CarrierDue) event()     {}
func (PortChanged) event()    {}
func (PortSynced) event()     {}
func (Rerouted) event()       {}
func (Seen) event()           {}
func (Counted) event()        {}
func (Sampled) event()        {}
func (Tick) event()           {}
func (Suffered) event()       {}
func (Close) event()          {}
func (SetTraffic) event()     {}
func (Hold) event()           {}
func (Generate) event()       {}
func (Found) event()          {}
func (Adopted) event()        {}
func (Reached) event()        {}
func (Sync) event()           {}
func (BrokerLost) event()     {}
func (BrokerBack) event()     {}
func (HostAdded) event()      {}
func (HostAnswers) event()    {}
func (HostSuspect) event()    {}
func (HostFailed) event()     {}
func (HostWrittenOff) event() {}
func (HostBack) event()       {}
func (HostReported) event()   {}
func (HostLeft) event()       {}
func (Resync) event()         {}
func (Managed) event()        {}
func (Settled) event()        {}
func (Resume) event()         {}
