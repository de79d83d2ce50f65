package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// linkCommand is cut and restore in the words of Mininet, and shows a link when it is not told to
// do anything.
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
	cmd.ValidArgsFunction = m.completeEnds
	return cmd
}

// completeEnds offers a link or a node, then the nodes at the other ends of its links, then down
// and up.
func (m *monitor) completeEnds(cmd *cobra.Command, args []string, _ string) (
	words []cobra.Completion, _ cobra.ShellCompDirective,
) {
	_ = m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
		all, err := c.Links(ctx)
		for _, l := range all {
			switch {
			case len(args) == 0:
				words = append(words, l.Link, l.A, l.B)
			case len(args) == 1 && l.A == args[0]:
				words = append(words, l.B)
			case len(args) == 1 && l.B == args[0]:
				words = append(words, l.A)
			}
		}
		return err
	})
	if len(words) == 0 {
		words = []string{"down", "up"}
	}
	slices.Sort(words)
	return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
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

// switchCommand shows a switch, or crashes and restarts it in the words of Mininet.
func (m *monitor) switchCommand() *cobra.Command {
	var table bool
	o := &order{}
	cmd := &cobra.Command{
		Use:   "switch SWITCH [down|up]",
		Short: "Show a switch with its ports, queues and registers, or take it down or up",
		Long: `switch shows one switch: its ports with their virtual channels, the packets in their input and output queues, the credits
they have, what packets waited for; its registers, which hold the re-route vector, and what it discarded by which rule.
switch S down (or stop) is crash S, switch S up (or start) is restart S.`,
		Example: "  linkmon switch s1.03\n  linkmon switch s1.03 --forwarding --json\n  linkmon switch s1.03 down",
		Args:    named(aSwitch),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return m.showSwitch(cmd, args[0], table)
			}
			switch word := args[len(args)-1]; word {
			case "down", "stop":
				o.spec.Do = fault.VerbCrash
			case "up", "start":
				o.spec.Do = fault.VerbRestart
			default:
				return document.Unknown("word after a switch", word, []string{"down", "up", "stop", "start"})
			}
			return m.change(cmd, o, args[:len(args)-1])
		},
	}
	o.when(cmd, "for")
	cmd.Flags().BoolVar(&table, "forwarding", false, "the forwarding table too, where the firmware has one")
	switches := m.completeSwitches(anySwitch)
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, word string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return []string{"down", "up"}, cobra.ShellCompDirectiveNoFileComp
		}
		return switches(cmd, args, word)
	}
	return cmd
}

func (m *monitor) showSwitch(cmd *cobra.Command, name string, table bool) error {
	return m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
		d, err := c.Switch(ctx, name, table)
		if err != nil {
			return err
		}
		if m.json {
			return command.JSON(cmd.OutOrStdout(), d)
		}
		return printSwitch(cmd.OutOrStdout(), d)
	})
}

func printSwitch(out io.Writer, d api.SwitchDetail) error {
	t := table.Table{Gap: 2}
	row := func(name, format string, args ...any) { t.Row(name, fmt.Sprintf(format, args...)) }
	row("switch", "%s, %s, holds %d packets, %d of them blocked", d.ID, d.State, d.Held, d.Blocked)
	if d.Process != "" {
		row("process", "%s", d.Process)
	}
	row("packets", "%d received, %d forwarded, %d rerouted, %d U-turns, %d discarded", d.Counts.Received,
		d.Counts.Forwarded, d.Counts.Rerouted, d.Counts.UTurns, d.Counts.Discarded)
	for _, r := range d.Registers {
		row("register", "%s = %s", r.Name, r.Value)
	}
	for _, rule := range slices.Sorted(maps.Keys(d.Discards)) {
		row("discarded", "%d by %q", d.Discards[rule], rule)
	}
	if err := t.Text(out); err != nil {
		return err
	}
	ports := table.New("PORT", "PEER", "STATE", "SENT", "RECEIVED", "VC", "IN", "OUT", "CREDITS", "WAITED FOR")
	ports.Gap = 2
	for _, p := range d.Ports {
		for _, vc := range p.VCs {
			var stalls []string
			for _, reason := range slices.Sorted(maps.Keys(vc.Stalls)) {
				stalls = append(stalls, fmt.Sprintf("%s %d", reason, vc.Stalls[reason]))
			}
			ports.Row(p.Port, p.Peer, p.State, p.Sent, p.Received, vc.VC, vc.Input, vc.Output, vc.Credits,
				strings.Join(stalls, ", "))
		}
	}
	fmt.Fprintln(out)
	if err := ports.Text(out); err != nil || len(d.Table) == 0 {
		return err
	}
	fmt.Fprintln(out)
	return forwarding(d).Text(out)
}

// forwarding is the forwarding table of a switch.
func forwarding(d api.SwitchDetail) *table.Table {
	t := table.New("DESTINATION", "FROM PORT", "FROM VC", "TO PORT", "TO VC")
	t.Gap = 2
	from := func(n *int, none string) string {
		switch {
		case n == nil:
			return "any"
		case *n < 0:
			return none
		}
		return strconv.Itoa(*n)
	}
	for _, f := range d.Table {
		dst := f.Dst
		if f.Path > 0 {
			dst += fmt.Sprintf(", path %d", f.Path)
		}
		t.Row(dst, from(f.In, "another layer"), from(f.InVC, ""), from(&f.Port, "none"), from(&f.VC, "the same"))
		for _, o := range f.Or {
			t.Row("", "", "  or", from(&o.Port, "none"), from(&o.VC, "the same"))
		}
	}
	return t
}
