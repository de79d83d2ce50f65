package reroute

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/reroute"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// rerouteResult is what fabricd reroute prints.
type rerouteResult interface {
	tolerated() bool
	print(w io.Writer) error
}

// rerouteHead is what all results begin with.
type rerouteHead struct {
	Topology    string  `json:"topology"`
	Engine      string  `json:"engine"`
	Layers      int     `json:"layers"`
	Method      string  `json:"method"`
	SwitchFlows bool    `json:"switch_flows"`
	Prepare     float64 `json:"prepare_seconds"` // before the first fault, the engine too
}

func (u *rerouteFlags) head(a asked) rerouteHead {
	r := a.routes.Routing()
	return rerouteHead{a.g.Spec, r.Engine, r.Layers, a.method.String(), u.switchFlows, a.prepare.Seconds()}
}

// rerouteGiven is what came of faults that were given, one after another.
type rerouteGiven struct {
	rerouteHead
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

	Faults []rerouteStep `json:"faults"`
	Paths  []reroutePath `json:"paths,omitzero"` // nil: nobody asked
}

// rerouteStep is what came of one fault.
type rerouteStep struct {
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
	MeanStretch   float64 `json:"mean_stretch"`       // links of the new path by those of the old one, over the flows that have both; 0: none has
	MaxStretch    float64 `json:"max_stretch"`        //
	Rounds        int     `json:"upload_rounds"`      // in which the tables may be uploaded, each in any order; 0: nothing changes
	Static        bool    `json:"static"`             // the fabric is emptied for that
	NoSpare       string  `json:"no_spare,omitempty"` // which virtual channels it would take to do without, or to connect more pairs
	Seconds       float64 `json:"compute_seconds"`
}

// reroutePath is a flow that got another path, or lost its own.
type reroutePath struct {
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
func stepOf(fault string, links int, s *reroute.Step, seconds float64) (rerouteStep, error) {
	plan, err := s.Upload()
	if err != nil {
		return rerouteStep{}, err
	}
	rounds := len(plan.Rounds)
	if len(plan.Patches()) == 0 {
		rounds = 0
	}
	stretch := s.Stretch()
	return rerouteStep{
		Fault: fault, Links: links, FlowsRerouted: s.FlowsRerouted, Share: s.Share(), Acyclic: s.Acyclic && !plan.Static, Unroutable: s.Unroutable,
		Isolated: s.Isolated, Connected: s.Unroutable == s.Isolated, Tolerated: s.Tolerated() && !plan.Static,
		NewTurns: s.NewTurns, PluginTurns: s.PluginTurns, LocalTurns: s.LocalTurns,
		MeanStretch: stretch.Mean, MaxStretch: stretch.Max, Rounds: rounds, Static: plan.Static, NoSpare: plan.NoSpare, Seconds: seconds,
	}, nil
}

func pathOf(g *topology.Graph, fault string, p dqr.Rerouted) reroutePath {
	path := reroutePath{Fault: fault, From: g.Name(p.From.Node()), To: g.Name(p.To), Flows: p.Flows}
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

func (r *rerouteGiven) tolerated() bool { return r.Tolerated }

func (h *rerouteHead) line() string {
	flows := ""
	if h.SwitchFlows {
		flows = ", flows between switches too"
	}
	return fmt.Sprintf("%s by %s in %s, repaired by %s%s (prepared in %.3f s)", h.Topology, h.Engine, command.Counted(h.Layers, "layer"), h.Method, flows, h.Prepare)
}

func (r *rerouteGiven) print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n\n", r.line(), command.Counted(r.FlowsTotal, "flow"))
	err := command.Tabbed(w, func(tab func(...any)) {
		tab("fault", "flows rerouted", "stretch", "without a path", "turns enabled", "free from deadlock", "computed in")
		for _, s := range r.Faults {
			tab(s.Fault, fmt.Sprintf("%s (%.2f%%)", command.Grouped(uint64(s.FlowsRerouted)), 100*s.Share), stretchText(s.MeanStretch, s.MaxStretch),
				command.Without(s.Unroutable, s.Isolated), turnsText(s), uploadText(s), fmt.Sprintf("%.4f s", s.Seconds))
		}
	})
	if err != nil {
		return err
	}
	for _, s := range r.Faults {
		if s.NoSpare != "" {
			fmt.Fprintf(w, "%s: %s\n", s.Fault, s.NoSpare)
		}
	}
	if r.Paths == nil {
		return nil
	}
	fmt.Fprintln(w)
	if len(r.Paths) == 0 {
		fmt.Fprintln(w, "no path of these flows has changed")
		return nil
	}
	return command.Tabbed(w, func(tab func(...any)) {
		tab("flow", "old path", "new path")
		for _, p := range r.Paths {
			tab(p.From+" to "+p.To, pathText(p.Old, p.OldLayer, r.Layers), pathText(p.New, p.NewLayer, r.Layers))
		}
	})
}

func turnsText(s rerouteStep) string {
	text := fmt.Sprint(s.NewTurns)
	if s.PluginTurns > 0 {
		text += fmt.Sprintf(", by the plug-in %d", s.PluginTurns)
	}
	if s.LocalTurns > 0 {
		text += fmt.Sprintf(", for local paths %d", s.LocalTurns)
	}
	return text
}

// uploadText says whether packets may travel while the tables are uploaded.
func uploadText(s rerouteStep) string {
	switch {
	case s.Static:
		return "no, the fabric is emptied"
	case s.Acyclic && s.Rounds > 1:
		return fmt.Sprintf("yes, in %d rounds", s.Rounds)
	}
	return yesOrNo(s.Acyclic)
}

func stretchText(mean, most float64) string {
	if most == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f, at most %.2f", mean, most)
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func pathText(names []string, layer *weft.VC, layers int) string {
	if len(names) == 0 {
		return "none"
	}
	text := strings.Join(names, " ")
	if layer != nil && layers > 1 {
		text += fmt.Sprintf(" vc%d", *layer)
	}
	return text
}
