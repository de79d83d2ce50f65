package main

import (
	"fmt"
	"io"
	"maps"
	"math/bits"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli"
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

// dumpFormats are those of routes dump.
var dumpFormats = map[string]func(dumpFlags, io.Writer, *layered.Routing) error{
	"yaml": func(_ dumpFlags, w io.Writer, r *layered.Routing) error {
		return yaml.NewEncoder(w, yaml.IndentSequence(true)).Encode(survey.List(r))
	},
	"json":     func(_ dumpFlags, w io.Writer, r *layered.Routing) error { return cli.JSON(w, survey.List(r)) },
	"lft":      withLIDs(opensm.WriteLFT),
	"path-sl":  withLIDs(opensm.WritePathSL),
	"guid2lid": withLIDs(func(w io.Writer, _ *layered.Routing, lids *opensm.LIDs) error { return lids.WriteGUID2LID(w) }),
}

func withLIDs(write func(io.Writer, *layered.Routing, *opensm.LIDs) error) func(dumpFlags, io.Writer, *layered.Routing) error {
	return func(d dumpFlags, w io.Writer, r *layered.Routing) error {
		lids, err := d.lidsOf(r)
		if err != nil {
			return err
		}
		return write(w, r, lids)
	}
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
its layer (path-sl), and the LIDs (guid2lid). LIDs are those of --lids, or of the topology file, or what OpenSM would give.`,
		Example: "  fabricd routes dump --topology irregular:16,32,1 --routing lash | less\n  fabricd routes dump --routing updn --json | jq '.tables[0]'\n" +
			"  fabricd routes dump --topology fabric.net --routing updn:in-port=false --format lft -o updn.lfts && opensm -R file -U updn.lfts",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.json {
				d.format = "json"
			}
			write, err := formatOf(d.format, dumpFormats, formats)
			if err != nil {
				return err
			}
			r, err := u.only(cmd.Context())
			if err != nil {
				return err
			}
			return output(cmd, d.out, func(w io.Writer) error { return write(d, w, r) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.format, "format", "yaml", "yaml, json, or for OpenSM lft, path-sl or guid2lid")
	f.StringVarP(&d.out, "output", "o", "", "file to write instead of standard output")
	f.StringVar(&d.lids, "lids", "", "LIDs of the fabric, the file guid2lid of OpenSM's cache")
	f.StringVar(&d.sm, "sm", "", "the NIC that OpenSM runs at, which gets the first LID; the first unless given")
	complete(cmd, "format", func() []string { return formats })
	return cmd
}
