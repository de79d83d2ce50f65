package dqr

// Options are the choices that the paper leaves or compares. The zero value is the default of each:
// the combination that tolerated most in our measurements (docs/explanation/dqr.md).
type Options struct {
	Path    Path
	Turns   Turns
	Layers  LayerSearch
	Entries Entries
	Cost    Cost
	Revisit Revisit
	// Plugin enables turns around a dead link before paths are searched; nil for none.
	Plugin Plugin
	// SwitchFlows: switches are destinations and sources too, of flows that no engine routes. New
	// connects them. They are not in the tables, which know NICs only; their dependencies are in
	// the channel list.
	SwitchFlows bool
}

// Path is how paths lead around what is dead (section IV.A).
type Path uint8

// The ways around.
const (
	// LocalPath: turns of a local path around each dead link are enabled first, in both directions.
	// Flows may take it, and as it needs no further turns they often do.
	LocalPath Path = iota
	// LocalCompulsory: flows go by the local path and nowhere else: by their old path to the dead
	// link, around it, and on by the old path, in the same layer.
	LocalCompulsory
	// EndToEnd: no local path.
	EndToEnd
)

// Turns is what is asked of the turns of a path that lead downward in the channel list (section
// IV.A).
type Turns uint8

// The checks.
const (
	// SingleTurn: a search takes a turn that could be enabled by itself. A path whose turns cannot
	// be enabled together is searched anew without the turn that was one too many.
	SingleTurn Turns = iota
	// AllTurns: a search takes a turn that can be enabled together with those on the way from it to
	// the destination.
	AllTurns
	// LocalTurns: AllTurns for local paths, SingleTurn for the paths of flows.
	LocalTurns
)

// LayerSearch is in which virtual layers a new path is searched (section IV.A).
type LayerSearch uint8

// The layers.
const (
	// AllLayers: in every layer, for the path whose turns cost least; that of the old path comes
	// first. A source that changes the layer sends in another from then on.
	AllLayers LayerSearch = iota
	// SameLayer: in the layer of the old path. Flows between switches get theirs, when they are
	// connected, in any.
	SameLayer
)

// Entries is on what an entry of the tables depends.
type Entries uint8

// The kinds of entries.
const (
	// ByChannel: on the port by which a packet came, its layer and destination. This loses nothing
	// against a path for each flow: a new path that comes to a channel whose entry for the
	// destination is in force may follow that entry without a new turn.
	ByChannel Entries = iota
	// ByDestination: on layer and destination alone, as forwarding tables of InfiniBand. Entries
	// that are not affected stay, so new paths merge into old ones at the first switch that they
	// share.
	ByDestination
)

// Cost is what the cheapest path is.
type Cost uint8

// The costs.
const (
	// what turns cost, which is 2 for one that has to be enabled and 1 for another that was not in
	// force, then hops
	TurnsFirst Cost = iota
	HopsFirst       // hops, then what turns cost
)

// Revisit is whether a path may pass a switch twice.
type Revisit uint8

// The answers.
const (
	// NeverTwice: a path that passes a switch twice is not taken, also where that is the only one
	// that the turns allow. With entries by channel a switch forwards packets by where they come
	// from, so a path that joins another one may meet it again.
	NeverTwice Revisit = iota
	// AllowTwice: what a path costs alone counts, as in the paper. Compulsory local paths are
	// always so.
	AllowTwice
)

// The names of the choices, in the order of their values: path=, turns=, layers=, entries=, cost=
// and revisit= of the method dqr.
var (
	PathNames    = []string{"local", "compulsory", "end-to-end"}
	TurnsNames   = []string{"single", "all", "local"}
	LayersNames  = []string{"all", "same"}
	EntriesNames = []string{"channel", "destination"}
	CostNames    = []string{"turns", "hops"}
	RevisitNames = []string{"never", "allow"}
)

func (p Path) String() string        { return nameOf(PathNames, int(p)) }
func (t Turns) String() string       { return nameOf(TurnsNames, int(t)) }
func (l LayerSearch) String() string { return nameOf(LayersNames, int(l)) }
func (e Entries) String() string     { return nameOf(EntriesNames, int(e)) }
func (c Cost) String() string        { return nameOf(CostNames, int(c)) }
func (r Revisit) String() string     { return nameOf(RevisitNames, int(r)) }

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}
