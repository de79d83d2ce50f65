package routes

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Paths is what fabricd routes path --json prints.
type Paths struct {
	Engine   string      `json:"engine"`
	Topology string      `json:"topology"`
	Src      string      `json:"src"`
	Dst      string      `json:"dst"`
	Shortest int         `json:"shortest_length"` // links between switches
	Ways     []routePath `json:"addresses"`
}

// routePath is how packets by one address go.
type routePath struct {
	Path     uint16      `json:"path"`
	Layers   []int       `json:"layers"`
	Enters   []int       `json:"enters"` // of the layers; one is taken for each packet
	Arrives  bool        `json:"arrives"`
	Circles  bool        `json:"circles,omitempty"`
	MaxHops  int         `json:"max_length"`
	MeanHops float64     `json:"mean_length"`
	Stops    []routeStop `json:"stops"`
}

// routeStop is a switch, and where packets that came by a port in a VC may go.
type routeStop struct {
	Switch string           `json:"switch"`
	In     *weft.PortID     `json:"in_port,omitempty"` // none: the packet has just moved to this layer
	From   string           `json:"from,omitempty"`
	VC     weft.VC          `json:"vc"`
	Hops   []survey.Channel `json:"hops"`
	Escape bool             `json:"may_escape,omitempty"`
}

func routesPath(u *routesFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "path SRC DST",
		Short: "Show the path and the layer of a pair of NICs, or all paths that packets may take",
		Long: `Shows how packets go from a NIC to another: by each address that the source may use, the layers, and at every switch where packets come
from and where they may go. A switch stands for its first NIC. Adaptive routings leave several ways at a switch; all are followed.`,
		Example: "  fabricd routes path n3 n17 --topology irregular:64,128,1 --routing lash\n  fabricd routes path s3 s17 --routing escape --json | jq '.addresses[0].stops'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("path of what? name two NICs, the source and the destination, or their switches; there are %d names", len(args))
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
			return p.print(cmd.OutOrStdout(), r)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if g, err := topology.Parse(u.topology); err == nil && len(args) < 2 {
				for _, n := range g.NICs {
					names = append(names, n.Name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func pathsOf(r *layered.Routing, src, dst string) (p Paths, err error) {
	g := r.Graph
	from, err := nicByName(g, src)
	if err != nil {
		return p, err
	}
	to, err := nicByName(g, dst)
	if err != nil {
		return p, err
	}
	if from.ID == to.ID {
		return p, fmt.Errorf("%s and %s are one NIC, %s: name two", src, dst, to.Name)
	}
	p = Paths{Engine: r.Engine, Topology: g.Spec, Src: from.Name, Dst: to.Name, Shortest: g.Distance(from.ID, to.ID) - 1}
	for _, w := range survey.Ways(r, from.ID, to.ID) {
		path := routePath{
			Path: w.Path, Layers: w.Layers, Enters: w.Enters, Arrives: w.Sure, Circles: w.Circles, MaxHops: w.MaxHops, MeanHops: w.MeanHops,
		}
		for _, s := range w.Stops {
			stop := routeStop{Switch: g.Name(s.Switch.Node()), VC: s.Layer, Hops: survey.NamesOf(g, s.Hops), Escape: s.Escape}
			if s.In != weft.NoPort {
				stop.In = &s.In
				if e, _, ok := g.Peer(weft.End{Node: s.Switch.Node(), Port: s.In}); ok {
					stop.From = g.Name(e.Node)
				}
			}
			path.Stops = append(path.Stops, stop)
		}
		p.Ways = append(p.Ways, path)
	}
	return p, nil
}

func (p Paths) print(w io.Writer, r *layered.Routing) error {
	fmt.Fprintf(w, "%s to %s in %s by %s: shortest paths have %s\n", p.Src, p.Dst, p.Topology, p.Engine, linksWord(p.Shortest))
	if len(p.Ways) == 0 {
		fmt.Fprintln(w, "no route: the source has no address for it")
	}
	for _, way := range p.Ways {
		fmt.Fprintf(w, "\naddress %d, %s: %s\n", way.Path, layerWords(way), way.verdict())
		err := command.Tabbed(w, func(tab func(...any)) {
			for _, s := range way.Stops {
				tab("  "+s.Switch, s.cameFrom(r), fmt.Sprintf("vc%d", s.VC), s.goesTo(r))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func linksWord(n int) string {
	if n == 1 {
		return "1 link between switches"
	}
	return fmt.Sprintf("%d links between switches", n)
}

func layerWords(way routePath) string {
	if len(way.Layers) == 1 {
		return fmt.Sprintf("layer %d", way.Layers[0])
	}
	return fmt.Sprintf("layers %s, entered in %s", listed(way.Layers, ", "), listed(way.Enters, " or "))
}

func listed(layers []int, between string) string {
	var words []string
	for _, l := range layers {
		words = append(words, strconv.Itoa(int(l)))
	}
	return strings.Join(words, between)
}

func (w routePath) verdict() string {
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

func (s routeStop) cameFrom(r *layered.Routing) string {
	if s.In == nil {
		return "escaped here"
	}
	return fmt.Sprintf("from %s p%d", s.From, *s.In)
}

func (s routeStop) goesTo(r *layered.Routing) string {
	var list []string
	for _, h := range s.Hops {
		text := portName(r.Graph, h)
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
