package rig

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/harness/testenv"
)

// ReferenceIsGenerated compares a page of the documentation with the tables of all commands and
// flags below root, or writes it anew with -update. Flags with the annotation shared, which many
// commands take, have one table.
func ReferenceIsGenerated(t *testing.T, root *cobra.Command, shared, page string) {
	t.Helper()
	var b strings.Builder
	name := root.Name()
	fmt.Fprintf(&b, "# %s: commands and flags\n\n"+
		"Look up here which commands %s has, and which flags they take. `%s COMMAND --help` says more about each.\n"+
		"The commands make this page: `go test ./fabricd/cli ./linkmon/cli -run Reference -update` writes it.\n\n",
		name, name, name)
	commands := table.New("command", "what it does")
	var flags strings.Builder
	server := pflag.NewFlagSet("", pflag.ContinueOnError)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd.Runnable() && cmd.HasParent() {
			commands.Row("`"+cmd.UseLine()+"`", cmd.Short)
		}
		own := pflag.NewFlagSet("", pflag.ContinueOnError)
		takes := false
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			switch _, apart := f.Annotations[shared]; {
			case !apart:
				own.AddFlag(f)
			case server.Lookup(f.Name) == nil:
				server.AddFlag(f)
				fallthrough
			default:
				takes = true
			}
		})
		note := ""
		if takes {
			note = "It takes the [flags for a NATS server](#flags-for-a-nats-server) too.\n\n"
		}
		if cmd.HasSubCommands() && cmd.HasPersistentFlags() {
			note += "The commands below it take these flags too.\n\n"
		}
		flagTable(&flags, cmd.CommandPath(), note, own)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	flagTable(&flags, "Flags for a NATS server", "They say how a NATS server is reached that runs already.\n\n", server)
	require.NoError(t, commands.Markdown(&b))
	b.WriteString(flags.String())
	if testenv.Update() {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "the page is not what the commands say: write it with -update")
}

// flagTable has a row for each flag, below a title and a note.
func flagTable(b *strings.Builder, title, note string, flags *pflag.FlagSet) {
	rows := table.New("flag", "default", "what it says")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		flag := "--" + f.Name
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand + ", " + flag
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			flag += " " + kind
		}
		rows.Row("`"+flag+"`", code(f.DefValue), usage)
	})
	if rows.Len() > 1 {
		fmt.Fprintf(b, "\n## %s\n\n%s", title, note)
		_ = rows.Markdown(b) // to memory
	}
}

// code is a default as it is typed; empty where there is none.
func code(text string) string {
	switch text {
	case "", "[]", "false":
		return ""
	}
	return "`" + text + "`"
}
