package measure

import (
	"errors"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
)

// ErrConfig is wrapped by every error about a configuration.
var ErrConfig = errors.New("unusable measurement")

// DDRC is the routing that stands for a reconfiguration after each fault: up/down tables computed
// without what is dead, the DDRC of Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault Tolerance in
// Fat Trees, section VIII.
const DDRC = "ddrc"

// Kinds of what [Config.FaultCount] draws.
const (
	LinkFaults   = "link"   // links between switches
	SwitchFaults = "switch" // switches that have no NIC, in trees those above the leaves
)

// Config of one run. The zero value of a field is its default unless the field says otherwise.
type Config struct {
	Topology *topology.Graph
	Routing  string // a name that fabricd/subnet knows, or DDRC
	// Firmware is measured instead of a named one when it is given, with Switch.VCs virtual channels
	// or as many as it accepts at least.
	Firmware switching.Firmware
	// ReconfigureAfter is how many cycles after a fault the tables of DDRC are loaded, in all
	// switches at once; or the ways of a routing that is told what is dead, in all NICs. 0 measures
	// what is after a reconfiguration, as the papers do; what is lost until then is then next to
	// nothing. The window begins when those for the last fault are in force, and the network is
	// steady with them.
	ReconfigureAfter int

	// Manager and SwitchFlows say how tables are repaired after a fault, and whether switches send
	// to switches; for package sweep where it asks what a reconfiguration would do. Runs of traffic
	// do not look at them.
	Manager     string
	SwitchFlows bool

	// Mechanisms, Region and FaultSets say what is to tolerate dead links, which may die, and how
	// many sets of FaultCount are drawn, 0 for all; for package sweep likewise. EverySet has one run
	// judge all sets of FaultCount where otherwise one set is drawn.
	Mechanisms, Region string
	FaultSets          int
	EverySet           bool

	Switch settings.Switch // VCs: as many as the routing needs unless given; Batch is for live links
	NIC    settings.NIC    // Notices and TraceEvery are refused: a measurement has neither

	// RegisterExpire replaces the time after which what a firmware keeps in a switch is forgotten,
	// in cycles; 0 leaves what the firmware declares, NeverExpire lets nothing be forgotten.
	RegisterExpire int

	Traffic nic.Traffic // its load is the share of a link's capacity that each NIC offers

	Cycle         weft.Time // 0: 512 ns
	BytesPerCycle int       // of a link; 0: 128
	// The delays are 0 when they are 0: those of the papers are not known, see
	// docs/explanation/measure.md.
	WireDelay     weft.Time // from one end of a link to the other
	RoutingDelay  weft.Time // from when the first byte of a packet has arrived at a switch to its routing
	CrossbarDelay weft.Time // from when an output has something to send to when it may

	Faults []Fault // in addition to those drawn
	// FaultCount so many links or switches, by FaultKind, are drawn from the seed; those of a
	// smaller count are among those of a larger one, whatever the routing. Of those that Faults
	// names none is drawn.
	FaultCount   int
	FaultKind    string // LinkFaults or SwitchFaults; "": LinkFaults
	FaultsBefore bool   // those drawn are dead before the first packet, instead of dying one after the other under load
	FaultSpacing int    // cycles between two of them; 0: 500
	// BypassPlanes has whole planes switched off instead, so that each fault is in one, and
	// bypassed, as BlueGene/L does (Gomez, Flich, Lopez, Robles, Duato: A Routing Methodology for
	// Achieving Fault Tolerance in Direct Networks, section 5.3.1): what is measured is the torus
	// or mesh that is left. Its NICs offer the same load each. All faults come before the traffic.
	// When nothing is left the result is that nothing is delivered.
	BypassPlanes bool

	Warmup     Warmup
	Window     int // cycles; 0: 10,000
	MostCycles int // in all; a run that would be longer ends there. 0: warm-ups and window as long as they are. See Hunt.
	// Hunt makes the run a search for a deadlock: after the first warm-up and the faults it goes on
	// until there is one, or until it has lasted MostCycles in all. All that follows the last fault
	// is its window.
	Hunt bool
	// StopWhenSafe ends a hunt early where the checker says that with all that is dead nothing can
	// deadlock: as soon as no packet is left that was in the network at the last fault. The checker
	// has all faults there from the beginning, and such a packet was routed with fewer.
	// Result.Acyclic is what it said. A hunt goes to its end with firmware that is told what is dead,
	// and with registers, which may keep what was written with fewer faults; but not with vectors of
	// up ports ([firmware.Firmware].Vectors): a bit stands for a fault above its port, and faults stay.
	StopWhenSafe bool
	Seed         uint64
	// Workers is how many goroutines the run uses, 0: one. The result is the same for any number;
	// more than one help where links have a delay and the network is large.
	Workers int
}

// NeverExpire lets registers be for ever.
const NeverExpire = -1

// Fault is a link or a switch that dies.
type Fault struct {
	Link   string // its name; or
	Switch string // its name
	Before bool   // it is dead before the first packet
	At     int64  // otherwise: cycles after the end of the first warm-up
}

// Warmup says when a network counts as steady; see the package documentation of the method. The
// zero value of a field is its default.
type Warmup struct {
	Batch     int     // cycles; 0: 500
	Batches   int     // 0: 4
	Tolerance float64 // relative; 0: 0.05
	// cycles; a network that is not steady by then is measured all the same, with Stable false. 0:
	// 50,000
	Most int
	Skip bool // measure from the first cycle on, and right after the last fault
}
