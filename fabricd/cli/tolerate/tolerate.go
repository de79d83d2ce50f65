// Package tolerate is the command fabricd tolerate: which sets of dead links are got around in tori
// and meshes.
package tolerate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/work"
)

// tolerateFlags are those of fabricd tolerate.
type tolerateFlags struct {
	topology, faults, region, center string
	mechanisms, down                 []string
	samples, seed                    uint64
	jobs                             int
	limit, noSymmetry, paths, json   bool

	on     command.On
	engine work.Engine // nil: this process

	counting []string // flags that were given and are for counting sets
}

// Command is fabricd tolerate.
func Command() *cobra.Command {
	var u tolerateFlags
	cmd := &cobra.Command{
		Use: "tolerate [SRC DST]",
		Short: "Ask which sets of dead links intermediate nodes, misroutes and deterministic routing get around, in tori " +
			"and meshes",
		Long: `Counts the sets of dead links that mechanisms tolerate in a torus or a mesh: those with which every ordered pair of switches that live links
join has a way of live links. Mechanisms are I (an intermediate node), IxN (up to N), D (deterministic sub-paths), M (misroutes), and any of
them together, as in I+D; none is adaptive routing alone. Nothing runs: it is a question to the control plane.

All sets of --faults links are taken, unless --samples draws some. Sets that symmetries of the topology map onto each other are judged once. With
--region distance-1 only the links of the nodes next to one node may die.

--limit finds instead how many faults are tolerated wherever they are, and a smallest set that is not: exactly, by branch and bound over
the ways of each pair, also where there are too many sets to count. --down judges one set of links or switches; --paths lists the ways of
the pairs it affects, SRC DST that of one pair.

Exit codes: 0 all sets are tolerated (with --limit: the limits are found), 1 some are not, 2 wrong input, or interrupted.`,
		Example: "  fabricd tolerate --topology torus:3x3x3 --mechanisms I+D --faults 3\n" +
			"  fabricd tolerate --mechanisms I,D,M,I+D,I+M,Ix2 --faults 1-5 --json\n" +
			"  fabricd tolerate --mechanisms I+D,I+M --faults 6-14 --samples 200000\n" +
			"  fabricd tolerate --mechanisms I+M --faults 8 --region distance-1\n" +
			"  fabricd tolerate --topology torus:5x5x5 --mechanisms I+D,Ix2 --limit\n" +
			"  fabricd tolerate --topology torus:8x8 --mechanisms I+D --down s0.0-s0.1,s3.3 s0.0 s0.1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("the way of what? name two switches, the source and the destination, or none; found %s",
					strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"faults", "samples", "sim-seed", "no-symmetry"} {
				if cmd.Flags().Changed(name) {
					u.counting = append(u.counting, "--"+name)
				}
			}
			if u.on.Given() && (u.limit || len(u.down) > 0) {
				return errors.New("--on is for counting sets: leave it out, or --limit and --down")
			}
			return u.on.Run(cmd, args, nil, func(engine work.Engine) error {
				u.engine = engine
				return u.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&u.topology, "topology", "t", "torus:3x3x3",
		"torus or mesh, or a file of one; see fabricd topology generate --help")
	f.StringSliceVarP(&u.mechanisms, "mechanisms", "m", []string{"I+D"},
		"mechanisms as I+D or Ix2; several with commas, or by repeating the flag")
	f.StringVar(&u.faults, "faults", "1", "links that are dead, as 3, or from a number to another, as 1-5")
	f.Uint64Var(&u.samples, "samples", 0, "draw so many sets of each size instead of taking all; 0 is all")
	f.Uint64Var(&u.seed, "sim-seed", 1, "seed of --samples")
	f.StringVar(&u.region, "region", tolerate.Whole,
		"which links may die: all, or those of the switches that are so near to one, as distance-1")
	f.StringVar(&u.center, "center", "",
		"with --region distance-1: the switch in the middle; unless given that in the middle of the topology")
	f.BoolVar(&u.limit, "limit", false,
		"find how many faults are tolerated wherever they are, and a smallest set that is not")
	f.StringSliceVar(&u.down, "down", nil, "judge this set: links, or switches for all of theirs, as s0.0-s0.1,s3.3")
	f.BoolVar(&u.paths, "paths", false, "with --down: list the paths of all pairs that it affects")
	f.BoolVar(&u.noSymmetry, "no-symmetry", false, "judge sets too that are the same as others but for where they are")
	f.IntVar(&u.jobs, "jobs", 0, "goroutines; 0 is one per core")
	command.Bound[uint64](f, "samples", 0, command.MaxSamples)
	command.Bound(f, "jobs", 0, command.MaxWorkers)
	f.BoolVarP(&u.json, "json", "j", false,
		"print one JSON object a line: for each of the mechanisms and each number of faults")
	u.on.Flags(cmd, nil, []string{"jobs", "json"}, nil)
	command.Complete(cmd, "topology", topology.Kinds)
	command.Complete(cmd, "region", func() []string { return tolerate.RegionNames })
	command.Complete(cmd, "mechanisms", func() []string {
		return []string{"I", "D", "M", "I+D", "I+M", "D+M", "I+D+M", "Ix2", "Ix2+D", "Ix3"}
	})
	command.Complete(cmd, "faults", func() []string { return []string{"1", "2", "3", "1-5"} })
	command.Renamed(cmd, "fail", "down")
	command.Renamed(cmd, "seed", "sim-seed")
	command.Renamed(cmd, "ways", "paths")
	command.Renamed(cmd, "workers", "jobs")
	return cmd
}

// asked is what is asked, made ready.
type asked struct {
	*tolerate.Query
	mechanisms  []direct.Mechanisms
	least, most int // faults
}

func (u *tolerateFlags) ask(stderr io.Writer) (a asked, err error) {
	g, err := command.LoadTopology(stderr, u.topology)
	if err != nil {
		return a, err
	}
	if a.Query, err = tolerate.NewQuery(g, u.region, u.center, cmp.Or(u.jobs, runtime.GOMAXPROCS(0))); err != nil {
		return a, err
	}
	for _, text := range u.mechanisms {
		m, err := direct.Parse(text)
		if err != nil {
			return a, err
		}
		if !slices.Contains(a.mechanisms, m) {
			a.mechanisms = append(a.mechanisms, m)
		}
	}
	if len(a.mechanisms) == 0 {
		return a, errors.New("--mechanisms is empty: name some, as I+D, or none for adaptive routing alone")
	}
	if a.least, a.most, err = command.ParseFaults(u.faults, true); err != nil {
		return a, err
	}
	if a.most > len(a.Links) && len(u.down) == 0 && !u.limit {
		return a, fmt.Errorf("--faults %s: %s may die", u.faults, command.Counted(len(a.Links), "link"))
	}
	return a, nil
}

func (u *tolerateFlags) check(pair []string) error {
	other := ""
	switch {
	case u.limit && len(u.down) > 0:
		return errors.New("--limit searches sets and --down gives one: leave one of them out")
	case u.limit:
		other = "--limit"
	case len(u.down) > 0:
		other = "--down"
	}
	switch {
	case other != "" && len(u.counting) > 0:
		return fmt.Errorf("%s: %s counts no sets: leave it out", strings.Join(u.counting, " and "), other)
	case len(u.down) == 0 && (u.paths || len(pair) > 0):
		return errors.New("ways are listed of a given set: give --down LINK")
	case u.center != "" && u.region == tolerate.Whole && len(u.down) == 0:
		return errors.New("--center is for --region distance-1: give that, or leave it out")
	case len(u.down) > 0 && (u.region != tolerate.Whole || u.center != ""):
		return errors.New("--region and --center choose links that may die, and --down names them: leave them out")
	}
	return nil
}

func (u *tolerateFlags) run(ctx context.Context, pair []string, stdout, stderr io.Writer) error {
	if err := u.check(pair); err != nil {
		return err
	}
	a, err := u.ask(stderr)
	if err != nil {
		return err
	}
	switch {
	case u.limit:
		return u.limits(ctx, a, stdout, stderr)
	case len(u.down) > 0:
		return u.given(ctx, a, pair, stdout)
	}
	return u.countAll(ctx, a, stdout, stderr)
}

// line prints a result at once, where they are JSON.
func (u *tolerateFlags) line(stdout io.Writer, v any) error {
	if !u.json {
		return nil
	}
	return command.JSON(stdout, v)
}

// ended prints the text of a run, where there is one, and says how it ends.
func (u *tolerateFlags) ended(stdout io.Writer, text func(w io.Writer) error, interrupted error, ok bool) error {
	if !u.json {
		if err := text(stdout); err != nil {
			return err
		}
	}
	switch {
	case interrupted != nil:
		return interrupted
	case !ok:
		return command.ErrFailed
	}
	return nil
}
