// Package up has the commands of a live fabric: fabricd up, which launches it, and of one on agents
// fabricd state and fabricd down.
package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// upFlags are the flags of fabricd up.
type upFlags struct {
	fileFlags
	settings settings.Settings
	given    []string // names of flags
	agents   string
	listen   string
	asJSON   bool
	verbose  bool
	server   bus.Settings
	config   lead.Config // what the flags are, the above aside
}

// Command is fabricd up.
func Command() *cobra.Command {
	u := upFlags{settings: settings.Settings{
		Topology: lead.DefaultTopology, Link: settings.Link{Paced: true}, Manager: settings.Manager{Method: manage.Auto},
	}}
	cmd := &cobra.Command{
		Use:     "up",
		Aliases: []string{"deploy"},
		Short:   "Launch a live fabric and keep it running until Ctrl-C",
		Example: "  fabricd up\n  fabricd up --topology mport-tree:8,3 --routing deterministic-link --traffic " +
			"uniform:0.1\n  fabricd up --topology torus:4x4\n  fabricd up --topology irregular:16,32,1 --routing " +
			"updn:layers=2,tree=dfs",
		Long: "Launch a live fabric and keep it running until Ctrl-C.\n\n" + trafficHelp(),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.given = changed(cmd.Flags())
			if err := u.complete(cmd.ErrOrStderr()); err != nil {
				return err
			}
			err := command.Unhurried(cmd.OutOrStdout(), cmd.ErrOrStderr(), u.asJSON, func(stdout, stderr io.Writer) error {
				return u.run(cmd.Context(), stdout, stderr)
			})
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				fmt.Fprintf(cmd.ErrOrStderr(), "fabricd: interrupted before fabric %s was up: nothing of it is left\n",
					u.config.Name)
				return nil
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&u.config.Name, "fabric", "weft", "name of the fabric, as linkmon finds it")
	u.fileFlags.flags(f)
	command.SettingFlags(f, &u.settings, map[string]string{
		"topology": "topology, or a file; see fabricd topology generate --help",
		"routing":  command.RoutingHelp(", none to forward nothing"),
		"method": "method of the subnet manager, which replaces tables after faults: " + manage.Syntax() +
			"; auto: ddrc in fat trees, dqr for other " +
			"deterministic tables that it can keep, direct in meshes and tori with mechanisms, engine for adaptive ones, " +
			"none for rules",
		"traffic": "what every NIC injects: PATTERN:LOAD[,OPTION=...], load a share of the " +
			"link rate; see above; unless given uniform, at most 0.2, and less in a fabric so large that the cores of this " +
			"machine would not carry that with a third to spare",
		"unpaced": "let links go as fast as the machine; --link-rate then only scales the traffic",
	})
	u.server.Flags(f)
	f.StringVar(&u.agents, "agents", "",
		"run on the `agents` of other hosts, all or some by name as h1,h2, instead of in this process; see fabricd agent")
	f.BoolVar(&u.config.Detach, "detach", false,
		"with --agents: when interrupted, leave the fabric to the next fabricd up of this --fabric; fabricd down ends it")
	f.StringVar(&u.listen, "listen", lead.DefaultListen,
		"address of the page, the HTTP API and the metrics; a free port when it is taken and was not given; off for none")
	f.StringVar(&u.config.InfiniBand, "ib", "", "let programs of InfiniBand in, as OpenSM and ibnetdiscover, "+
		"under this `name`, the fabric's unless given; a subnet manager then writes the tables, unless --routing "+
		"says otherwise; see fabricd ib")
	f.Lookup("ib").NoOptDefVal = ownName
	f.IntVar(&u.config.InfiniBandPriority, "ib-priority", 0, "with --ib: our own subnet manager stands by with this "+
		"`priority`, 1 to 15, and manages while no manager of a higher one does; none unless given")
	command.Bound(f, "ib-priority", 1, 15)
	f.StringVar(&u.config.Page.Tokens, "tokens", "",
		"`file` of tokens that may look or operate, as fabricd auth token makes it; that of --auth unless given")
	f.StringVar(&u.config.Page.CertFile, "page-cert", "",
		"certificate `file` for HTTPS; that of --auth unless given, where others than this machine can reach the page")
	f.StringVar(&u.config.Page.KeyFile, "page-key", "", "private key `file` of that certificate")
	f.StringVar(&u.config.Listen, "broker-listen", "127.0.0.1:0",
		"address of the embedded NATS server; port 0 is a free one")
	f.DurationVar(&u.config.For, "for", 0, "end by itself after this long, as 30s, as Ctrl-C does")
	f.Lookup("for").DefValue = "0"
	f.DurationVar(&u.config.Drain, "drain-timeout", lead.DrainTime,
		"how long Ctrl-C waits for the packets in flight, by the clock of the fabric; when some "+
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

// complete turns the flags into a config, all but what is told, and checks what can be before
// anything is opened.
func (u *upFlags) complete(stderr io.Writer) (err error) {
	if err := u.configure(stderr); err != nil {
		return err
	}
	c := &u.config
	c.Settings, c.Build = u.settings, command.ThisVersion()
	if err := u.infiniband(); err != nil {
		return err
	}
	if !slices.Contains(u.given, "topology") && u.file == "" {
		c.Settings.Topology = "" // that of a fabric that is there will do
	}
	if c.OnAgents = slices.Contains(u.given, "agents"); c.OnAgents {
		if c.Agents, err = agentNames(u.agents); err != nil {
			return err
		}
	}
	c.Page.AnyPort = !slices.Contains(u.given, "listen")
	switch u.listen {
	case listenOff:
	case "":
		return errors.New(`--listen "": expected host:port, as 127.0.0.1:8420, or off`)
	default:
		c.Page.Listen = u.listen
	}
	c.Server, err = u.server.Resolve(os.Getenv)
	return err
}

// ownName is --ib without a name.
const ownName = "the fabric's"

// infiniband completes what --ib says.
func (u *upFlags) infiniband() error {
	if u.config.InfiniBand == "" && u.config.InfiniBandPriority > 0 {
		return errors.New("--ib-priority is of a manager of InfiniBand: give --ib too")
	}
	if u.config.InfiniBand == "" {
		return nil
	}
	if u.config.InfiniBand == ownName {
		u.config.InfiniBand = u.config.Name
	}
	s := &u.config.Settings
	if !slices.Contains(u.given, "routing") && (u.doc == nil || s.Routing == "") {
		s.Routing = subnet.FromManager
	}
	if subnet.IsFromManager(s.Routing) && s.Manager.Method == manage.Auto {
		s.Manager.Method = manage.None // another manages
	}
	if !subnet.IsFromManager(s.Routing) && u.config.InfiniBandPriority > 0 {
		return fmt.Errorf("--ib-priority: a manager of InfiniBand writes tables for the routing %s, found %s: leave it out",
			subnet.FromManager, s.Routing)
	}
	return nil
}

// listenOff is --listen of a fabric without a page.
const listenOff = "off"

// agentNames reads --agents; none is all.
func agentNames(list string) (names []string, err error) {
	if list == "all" {
		return nil, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if err := bus.ValidateAgent(name); err != nil {
			return nil, fmt.Errorf("--agents %q: expected all, or names as h1,h2: %w", list, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// changed are the flags that were given, by their present names.
func changed(f *pflag.FlagSet) (names []string) {
	f.Visit(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

func (u *upFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	c, level := u.config, slog.LevelWarn
	if u.verbose {
		level = slog.LevelDebug
	}
	c.Page.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})) // warnings in any case
	if u.verbose {
		c.Log = c.Page.Log
	}
	c.Load = func(spec string) (*topology.Graph, error) { return command.LoadTopology(stderr, spec) }
	out := upOutput{json: u.asJSON, fabric: c.Name, lasts: c.For, stdout: stdout, line: command.NewLine(stdout)}
	c.Observer = lead.Observer{
		Note:     func(text string) { fmt.Fprintln(stderr, "fabricd: "+text) },
		Existing: func(is settings.Settings) { u.heeded(is, stderr) },
		Progress: (&command.StartProgress{Stderr: stderr}).OnProgress,
		Up: func(t *lead.Term) error {
			if err := u.write(t.Settings); err != nil {
				return err
			}
			out.banner(t)
			return nil
		},
		Standby: out.standby, Event: out.event, Sample: out.sample, Draining: out.draining, Ended: out.end,
	}
	l, err := lead.Start(ctx, c)
	if err == nil {
		err = l.Wait()
	}
	wrong, mistaken := errors.AsType[*lead.MistakesError](err)
	switch {
	case mistaken:
		return u.mistakes(wrong.List)
	case errors.Is(err, lead.ErrStoodBy):
		return nil
	case errors.Is(err, lead.ErrUnbalanced):
		return command.ErrFailed // what was printed shows it
	case errors.Is(err, lead.ErrLeft):
		fmt.Fprintf(stdout,
			"fabric %s goes on: lead it again with fabricd up --fabric %s, end it with fabricd down --fabric %s\n", c.Name,
			c.Name, c.Name)
		return nil
	}
	return err
}

// heeded says which settings of a fabric that is there already are other than what was given.
func (u *upFlags) heeded(s settings.Settings, stderr io.Writer) {
	var other []string
	is, want := s.Filled(), u.settings.Filled()
	for _, x := range settings.All() {
		if u.doc == nil && !slices.Contains(u.given, x.Flag) || x.Path == "topology" ||
			is.Text(x.Path) == want.Text(x.Path) ||
			x.Path == "manager.method" && want.Manager.Method == manage.Auto {
			continue
		}
		name := x.Path
		if x.Flag != "" {
			name = "--" + x.Flag
		}
		other = append(other, name+" "+command.SettingText(x, is))
	}
	if len(other) > 0 {
		fmt.Fprintf(stderr, "fabricd: fabric %s is there already, with %s: these flags do not change it; end it with "+
			"fabricd down to begin it anew\n",
			u.config.Name, strings.Join(other, " "))
	}
}
