package routes

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
)

func routesDiff(u *routesFlags) *cobra.Command {
	var with string
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Compare two routings of a topology: entries and pairs that differ, layers and loads side by side",
		Long: `Compares what packets do by --routing and by --with. Entries are switches and destinations: they differ when packets leave by other ports.
Pairs are source switches and NICs of others: they differ when other links are used.`,
		Example: "  fabricd routes diff --topology irregular:64,128,1 --routing updn --with lash",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := u.compute(cmd, u.routing, with)
			if err != nil {
				return err
			}
			a, b := list[0], list[1]
			d, err := survey.DiffOf(cmd.Context(), a.Routing, b.Routing, a.Summary(a.seconds), b.Summary(b.seconds))
			switch {
			case err != nil:
				return inWords(cmd.Context(), err)
			case u.json:
				return command.JSON(cmd.OutOrStdout(), d)
			}
			return printDiff(cmd.OutOrStdout(), d)
		},
	}
	cmd.Flags().StringVar(&with, "with", "", "the routing to compare with")
	_ = cmd.MarkFlagRequired("with") // there is such a flag
	command.Complete(cmd, "with", command.RoutesNames)
	return cmd
}

func printDiff(w io.Writer, d survey.DiffResult) error {
	a, b := d.A.Engine, d.B.Engine
	if max(len(a), len(b)) > 30 { // names of files
		fmt.Fprintf(w, "%s:\n  A is %s\n  B is %s\n\n", d.Topology, a, b)
		a, b = "A", "B"
	} else {
		fmt.Fprintf(w, "%s: %s and %s\n\n", d.Topology, a, b)
	}
	err := command.Tabbed(w, func(tab func(...any)) {
		tab("", a, b)
		for _, row := range diffRows {
			tab(row.what, row.text(d.A), row.text(d.B))
		}
	})
	if err != nil {
		return err
	}
	part := func(n, of int) string {
		return fmt.Sprintf("%s of %s (%s)", number(n), number(of), command.Share(uint64(n), uint64(max(1, of))))
	}
	fmt.Fprintf(w, "\nentries that differ: %s\npairs on other links: %s, in other layers only: %s\n",
		part(d.DifferEntries, d.Entries), part(d.DifferPairs, d.Pairs), number(d.DifferLayers))
	fmt.Fprintf(w, "by %s paths of %s pairs are longer, of %s shorter\n", b, number(d.Longer), number(d.Shorter))
	if d.OnlyA+d.OnlyB > 0 {
		fmt.Fprintf(w, "routed by one alone: %s pairs by %s, %s by %s\n", number(d.OnlyA), a, number(d.OnlyB), b)
	}
	if len(d.Some) > 0 {
		var names []string
		for _, p := range d.Some {
			names = append(names, p[0]+" to "+p[1])
		}
		fmt.Fprintf(w, "on other links: %s\n", clipped(append(names, make([]string, d.DifferPairs-len(names))...), 6))
	}
	return nil
}

// diffRows are what is printed side by side.
var diffRows = []struct {
	what string
	text func(s survey.Summary) string
}{
	{"layers", func(s survey.Summary) string { return number(s.Layers) }},
	{"addresses of a NIC", func(s survey.Summary) string { return number(s.Addresses) }},
	{"cycle of dependencies", func(s survey.Summary) string {
		if s.Acyclic {
			return "none"
		}
		return command.Counted(len(s.Cycle), "channel")
	}},
	{"unroutable pairs", func(s survey.Summary) string { return number(s.Unroutable) }},
	{"mean path length", func(s survey.Summary) string { return fmt.Sprintf("%.3f", s.MeanHops) }},
	{"longest path", func(s survey.Summary) string { return number(s.MaxHops) }},
	{"max channel load", func(s survey.Summary) string { return number(s.MaxLoad) }},
	{"mean channel load", func(s survey.Summary) string { return fmt.Sprintf("%.1f", s.MeanLoad) }},
	{"max link load", func(s survey.Summary) string { return fmt.Sprintf("%.1f", s.MaxFlow) }},
	{"mean link load", func(s survey.Summary) string { return fmt.Sprintf("%.1f", s.MeanFlow) }},
	{"uniform traffic fills a link at", func(s survey.Summary) string { return fmt.Sprintf("%.3f", s.UniformLimit) }},
	{"computed in", func(s survey.Summary) string { return fmt.Sprintf("%.6f s", s.Seconds) }},
}
