package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// RoutingFlag adds --routing, for which "" is what [subnet.Default] chooses.
func RoutingFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "routing", "", RoutingHelp(""))
}

// RoutingHelp is the help of --routing.
func RoutingHelp(more string) string {
	kinds := append(subnet.KindsSyntax(), "tables:"+opensm.Syntax)
	return "firmware of the switches: " + strings.Join(subnet.Names(), ", ") + more +
		", or " + strings.Join(kinds, ", ") + "; some take options, as lash:layers=3, see fabricd routes list" +
		"; unless given adaptive-link in fat trees, dimension-order in meshes, tori and rings, lash elsewhere"
}

// CompleteRouting offers the routings that fit the topology of the command line and of, nil for
// all, and some words beside; after a name and a colon, what options it takes.
func CompleteRouting(cmd *cobra.Command, of func(subnet.Entry) bool, beside ...string) {
	_ = cmd.RegisterFlagCompletionFunc("routing",
		func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
			if strings.Contains(text, ":") {
				return optionWords(text), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			entries := subnet.Entries()
			if spec, err := cmd.Flags().GetString("topology"); err == nil {
				if g, err := topology.Parse(spec); err == nil {
					entries = slices.DeleteFunc(entries, func(e subnet.Entry) bool { return !e.Fits(g) })
				}
			}
			var names []string
			for _, e := range entries {
				if of == nil || of(e) {
					names = append(names, e.Name)
				}
			}
			return append(append(names, subnet.FromFiles+":"), beside...), cobra.ShellCompDirectiveNoFileComp
		})
}

// optionWords completes "updn:tree=dfs,la" by the keys that are not there yet.
func optionWords(text string) []string {
	head, options, _ := strings.Cut(text, ":")
	e, err := subnet.ByName(head)
	if err != nil {
		return nil
	}
	before := head + ":"
	if i := strings.LastIndexByte(options, ','); i >= 0 {
		before += options[:i+1]
	}
	var words []string
	for _, k := range e.Keys {
		if !strings.Contains(before, ":"+k.Name+"=") && !strings.Contains(before, ","+k.Name+"=") {
			words = append(words, before+k.Name+"=")
		}
	}
	return words
}

// KeysHelp lists the options of routings.
func KeysHelp() string {
	var b strings.Builder
	b.WriteString("Options follow the name of a routing as NAME:KEY=VALUE,KEY=VALUE, those that it takes:\n")
	t := table.Table{Gap: 2}
	for _, k := range subnet.Keys() {
		t.Row("  "+k.Name, k.Values, k.About)
	}
	_ = t.Text(&b) // to memory
	return strings.TrimRight(b.String(), "\n")
}

// RoutesEntries are the routings that compute tables.
func RoutesEntries() []subnet.Entry {
	return slices.DeleteFunc(subnet.Entries(), func(e subnet.Entry) bool { return !HasTables(e) })
}

// HasTables reports whether a routing computes tables.
func HasTables(e subnet.Entry) bool { return e.Routes != nil }

// RoutesNames are the names of [RoutesEntries].
func RoutesNames() (names []string) {
	for _, e := range RoutesEntries() {
		names = append(names, e.Name)
	}
	return names
}

// DefaultRoutes is lash, which routes any topology, if there is such a routing.
func DefaultRoutes() string {
	if names := RoutesNames(); !slices.Contains(names, "lash") {
		return names[0]
	}
	return "lash"
}
