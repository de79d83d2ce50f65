package routes

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
)

func (u *routesFlags) summary(cmd *cobra.Command) error {
	list, err := u.compute(cmd, u.routing)
	if err != nil {
		return err
	}
	s := list[0].Summary(list[0].seconds)
	if u.json {
		return command.JSON(cmd.OutOrStdout(), s)
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s by %s (%s): %s, %s, %s between switches\n\n",
		s.Topology, s.Engine, s.Kind, command.Counted(s.Switches, "switch"), command.Counted(s.NICs, "NIC"),
		command.Counted(s.Links, "link"))
	return command.Tabbed(w, func(tab func(...any)) {
		for _, row := range summaryRows {
			tab(row.what, row.text(s))
		}
	})
}

// summaryRows are the lines of a summary, which diff prints side by side.
var summaryRows = []struct {
	what string
	text func(s survey.Summary) string
}{
	{"layers", func(s survey.Summary) string { return fmt.Sprint(s.Layers) }},
	{"source/address pairs in each layer", func(s survey.Summary) string {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(s.PerLayer), " ", ", "), "[]")
	}},
	{"channel dependencies", func(s survey.Summary) string { return dependencyWords(s) }},
	{"unroutable pairs", func(s survey.Summary) string {
		return fmt.Sprintf("%s of %s", number(s.Unroutable), number(s.Pairs))
	}},
	{"path length (links between switches)", func(s survey.Summary) string {
		return fmt.Sprintf("mean %.3f, max %d; shortest paths: mean %.3f", s.MeanHops, s.MaxHops, s.MeanDistance)
	}},
	{"addresses of a NIC", func(s survey.Summary) string {
		if s.Addresses == 1 {
			return "1"
		}
		return fmt.Sprintf("%d, of which a source uses %.2f on average", s.Addresses, s.MeanAddresses)
	}},
	{"channel load (source/address pairs)", func(s survey.Summary) string {
		return fmt.Sprintf("max %s, mean %.1f over %s channels", number(s.MaxLoad), s.MeanLoad, number(s.Channels))
	}},
	{"link load (pairs of NICs, choices taken in turn)", func(s survey.Summary) string {
		if s.MaxFlow == 0 {
			return "none"
		}
		return fmt.Sprintf("max %.1f, mean %.1f: uniform traffic fills a link at %.3f of the rate of NICs", s.MaxFlow,
			s.MeanFlow, s.UniformLimit)
	}},
	{"computed in", func(s survey.Summary) string { return fmt.Sprintf("%.6f s", s.Seconds) }},
}

func dependencyWords(s survey.Summary) string {
	switch {
	case s.Acyclic && s.Kind == survey.KindWords[layered.Escape]:
		return "no cycle in the escape layer: free from deadlock"
	case s.Acyclic:
		return "no cycle: free from deadlock"
	}
	names := make([]string, len(s.Cycle))
	for i, c := range s.Cycle {
		names[i] = c.Name
	}
	return fmt.Sprintf("a cycle of %d, in which packets can wait for one another for ever: %s", len(names),
		clipped(names, 8))
}

// clipped joins at most so many of a list.
func clipped(list []string, most int) string {
	if more := len(list) - most; more > 0 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

func number(n int) string { return command.Grouped(uint64(n)) }

// portName is a port with the node at its other end, as p4 s9.
func portName(c survey.Channel) string {
	return fmt.Sprintf("p%d -> %s", c.Port, c.To)
}
