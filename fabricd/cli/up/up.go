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

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/trace"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/tables"
)

// upFlags are the flags of fabricd up.
type upFlags struct {
	fabric, topology, routing, traffic, broker, method string

	unmanaged error // why there is no manager though one was to be chosen; nil: there is, or needs none

	agents        string
	topologyGiven bool     // else what runs on agents is led on
	given         []string // names of flags
	detach        bool     // when interrupted

	web         webFlags
	listen      string
	listenGiven bool // else a free port does, too

	vcs, input, output int
	rate               float64
	delay              time.Duration
	unpaced, asJSON    bool
	drain              time.Duration
	seed               uint64
	verbose            bool

	server bus.Settings

	requeue     bool
	hello       time.Duration
	helloGiven  bool // else large fabrics say hello less often
	multiplier  int
	dampingHalf time.Duration
	notices     time.Duration
	traceEvery  int
}

// Command is fabricd up.
func Command() *cobra.Command {
	var u upFlags
	cmd := &cobra.Command{
		Use:     "up",
		Aliases: []string{"deploy"},
		Short:   "Launch a live fabric and keep it running until Ctrl-C",
		Example: "  fabricd up\n  fabricd up --topology mport-tree:8,3 --routing deterministic-link --traffic uniform:0.1\n  fabricd up --topology torus:4x4\n  fabricd up --topology irregular:16,32,1 --routing updn:layers=2,tree=dfs",
		Long:    "Launch a live fabric and keep it running until Ctrl-C.\n\n" + trafficHelp(),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.helloGiven, u.listenGiven = cmd.Flags().Changed("hello-interval"), cmd.Flags().Changed("listen")
			u.topologyGiven, u.given = cmd.Flags().Changed("topology"), changed(cmd.Flags())
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
	f.StringVarP(&u.topology, "topology", "t", "kary-ntree:4,3", "topology, or a file; see fabricd topology generate --help")
	command.RoutingFlag(f, &u.routing, ", none to forward nothing")
	f.StringVar(&u.method, "method", manage.Auto,
		"method of the subnet manager, which replaces tables after faults: "+manage.Syntax()+"; auto: ddrc in fat trees, dqr for other "+
			"deterministic tables that it can keep, direct in meshes and tori with mechanisms, engine for adaptive ones, "+
			"none for rules")
	f.StringVar(&u.traffic, "traffic", "", "what every NIC injects: PATTERN:LOAD[,OPTION=...], load a share of the "+
		"link rate; see above; unless given uniform, at most 0.2, and less in a fabric so large that the cores of this "+
		"machine would not carry that with a third to spare")
	u.server.Flags(f)
	f.StringVar(&u.agents, "agents", "", "run on the `agents` of other hosts, all or some by name as h1,h2, instead of in this process; see fabricd agent")
	f.BoolVar(&u.detach, "detach", false, "with --agents: when interrupted, leave the fabric to the next fabricd up of this --fabric; fabricd down ends it")
	f.StringVar(&u.listen, "listen", DefaultListen, "address of the page, the HTTP API and the metrics; a free port when it is taken and was not given; off for none")
	u.web.flags(f)
	f.StringVar(&u.broker, "broker-listen", "127.0.0.1:0", "address of the embedded NATS server; port 0 is a free one")
	f.IntVar(&u.vcs, "vcs", 0, "virtual channels per link direction, 1 to 16; 0 is what the firmware needs, and the manager for spare layers")
	f.IntVar(&u.input, "input-buffer", 0, "packets per input VC queue; 0 is 2")
	f.IntVar(&u.output, "output-buffer", 0, "packets per output VC queue; 0 is 2")
	f.Float64Var(&u.rate, "link-rate", fabric.DefaultRate, "bytes per second of a link; a packet has 256")
	f.DurationVar(&u.delay, "link-delay", 0, "propagation delay of a link, as 1ms")
	f.DurationVar(&u.drain, "drain-timeout", DrainTime, "how long Ctrl-C waits for the packets in flight; when some "+
		"are left the ledger is not checked, and the exit code is 1")
	f.BoolVar(&u.unpaced, "unpaced", false, "let links go as fast as the machine; --link-rate then only scales the traffic")
	f.BoolVar(&u.requeue, "requeue", false, "route packets again that are queued for a dead link, instead of losing them")
	f.DurationVar(&u.notices, "notices", 0, "have switches tell the source of a packet that they discard, which then sends nothing there for so long, as 2s; 0 is off")
	f.IntVar(&u.traceEvery, "trace-every", 0, "trace one of so many packets that each NIC generates, for linkmon trace --all and the page; 0 is none")
	f.DurationVar(&u.hello, "hello-interval", fabric.DefaultInterval.Duration(), "time between hellos on a link, longer in large fabrics unless given; 0 turns them off, and silent cuts are never noticed")
	f.IntVar(&u.multiplier, "hello-multiplier", fabric.DefaultMultiplier, "so many hellos must be missing before a neighbour counts as dead, 1 to 255")
	f.DurationVar(&u.dampingHalf, "damping", 0, "keep links down that flap: each loss counts 1, halved every so often, as 5s; above 3 a link is held down until 1, at most four times as long; 0 is off")
	f.Uint64Var(&u.seed, "sim-seed", 1, "seed of every random draw")
	command.Bound(f, "vcs", 0, weft.MaxVCs)
	command.Bound(f, "input-buffer", 0, weft.MaxBuffer)
	command.Bound(f, "output-buffer", 0, weft.MaxBuffer)
	command.Bound[float64](f, "link-rate", fault.MinRate, fault.MaxRate)
	command.Bound(f, "link-delay", 0, fabric.MaxDelay)
	command.Bound(f, "drain-timeout", time.Millisecond, scenario.MaxDuration)
	command.Bound(f, "notices", 0, fabric.MaxNotices)
	command.Bound(f, "trace-every", 0, command.MaxCount)
	command.Bound(f, "hello-interval", 0, link.MaxInterval.Duration())
	command.Bound(f, "hello-multiplier", 1, link.MaxMultiplier)
	command.Bound(f, "damping", 0, link.MaxHalfLife.Duration())
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
func (u *upFlags) options(stderr io.Writer) (fabric.Options, error) {
	g, err := command.LoadTopology(stderr, u.topology)
	if err != nil {
		return fabric.Options{}, err
	}
	return u.optionsOn(g)
}

// optionsOn is options on a topology that is there already.
func (u *upFlags) optionsOn(g *topology.Graph) (fabric.Options, error) {
	o := fabric.Options{Topology: g}
	var err error
	u.traffic = cmp.Or(u.traffic, defaultTraffic(g, cmp.Or(u.rate, fabric.DefaultRate), theseCores()))
	if o.Traffic, err = trace.Traffic(u.traffic); err != nil {
		return o, err
	}
	o.Switch = fabric.SwitchOptions{VCs: u.vcs, InputBuffer: u.input, OutputBuffer: u.output, Requeue: u.requeue}
	o.Link = fabric.LinkOptions{Rate: u.rate, Paced: !u.unpaced, Delay: u.delay}
	if err := u.liveness(&o.Link); err != nil {
		return o, err
	}
	o.Seed, o.NIC.Notices = u.seed, u.notices
	o.NIC.TraceEvery = u.traceEvery
	u.routing = cmp.Or(u.routing, subnet.Default(o.Topology))
	method, err := u.chooseManager(o.Topology)
	if err != nil {
		return o, err
	}
	u.method = method.String()
	fw, vcs, err := subnet.Firmware(u.routing, o.Topology)
	if err != nil {
		return o, err
	}
	o.Firmware = fw
	switch {
	case u.vcs == 0:
		o.Switch.VCs = method.VCs(vcs)
	case u.vcs < vcs:
		return o, fmt.Errorf("--vcs %d: %s needs %d on %s: give %d to %d, or leave it to fabricd", u.vcs, u.routing, vcs, o.Topology.Spec, vcs, weft.MaxVCs)
	}
	if u.routing == subnet.None {
		o.Traffic = nic.Traffic{}
	}
	return o, nil
}

// liveness sets how ends find out about silent neighbours and what becomes of links that flap.
func (u upFlags) liveness(o *fabric.LinkOptions) error {
	c := link.Liveness{Interval: weft.FromDuration(u.hello), Multiplier: u.multiplier}
	if half := weft.FromDuration(u.dampingHalf); half != 0 {
		c.Damping = link.Damping{HalfLife: half, Suppress: 3, Reuse: 1, Max: 4 * half}
	}
	if err := c.Validate(); err != nil {
		return err
	}
	o.NoLiveness = u.hello == 0
	if !u.helloGiven {
		c.Interval = 0
	}
	o.Liveness = c
	return nil
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
	o, err := u.options(stderr)
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
