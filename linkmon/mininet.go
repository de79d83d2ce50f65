package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// linkCommand is cut and restore in the words of Mininet, and shows a link when it is not told to do anything.
func (m *monitor) linkCommand() *cobra.Command {
	o := &order{}
	cmd := &cobra.Command{
		Use:   "link A B down|up | link LINK down|up | link A B",
		Short: "Take a link down or up, or show it",
		Long: `link A B down is cut A B, link A B up is restore A B, and without down or up it shows the link.

` + ofLinks,
		Example: "  linkmon link s0.00 s1.00 down\n  linkmon link s0.00 s1.00 up\n  linkmon link s0.00-s1.00",
		Args:    named(aLink),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, word := args[:len(args)-1], args[len(args)-1]
			switch word {
			case "down":
				o.spec.Do = fault.VerbCut
			case "up":
				o.spec.Do = fault.VerbRestore
			default:
				return m.showLink(cmd, args)
			}
			if len(names) == 0 {
				return fmt.Errorf("link %s: which? name %s", word, aLink)
			}
			return m.change(cmd, o, names)
		},
	}
	o.when(cmd, "direction", "silent", "for")
	links := m.completeLinks(func(fabric.LinkState) bool { return true })
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, directive := links(cmd, args, word)
		if len(args) > 0 {
			names = append(names, "down", "up")
		}
		return names, directive
	}
	return cmd
}

// showLink prints the link that is named, or that is between the two nodes named.
func (m *monitor) showLink(cmd *cobra.Command, args []string) error {
	if len(args) > 2 {
		return document.Unknown("word after a link", args[len(args)-1], []string{"down", "up"})
	}
	return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
		all, err := c.Links(ctx)
		if err != nil {
			return err
		}
		found := slices.DeleteFunc(slices.Clone(all), func(l fabric.LinkState) bool {
			if len(args) == 1 {
				return l.Link != args[0]
			}
			return (l.A != args[0] || l.B != args[1]) && (l.A != args[1] || l.B != args[0])
		})
		if len(found) == 0 {
			return noLink(all, args)
		}
		return m.printLinks(cmd.OutOrStdout(), found)
	})
}

// noLink says why there is no link of that name or between those nodes.
func noLink(all []fabric.LinkState, args []string) error {
	var links, nodes []string
	for _, l := range all {
		links, nodes = append(links, l.Link), append(nodes, l.A, l.B)
	}
	if len(args) == 1 {
		return document.Unknown("link", args[0], links)
	}
	for _, name := range args {
		if !slices.Contains(nodes, name) {
			slices.Sort(nodes)
			return document.Unknown("switch or NIC", name, slices.Compact(nodes))
		}
	}
	return fmt.Errorf("%s and %s are not linked", args[0], args[1])
}
