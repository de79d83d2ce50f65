package cli

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Paragraphs that several commands share.
const (
	ofLinks = `Name a link, s0.00-s1.00, or its two ends, or several links, which suffer at one instant. --direction is seen from the end
named first: to is from it towards the other, from is the way back.`
	howLong = `The fault lasts until it is repaired, or for as long as --for says, whether linkmon runs or not.`
)

func (m *monitor) cutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cut LINK... | cut A B",
		Short: "Cut links: nothing comes through",
		Long: `cut lets nothing through. Both ends lose signal at once; with --silent nobody is told, and the ends find out when hellos
are missing. A cut takes the place of a flap.

` + ofLinks + "\n\n" + howLong,
		Example: "  linkmon cut s0.00 s1.00\n  linkmon cut s0.00-s1.00 s0.00-s1.10\n  linkmon cut s0.00 s1.00 --silent " +
			"--direction to --for 10s",
	}
	m.order(cmd, fault.VerbCut, aLink, "direction", "silent", "for")
	cmd.ValidArgsFunction = m.completeLinks(func(l fabric.LinkState) bool { return l.State != fabric.LinkCut })
	return cmd
}

func (m *monitor) flapCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "flap LINK... --period TIME | flap A B --period TIME",
		Short: "Cut links and bring them back, again and again",
		Long: `flap takes a link down at the start of every period and up again after the share of it that --duty says.
It ends after --count periods or after --for, or lasts until it is repaired, whether linkmon runs or not.

` + ofLinks,
		Example: "  linkmon flap s0.00 s1.00 --period 1s\n  linkmon flap s0.00-s1.00 --period 1s --duty 30% --jitter 50ms " +
			"--count 5\n" +
			"  linkmon flap s0.00 s1.00 --period 500ms --silent --for 10s",
	}
	o := m.order(cmd, fault.VerbFlap, aLink, "direction", "silent", "for")
	f := cmd.Flags()
	text(f, "period", "time", o.flap.Period.UnmarshalText, "from one cut to the next, as 1s; at least 1ms")
	text(f, "duty", "percent", optional(&o.flap.Duty), "share of a period that the link is down, as 30%; 50% unless given")
	text(f, "jitter", "time", o.flap.Jitter.UnmarshalText, "every edge comes late by up to this, as 50ms")
	f.IntVar(&o.flap.Count, "count", 0, "end after so many periods; 0 is until repaired")
	command.Bound(f, "count", 0, fault.MaxCount)
	cmd.ValidArgsFunction = m.completeLinks(func(l fabric.LinkState) bool {
		return l.State != fabric.LinkCut && !l.Flapping
	})
	return cmd
}

func (m *monitor) impairCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "impair LINK... | impair A B",
		Short: "Let links lose, delay or slow what they carry",
		Long: `impair changes what a link suffers: figures that are not given stay as they are, 0%, 0s and unlimited make them perfect
again, and --clear all of them. On a link that is cut the impairment is kept, and acts when the link is restored.

` + ofLinks + "\n\n" + howLong,
		Example: "  linkmon impair s0.00 s1.00 --loss 10%\n  linkmon impair s0.00-s1.00 --delay 5ms --jitter 1ms --rate " +
			"100kB/s --for 10s\n" +
			"  linkmon impair s0.00 s1.00 --direction from --loss 1%\n  linkmon impair s0.00 s1.00 --clear",
	}
	o := m.order(cmd, fault.VerbImpair, aLink, "direction", "for")
	f := cmd.Flags()
	text(f, "loss", "percent", optional(&o.impair.Loss),
		"share of frames lost, with the packets in them; drawn for each frame, as 10%")
	text(f, "delay", "time", optional(&o.impair.Delay), "time added to the link's own delay, as 5ms")
	text(f, "jitter", "time", optional(&o.impair.Jitter), "the added delay differs by up to this either way, as 1ms")
	text(f, "rate", "rate", optional(&o.impair.Rate), "most that the link carries, as 100kB/s, 8Mbit/s or unlimited")
	f.BoolVar(&o.clear, "clear", false, "end the impairment")
	cmd.ValidArgsFunction = m.completeLinks(anyLink)
	return cmd
}

func (m *monitor) crashCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crash SWITCH...",
		Short: "Crash switches: all they hold is lost, their neighbours lose their links to them",
		Long: `crash kills a switch, or several at one instant: all it holds is lost and its neighbours lose signal. It comes back, empty,
when it is restarted, or after --for, whether linkmon runs or not.`,
		Example: "  linkmon crash s1.03\n  linkmon crash s1.03 s1.13 --for 5s",
	}
	m.order(cmd, fault.VerbCrash, aSwitch, "for")
	cmd.ValidArgsFunction = m.completeSwitches(func(name string, s api.Status) bool {
		return !slices.Contains(s.SwitchesDown, name)
	})
	return cmd
}

