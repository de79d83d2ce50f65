// Package reroute is the command fabricd reroute: what a reconfiguration would do with faults.
package reroute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/subnet/reroute"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/work"
)

// rerouteFlags are those of fabricd reroute.
type rerouteFlags struct {
	topology, routing, method string
	options                   map[string]*string // of method dqr, by flag
	down                      []string
	all                       bool
	random, faults, vcs       int
	seed                      uint64
	switchFlows, paths, json  bool
	on                        command.On
	engine                    work.Engine // nil: this process

	tellEvery time.Duration // between lines of progress where there is no terminal
}

// dqrFlags are the options of method dqr that have flags of their own.
var dqrFlags = []struct {
	flag, about string
	words       []string
}{
	{"plugin", "what enables turns around a dead link first", []string{"none", "mesh"}},
	{"path", "how new paths lead around a dead link", dqr.PathNames},
	{"turns", "which turns of a path are checked together", dqr.TurnsNames},
	{"layers", "in which layers paths are searched", dqr.LayersNames},
	{"entries", "on what table entries depend", dqr.EntriesNames},
	{"cost", "what counts first in a path", dqr.CostNames},
	{"revisit", "whether a path may pass a switch twice", dqr.RevisitNames},
	{
		"spare", "with --entries destination: whether flows may move to virtual channels that the tables do not use",
		manage.SpareNames,
	},
}

