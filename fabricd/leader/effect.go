package leader

import (
	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// Effect is what [State.Step] asks for: one of the types below.
type Effect interface{ effect() }

// Cut has nothing come through in these directions, whoever sends.
type Cut struct{ Directions []Direction }

// Restore undoes Cut.
type Restore struct{ Directions []Direction }

// Orders are what hosts are told at one instant, in the order in which something was first said to
// each.
type Orders struct{ List []Order }

// Order is what one host is told. It does it in the order of the fields, each list from its
// beginning.
type Order struct {
	Host     ledger.HostID
	Cut      []Direction
	Restored []Direction
	Impair   []Impairment
	Away     []weft.SwitchID // switches that another host runs
	Take     []weft.SwitchID // that it runs, and thinks that another does: they begin empty
	Crash    []weft.SwitchID
	Carrier  []Carrier // an end that loses it and gets it again is in the list twice
	Restart  []weft.SwitchID
	// Generation is the fault generation of what NICs generate from now on; nil: the one before.
	Generation *uint16
	Hold       *bool    // whether NICs inject nothing; nil: as before
	Traffic    *Traffic // nil: as before
	TimeFactor float64  // of the host's clock from now on; 0: as before
}

// Impairment says what the direction out of an end suffers from now on.
type Impairment struct {
	End     weft.End
	Suffers fault.Impairment
}

// Carrier gives an end carrier or takes it.
type Carrier struct {
	End weft.End
	Up  bool
}

// SetTimer asks for a [TimerDue] at a time, in place of this fault's before; 0: of the hold of
// NICs.
type SetTimer struct {
	Fault int
	At    weft.Time
}

// StopTimer takes that back.
type StopTimer struct{ Fault int }

// Scatter asks for a [CarrierDue] at a moment by chance: the neighbours of a switch that returns do
// not get carrier all at once.
type Scatter CarrierDue

// TakeBack has its home begin a switch that nobody runs, unless it is there.
type TakeBack struct{ Switch weft.SwitchID }

// Publish tells everybody.
type Publish struct{ Event Published }

// Published is an event for those who watch. Host is named by the caller, who knows what people
// call it: Who is a switch process.
type Published struct {
	Kind   string
	Link   string
	Switch string
	Node   string
	Detail string
	Fault  *fault.Report
}

// Checkpoint has the state kept before what follows is done, so that the next leader knows of it.
type Checkpoint struct{}

// CheckpointSoon has it kept some moments later, when nobody waits for that.
type CheckpointSoon struct{}

func (CheckpointSoon) effect() {}

// Changed says that the state is worth keeping again.
type Changed struct{}

// Notice asks for a [Seen] soon, when whoever brings this event has returned.
type Notice struct{}

// Begun answers with the number of an action.
type Begun struct{ Action int }

// Attend begins an action by itself: somebody has to wait for hosts and for links on its behalf.
type Attend struct{ Action int }

// Refused answers that nothing was done, and why.
type Refused struct{ Err error }

// Concerns answers with the incident of a host that is lost, or back.
type Concerns struct{ Incident int }

// ResyncOrder answers with the order that tells a host all.
type ResyncOrder struct{ Order Order }

// Reconfigured answers with what was told of a round of the subnet manager.
type Reconfigured struct{ Reconfiguration fault.Reconfiguration }

func (Cut) effect()          {}
func (Restore) effect()      {}
func (Orders) effect()       {}
func (SetTimer) effect()     {}
func (StopTimer) effect()    {}
func (Scatter) effect()      {}
func (TakeBack) effect()     {}
func (Publish) effect()      {}
func (Checkpoint) effect()   {}
func (Changed) effect()      {}
func (Notice) effect()       {}
func (Begun) effect()        {}
func (Attend) effect()       {}
func (Refused) effect()      {}
func (Concerns) effect()     {}
func (ResyncOrder) effect()  {}
func (Reconfigured) effect() {}
