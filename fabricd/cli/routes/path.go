package routes

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

func routesPath(u *routesFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "path SRC DST",
		Short: "Show the path and the layer of a pair of NICs, or all paths that packets may take",
		Long: `Shows how packets go from a NIC to another: by each address that the source may use, the layers, and at every switch where packets come
from and where they may go. A switch stands for its first NIC. Adaptive routings leave several ways at a switch; all are followed.`,
		Example: "  fabricd routes path n3 n17 --topology irregular:64,128,1 --routing lash\n  fabricd routes path s3 s17 " +
			"--routing escape --json | jq '.addresses[0].stops'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("path of what? name two NICs, the source and the destination, or their switches; there are %d "+
					"names", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := u.only(cmd)
			if err != nil {
				return err
			}
			p, err := pathsOf(r, args[0], args[1])
			if err != nil {
				return err
			}
			if u.json {
				return command.JSON(cmd.OutOrStdout(), p)
			}
			return printPaths(cmd.OutOrStdout(), p, r)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if g, err := topology.Parse(u.topology); err == nil && len(args) < 2 {
				for _, n := range g.NICs {
					names = append(names, n.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func pathsOf(r *layered.Routing, src, dst string) (p survey.PathsResult, err error) {
	from, err := nicByName(r.Graph, src)
	if err != nil {
		return p, err
	}
	to, err := nicByName(r.Graph, dst)
	if err != nil {
		return p, err
	}
	if from.ID == to.ID {
		return p, fmt.Errorf("%s and %s are one NIC, %s: name two", src, dst, to.Name)
	}
	return survey.PathsOf(r, from.ID, to.ID), nil
}

func printPaths(w io.Writer, p survey.PathsResult, r *layered.Routing) error {
	fmt.Fprintf(w, "%s to %s in %s by %s: shortest paths have %s\n", p.Src, p.Dst, p.Topology, p.Engine,
		linksWord(p.Shortest))
	if len(p.Ways) == 0 {
		fmt.Fprintln(w, "no route: the source has no address for it")
	}
	for _, way := range p.Ways {
		fmt.Fprintf(w, "\naddress %d, %s: %s\n", way.Path, layerWords(way), wayVerdict(way))
		err := command.Tabbed(w, func(tab func(...any)) {
			for _, s := range way.Stops {
				tab("  "+s.Switch, cameFrom(s), fmt.Sprintf("vc%d", s.VC), goesTo(s, r))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func linksWord(n int) string {
	return english.Plural(n, "link", "") + " between switches"
}

func layerWords(way survey.PathResult) string {
	if len(way.Layers) == 1 {
		return fmt.Sprintf("layer %d", way.Layers[0])
	}
	return fmt.Sprintf("layers %s, entered in %s", listed(way.Layers, ", "), listed(way.Enters, " or "))
}

func listed(layers []int, between string) string {
	var words []string
	for _, l := range layers {
		words = append(words, strconv.Itoa(l))
	}
	return strings.Join(words, between)
}

func wayVerdict(w survey.PathResult) string {
	switch {
	case w.Circles:
		return "packets can go in circles, and do not surely arrive"
	case !w.Arrives:
		return "packets do not surely arrive"
	case w.MeanHops != float64(w.MaxHops):
		return fmt.Sprintf("at most %s, %.2f on average", linksWord(w.MaxHops), w.MeanHops)
	}
	return linksWord(w.MaxHops)
}

func cameFrom(s survey.StopResult) string {
	if s.In == nil {
		return "escaped here"
	}
	return fmt.Sprintf("from %s p%d", s.From, *s.In)
}

func goesTo(s survey.StopResult, r *layered.Routing) string {
	var list []string
	for _, h := range s.Hops {
		text := portName(h)
		if h.VC != s.VC {
			text += fmt.Sprintf(" vc%d", h.VC)
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		list = []string{"no way on"}
	}
	if s.Escape {
		list = append(list, fmt.Sprintf("else vc%d from here", r.Escape))
	}
	return strings.Join(list, " | ")
}
