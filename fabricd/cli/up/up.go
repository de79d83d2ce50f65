// Package up has the commands of a live fabric: fabricd up, which launches it, and of one on agents fabricd
// state and fabricd down.
package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// upFlags are the flags of fabricd up.
type upFlags struct {
	fabric, broker string
	settings       settings.Settings
	fileFlags
	lasts time.Duration // then the fabric ends by itself; 0: when interrupted

	unmanaged error // why there is no manager though one was to be chosen; nil: there is, or needs none

	agents        string
	topologyGiven bool     // else what runs on agents is led on
	given         []string // names of flags
	detach        bool     // when interrupted

	web         webFlags
	listen      string
	listenGiven bool // else a free port does, too

	asJSON  bool
	drain   time.Duration
	verbose bool

	server bus.Settings
}

// Command is fabricd up.
func Command() *cobra.Command {
	u := upFlags{settings: settings.Settings{
		Topology: "kary-ntree:4,3", Link: settings.Link{Paced: true}, Manager: settings.Manager{Method: manage.Auto},
	}}
	cmd := &cobra.Command{
		Use:     "up",
		Aliases: []string{"deploy"},
		Short:   "Launch a live fabric and keep it running until Ctrl-C",
		Example: "  fabricd up\n  fabricd up --topology mport-tree:8,3 --routing deterministic-link --traffic uniform:0.1\n  fabricd up --topology torus:4x4\n  fabricd up --topology irregular:16,32,1 --routing updn:layers=2,tree=dfs",
		Long:    "Launch a live fabric and keep it running until Ctrl-C.\n\n" + trafficHelp(),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.listenGiven, u.given = cmd.Flags().Changed("listen"), changed(cmd.Flags())
			u.topologyGiven = cmd.Flags().Changed("topology") || u.file != ""
			if err := u.configure(cmd.ErrOrStderr()); err != nil {
				return err
			}
			if cmd.Flags().Changed("agents") {
				if _, err := agentNames(u.agents); err != nil {
					return err
				}
			}
			err := command.Unhurried(cmd.OutOrStdout(), cmd.ErrOrStderr(), u.asJSON, func(stdout, stderr io.Writer) error {
				return u.run(cmd.Context(), stdout, stderr)
			})
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				fmt.Fprintf(cmd.ErrOrStderr(), "fabricd: interrupted before fabric %s was up: nothing of it is left\n", u.fabric)
				return nil
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&u.fabric, "fabric", "weft", "name of the fabric, as linkmon finds it")
	u.fileFlags.flags(f)
	command.SettingFlags(f, &u.settings, map[string]string{
		"topology": "topology, or a file; see fabricd topology generate --help",
		"routing":  command.RoutingHelp(", none to forward nothing"),
		"method": "method of the subnet manager, which replaces tables after faults: " + manage.Syntax() + "; auto: ddrc in fat trees, dqr for other " +
			"deterministic tables that it can keep, direct in meshes and tori with mechanisms, engine for adaptive ones, " +
			"none for rules",
		"traffic": "what every NIC injects: PATTERN:LOAD[,OPTION=...], load a share of the " +
			"link rate; see above; unless given uniform, at most 0.2, and less in a fabric so large that the cores of this " +
			"machine would not carry that with a third to spare",
		"unpaced": "let links go as fast as the machine; --link-rate then only scales the traffic",
	})
	u.server.Flags(f)
	f.StringVar(&u.agents, "agents", "", "run on the `agents` of other hosts, all or some by name as h1,h2, instead of in this process; see fabricd agent")
	f.BoolVar(&u.detach, "detach", false, "with --agents: when interrupted, leave the fabric to the next fabricd up of this --fabric; fabricd down ends it")
	f.StringVar(&u.listen, "listen", DefaultListen, "address of the page, the HTTP API and the metrics; a free port when it is taken and was not given; off for none")
	u.web.flags(f)
	f.StringVar(&u.broker, "broker-listen", "127.0.0.1:0", "address of the embedded NATS server; port 0 is a free one")
	f.DurationVar(&u.lasts, "for", 0, "end by itself after this long, as 30s, as Ctrl-C does")
	f.Lookup("for").DefValue = "0"
	f.DurationVar(&u.drain, "drain-timeout", DrainTime, "how long Ctrl-C waits for the packets in flight; when some "+
		"are left the ledger is not checked, and the exit code is 1")
	command.Bound(f, "for", time.Millisecond, time.Duration(fault.MaxDuration))
	command.Bound(f, "drain-timeout", time.Millisecond, scenario.MaxDuration)
	f.BoolVarP(&u.asJSON, "json", "j", false, "print events and samples as JSON lines, and the ledger at the end")
	f.BoolVarP(&u.verbose, "verbose", "v", false, "log what happens to stderr")
	command.Complete(cmd, "topology", topology.Kinds)
	command.CompleteRouting(cmd, nil, subnet.None)
	command.Complete(cmd, "traffic", trafficWords)
	command.Complete(cmd, "method", manage.Words)
	command.Renamed(cmd, "name", "fabric")
	command.Renamed(cmd, "manager", "method")
	command.Renamed(cmd, "leave", "detach")
	return cmd
}

