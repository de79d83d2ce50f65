// Package switches is the command fabricd switch: one switch of a running fabric as a process.
package switches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// switchFlags are the flags of fabricd switch.
type switchFlags struct {
	fabric, id string
	server     bus.Settings
	verbose    bool
}

// Command is fabricd switch.
func Command() *cobra.Command {
	var s switchFlags
	cmd := &cobra.Command{
		Use:   "switch --id SWITCH",
		Short: "Be one switch of a running fabric, as a process of its own, until Ctrl-C",
		Long: `Takes one switch of a running fabric over: from then on its pipeline runs in this process, and its links come here. What
the switch holds goes along, and no packet is lost. Ctrl-C hands it back likewise. When the process is killed, its
neighbours lose their links to it, and it can be started again, or taken back with: linkmon restart SWITCH

Exit codes: 0 handed back, or the fabric was stopped; 1 the fabric is gone; 2 the fabric does not take this process.`,
		Example: "  fabricd switch --id s1.03\n  fabricd switch --fabric lab --id s0.00 --server " +
			"nats://lab.example.net:4222 --creds lab.creds",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Unhurried(cmd.OutOrStdout(), cmd.ErrOrStderr(), false, func(stdout, stderr io.Writer) error {
				return s.run(cmd.Context(), stdout, stderr)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.fabric, "fabric", "", "name of the fabric; not needed when only one is running here")
	f.StringVar(&s.id, "id", "", "name of the switch, as s1.03")
	f.BoolVarP(&s.verbose, "verbose", "v", false, "log what happens to stderr")
	s.server.Flags(f)
	_ = cmd.MarkFlagRequired("id") // there is such a flag
	command.Complete(cmd, "fabric", registry.Names)
	return cmd
}

func (s switchFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	at, err := command.Reach(ctx, s.fabric, s.server, func(e registry.Entry) bus.Credentials { return e.Operator }, stderr)
	if err != nil {
		return err
	}
	c := member.Config{Fabric: at.Fabric, URL: at.URL, Credentials: at.Credentials, Switch: s.id}
	if s.verbose {
		c.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	c.Attached = func(ch host.Spec) {
		fmt.Fprintf(stdout, "switch %s of fabric %s: process %d, %s, attached\n", s.id, ch.Fabric, os.Getpid(), ch.Routing)
	}
	err = member.Run(ctx, c)
	switch {
	case err == nil:
		fmt.Fprintf(stdout, "switch %s is the fabric's own again\n", s.id)
	case errors.Is(err, member.ErrEnded):
		fmt.Fprintln(stderr, "fabricd: "+err.Error())
		return nil
	case errors.Is(err, member.ErrGone):
		fmt.Fprintln(stderr, "fabricd: "+err.Error())
		return command.ErrFailed
	}
	return err
}
