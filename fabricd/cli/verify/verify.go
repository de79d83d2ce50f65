// Package verify is the command fabricd verify: what a firmware does with dead links and switches,
// proven.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/verify"
	switching "github.com/weft-fabric/weft/switch"
)

// verifyFlags are those of fabricd verify.
type verifyFlags struct {
	topology, routing, mixed string
	faults, kind             string
	samples                  int
	seed                     uint64
	sets                     []string // of --set
	setsFile                 string
	ranged                   []string // flags given that choose sets otherwise
	when, registers          string
	vcs, jobs, concurrent    int
	oneByOne                 bool
	fixed, noSymmetry, first bool
	exhaustive               bool
	subfunction              string
	compare, perGroup        bool
	checkpoint, memory       string
	plot, scenario           string
	overlay                  []string
	json                     bool
	on                       command.On
	engine                   work.Engine // nil: this process

	tellEvery time.Duration // between lines of progress where there is no terminal
}

// The words for when faults come and for what registers hold, in the order of their values in
// verify.
var (
	whenWords     = []string{"before", "arriving", "flapping", "repaired"}
	registerWords = []string{"shared", "alone"}
)

// Command is fabricd verify.
func Command() *cobra.Command {
	v := verifyFlags{tellEvery: command.TellEvery}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove what a firmware does with dead links and switches, by running it in every state",
		Long: `Runs the firmware itself in every state that a packet can come to, for every pair of NICs and every set of faults, takes each
choice that it leaves as all of its choices, and tells: pairs that are not connected, livelocks, deadlocks, the longest path,
discards by rule. What does not hold is shown by the smallest counterexample found.

--mixed A,B verifies a fabric in which each switch runs one of two routings, as while a new one is rolled out: every
subset of the switches, each of which keeps to its routing. The counterexample names which switches run which.

--faults K takes all sets of up to K faults, --faults 4-10 those of 4 to 10; with --samples N, N random sets of exactly K, or
of each size. --set and --sets FILE verify given sets instead. Ctrl-C prints what was found so far; with --checkpoint FILE the same
command goes on from there. --memory 4GiB bounds what the process takes.

All sets of up to K links are explored at once where that is possible: what happens to a packet depends only on the
links that the firmware asks about. --exhaustive explores the sets one by one.

Exit codes: 0 it holds, 1 it does not hold, 2 wrong input, or interrupted.`,
		Example: "  fabricd verify --topology kary-ntree:4,3 --routing deterministic-link --faults 2\n" +
			"  fabricd verify --routing deterministic-switch --faults 2 --kind any --when arriving\n" +
			"  fabricd verify --topology kary-ntree:2,6 --routing adaptive-link --faults 1-10 --samples 500 --plot figure.svg\n" +
			"  fabricd verify --routing updown --set s0.00-s1.00,s1.10 --json | jq .counterexample",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("mixed") && cmd.Flags().Changed("routing") {
				return errors.New("--routing with --mixed, which names both routings: leave one of them out")
			}
			for _, name := range []string{"faults", "kind", "samples", "sim-seed", "per-group"} {
				if cmd.Flags().Changed(name) {
					v.ranged = append(v.ranged, "--"+name)
				}
			}
			return v.on.Run(cmd, args, nil, func(engine work.Engine) error {
				v.engine = engine
				return v.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	v.flags(cmd)
	return cmd
}

func (v *verifyFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&v.topology, "topology", "t", "kary-ntree:4,3",
		"topology, or a file; see fabricd topology generate --help")
	command.RoutingFlag(f, &v.routing)
	f.StringVar(&v.mixed, "mixed", "",
		"two routings, as adaptive-link,adaptive-link-digit: each switch runs one of them")
	f.StringVar(&v.faults, "faults", "1", "sets of up to so many faults, as 2, or of so many, as 4-10")
	f.StringVar(&v.kind, "kind", string(verify.Links),
		"what can be dead: link, switch (those without NICs, or all when each has some) or any")
	f.IntVar(&v.samples, "samples", 0, "draw so many sets of each size instead of taking all; 0 is all")
	f.BoolVar(&v.perGroup, "per-group", false,
		"up to so many dead links in each switch group of a tree; with --samples, so many in each at once")
	f.Uint64Var(&v.seed, "sim-seed", 1, "seed of --samples")
	f.StringArrayVar(&v.sets, "set", nil, "verify this set, as s0.00-s1.00,s1.10; may be repeated; empty is no fault")
	f.StringVar(&v.setsFile, "sets", "",
		"verify the sets in this file, one a line, # begins a comment; - is standard input")
	f.StringVar(&v.when, "when", whenWords[verify.Before], "faults come before the first packet, one by one between any "+
		"two hops (arriving), come and go (flapping), or some came and were repaired before (repaired)")
	f.IntVar(&v.concurrent, "max-concurrent", 0,
		"with --when flapping or repaired: at most so many faults of a set are dead at one moment; 0 is all of them")
	f.BoolVar(&v.oneByOne, "one-by-one", false,
		"with --when flapping: a switch that is back has its ports up one by one, in any order; Weft's are up together")
	f.StringVar(&v.registers, "registers", registerWords[verify.Shared],
		"what a packet finds in the switches' registers: what all flows can have written (shared), or its own (alone)")
	f.BoolVar(&v.fixed, "fixed-choice", false,
		"a packet keeps to the output it chose first while it waits; Weft's pipeline chooses anew")
	f.BoolVar(&v.noSymmetry, "no-symmetry", false,
		"explore sets and destinations too that are the same as others but for the numbers of ports")
	f.BoolVar(&v.exhaustive, "exhaustive", false, "explore the sets one by one, also where all can be explored at once")
	f.IntVar(&v.vcs, "vcs", 0, "virtual channels per link direction, 1 to 16; 0 is what the firmware needs")
	f.IntVar(&v.jobs, "jobs", 0, "goroutines; 0 is one per core")
	command.Bound(f, "samples", 0, command.MaxCount)
	command.Bound(f, "max-concurrent", 0, command.MaxCount)
	command.Bound(f, "vcs", 0, weft.MaxVCs)
	command.Bound(f, "jobs", 0, command.MaxWorkers)
	f.StringVar(&v.memory, "memory", "",
		"about what this process may take, as 4GiB; what needs more is explored in smaller parts, or named; "+
			"unless given, what is kept is bounded")
	f.BoolVar(&v.first, "first", false, "stop at the first set in which something is wrong")
	f.StringVar(&v.checkpoint, "checkpoint", "", "keep what is done in this file, and go on from it")
	f.StringVar(&v.subfunction, "subfunction", "", "check Duato's condition too, for adaptive firmwares in fat trees: "+
		"subtrees is the paper's routing subfunction, groups one for re-routing by two tiers")
	f.BoolVar(&v.compare, "compare", false,
		"count too the sets that up/down tables made anew connect, and those that are connected at all")
	f.StringVar(&v.plot, "plot", "",
		"draw the share of connected sets over the number of faults to this file, .svg or .png")
	f.StringArrayVar(&v.overlay, "overlay", nil,
		"result of an earlier run (--json) to draw into the plot too; may be repeated")
	f.StringVar(&v.scenario, "scenario", "", "write the counterexample to this file, as a scenario that replays it")
	f.BoolVarP(&v.json, "json", "j", false, "print the result as one JSON object")
	command.Complete(cmd, "topology", topology.Kinds)
	command.CompleteRouting(cmd, nil)
	command.Complete(cmd, "kind", verify.Kinds)
	command.Complete(cmd, "when", func() []string { return whenWords })
	command.Complete(cmd, "subfunction", func() []string { return subfunctionWords })
	command.Complete(cmd, "registers", func() []string { return registerWords })
	command.Complete(cmd, "faults", func() []string { return []string{"1", "2", "3", "0-10"} })
	command.Renamed(cmd, "seed", "sim-seed")
	command.Renamed(cmd, "at-once", "max-concurrent")
	command.Renamed(cmd, "workers", "jobs")
	v.on.Flags(cmd, nil, []string{"jobs", "json", "memory"}, []string{"checkpoint", "plot", "overlay", "scenario"})
	_ = cmd.MarkFlagFilename("plot", "svg", "png") // there are such flags
	_ = cmd.MarkFlagFilename("overlay", "json")
	_ = cmd.MarkFlagFilename("scenario", "yaml", "yml")
}

var subfunctionWords = []string{"subtrees", "groups"}

// config turns the flags into what to verify.
func (v *verifyFlags) config(ctx context.Context, stdin io.Reader, stderr io.Writer) (c verify.Config, err error) {
	if c.Graph, err = command.LoadTopology(stderr, v.topology); err != nil {
		return c, err
	}
	if v.mixed != "" {
		c.Mixed = &verify.Mixed{}
		if v.routing, c.Mixed.Name, err = bothOf(v.mixed); err != nil {
			return c, err
		}
		if c.Mixed.Firmware, c.Mixed.Around, c.Mixed.Name, err = v.made(ctx, c.Mixed.Name, c.Graph); err != nil {
			return c, err
		}
	}
	v.routing = cmp.Or(v.routing, subnet.Default(c.Graph))
	if c.Firmware, c.Around, c.Name, err = v.made(ctx, v.routing, c.Graph); err != nil {
		return c, err
	}
	if c.Sets, err = v.faultSets(c.Graph, stdin); err != nil {
		return c, err
	}
	when, err := wordAt("--when", v.when, whenWords)
	if err != nil {
		return c, err
	}
	regs, err := wordAt("--registers", v.registers, registerWords)
	if err != nil {
		return c, err
	}
	if v.subfunction != "" && (len(c.Graph.Switches) == 0 || c.Graph.Place(0).Tree == nil) {
		return c, fmt.Errorf("--subfunction knows trees only, and %s is none", c.Graph.Spec)
	}
	c.When, c.AtOnce, c.OneByOne, c.Regs = verify.When(when), v.concurrent, v.oneByOne, verify.Registers(regs)
	c.Engine = v.engine
	c.VCs, c.Workers, c.Exhaustive = v.vcs, v.jobs, v.exhaustive
	if v.memory != "" {
		if c.Memory, err = cluster.ParseBytes(v.memory); err != nil {
			return c, fmt.Errorf("--memory: %w", err)
		}
	}
	c.FixedChoice, c.NoSymmetry, c.StopAtFirst, c.Checkpoint = v.fixed, v.noSymmetry, v.first, v.checkpoint
	if v.subfunction != "" {
		i, err := wordAt("--subfunction", v.subfunction, subfunctionWords)
		if err != nil {
			return c, err
		}
		c.Subfunction = [...]verify.Subfunction{verify.FaultFreeSubtrees, verify.FaultFreeGroups}[i]
	}
	if v.compare {
		if c.Compare, err = verify.CompareUpDown(c.Graph); err != nil {
			return c, fmt.Errorf("--compare: %w", err)
		}
	}
	return c, nil
}

// around makes a firmware knowing what is dead.
type around func(dead *subnet.Dead) (fw switching.Firmware, vcs int, err error)

// made is a routing by name, what makes it knowing what is dead, if it is to be known, and its full
// name.
func (v *verifyFlags) made(
	ctx context.Context, name string, g *topology.Graph,
) (fw switching.Firmware, a around, full string, err error) {
	routing, err := subnet.ByName(name)
	if err != nil {
		return fw, nil, "", err
	}
	if routing.Around != nil && v.when == whenWords[verify.Before] {
		a = func(dead *subnet.Dead) (switching.Firmware, int, error) { return routing.Around(ctx, g, dead) }
	}
	fw, _, err = routing.New(ctx, g)
	return fw, a, routing.Name, err
}

// bothOf are the two routings of --mixed. Options of a routing have commas too, so the one between
// the routings is that before the name of a routing.
func bothOf(text string) (a, b string, err error) {
	for i, c := range text {
		name, _, _ := strings.Cut(text[i+1:], ",")
		if c == ',' && subnet.Known(name) {
			if a != "" {
				return "", "", fmt.Errorf("--mixed %s: expected two routings, found more", text)
			}
			a, b = text[:i], text[i+1:]
		}
	}
	if a == "" {
		if first, second, both := strings.Cut(text, ","); both && subnet.Known(first) {
			_, err = subnet.ByName(second) // which names the nearest
			return "", "", err
		}
		return "", "", fmt.Errorf("--mixed %s: expected two routings, as adaptive-link,adaptive-link-digit", text)
	}
	return a, b, nil
}

// wordAt is the place of a word among those that a flag takes.
func wordAt(flag, word string, words []string) (int, error) {
	for i, w := range words {
		if w == word {
			return i, nil
		}
	}
	return 0, document.Unknown("value of "+flag, word, words)
}

func (v *verifyFlags) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	earlier, err := v.prepare()
	if err != nil {
		return err
	}
	c, err := v.config(ctx, stdin, stderr)
	if err != nil {
		return err
	}
	if c.Memory > 0 { // garbage is collected before it is in the way
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(c.Memory))
	}
	p := command.NewProgress(stderr, command.Terminal(stderr), "destinations", v.tellEvery)
	c.Destinations = p.Told
	oneByOne := false
	c.Progress = func(done, total uint64) {
		if !oneByOne {
			p.Begin("fault sets")
		}
		oneByOne = true
		p.Told(done, total)
	}
	r, err := verify.Run(ctx, c)
	p.End()
	if err != nil {
		return err
	}
	if v.first && !r.Pass && !r.Interrupted {
		r.Notes = append(r.Notes,
			"stopped at the first set in which something is wrong: the counts are of the sets explored until then")
	}
	if v.json {
		err = command.JSON(stdout, r)
	} else {
		err = printVerified(stdout, c, r)
	}
	if err != nil {
		return err
	}
	if v.plot != "" && !r.Interrupted {
		if err := plotConnectivity(v.plot, append([]*verify.Result{r}, earlier...)); err != nil {
			return err
		}
	}
	if v.scenario != "" && r.Counter != nil {
		if err := r.Counter.Write(v.scenario, c); err != nil {
			return fmt.Errorf("--scenario: %w", err)
		}
	}
	switch {
	case r.Interrupted:
		return v.interrupted(r, p)
	case r.Undecided != "" && r.Counter == nil:
		return fmt.Errorf("%s is not decided: for this firmware that takes one set after the other, and there are "+
			"too many: ask for fewer faults or for samples", r.Undecided)
	case !r.Pass:
		return command.ErrFailed
	}
	return nil
}