// Command is fabricd reroute.
func Command() *cobra.Command {
	u := rerouteFlags{options: map[string]*string{}, tellEvery: command.TellEvery}
	cmd := &cobra.Command{
		Use:   "reroute [SRC DST]",
		Short: "Ask what a reconfiguration would do with faults: flows moved, pairs left out, deadlock, time",
		Long: `Computes the tables of an engine, lets links die, and has a method of reconfiguration repair the tables. Tells how many flows (ordered
pairs of different NICs) got another path, which pairs have none, whether the dependencies of old and new paths together have a cycle, and
how long it computed. Nothing runs: it is a question to the control plane.

--down takes links, or switches, all of whose links die. Names in one --down die together; several --down come one after another, each
after the old packets of the one before are gone. --all tries every link between switches alone; --random N draws N times --faults links
that die one after another. --paths lists the new paths, of all flows or of those from SRC to DST, which are NICs, or switches for those of
their NICs.

Exit codes: 0 every flow that live links join has a path, and the new tables come into force while packets travel; 1 not so; 2 wrong input, or
interrupted.`,
		Example: "  fabricd reroute --topology mesh:20x20 --routing xy --down s9.9-s10.9 --method dqr --plugin mesh\n" +
			"  fabricd reroute --topology mesh:10x10 --down s4.4-s5.4 --down s4.5-s5.5 --paths n0.4 n9.4\n" +
			"  fabricd reroute --topology mesh:20x20 --method dqr --plugin mesh --all --json\n" +
			"  fabricd reroute --topology mport-tree:36,2 --switch-flows --path end-to-end --down s0.0-s1.0\n" +
			"  fabricd reroute --topology kary-ntree:4,3 --method ddrc --down s1.00",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("paths of what? name two, the source and the destination, or none; found %s",
					strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if u.on.Given() && !u.all && u.random == 0 {
				return errors.New("--on is for --all and --random, which are many faults: leave it out")
			}
			return u.on.Run(cmd, args, nil, func(engine work.Engine) error {
				u.engine = engine
				return u.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	u.flags(cmd)
	return cmd
}

func (u *rerouteFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&u.topology, "topology", "t", "mesh:20x20", "topology, or a file; see fabricd topology generate --help")
	f.StringVar(&u.routing, "routing", "", "what computed the tables: a deterministic routing of fabricd routes list; "+
		"unless given xy in meshes, e-cube in tori and rings, ftree in fat trees, lash elsewhere")
	f.StringVar(&u.method, "method", manage.DQR, "how they are repaired: "+manage.Syntax())
	for _, o := range dqrFlags {
		u.options[o.flag] = f.String(o.flag, "", "with --method dqr: "+o.about+": "+strings.Join(o.words, ", "))
		command.Complete(cmd, o.flag, func() []string { return o.words })
	}
	f.IntVar(&u.vcs, "vcs", weft.MaxVCs, "virtual channels that there are, per link direction")
	command.Bound(f, "vcs", 1, weft.MaxVCs)
	f.StringArrayVar(&u.down, "down", nil,
		"links or switches that die, as s9.9-s10.9,s3.3; may be repeated, one fault after another")
	f.BoolVar(&u.all, "all", false, "every link between switches, each alone")
	f.IntVar(&u.random, "random", 0, "so many times links are drawn that die one after another")
	f.IntVar(&u.faults, "faults", 1, "with --random: so many links each time")
	command.Bound(f, "random", 1, command.MaxCount)
	command.Bound(f, "faults", 1, command.MaxCount)
	f.Uint64Var(&u.seed, "sim-seed", 1, "seed of --random")
	f.BoolVar(&u.switchFlows, "switch-flows", false,
		"with --method dqr: switches send to switches too, as managers of InfiniBand have it")
	f.BoolVar(&u.paths, "paths", false, "list the flows that got another path, with both")
	f.BoolVarP(&u.json, "json", "j", false, "print the result as one JSON object")
	u.on.Flags(cmd, nil, []string{"json"}, nil)
	command.Complete(cmd, "topology", topology.Kinds)
	command.Complete(cmd, "routing", command.RoutesNames)
	command.Complete(cmd, "method", manage.Words)
	command.Renamed(cmd, "fail", "down")
	command.Renamed(cmd, "seed", "sim-seed")
	command.Renamed(cmd, "engine", "routing")
}

// parsed is the method with the options that have flags of their own.
func (u *rerouteFlags) parsed() (manage.Method, error) {
	text := u.method
	for _, o := range dqrFlags {
		flag, value := o.flag, *u.options[o.flag]
		if value == "" {
			continue
		}
		head, _, given := strings.Cut(text, ":")
		if head != manage.DQR {
			return manage.Method{}, fmt.Errorf("--%s is for --method %s, and the method is %s", flag, manage.DQR, head)
		}
		sep := ":"
		if given {
			sep = ","
		}
		text += sep + flag + "=" + value
	}
	m, err := manage.Parse(text)
	if err == nil && !m.On() {
		err = fmt.Errorf("method %s repairs nothing: choose another", m)
	}
	return m, err
}

// engineFor is the engine for those who name none.
func engineFor(g *topology.Graph) string {
	if len(g.Switches) == 0 {
		return command.DefaultRoutes()
	}
	switch place := g.Place(0); {
	case place.Tree != nil:
		return "ftree"
	case place.Grid == nil:
		return command.DefaultRoutes()
	default:
		for i := range place.Grid.Dims {
			if place.Grid.Around(i) {
				return "e-cube"
			}
		}
		return "xy"
	}
}

// faultsOf are those of --down.
func (u *rerouteFlags) faultsOf(g *topology.Graph) (list []reroute.Fault, err error) {
	for _, name := range u.down {
		links, err := command.LinksOf(g, name)
		if err != nil {
			return nil, err
		}
		list = append(list, reroute.Fault{Name: name, Links: links})
	}
	return list, nil
}

// listed says which flows are listed; nil: none.
func (u *rerouteFlags) listed(g *topology.Graph, pair []string) (func(dqr.Rerouted) bool, error) {
	switch {
	case len(pair) > 0:
		return reroute.Between(g, pair[0], pair[1])
	case u.paths:
		return func(dqr.Rerouted) bool { return true }, nil
	}
	return nil, nil
}

func (u *rerouteFlags) run(ctx context.Context, pair []string, stdout, stderr io.Writer) error {
	asks := 0
	for _, given := range []bool{len(u.down) > 0, u.all, u.random != 0} {
		if given {
			asks++
		}
	}
	switch {
	case asks != 1:
		return errors.New("which faults? give one of --down LINK, --all and --random N")
	case len(u.down) == 0 && (u.paths || len(pair) > 0):
		return errors.New("paths are listed of given faults: give --down LINK")
	case u.random == 0 && (u.faults != 1 || u.seed != 1):
		return errors.New("--faults and --sim-seed are for --random N: give that, or leave them out")
	}
	method, err := u.parsed()
	if err != nil {
		return err
	}
	g, err := command.LoadTopology(stderr, u.topology)
	if err != nil {
		return err
	}
	listed, err := u.listed(g, pair)
	if err != nil {
		return err
	}
	faults, err := u.faultsOf(g)
	if err != nil {
		return err
	}
	engine := cmp.Or(u.routing, engineFor(g))
	if _, err := subnet.ByName(engine); err != nil {
		return err
	}
	var r result
	q, err := reroute.NewQuery(ctx, g, engine, method, reroute.Options{SwitchFlows: u.switchFlows, VCs: u.vcs})
	switch {
	case err != nil:
	case len(faults) > 0:
		r, err = q.Given(ctx, faults, listed)
	default:
		r, err = u.many(ctx, q, stderr)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted, nothing is told")
	case err != nil:
		return err
	case u.json:
		err = command.JSON(stdout, r)
	default:
		err = printResult(stdout, r)
	}
	if err == nil && !r.Holds() {
		err = command.ErrFailed
	}
	return err
}

// result is a [reroute.GivenResult] or a [reroute.ManyResult].
type result interface{ Holds() bool }

// many tries every link, or links that are drawn.
func (u *rerouteFlags) many(ctx context.Context, q *reroute.Query, stderr io.Writer) (*reroute.ManyResult, error) {
	p := command.NewProgress(stderr, command.Terminal(stderr), "faults", u.tellEvery)
	defer p.End()
	told := func(done, of int) { p.Told(uint64(done), uint64(of)) }
	if u.all {
		return q.Each(ctx, u.engine, told)
	}
	return q.Random(ctx, u.engine, u.random, u.faults, u.seed, told)
}
