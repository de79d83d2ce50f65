// Package topology is the command fabricd topology: topologies made, drawn and checked.
package topology

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
)

// Command is fabricd topology.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "topology", Aliases: []string{"topo"}, Short: "Make and check topologies"}
	cmd.AddCommand(topologyGenerate(), topologyGraph(), topologyValidate())
	return command.Group(cmd)
}

func topologyGenerate() *cobra.Command {
	var asJSON, nics bool
	var format, out string
	formats := []string{"yaml", "json", "dot", "ibnet"}
	cmd := &cobra.Command{
		Use:     "generate TOPOLOGY",
		Aliases: []string{"gen", "convert"},
		Short:   "Print a topology as YAML, JSON, Graphviz DOT or for InfiniBand",
		Long: "Prints a topology as a file that can be edited and given wherever a topology is wanted. TOPOLOGY is a " +
			"file or one of:\n\n  " + strings.Join(topology.Kinds(), "\n  "),
		Example: "  fabricd topology generate kary-ntree:4,3 --json\n  fabricd topology generate torus:4x4 --format dot | " +
			"dot -Tsvg > torus.svg\n  fabricd topology convert irregular:64,128,7 --format ibnet -o fabric.net\n  fabricd " +
			"topology convert fabric.net -o fabric.yaml",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := command.LoadTopology(cmd.ErrOrStderr(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				format = "json"
			}
			dot := func(w io.Writer) error { return layout.DOT(w, g, layout.Options{NICs: nics}) }
			write, ok := map[string]func(io.Writer) error{
				"yaml": g.WriteYAML, "json": g.WriteJSON, "dot": dot,
				"ibnet": g.WriteIBNet,
			}[format]
			if !ok {
				return document.Unknown("format", format, formats)
			}
			return command.WriteOutput(cmd, out, write)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topology.Kinds(), cobra.ShellCompDirectiveNoSpace
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "yaml, json, dot or ibnet, as ibnetdiscover prints and ibsim reads")
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "the same as --format json")
	cmd.Flags().BoolVar(&nics, "nics", true, "draw the NICs too (dot)")
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write instead of standard output")
	command.Complete(cmd, "format", func() []string { return formats })
	command.Renamed(cmd, "output", "out")
	return cmd
}

// drawings are the formats of topology graph.
var drawings = map[string]func(io.Writer, *topology.Graph, layout.Options) error{
	"dot":     layout.DOT,
	"mermaid": layout.Mermaid, "svg": layout.SVG,
}

func topologyGraph() *cobra.Command {
	var nics bool
	var format, out string
	formats := slices.Sorted(maps.Keys(drawings))
	cmd := &cobra.Command{
		Use:   "graph TOPOLOGY",
		Short: "Draw a topology as SVG, Graphviz DOT or Mermaid",
		Long: "Draws a topology: trees by tiers, meshes and tori as grids (of three dimensions as planes side by side), " +
			"rings round, all others so that what is far apart stands far apart. " +
			"It is the map that the page and the reports show. TOPOLOGY is a file or one of:\n\n  " +
			strings.Join(topology.Kinds(), "\n  "),
		Example: "  fabricd topology graph kary-ntree:4,3 -o tree.svg\n  fabricd topology graph torus:8x8 --nics=false " +
			"--format mermaid\n  fabricd topology graph fabric.yaml --format dot | dot -Tpdf > fabric.pdf",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, ok := drawings[format]
			if !ok {
				return document.Unknown("format", format, formats)
			}
			g, err := command.LoadTopology(cmd.ErrOrStderr(), args[0])
			if err != nil {
				return err
			}
			return command.WriteOutput(cmd, out, func(w io.Writer) error { return to(w, g, layout.Options{NICs: nics}) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topology.Kinds(), cobra.ShellCompDirectiveNoSpace
		},
	}
	cmd.Flags().StringVar(&format, "format", "svg", "dot, mermaid or svg")
	cmd.Flags().BoolVar(&nics, "nics", true, "draw the NICs too")
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write instead of standard output")
	command.Complete(cmd, "format", func() []string { return formats })
	command.Renamed(cmd, "output", "out")
	return cmd
}

func topologyValidate() *cobra.Command {
	return command.ValidateCommand("validate TOPOLOGY...", "Check topology files or specifications",
		func(_ context.Context, stderr io.Writer, name string) (command.Checked, error) {
			g, err := command.LoadTopology(stderr, name)
			if err == nil {
				err = g.Validate()
			}
			if err != nil {
				return command.Checked{}, err
			}
			return command.Checked{Switches: len(g.Switches), NICs: len(g.NICs), Links: len(g.Links)}, nil
		})
}
