// Package manage is the command fabricd manage: the subnet manager of a running fabric.
package manage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// manageFlags are the flags of fabricd manage.
type manageFlags struct {
	fabric, method string
	server         bus.Settings
	verbose, json  bool
}

// Command is fabricd manage.
func Command() *cobra.Command {
	var m manageFlags
	cmd := &cobra.Command{
		Use:   "manage",
		Short: "Be the subnet manager of a running fabric, or stand by for it, until Ctrl-C",
		Long: `Hears which links of a running fabric are dead, computes tables without them and uploads what changed to the switches. Of several managers
one is at work and the others stand by; when it ends or is killed, at any moment, another finishes its job.

` + methodHelp() + `

Exit codes: 0 interrupted; 1 the fabric is gone; 2 there is nothing that it could manage.`,
		Example: "  fabricd up --topology kary-ntree:4,3 --routing ftree\n  fabricd manage\n  fabricd manage --fabric lab " +
			"--method engine:updn\n  fabricd manage --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Unhurried(cmd.OutOrStdout(), cmd.ErrOrStderr(), m.json,
				func(stdout, stderr io.Writer) error {
					return m.run(cmd.Context(), stdout, stderr)
				})
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.fabric, "fabric", "", "name of the fabric; not needed when only one is running here")
	f.StringVar(&m.method, "method", "",
		"how: "+manage.Syntax()+"; unless given as the manager before, and else by the routing")
	f.BoolVarP(&m.json, "json", "j", false, "print what it does as JSON lines")
	f.BoolVarP(&m.verbose, "verbose", "v", false, "log what happens to stderr")
	m.server.Flags(f)
	command.Complete(cmd, "fabric", registry.Names)
	command.Complete(cmd, "method", manage.Words)
	command.Renamed(cmd, "manager", "method")
	return cmd
}

// methodHelp lists the methods of reconfiguration.
func methodHelp() string {
	s := "Methods:\n"
	for _, e := range manage.Entries() {
		s += fmt.Sprintf("  %-8s %s\n", e.Name, e.About)
	}
	return s + "As they are written: " + manage.Syntax()
}

func (m manageFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if m.method != "" && m.method != manage.Auto {
		if _, err := manage.Parse(m.method); err != nil {
			return err
		}
	}
	at, err := command.Reach(ctx, m.fabric, m.server, func(e registry.Entry) bus.Credentials { return e.Manager }, stderr)
	if err != nil {
		return err
	}
	c := bus.ClientConfig{Fabric: at.Fabric, URL: at.URL, Credentials: at.Credentials, Program: "manage", Gone: at.Gone}
	log := command.Logger(m.verbose, stderr)
	var k lead.Keys
	if err := k.Open(at.Server, at.Fabric, log); err != nil {
		return err
	}
	defer k.Close()
	note := func(text string) { fmt.Fprintln(stderr, "fabricd: "+text) }
	err = remote.Manage(ctx, c, m.method, log, note, func(n manager.Note) {
		switch {
		case n.Kind == manager.NotePlanned:
		case m.json:
			_ = command.JSON(stdout, n.Line(c.Fabric)) // as below: who no longer reads does not end the manager
		default:
			fmt.Fprintf(stdout, "fabric %s: %s\n", c.Fabric, n.Text)
		}
	})
	switch {
	case errors.Is(err, reply.ErrEnded):
		fmt.Fprintf(stderr, "fabricd: fabric %s has ended\n", c.Fabric)
		return command.ErrFailed
	case errors.Is(err, manager.ErrGone):
		fmt.Fprintln(stderr, "fabricd: "+err.Error())
		return command.ErrFailed
	}
	return err
}
