package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
)

// dumpFormats are those of routes dump.
var dumpFormats = map[string]func(io.Writer, *layered.Routing) error{
	"yaml": func(w io.Writer, r *layered.Routing) error {
		return yaml.NewEncoder(w, yaml.IndentSequence(true)).Encode(survey.List(r))
	},
	"json": func(w io.Writer, r *layered.Routing) error { return cli.JSON(w, survey.List(r)) },
}

func routesDump(u *routesFlags) *cobra.Command {
	var format, out string
	formats := slices.Sorted(maps.Keys(dumpFormats))
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print the forwarding tables and the traffic assignment",
		Long: `Prints the forwarding tables of all switches, with ports and neighbours by name, and by which addresses and in which layers the NICs of each
switch send.`,
		Example: "  fabricd routes dump --topology irregular:16,32,1 --routing lash | less\n  fabricd routes dump --routing updn --json | jq '.tables[0]'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.json {
				format = "json"
			}
			write, err := formatOf(format, dumpFormats, formats)
			if err != nil {
				return err
			}
			r, err := u.only(cmd.Context())
			if err != nil {
				return err
			}
			return output(cmd, out, func(w io.Writer) error {
				if err := write(w, r); err != nil {
					return fmt.Errorf("dump of %s: %w", r.Engine, err)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "json or yaml")
	cmd.Flags().StringVarP(&out, "output", "o", "", "file to write instead of standard output")
	complete(cmd, "format", func() []string { return formats })
	return cmd
}
