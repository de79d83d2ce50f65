package routes

import (
	"fmt"
	"io"
	"maps"
	"math/bits"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
)

// dumpFlags are those of routes dump.
type dumpFlags struct {
	format, out string
	lids        string // a file guid2lid
	sm          string // the NIC that OpenSM runs at
}

// dumper prints a routing in one format.
type dumper func(cmd *cobra.Command, d dumpFlags, r *layered.Routing) error

// dumpFormats are those of routes dump.
var dumpFormats = map[string]dumper{
	"yaml": func(cmd *cobra.Command, d dumpFlags, r *layered.Routing) error {
		return command.WriteOutput(cmd, d.out, func(w io.Writer) error {
			return yaml.NewEncoder(w, yaml.IndentSequence(true)).Encode(survey.List(r))
		})
	},
	"json": func(cmd *cobra.Command, d dumpFlags, r *layered.Routing) error {
		return command.WriteOutput(cmd, d.out, func(w io.Writer) error { return command.JSON(w, survey.List(r)) })
	},
	"lft":     withLIDs(dumpLFT),
	"path-sl": withLIDs(dumpWith(opensm.WritePathSL)),
	"sl2vl":   withLIDs(dumpWith(opensm.WriteSL2VL)),
	"guid2lid": withLIDs(dumpWith(func(w io.Writer, _ *layered.Routing, lids *opensm.LIDs) error {
		return lids.WriteGUID2LID(w)
	})),
}

func withLIDs(dump func(*cobra.Command, dumpFlags, *layered.Routing, *opensm.LIDs) error) dumper {
	return func(cmd *cobra.Command, d dumpFlags, r *layered.Routing) error {
		lids, err := d.lidsOf(r)
		if err != nil {
			return err
		}
		return dump(cmd, d, r, lids)
	}
}

// dumpWith dumps by a function that writes one file.
func dumpWith(write func(io.Writer, *layered.Routing, *opensm.LIDs) error) func(*cobra.Command, dumpFlags,
	*layered.Routing, *opensm.LIDs) error {
	return func(cmd *cobra.Command, d dumpFlags, r *layered.Routing, lids *opensm.LIDs) error {
		return command.WriteOutput(cmd, d.out, func(w io.Writer) error { return write(w, r, lids) })
	}
}

// dumpLFT writes the forwarding tables. It writes the layers of the routing, which are not in the
// tables, beside them, and warns when packets can wait for one another for ever without the layers.
func dumpLFT(cmd *cobra.Command, d dumpFlags, r *layered.Routing, lids *opensm.LIDs) error {
	lft, err := opensm.NewLFT(r, lids)
	if err != nil {
		return err
	}
	if err := command.WriteOutput(cmd, d.out, lft.Write); err != nil {
		return err
	}
	beside := "--out FILE writes them beside the tables"
	if r.Layers > 1 && d.out != "" {
		sl, vl := d.out+".path-sl", d.out+".sl2vl"
		if err := command.WriteOutput(cmd, sl,
			func(w io.Writer) error { return opensm.WritePathSL(w, r, lids) }); err != nil {
			return err
		}
		if err := command.WriteOutput(cmd, vl, func(w io.Writer) error { return opensm.WriteSL2VL(w, r, lids) }); err != nil {
			return err
		}
		beside = fmt.Sprintf("%s has the service level of each path, and %s maps service levels to virtual lanes", sl, vl)
	}
	alone, err := lft.Alone(cmd.Context())
	if err != nil {
		return err
	}
	deps := alone.Dependencies(cmd.Context())
	if deps == nil {
		return errInterrupted
	}
	cycle := deps.Cycle()
	if cycle == nil {
		return nil
	}
	var names []string
	for _, c := range survey.NamesOf(r.Graph, cycle) {
		names = append(names, c.Name)
	}
	layers := ""
	if r.Layers > 1 {
		layers = fmt.Sprintf(" %s keeps packets apart in %d layers, which are not in the tables: %s. OpenSM's file "+
			"routing does not read them.",
			r.Engine, r.Layers, beside)
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(),
		"warning: with these tables and one virtual lane packets can wait for one another for ever, around %s.%s "+
			"For one lane take a routing without such a cycle, as updn:in-port=false\n", strings.Join(names, ", "), layers)
	return err
}

// lidsOf are the LIDs of a file, or those that the topology has, or those that OpenSM would give.
func (d dumpFlags) lidsOf(r *layered.Routing) (*opensm.LIDs, error) {
	g := r.Graph
	if d.lids != "" {
		f, err := os.Open(d.lids)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return opensm.ReadGUID2LID(g, opensm.File{Name: d.lids, Reader: f})
	}
	if lids, ok := opensm.GraphLIDs(g); ok {
		return lids, nil
	}
	var sm weft.NICID
	if d.sm != "" {
		nic, err := nicByName(g, d.sm)
		if err != nil {
			return nil, fmt.Errorf("--sm: %w", err)
		}
		sm = nic.ID
	}
	return opensm.AssignLIDs(g, sm, bits.Len(uint(r.Tables.Paths()-1)))
}

func routesDump(u *routesFlags) *cobra.Command {
	var d dumpFlags
	formats := slices.Sorted(maps.Keys(dumpFormats))
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print the forwarding tables and the traffic assignment, also as OpenSM reads them",
		Long: `Prints the forwarding tables of all switches, with ports and neighbours by name, and by which addresses and in which layers the NICs of each
switch send (yaml, json). For OpenSM: the forwarding tables (lft: opensm -R file -U FILE takes them), the service level of each pair, which is
its layer (path-sl), the virtual lane of each service level (sl2vl), and the LIDs (guid2lid). LIDs are those of --lids, or of the topology file,
or what OpenSM would give.

Layers are not in the forwarding tables. Of a routing with layers, lft with --out FILE writes FILE.path-sl and FILE.sl2vl too, and a
warning says when the tables can deadlock without them.`,
		Example: "  fabricd routes dump --topology irregular:16,32,1 --routing lash | less\n  fabricd routes dump " +
			"--routing updn --json | jq '.tables[0]'\n" +
			"  fabricd routes dump --topology fabric.net --routing updn:in-port=false --format lft -o updn.lfts && opensm -R " +
			"file -U updn.lfts",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.json {
				d.format = "json"
			}
			dump, err := formatOf(d.format, dumpFormats, formats)
			if err != nil {
				return err
			}
			r, err := u.only(cmd)
			if err != nil {
				return err
			}
			return dump(cmd, d, r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.format, "format", "yaml", "yaml, json, or for OpenSM lft, path-sl, sl2vl or guid2lid")
	f.StringVarP(&d.out, "out", "o", "", "file to write instead of standard output")
	f.StringVar(&d.lids, "lids", "", "LIDs of the fabric, the file guid2lid of OpenSM's cache")
	f.StringVar(&d.sm, "sm", "", "the NIC that OpenSM runs at, which gets the first LID; the first unless given")
	command.Complete(cmd, "format", func() []string { return formats })
	command.Renamed(cmd, "output", "out")
	return cmd
}
