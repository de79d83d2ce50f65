// Package routes is the command fabricd routes: forwarding tables and virtual layers.
package routes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// routesFlags are those that fabricd routes and its subcommands share.
type routesFlags struct {
	topology, routing string
	json              bool
}

// Command is fabricd routes.
func Command() *cobra.Command {
	var u routesFlags
	cmd := &cobra.Command{
		Use:   "routes",
		Short: "Compute forwarding tables and virtual layers, and look at them",
		Long: `Computes what a routing forwards by in a topology, and tells: layers (virtual channels), whether the channel dependency graph has a
cycle, pairs that cannot be routed, how long paths and how loaded channels are. Subcommands show paths, loads, differences and the tables.

A routing is a name, or a name with options: lash:layers=3,seed=2. fabricd routes list has them. Firmwares that decide by rules alone have
no tables; fabricd explain and fabricd verify look at those.

Exit codes: 0 it was computed (check: and is free from deadlock), 1 routes check found a cycle or pairs without a route, 2 wrong input, or
interrupted.`,
		Example: "  fabricd routes --topology irregular:64,128,1 --routing lash\n" +
			"  fabricd routes path n3 n17 --topology irregular:64,128,1 --routing a-lash\n" +
			"  fabricd routes check --topology torus:4x4 --routing minimal-hop --scenario deadlock.yaml\n" +
			"  fabricd routes diff --topology irregular:64,128,1 --routing updn --with lash\n" +
			"  fabricd routes load --topology irregular:64,128,1 --routing lash --plot load.svg",
	}
	command.Group(cmd)
	group := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return group(cmd, args) // names the subcommand that was meant
		}
		return u.summary(cmd)
	}
	f := cmd.PersistentFlags()
	f.StringVarP(&u.topology, "topology", "t", "irregular:64,128,1",
		"topology, or a file; see fabricd topology generate --help")
	f.StringVar(&u.routing, "routing", command.DefaultRoutes(),
		"routing: "+strings.Join(command.RoutesNames(), ", ")+"; some take options, as lash:layers=3")
	f.BoolVarP(&u.json, "json", "j", false, "print the result as one JSON object")
	command.Complete(cmd, "topology", topology.Kinds)
	command.CompleteRouting(cmd, command.HasTables)
	cmd.AddCommand(routesPath(&u), routesLoad(&u), routesCheck(&u), routesDiff(&u), routesDump(&u), routesList(&u))
	return cmd
}

// computed is a routing, and what was found by following it.
type computed struct {
	*survey.Survey
	seconds float64 // the engine took
}

// compute computes the routing of that name in the topology of the flags.
func (u *routesFlags) compute(cmd *cobra.Command, routings ...string) ([]computed, error) {
	g, err := command.LoadTopology(cmd.ErrOrStderr(), u.topology)
	if err != nil {
		return nil, err
	}
	var list []computed
	for _, name := range routings {
		r, took, err := routesOf(cmd.Context(), name, g)
		if err != nil {
			return nil, err
		}
		s, err := survey.Of(cmd.Context(), r)
		if err != nil {
			return nil, inWords(cmd.Context(), err)
		}
		list = append(list, computed{s, took.Seconds()})
	}
	return list, nil
}

// only computes the one routing of the flags, and does not survey it.
func (u *routesFlags) only(cmd *cobra.Command) (*layered.Routing, error) {
	g, err := command.LoadTopology(cmd.ErrOrStderr(), u.topology)
	if err != nil {
		return nil, err
	}
	r, _, err := routesOf(cmd.Context(), u.routing, g)
	return r, err
}

func routesOf(ctx context.Context, name string, g *topology.Graph) (*layered.Routing, time.Duration, error) {
	start := time.Now()
	r, err := subnet.Routes(ctx, name, g)
	return r, time.Since(start), inWords(ctx, err)
}

var errInterrupted = errors.New("interrupted, no routes are computed")

// inWords is an error of a computation, in words for people when it is that ctx has ended.
func inWords(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

func routesList(u *routesFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the routings that compute tables, and their options",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var lines []subnet.EntryResult
			for _, e := range command.RoutesEntries() {
				lines = append(lines, e.Result())
			}
			if u.json {
				return command.JSON(cmd.OutOrStdout(), lines)
			}
			err := command.Tabbed(cmd.OutOrStdout(), func(tab func(...any)) {
				for _, l := range lines {
					tab(l.Name, l.About)
					if l.Keys != nil {
						tab("", "options: "+strings.Join(l.Keys, ", "))
					}
				}
			})
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", command.KeysHelp())
			}
			return err
		},
	}
}

// nicByName finds the NIC of that name, or the first NIC of the switch of that name.
func nicByName(g *topology.Graph, name string) (topology.NIC, error) {
	if sw, err := g.SwitchByName(name); err == nil {
		for _, n := range g.NICs {
			if s, _ := g.SwitchOf(n.ID); s == sw {
				return n, nil
			}
		}
		return topology.NIC{}, fmt.Errorf("switch %s has no NIC: name one of %d NICs, as %s", name, len(g.NICs),
			g.NICs[0].Name)
	}
	id, err := g.NICByName(name)
	if err != nil {
		return topology.NIC{}, err
	}
	return g.NICs[id], nil
}

// formatOf is what writes a format, among those by name.
func formatOf[W any](name string, formats map[string]W, names []string) (W, error) {
	w, ok := formats[name]
	if !ok {
		return w, document.Unknown("format", name, names)
	}
	return w, nil
}
