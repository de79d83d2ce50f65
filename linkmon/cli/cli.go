// Package cli is the command linkmon: it looks at a running fabric, sets faults of every kind,
// repairs them, and tells what they cost.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/auth"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/registry"
)

// Main runs linkmon with the arguments of the process to its end, and exits with its exit code.
func Main() {
	namespace.Main()
	root := Command()
	if args := agentArgs(); args != nil {
		root.SetArgs(args)
	}
	command.Main(root)
}

// monitor is what all subcommands share.
type monitor struct {
	fabric   string
	json     bool
	readOnly bool
	server   bus.Settings
	chosen   *chosenFabric // of a shell or the full screen; nil for a single command
}

// chosenFabric is the fabric that a shell has begun with, or the full screen shows. Without it,
// they would go over to another fabric as soon as theirs has ended and the other is the only one,
// and break that. Its methods may be called by several goroutines.
type chosenFabric struct {
	mu   sync.Mutex
	name string
}

func (k *chosenFabric) or(given string) string {
	if k == nil {
		return given
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return cmp.Or(k.name, given)
}

func (k *chosenFabric) choose(name string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.name = name
}

// Command is linkmon with all that is below it.
func Command() *cobra.Command {
	var m monitor
	root := &cobra.Command{
		Use:   "linkmon",
		Short: "Watch a running fabric, break its links and switches and repair them",
		Long: `linkmon works on a fabric that fabricd up has started on this machine, or with --server on one whose NATS server it names.
The faults it sets last when it has ended. Without a command, on a terminal, it shows the fabric full screen; see linkmon screen.

Exit codes: 0 done (also when there was nothing to do), 2 wrong input, in which case nothing was done, or no fabric.`,
		Example: "  linkmon\n  linkmon status\n  linkmon cut s0.00 s1.00\n  linkmon impair s0.00 s1.00 --loss 10%\n  " +
			"linkmon faults\n  linkmon heal --all",
	}
	p := root.PersistentFlags()
	p.StringVar(&m.fabric, "fabric", "", "name of the fabric; not needed while only one runs")
	m.server.Flags(p)
	p.BoolVarP(&m.json, "json", "j", false, "print JSON, events and samples as JSON lines")
	command.Complete(root, "fabric", registry.Names)
	p.BoolVar(&m.readOnly, "readonly", false, "refuse whatever would change the fabric")
	root.AddCommand(m.commands()...)
	root.AddCommand(m.shCommand(), m.screenCommand(root), m.execCommand(), m.mpirunCommand(), m.connectionsCommand())
	return root
}

// commands are those that the shell has as well.
func (m *monitor) commands() []*cobra.Command {
	return []*cobra.Command{
		m.lsCommand(), m.statusCommand(), m.linksCommand(), m.faultsCommand(), m.eventsCommand(), m.watchCommand(),
		m.cutCommand(), m.flapCommand(), m.impairCommand(), m.crashCommand(),
		m.restoreCommand(), m.restartCommand(), m.healCommand(), m.applyCommand(), m.linkCommand(), m.switchCommand(),
		m.traceCommand(), m.captureCommand(),
		m.trafficCommand(), m.timeFactorCommand(), m.moveCommand(), m.loadCommand(),
	}
}

// errReadOnly refuses what would change the fabric.
var errReadOnly = errors.New("nothing may be changed: linkmon was started with --readonly")

// dial connects to the fabric meant: as its operator when it is to act. Credentials of a folder
// that fabricd auth has made are renewed when they are rotated, as long as the client lasts.
func (m *monitor) dial(ctx context.Context, act bool) (*client, error) {
	e, err := m.find(ctx)
	if err != nil {
		return nil, err
	}
	c, err := api.Dial(e, "linkmon", act)
	if err != nil {
		return nil, err
	}
	renewal, err := m.keepRenewed(e.Name)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &client{c, renewal}, nil
}

// client is a fabric as linkmon reaches it.
type client struct {
	*api.Client
	renewal *bus.Server // nil: nobody renews the credentials
}

// Close ends both.
func (c *client) Close() error {
	if c.renewal != nil {
		return errors.Join(c.renewal.Close(), c.Client.Close())
	}
	return c.Client.Close()
}

// keepRenewed is nil where credentials are not of such a folder.
func (m *monitor) keepRenewed(fabric string) (*bus.Server, error) {
	at, err := m.server.Resolve(os.Getenv)
	if err != nil {
		return nil, err
	}
	folder, err := auth.Use(at, fabric)
	if err != nil || folder == nil {
		return nil, err
	}
	return folder.KeepRenewed(nil, nil)
}

func (m *monitor) find(ctx context.Context) (registry.Entry, error) {
	r, err := m.server.Resolve(os.Getenv)
	if err != nil {
		return registry.Entry{}, err
	}
	for _, note := range r.Notes {
		fmt.Fprintln(command.Printable(os.Stderr), "linkmon: "+note)
	}
	e, err := registry.At(ctx, r, m.chosen.or(m.fabric))
	if err == nil {
		m.chosen.choose(e.Name)
	}
	if err != nil && r.URL == "" && m.fabric != "" {
		if names := registry.Names(); len(names) > 0 && !slices.Contains(names, m.fabric) {
			return e, document.Unknown("fabric", m.fabric, names)
		}
	}
	return e, err
}

// with runs f on a connection.
func (m *monitor) with(cmd *cobra.Command, act bool, f func(ctx context.Context, c *api.Client) error) error {
	if act && m.readOnly {
		return errReadOnly
	}
	c, err := m.dial(cmd.Context(), act)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return f(cmd.Context(), c.Client)
}
