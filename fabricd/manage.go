package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/manager/remote"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// manageFlags are the flags of fabricd manage.
type manageFlags struct {
	fabric, method string
	server         bus.Settings
	verbose, json  bool
}

// manageLine is what fabricd manage tells with --json.
type manageLine struct {
	Fabric          string                 `json:"fabric"`
	Kind            string                 `json:"kind"` // standby, manages or round
	Text            string                 `json:"text"`
	Reconfiguration *fault.Reconfiguration `json:"reconfiguration,omitempty"` // of a round
}

func manageCommand() *cobra.Command {
	var m manageFlags
	cmd := &cobra.Command{
		Use:   "manage",
		Short: "Be the subnet manager of a running fabric, or stand by for it, until Ctrl-C",
		Long: `Hears which links of a running fabric are dead, computes tables without them and uploads what changed to the switches. Of several managers
one is at work and the others stand by; when it ends or is killed, at any moment, another finishes its job.

` + methodHelp() + `

Exit codes: 0 interrupted; 1 the fabric is gone; 2 there is nothing that it could manage.`,
		Example: "  fabricd up --topology kary-ntree:4,3 --routing ftree\n  fabricd manage\n  fabricd manage --fabric lab --manager engine:updn\n  fabricd manage --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Unhurried(cmd.OutOrStdout(), cmd.ErrOrStderr(), m.json, func(stdout, stderr io.Writer) error {
				return m.run(cmd.Context(), stdout, stderr)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.fabric, "fabric", "", "name of the fabric; not needed when only one is running here")
	f.StringVar(&m.method, "manager", "", "how: "+manage.Syntax()+"; unless given as the manager before, and else by the routing")
	f.BoolVarP(&m.json, "json", "j", false, "print what it does as JSON lines")
	f.BoolVarP(&m.verbose, "verbose", "v", false, "log what happens to stderr")
	m.server.Flags(f)
	complete(cmd, "fabric", registry.Names)
	complete(cmd, "manager", manage.Words)
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
	at, err := reach(m.fabric, m.server, func(e registry.Entry) bus.Credentials { return e.Manager }, stderr)
	if err != nil {
		return err
	}
	c := bus.ClientConfig{Fabric: at.fabric, URL: at.url, Credentials: at.credentials, Program: "manage", Gone: at.gone}
	log := slog.New(slog.DiscardHandler)
	if m.verbose {
		log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var k keys
	if err := k.open(at.server, at.fabric, log); err != nil {
		return err
	}
	defer k.close()
	err = managed(ctx, c, m.method, log, stderr, func(n manager.Note) {
		switch {
		case n.Kind == manager.NotePlanned:
		case m.json:
			line := manageLine{Fabric: c.Fabric, Kind: n.Kind, Text: n.Text}
			if n.Kind == manager.NoteRound {
				line.Reconfiguration = &n.Round.Reconfiguration
			}
			_ = cli.JSON(stdout, line) // as below: who no longer reads does not end the manager
		default:
			fmt.Fprintf(stdout, "fabric %s: %s\n", c.Fabric, n.Text)
		}
	})
	switch {
	case errors.Is(err, reply.ErrEnded):
		fmt.Fprintf(stderr, "fabricd: fabric %s has ended\n", c.Fabric)
		return cli.ErrFailed
	case errors.Is(err, manager.ErrGone):
		fmt.Fprintln(stderr, "fabricd: "+err.Error())
		return cli.ErrFailed
	}
	return err
}

// managed manages a fabric over its broker until ctx ends. On a broker that keeps nothing there is
// one manager at most, and who comes after it begins anew.
func managed(ctx context.Context, c bus.ClientConfig, method string, log *slog.Logger, stderr io.Writer, tell func(manager.Note)) (err error) {
	f, err := remote.Dial(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	cfg := manager.Config{Fabric: f, Method: method, Log: log, Tell: tell}
	s, err := bus.OpenStore(ctx, bus.StoreConfig{Fabric: c.Fabric, URL: c.URL, Credentials: c.Credentials})
	switch {
	case errors.Is(err, bus.ErrNoStore):
		fmt.Fprintf(stderr, "fabricd: subnet manager: %v: one after it begins anew, and no other must run beside it\n", err)
		cfg.State = &manager.Memory{}
	case err != nil:
		return err
	default:
		defer s.Close()
		cfg.State = s
	}
	return noticed(manager.New(cfg).Run(ctx), f.Ended())
}

// noticed is how managing has ended with err. Of a fabric that has ended, the end may be noticed by
// its store or by an answer that does not come.
func noticed(err error, ended bool) error {
	if err == nil || !ended {
		return err
	}
	return reply.ErrEnded
}

// chooseManager settles how a fabric is managed, and whether its routing is run as tables for that.
func (u *upFlags) chooseManager(g *topology.Graph) (manage.Method, error) {
	if u.manager == manage.Auto || u.manager == "" {
		m, why := manage.For(u.routing, g)
		u.unmanaged = why
		return m, nil
	}
	m, err := manage.Parse(u.manager)
	if err != nil {
		return m, err
	}
	u.routing, _ = m.Routing(u.routing)
	if !m.On() {
		return m, nil
	}
	_, vcs, err := subnet.Firmware(u.routing, g)
	if err == nil {
		_, err = manage.New(g, u.routing, m, max(vcs, u.vcs))
	}
	return m, err
}
