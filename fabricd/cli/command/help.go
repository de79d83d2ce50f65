package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// serverFlags are the flags of fs that say how a NATS server is reached, and the others. Those are
// many and seldom used, so help shows them below the others, and below a subcommand that inherits
// them not at all.
func serverFlags(fs *pflag.FlagSet) (server, others *pflag.FlagSet) {
	server, others = pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[bus.ServerFlag]; ok {
			server.AddFlag(f)
		} else {
			others.AddFlag(f)
		}
	})
	return server, others
}

// flagsHelp is the part of the help of cmd that lists its flags.
func flagsHelp(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title string, fs *pflag.FlagSet) {
		if fs.HasAvailableFlags() {
			b.WriteString("\n\n" + title + ":\n" + strings.TrimRight(fs.FlagUsages(), " \n"))
		}
	}
	server, own := serverFlags(cmd.LocalFlags())
	section("Flags", own)
	section("Flags for a NATS server that runs already", server)
	inheritedServer, inherited := serverFlags(cmd.InheritedFlags())
	section("Global Flags", inherited)
	if inheritedServer.HasAvailableFlags() {
		b.WriteString("\n\nFlags for a NATS server that runs already, such as --server: see " + cmd.Root().Name() + " --help")
	}
	return b.String()
}

// usage is cobra's own, but for the flags.
const usage = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Available Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{weftFlags .}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`

func init() { cobra.AddTemplateFunc("weftFlags", flagsHelp) }
