package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// order is what one command line orders: the same for each of the links or switches named.
type order struct {
	spec   fault.Spec
	flap   fault.Flap
	impair fault.Impair
	clear  bool // of impair: all is well again
}

// on is the order for the link between a and b, or for the link or switch a when b is empty.
func (o *order) on(a, b string) fault.Spec {
	s := o.spec
	s.A, s.B = a, b
	switch s.Do {
	case fault.VerbFlap:
		s.Flap = &o.flap
	case fault.VerbImpair:
		s.Impair = &o.impair
	}
	return s
}

// check refuses what no fabric could do, before one is asked.
func (o *order) check(a string) error {
	if o.clear {
		switch {
		case o.impair != (fault.Impair{}):
			return fmt.Errorf("impair with --clear and %v: --clear ends the impairment, give one or the other",
				o.impair)
		case o.spec.For != 0:
			return fmt.Errorf("impair with --clear and --for %v: only a fault ends by itself, a repair does not",
				o.spec.For)
		}
		o.impair = fault.Impair{
			Loss: new(fault.Percent), Delay: new(fault.Duration), Jitter: new(fault.Duration),
			Rate: new(fault.Rate),
		}
	}
	return o.on(a, "").Validate()
}

// change does what o says to what args name and tells what came of it.
func (m *monitor) change(cmd *cobra.Command, o *order, args []string) error {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	if err := o.check(first); err != nil {
		return err
	}
	return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
		specs, err := o.targets(ctx, c, args)
		if err != nil {
			return err
		}
		return m.apply(ctx, c, cmd.OutOrStdout(), specs)
	})
}

func (m *monitor) apply(ctx context.Context, c *api.Client, out io.Writer, specs []fault.Spec) error {
	outcomes, err := c.Apply(ctx, specs...)
	if err != nil {
		return err
	}
	for i, o := range outcomes {
		if err := m.printOutcome(out, specs[i], o); err != nil {
			return err
		}
	}
	return nil
}

// targets makes an order of each name. Two names that are not those of links or switches are the
// ends of a link.
func (o *order) targets(ctx context.Context, c *api.Client, args []string) (specs []fault.Spec, err error) {
	if o.spec.Do == fault.VerbHeal {
		return []fault.Spec{o.spec}, nil
	}
	if len(args) == 2 && o.spec.Do != fault.VerbCrash && o.spec.Do != fault.VerbRestart {
		links, err := c.Links(ctx)
		if err != nil {
			return nil, err
		}
		if areEnds(links, args[0], args[1]) {
			return []fault.Spec{o.on(args[0], args[1])}, nil
		}
	}
	for _, name := range args {
		specs = append(specs, o.on(name, ""))
	}
	return specs, nil
}

// areEnds reports whether a and b are meant as the ends of one link, which two nodes always are.
// When neither is a node it says what reads best in the error to come: a link has a hyphen in its
// name.
func areEnds(links []fabric.LinkState, a, b string) bool {
	isNode := func(name string) bool {
		name, _, _ = strings.Cut(name, ":") // of several links between two nodes one is named with its port
		return slices.ContainsFunc(links, func(l fabric.LinkState) bool { return l.A == name || l.B == name })
	}
	switch nodes := [2]bool{isNode(a), isNode(b)}; nodes {
	case [2]bool{true, true}:
		return true
	case [2]bool{true, false}:
		return !strings.Contains(b, "-")
	case [2]bool{false, true}:
		return !strings.Contains(a, "-")
	}
	return !strings.Contains(a, "-") && !strings.Contains(b, "-")
}

// already says why nothing was done.
var already = map[fault.Verb]string{
	fault.VerbCut:     "is cut already",
	fault.VerbFlap:    "is cut or flaps already: restore it first",
	fault.VerbImpair:  "is not impaired",
	fault.VerbCrash:   "has crashed already",
	fault.VerbRestore: "has no fault of its own",
	fault.VerbRestart: "has not crashed",
}

// printOutcome prints what came of an order.
func (m *monitor) printOutcome(out io.Writer, s fault.Spec, o fabric.Outcome) error {
	if m.json {
		if s.Do != fault.VerbHeal {
			return command.JSON(out, o)
		}
		return command.JSON(out, api.HealedOf(o))
	}
	text := o.Target + " is back"
	switch {
	case s.Do == fault.VerbHeal && len(o.Healed) == 0:
		text = "nothing was broken"
	case s.Do == fault.VerbHeal:
		text = strings.Join(o.Healed, " is back\n") + " is back"
	case !o.Changed:
		text = o.Target + " " + already[s.Do]
	case o.Fault != nil:
		text = fabric.Event{Kind: string(o.Do), Fault: o.Fault, Detail: o.Note}.Summary()
		o.Note = ""
	case s.Do == fault.VerbImpair:
		text = o.Target + " is no longer impaired"
	}
	if o.Note != "" {
		text += "\n  " + o.Note
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

func (m *monitor) applyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "apply FILE | apply -",
		Short: "Set several faults, and repair others, at one instant",
		Long: `apply reads a list of faults and repairs, YAML or JSON, from a file or from standard input, and does them all at one
instant: no end is told of anything before all links are cut. When one of them cannot be done none is.

  - {do: cut, a: s0.00, b: s1.00, direction: to, silent: true, for: 10s}
  - {do: flap, a: s0.00-s1.10, flap: {period: 1s, duty: 30%, jitter: 50ms, count: 5}}
  - {do: impair, a: s0.01-s1.01, impair: {loss: 10%, delay: 5ms, jitter: 1ms, rate: 100kB/s}}
  - {do: crash, a: s1.03, for: 5s}
  - {do: restore, a: s0.02-s1.02}

do: ` + strings.Join(fault.Words(fault.Verbs()), ", ") + `; direction: ` +
			strings.Join(fault.Words(fault.Directions()), ", ") + `.`,
		Example: "  linkmon apply faults.yaml\n  echo '[{do: heal}]' | linkmon apply -",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			specs, err := readSpecs(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			return m.with(cmd, true, func(ctx context.Context, c *api.Client) error {
				return m.apply(ctx, c, cmd.OutOrStdout(), specs)
			})
		},
	}
}

// readSpecs reads a list of orders, strictly. All mistakes are named with their lines.
func readSpecs(stdin io.Reader, file string) (specs []fault.Spec, err error) {
	var doc *document.Doc
	if file != "-" {
		doc, specs, err = document.Read[[]fault.Spec](file)
	} else {
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(stdin, document.MaxSize+1)); err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		doc, specs, err = document.Load[[]fault.Spec]("standard input", data)
	}
	if err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		return nil, fmt.Errorf("%s: no fault in the list: expected some, such as - {do: cut, a: s0.00, b: s1.00}",
			doc.File())
	}
	var errs document.Errors
	for i, s := range specs {
		if err := s.Validate(); err != nil {
			errs.Add(doc.Errorf(fmt.Sprintf("$[%d]", i), "%w", err))
		}
	}
	return specs, errs.Err()
}
