package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/draw"
)

// loadTopology makes the graph of a spec or a file, and prints what of the file is left out.
func loadTopology(stderr io.Writer, spec string) (*topology.Graph, error) {
	g, err := topology.Parse(spec)
	if err == nil {
		warnLeftOut(stderr, g)
	}
	return g, err
}

// warnLeftOut prints what of a topology file is left out.
func warnLeftOut(stderr io.Writer, g *topology.Graph) {
	for _, text := range g.Warnings {
		fmt.Fprintf(stderr, "warning: %s\n", text)
	}
}

func topologyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "topology", Aliases: []string{"topo"}, Short: "Make and check topologies"}
	cmd.AddCommand(topologyGenerate(), topologyGraph(), topologyValidate())
	return cli.Group(cmd)
}

func topologyGenerate() *cobra.Command {
	var asJSON, nics bool
	var format, out string
	formats := []string{"yaml", "json", "dot", "ibnet"}
	cmd := &cobra.Command{
		Use:     "generate TOPOLOGY",
		Aliases: []string{"gen", "convert"},
		Short:   "Print a topology as YAML, JSON, Graphviz DOT or for InfiniBand",
		Long:    "Prints a topology as a file that can be edited and given wherever a topology is wanted. TOPOLOGY is a file or one of:\n\n  " + strings.Join(topology.Kinds(), "\n  "),
		Example: "  fabricd topology generate kary-ntree:4,3 --json\n  fabricd topology generate torus:4x4 --format dot | dot -Tsvg > torus.svg\n  fabricd topology convert irregular:64,128,7 --format ibnet -o fabric.net\n  fabricd topology convert fabric.net -o fabric.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := loadTopology(cmd.ErrOrStderr(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				format = "json"
			}
			dot := func(w io.Writer) error { return draw.DOT(w, g, draw.Options{NICs: nics}) }
			write, ok := map[string]func(io.Writer) error{"yaml": g.WriteYAML, "json": g.WriteJSON, "dot": dot, "ibnet": g.WriteIBNet}[format]
			if !ok {
				return document.Unknown("format", format, formats)
			}
			return output(cmd, out, write)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topology.Kinds(), cobra.ShellCompDirectiveNoSpace
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "yaml, json, dot or ibnet, as ibnetdiscover prints and ibsim reads")
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "the same as --format json")
	cmd.Flags().BoolVar(&nics, "nics", true, "draw the NICs too (dot)")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write instead of standard output")
	complete(cmd, "format", func() []string { return formats })
	return cmd
}

// output has a file written, or standard output if it has no name. It appears whole or not at all.
func output(cmd *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(cmd.OutOrStdout())
	}
	return safefile.WriteTo(name, write)
}

// drawings are the formats of topology graph.
var drawings = map[string]func(io.Writer, *topology.Graph, draw.Options) error{"dot": draw.DOT, "mermaid": draw.Mermaid, "svg": draw.SVG}

func topologyGraph() *cobra.Command {
	var nics bool
	var format, out string
	formats := slices.Sorted(maps.Keys(drawings))
	cmd := &cobra.Command{
		Use:   "graph TOPOLOGY",
		Short: "Draw a topology as SVG, Graphviz DOT or Mermaid",
		Long: "Draws a topology: trees by tiers, meshes and tori as grids (of three dimensions as planes side by side), rings round, all others so that what is far apart stands far apart. " +
			"It is the map that the page and the reports show. TOPOLOGY is a file or one of:\n\n  " + strings.Join(topology.Kinds(), "\n  "),
		Example: "  fabricd topology graph kary-ntree:4,3 -o tree.svg\n  fabricd topology graph torus:8x8 --nics=false --format mermaid\n  fabricd topology graph fabric.yaml --format dot | dot -Tpdf > fabric.pdf",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, ok := drawings[format]
			if !ok {
				return document.Unknown("format", format, formats)
			}
			g, err := loadTopology(cmd.ErrOrStderr(), args[0])
			if err != nil {
				return err
			}
			return output(cmd, out, func(w io.Writer) error { return to(w, g, draw.Options{NICs: nics}) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topology.Kinds(), cobra.ShellCompDirectiveNoSpace
		},
	}
	cmd.Flags().StringVar(&format, "format", "svg", "dot, mermaid or svg")
	cmd.Flags().BoolVar(&nics, "nics", true, "draw the NICs too")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write instead of standard output")
	complete(cmd, "format", func() []string { return formats })
	return cmd
}

// checked is what validate --json prints.
type checked struct {
	Valid    bool   `json:"valid"`
	File     string `json:"file"`
	Switches int    `json:"switches,omitempty"`
	NICs     int    `json:"nics,omitempty"`
	Links    int    `json:"links,omitempty"`
	Error    string `json:"error,omitempty"`
}

func topologyValidate() *cobra.Command {
	return validateCommand("validate TOPOLOGY", "Check a topology file or specification",
		func(stderr io.Writer, name string) (checked, error) {
			g, err := loadTopology(stderr, name)
			if err == nil {
				err = g.Validate()
			}
			if err != nil {
				return checked{}, err
			}
			return checked{Switches: len(g.Switches), NICs: len(g.NICs), Links: len(g.Links)}, nil
		})
}

func scenarioCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "scenario", Short: "Check scenario files"}
	cmd.AddCommand(validateCommand("validate SCENARIO.yaml", "Check a scenario file without running it",
		func(stderr io.Writer, name string) (checked, error) {
			s, err := scenario.Read(name)
			if err != nil {
				return checked{}, anExperiment.unless(name, err)
			}
			g := s.Options.Topology
			warnLeftOut(stderr, g)
			return checked{Switches: len(g.Switches), NICs: len(g.NICs), Links: len(g.Links)}, nil
		}))
	return cli.Group(cmd)
}

// validateCommand checks one file and says what it holds; one that does not pass is an error, exit
// code 2.
func validateCommand(use, short string, check func(stderr io.Writer, name string) (checked, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: yamlFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := check(cmd.ErrOrStderr(), args[0])
			c.File, c.Valid = args[0], err == nil
			if asJSON {
				if err != nil {
					c.Error = plain.Error(err.Error())
				}
				if jsonErr := cli.JSON(cmd.OutOrStdout(), c); jsonErr != nil {
					return jsonErr
				}
			}
			if err == nil && !asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is valid: %d switches, %d NICs, %d links\n", c.File, c.Switches, c.NICs, c.Links)
			}
			return err
		},
	}
	cmd.Flags().BoolVarP(&asJSON, "json", "j", false, "print the verdict as one JSON object")
	return cmd
}
