package routes

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// routesSummary is what fabricd routes --json prints.
type routesSummary struct {
	Engine   string `json:"engine"`
	Topology string `json:"topology"`
	Kind     string `json:"kind"`
	Switches int    `json:"switches"`
	NICs     int    `json:"nics"`
	Links    int    `json:"links"` // between switches

	Layers     int              `json:"layers"`
	PerLayer   []int            `json:"pairs_per_layer"`
	Acyclic    bool             `json:"cdg_acyclic"`
	Cycle      []survey.Channel `json:"cycle,omitempty"`
	Seconds    float64          `json:"compute_seconds"`
	Pairs      int              `json:"pairs"`
	Unroutable int              `json:"unroutable_pairs"`

	MaxLoad      int     `json:"max_channel_load"`
	MeanLoad     float64 `json:"mean_channel_load"`
	Channels     int     `json:"channels"`
	MaxFlow      float64 `json:"max_link_flow"`
	MeanFlow     float64 `json:"mean_link_flow"`
	UniformLimit float64 `json:"uniform_limit"`

	Addresses     int     `json:"addresses"` // of each NIC
	MeanAddresses float64 `json:"mean_addresses_of_pair"`
	MeanHops      float64 `json:"mean_path_length"`
	MaxHops       int     `json:"max_hops"`
	MeanDistance  float64 `json:"mean_shortest_length"`
}

var kindWords = map[layered.Kind]string{layered.Deterministic: "deterministic", layered.Adaptive: "adaptive", layered.Escape: "escape"}

func summaryOf(c computed) routesSummary {
	r, g := c.Routing, c.Routing.Graph
	links := 0
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			links++
		}
	}
	return routesSummary{
		Engine: r.Engine, Topology: g.Spec, Kind: kindWords[r.Kind], Switches: len(g.Switches), NICs: len(g.NICs), Links: links,
		Layers: r.Layers, PerLayer: c.PerLayer, Acyclic: c.Cycle == nil, Cycle: survey.NamesOf(g, c.Cycle), Seconds: c.seconds,
		Pairs: c.Pairs, Unroutable: c.Unroutable, MaxLoad: c.MaxLoad(), MeanLoad: c.MeanLoad(), Channels: len(c.Loads),
		MaxFlow: c.MaxFlow(), MeanFlow: c.MeanFlow(), UniformLimit: c.UniformLimit(),
		Addresses: r.Tables.Paths(), MeanAddresses: c.Addresses,
		MeanHops: c.MeanHops, MaxHops: c.MaxHops, MeanDistance: c.MeanDistance,
	}
}

func (u *routesFlags) summary(cmd *cobra.Command) error {
	list, err := u.compute(cmd, u.routing)
	if err != nil {
		return err
	}
	s := summaryOf(list[0])
	if u.json {
		return command.JSON(cmd.OutOrStdout(), s)
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s by %s (%s): %s, %s, %s between switches\n\n",
		s.Topology, s.Engine, s.Kind, command.Counted(s.Switches, "switch"), command.Counted(s.NICs, "NIC"), command.Counted(s.Links, "link"))
	return command.Tabbed(w, func(tab func(...any)) {
		for _, row := range summaryRows {
			tab(row.what, row.text(s))
		}
	})
}

// summaryRows are the lines of a summary, which diff prints side by side.
var summaryRows = []struct {
	what string
	text func(s routesSummary) string
}{
	{"layers", func(s routesSummary) string { return fmt.Sprint(s.Layers) }},
	{"source/address pairs in each layer", func(s routesSummary) string {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.PerLayer), " ", ", "), "[]")
	}},
	{"channel dependencies", func(s routesSummary) string { return dependencyWords(s) }},
	{"unroutable pairs", func(s routesSummary) string { return fmt.Sprintf("%s of %s", number(s.Unroutable), number(s.Pairs)) }},
	{"path length (links between switches)", func(s routesSummary) string {
		return fmt.Sprintf("mean %.3f, max %d; shortest paths: mean %.3f", s.MeanHops, s.MaxHops, s.MeanDistance)
	}},
	{"addresses of a NIC", func(s routesSummary) string {
		if s.Addresses == 1 {
			return "1"
		}
		return fmt.Sprintf("%d, of which a source uses %.2f on average", s.Addresses, s.MeanAddresses)
	}},
	{"channel load (source/address pairs)", func(s routesSummary) string {
		return fmt.Sprintf("max %s, mean %.1f over %s channels", number(s.MaxLoad), s.MeanLoad, number(s.Channels))
	}},
	{"link load (pairs of NICs, choices taken in turn)", func(s routesSummary) string {
		if s.MaxFlow == 0 {
			return "none"
		}
		return fmt.Sprintf("max %.1f, mean %.1f: uniform traffic fills a link at %.3f of the rate of NICs", s.MaxFlow, s.MeanFlow, s.UniformLimit)
	}},
	{"computed in", func(s routesSummary) string { return fmt.Sprintf("%.6f s", s.Seconds) }},
}

func dependencyWords(s routesSummary) string {
	switch {
	case s.Acyclic && s.Kind == kindWords[layered.Escape]:
		return "no cycle in the escape layer: free from deadlock"
	case s.Acyclic:
		return "no cycle: free from deadlock"
	}
	names := make([]string, len(s.Cycle))
	for i, c := range s.Cycle {
		names[i] = c.Name
	}
	return fmt.Sprintf("a cycle of %d, in which packets can wait for one another for ever: %s", len(names), clipped(names, 8, ", "))
}

// clipped joins at most so many of a list.
func clipped(list []string, most int, between string) string {
	if more := len(list) - most; more > 0 {
		return strings.Join(list[:most], between) + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, between)
}

func number(n int) string { return command.Grouped(uint64(n)) }

// portName is a port with the node at its other end, as p4 s9.
func portName(g *topology.Graph, c survey.Channel) string {
	return fmt.Sprintf("p%d -> %s", c.Port, c.To)
}