// options turns the flags into those of a fabric, all but the transport, and chooses a routing if
// none is given.
func (u *upFlags) options(ctx context.Context, stderr io.Writer) (fabric.Options, error) {
	g, err := command.LoadTopology(stderr, u.settings.Topology)
	if err != nil {
		return fabric.Options{}, err
	}
	return u.optionsOn(ctx, g)
}

// optionsOn is options on a topology that is there already.
func (u *upFlags) optionsOn(ctx context.Context, g *topology.Graph) (fabric.Options, error) {
	s := &u.settings
	s.Traffic = cmp.Or(s.Traffic, defaultTraffic(g, cmp.Or(s.Link.Rate, fabric.DefaultRate), theseCores()))
	s.Firmware = cmp.Or(s.Firmware, subnet.Default(g))
	made, wrong := scenario.Build(*s, g)
	if err := u.mistakes(wrong); err != nil {
		return made.Options, err
	}
	if s.Manager.Method != manage.Auto && made.Manager.On() {
		if _, err := manage.New(ctx, g, made.Routing, made.Manager, made.Options.Switch.VCs); err != nil {
			return made.Options, err
		}
	}
	s.Firmware, s.Manager.Method, u.unmanaged = made.Routing, made.Manager.String(), made.Unmanaged
	return made.Options, nil
}

func (u upFlags) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if err := bus.ValidateFabric(u.fabric); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	if u.verbose {
		log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	on, err := u.cluster(ctx, log, stdout, stderr)
	if err != nil {
		return err
	}
	if on != nil {
		defer on.close()
		return on.run(ctx)
	}
	o, err := u.options(ctx, stderr)
	if err != nil {
		return err
	}
	claim, err := registry.Take(u.fabric)
	if err != nil {
		return err
	}
	defer func() { _ = claim.Release() }() // the lock goes with the process in any case

	keeps := ""
	if _, programmed := o.Firmware.(tables.Programmed); programmed {
		if keeps, err = claim.Store(); err != nil {
			return err
		}
	}
	at, err := u.server.Resolve(os.Getenv)
	if err != nil {
		return err
	}
	var lost <-chan struct{}
	if at.URL != "" {
		name, err := takeName(ctx, u.fabric, at, false, log, stderr)
		if err != nil {
			return err
		}
		defer name.close()
		lost = name.lost
	}
	link, err := command.BrokerConfig{Name: u.fabric, Listen: u.broker, Keeps: keeps, Server: u.server, Log: log}.Open(stderr)
	if err != nil {
		return err
	}
	defer func() { _ = link.Close() }() // it all goes with the process
	o.Transport = link.Transport
	return leader{
		upFlags: u, link: link, claim: claim, log: log, stdout: stdout, stderr: stderr, lost: lost,
		up: command.NewStartProgress(stderr),
	}.run(ctx, o)
}