// prepare finds out before the work, which may take hours, what could not be written or read after
// it.
func (v *verifyFlags) prepare() (earlier []*verify.Result, err error) {
	if v.plot == "" && len(v.overlay) > 0 {
		return nil, errors.New("--overlay without --plot: name the file to draw to")
	}
	if v.plot != "" {
		if err := command.PlotFormat(v.plot); err != nil {
			return nil, err
		}
	}
	for flag, path := range map[string]string{"--plot": v.plot, "--scenario": v.scenario, "--checkpoint": v.checkpoint} {
		if err := command.CanWrite(flag, path); err != nil {
			return nil, err
		}
	}
	for _, path := range v.overlay {
		r, err := readResult(path)
		if err != nil {
			return nil, err
		}
		earlier = append(earlier, r)
	}
	return earlier, nil
}

// interrupted says how to go on.
func (v *verifyFlags) interrupted(r *verify.Result, p *command.Progress) error {
	how := "with --checkpoint FILE the next run could go on from here"
	if v.checkpoint != "" {
		how = "the same command goes on from " + v.checkpoint
	}
	of := ""
	if p.Total > 0 {
		of = " of " + command.Grouped(p.Total)
	}
	if r.Method == verify.Lazy {
		return fmt.Errorf("interrupted while all sets were explored at once: %s", how)
	}
	return fmt.Errorf("interrupted after %s%s fault sets: %s", command.Grouped(r.FaultSets), of, how)
}