func (m *monitor) restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore LINK... | restore A B | restore SWITCH...",
		Short: "Repair links, or switches that crashed",
		Long: `restore ends what is wrong with a link: a cut or a flap, or else an impairment. Links and switches can be named together; they
come back at one instant. --direction is seen from the end named first.`,
		Example: "  linkmon restore s0.00 s1.00\n  linkmon restore s1.03\n  linkmon restore s0.00-s1.00 s0.00-s1.10",
	}
	m.order(cmd, fault.VerbRestore, aLink+", or a switch, as s1.03", "direction")
	cmd.ValidArgsFunction = both(
		m.completeLinks(func(l fabric.LinkState) bool { return !l.Well() && l.State != fabric.LinkDown }),
		m.completeSwitches(crashed))
	return cmd
}

func (m *monitor) restartCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "restart SWITCH...",
		Short:   "Start switches again that crashed, empty",
		Example: "  linkmon restart s1.03",
	}
	m.order(cmd, fault.VerbRestart, aSwitch)
	cmd.ValidArgsFunction = m.completeSwitches(crashed)
	return cmd
}

func (m *monitor) healCommand() *cobra.Command {
	var all bool
	o := &order{spec: fault.Spec{Do: fault.VerbHeal}}
	cmd := &cobra.Command{
		Use:     "heal --all",
		Short:   "End every fault: all links and switches are as they were",
		Example: "  linkmon heal --all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !all {
				return errors.New("heal repairs everything: say so with --all; for one link or switch use restore")
			}
			return m.change(cmd, o, nil)
		},
	}
	o.when(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "repair everything")
	return cmd
}

// order makes cmd an order for the links or switches that its arguments name, with the flags of
// when.
func (m *monitor) order(cmd *cobra.Command, do fault.Verb, what string, has ...string) *order {
	o := &order{spec: fault.Spec{Do: do}}
	cmd.Args = named(what)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return m.change(cmd, o, args) }
	o.when(cmd, has...)
	return o
}

// What commands want to be named.
const (
	aLink   = "a link, as s0.00-s1.00, or its two ends"
	aSwitch = "a switch, as s1.03"
)

// named refuses a command line that names nothing.
func named(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s what? name %s", cmd.Name(), what)
		}
		return nil
	}
}

// when adds the flags that some orders have. The others are taken as well, so that the order itself
// says why it has none.
func (o *order) when(cmd *cobra.Command, has ...string) {
	f := cmd.Flags()
	text(f, "direction", "to|from|both", o.spec.Direction.UnmarshalText, "only one direction; both unless given")
	f.BoolVar(&o.spec.Silent, "silent", false, "nobody is told, the ends must find out")
	text(f, "for", "time", o.spec.For.UnmarshalText, "the fault ends by itself after this long, as 10s")
	for _, name := range []string{"direction", "silent", "for"} {
		if !slices.Contains(has, name) {
			_ = f.MarkHidden(name) // it is there
		}
	}
	command.Complete(cmd, "direction", func() []string { return fault.Words(fault.Directions()) })
	for _, name := range []string{"for", "period", "duty", "jitter", "count", "loss", "delay", "rate"} {
		if f.Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
		}
	}
}

// text adds a flag whose value set reads.
func text(f *pflag.FlagSet, name, kind string, set func([]byte) error, usage string) {
	f.Var(&textFlag{kind: kind, set: set}, name, usage)
}

// textFlag is a flag value with a unit. It implements pflag.Value.
type textFlag struct {
	kind, text string
	set        func([]byte) error
}

func (t *textFlag) Set(s string) error {
	if err := t.set([]byte(s)); err != nil {
		return err
	}
	t.text = s
	return nil
}

func (t *textFlag) String() string { return t.text }
func (t *textFlag) Type() string   { return t.kind }

// optional reads a value that *p points at only once there is one.
func optional[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](p **T) func([]byte) error {
	return func(text []byte) error {
		v := new(T)
		if err := P(v).UnmarshalText(text); err != nil {
			return err
		}
		*p = v
		return nil
	}
}

// completeLinks offers the names of links in the shell.
func (m *monitor) completeLinks(want func(fabric.LinkState) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []string
		_ = m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
			links, err := c.Links(ctx)
			for _, l := range links {
				if want(l) && !slices.Contains(args, l.Link) {
					names = append(names, l.Link)
				}
			}
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// both offers the names of two completions.
func both(a, b cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		names, _ := a(cmd, args, word)
		more, directive := b(cmd, args, word)
		return append(names, more...), directive
	}
}

// What completions want.
func anyLink(fabric.LinkState) bool          { return true }
func anySwitch(string, api.Status) bool      { return true }
func crashed(name string, s api.Status) bool { return slices.Contains(s.SwitchesDown, name) }

// completeSwitches offers the names of switches.
func (m *monitor) completeSwitches(want func(name string, s api.Status) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []string
		_ = m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
			s, err := c.Status(ctx)
			if err != nil {
				return err
			}
			all, err := c.Switches(ctx)
			for _, name := range all {
				if want(name, s) && !slices.Contains(args, name) {
					names = append(names, name)
				}
			}
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
