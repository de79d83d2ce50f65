package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/modules"
	"github.com/weft-fabric/weft/fabricd/subnet"
)

// everySwitch is the word for them.
const everySwitch = "all"

func (m *monitor) loadCommand() *cobra.Command {
	var rolling bool
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "load SWITCH...|all FIRMWARE",
		Short: "Have switches run another firmware, while packets flow",
		Long: `load gives switches another firmware, by its name as for fabricd up. A switch takes it between two
packets: packets in its queues stay, those that wait for room are routed anew, and registers of the same name and width
keep their values.

With --rolling one switch after the other takes it. Ctrl-C ends a roll-out: the other switches run what they ran. At
the end load says what it cost: packets lost, discarded, reordered and re-routed meanwhile, in the whole fabric.

Whether packets that two firmwares have routed can wait for each other for ever: fabricd verify --mixed OLD,NEW.`,
		Example: "  linkmon load s1.03 adaptive-link-digit\n  linkmon load all adaptive-switch --rolling --every 2s",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return errors.New("load needs the names of switches, or all, and that of a firmware: " +
					"linkmon load s1.03 adaptive-link")
			case slices.Contains(args, ""):
				return errors.New("load with an empty name")
			case len(args) > 2 && slices.Contains(args[:len(args)-1], everySwitch):
				return errors.New("load of all switches and of some: name one or the other")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				last := len(args) - 1
				order := api.LoadRequest{Switches: args[:last], Routing: args[last]}
				if args[0] == everySwitch {
					order.Switches = nil
				}
				r := rollout{client: c, order: order, out: cmd.OutOrStdout()}
				if rolling || cmd.Flags().Changed("every") {
					r.every = max(every, time.Nanosecond)
				}
				if m.json {
					r.out = io.Discard
				}
				cost, err := r.run(ctx)
				if err == nil && m.json {
					return command.JSON(cmd.OutOrStdout(), cost)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&rolling, "rolling", false, "one switch after the other")
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "from one switch to the next, with --rolling")
	command.Bound(cmd.Flags(), "every", 0, fault.MaxDuration)
	switches := m.completeSwitches(anySwitch)
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, word string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		words, how := switches(cmd, nil, word)
		if len(args) == 0 {
			return append(words, everySwitch), how
		}
		return append(words, subnet.Names()...), how
	}
	return cmd
}

// rollout loads firmware into switches and says what that cost.
type rollout struct {
	client *api.Client
	order  api.LoadRequest
	every  time.Duration // from one switch to the next; 0: all at once
	out    io.Writer
}

// Rollout is what it did and cost: what the whole fabric counted meanwhile.
type Rollout struct {
	Routing   string  `json:"routing"`
	Switches  int     `json:"switches"` // that run it now
	Of        int     `json:"of"`
	Seconds   float64 `json:"seconds"`
	Delivered uint64  `json:"delivered"`
	Lost      uint64  `json:"lost"`
	Discarded uint64  `json:"discarded"`
	Reordered uint64  `json:"reordered"`
	Rerouted  uint64  `json:"rerouted"`
	// WorstBefore and Worst are the longest latency of a packet until the beginning and until the
	// end, in microseconds.
	WorstBefore float64 `json:"worst_before_us"`
	Worst       float64 `json:"worst_us"`
}

// settleTime is how long the packets that the last switches have routed are counted. Chosen by us.
const settleTime = time.Second

func (r *rollout) run(ctx context.Context) (cost Rollout, err error) {
	if err := modules.Add(); err != nil {
		return cost, err
	}
	check := r.order
	check.Check = true
	if r.order.Routing, check.File, err = subnet.Pin(r.order.Routing); err != nil {
		return cost, err
	}
	check.Routing = r.order.Routing
	all, err := r.client.Load(ctx, check)
	if err != nil {
		return cost, err
	}
	before, err := r.client.Status(ctx)
	if err != nil {
		return cost, err
	}
	begun := time.Now()
	steps := [][]string{all.Switches}
	if r.every > 0 {
		steps = slices.Collect(slices.Chunk(all.Switches, 1))
	}
	done := 0
	for i, names := range steps {
		if i > 0 && !wait(ctx, r.every) {
			break
		}
		// What has begun ends, so that it is known what runs.
		order := api.LoadRequest{Switches: names, Routing: r.order.Routing}
		loaded, err := r.client.Load(context.WithoutCancel(ctx), order)
		if err != nil {
			return cost, fmt.Errorf("%d of %d switches run %s: %w", done, len(all.Switches), r.order.Routing, err)
		}
		done += len(loaded.Switches)
		if r.every > 0 {
			fmt.Fprintf(r.out, "%6.1fs  %s runs %s, %d of %d\n",
				time.Since(begun).Seconds(), names[0], r.order.Routing, done, len(all.Switches))
		}
	}
	stopped := ctx.Err() != nil
	wait(ctx, settleTime)
	after, err := r.client.Status(context.WithoutCancel(ctx))
	if err == nil {
		check.File = nil
		all, err = r.client.Load(context.WithoutCancel(ctx), check)
	}
	if err != nil {
		return cost, err
	}
	cost = Rollout{
		Routing: r.order.Routing, Switches: all.Running, Of: len(all.Switches), Seconds: time.Since(begun).Seconds(),
		Lost:        after.Ledger.Lost - before.Ledger.Lost,
		Discarded:   after.Ledger.Discarded - before.Ledger.Discarded,
		Delivered:   after.Totals.Delivered - before.Totals.Delivered,
		Reordered:   after.Totals.Reordered - before.Totals.Reordered,
		Rerouted:    after.Totals.Rerouted - before.Totals.Rerouted,
		WorstBefore: before.Totals.Latency.Max, Worst: after.Totals.Latency.Max,
	}
	fmt.Fprintln(r.out, cost)
	switch {
	case stopped:
		return cost, fmt.Errorf("stopped: the other switches run what they ran: %w", context.Cause(ctx))
	case all.Running < done:
		return cost, errors.New("somebody else has loaded firmware meanwhile: load it again, one at a time")
	}
	return cost, nil
}

// String is the cost in words.
func (c Rollout) String() string {
	var b strings.Builder
	run := english.Plural(c.Switches, "switch", "") + english.PluralWord(c.Switches, " runs", " run")
	if c.Switches < c.Of {
		run = fmt.Sprintf("%d of %s run", c.Switches, english.Plural(c.Of, "switch", ""))
	}
	fmt.Fprintf(&b, "%s %s after %.1f s\n", run, c.Routing, c.Seconds)
	fmt.Fprintf(&b, "meanwhile %d delivered, %d lost, %d discarded, %d reordered, %d re-routed; worst latency ",
		c.Delivered, c.Lost, c.Discarded, c.Reordered, c.Rerouted)
	if c.Worst > c.WorstBefore {
		fmt.Fprintf(&b, "%.0f us, %.0f us before", c.Worst, c.WorstBefore)
	} else {
		fmt.Fprintf(&b, "not above the %.0f us before", c.WorstBefore)
	}
	return b.String()
}

// wait waits; false: ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
