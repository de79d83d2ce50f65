package reroute

import (
	"context"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Head is what the answers to a [Query] begin with.
type Head struct {
	Topology    string  `json:"topology"`
	Engine      string  `json:"engine"` // what computed the tables
	Layers      int     `json:"layers"`
	Method      string  `json:"method"` // how they are repaired
	SwitchFlows bool    `json:"switch_flows"`
	Prepare     float64 `json:"prepare_seconds"` // before the first fault, the engine too
}

// GivenResult is what came of faults that were given, one after another. Flows are ordered pairs of
// different NICs, and of different switches with SwitchFlows; shares are of all flows, from 0 to 1.
type GivenResult struct {
	Head
	FlowsTotal    int     `json:"flows_total"`
	FlowsRerouted int     `json:"flows_rerouted"` // the sum of all faults
	Share         float64 `json:"share"`          // of this
	Acyclic       bool    `json:"cdg_acyclic"`    // after every fault
	Unroutable    int     `json:"unroutable_pairs"`
	Isolated      int     `json:"isolated_pairs"` // of these: no live links join them
	Connected     bool    `json:"connected"`      // after every fault: all pairs that live links join have a path
	Emptied       bool    `json:"emptied"`        // for some fault the fabric is emptied
	Tolerated     bool    `json:"tolerated"`      // connected, and not emptied
	Seconds       float64 `json:"compute_seconds"`

	Faults []StepResult `json:"faults"`
	Paths  []PathResult `json:"paths,omitzero"` // nil: nobody asked
}

// StepResult is what came of one fault.
type StepResult struct {
	Fault         string  `json:"fault"`
	Links         int     `json:"links"`
	FlowsRerouted int     `json:"flows_rerouted"`
	Share         float64 `json:"share"`
	Acyclic       bool    `json:"cdg_acyclic"`
	Unroutable    int     `json:"unroutable_pairs"`
	Isolated      int     `json:"isolated_pairs"`
	Connected     bool    `json:"connected"` // all pairs that live links join have a path
	Tolerated     bool    `json:"tolerated"` // connected, and the fabric is not emptied
	NewTurns      int     `json:"new_turns"`
	PluginTurns   int     `json:"plugin_turns"`
	LocalTurns    int     `json:"local_turns"`
	// links of the new path by those of the old one, over the flows that have both; 0: none has
	MeanStretch float64 `json:"mean_stretch"`
	MaxStretch  float64 `json:"max_stretch"`
	// in which the tables may be uploaded, each in any order; 0: nothing changes
	Rounds int  `json:"upload_rounds"`
	Static bool `json:"static"` // the fabric is emptied for that
	// which virtual channels it would take to do without, or to connect more pairs
	NoSpare string  `json:"no_spare,omitempty"`
	Seconds float64 `json:"compute_seconds"`
}

// PathResult is a flow that got another path, or lost its own.
type PathResult struct {
	Fault    string   `json:"fault"`
	From     string   `json:"from"` // a switch: from each of its NICs; or from itself, if to is a switch
	To       string   `json:"to"`
	Flows    int      `json:"flows"`
	OldLayer *weft.VC `json:"old_layer,omitempty"`
	Old      []string `json:"old"` // switches
	NewLayer *weft.VC `json:"new_layer,omitempty"`
	New      []string `json:"new"` // empty: there is none
}

// stepOf tells what came of a fault, and how a manager would bring it into force.
func stepOf(ctx context.Context, fault string, links int, s *Step, seconds float64) (StepResult, error) {
	plan, err := s.Upload(ctx)
	if err != nil {
		return StepResult{}, err
	}
	rounds := len(plan.Rounds)
	if len(plan.Patches()) == 0 {
		rounds = 0
	}
	stretch := s.Stretch()
	return StepResult{
		Fault: fault, Links: links, FlowsRerouted: s.FlowsRerouted, Share: s.Share(), Acyclic: s.Acyclic && !plan.Static,
		Unroutable: s.Unroutable,
		Isolated:   s.Isolated, Connected: s.Unroutable == s.Isolated, Tolerated: s.Tolerated() && !plan.Static,
		NewTurns: s.NewTurns, PluginTurns: s.PluginTurns, LocalTurns: s.LocalTurns,
		MeanStretch: stretch.Mean, MaxStretch: stretch.Max, Rounds: rounds, Static: plan.Static,
		NoSpare: plan.NoSpare, Seconds: seconds,
	}, nil
}

func pathOf(g *topology.Graph, fault string, p dqr.Rerouted) PathResult {
	path := PathResult{Fault: fault, From: g.Name(p.From.Node()), To: g.Name(p.To), Flows: p.Flows}
	path.OldLayer, path.Old = switchesOf(g, p.Old)
	path.NewLayer, path.New = switchesOf(g, p.New)
	return path
}

// switchesOf are the switches of a path, and its layer.
func switchesOf(g *topology.Graph, path []layered.Channel) (layer *weft.VC, names []string) {
	names = []string{}
	for i, c := range survey.NamesOf(g, path) {
		if i == 0 {
			names, layer = append(names, c.From), &path[0].Layer
		}
		names = append(names, c.To)
	}
	return layer, names
}

// ManyResult is what came of many faults: of every link, or of links drawn.
type ManyResult struct {
	Head
	FlowsTotal int     `json:"flows_total"`
	Runs       int     `json:"runs"`
	Acyclic    bool    `json:"cdg_acyclic"` // always
	Unroutable int     `json:"unroutable_pairs"`
	Seconds    float64 `json:"compute_seconds"`     // mean of a fault
	MaxSeconds float64 `json:"max_compute_seconds"` // of a fault

	ByFaults []AfterFaults `json:"by_faults"`
	Worst    StepResult    `json:"worst"`                   // of the connected: the one that moved most
	Failed   []StepResult  `json:"not_tolerated,omitempty"` // the first of them, at most maxFailed
}

// AfterFaults is what came of so many faults, one after another.
type AfterFaults struct {
	Faults int `json:"faults"`
	// runs in which all pairs that live links join have a path, after this fault and all before
	Connected int     `json:"connected"`
	Emptied   int     `json:"emptied"`   // of these, those in which the fabric is emptied for this fault or one before
	Tolerated int     `json:"tolerated"` // of these, the others
	Joined    int     `json:"joined"`    // of the connected, those in which live links still join all
	Share     float64 `json:"tolerated_share"`
	Rerouted  float64 `json:"mean_flows_rerouted"` // by the last fault, of the connected
	Moved     float64 `json:"share"`               // the same as a share of all flows
	NewTurns  float64 `json:"mean_new_turns"`
	// of the flows that the last fault moved, in the mean of the runs in which it moved any
	Stretch float64 `json:"mean_stretch"`
	Most    float64 `json:"max_stretch"`
	Twice   int     `json:"two_rounds"` // of the connected: the tables go out in two rounds

	moved int // runs in which flows moved
}

// Holds reports whether every fault is tolerated.
func (r *GivenResult) Holds() bool { return r.Tolerated }

// Holds reports whether all faults of every run are tolerated.
func (r *ManyResult) Holds() bool { return r.ByFaults[len(r.ByFaults)-1].Tolerated == r.Runs }
