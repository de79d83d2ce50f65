package tolerate

import (
	"context"
	"fmt"
	"io"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
)

// limits finds those of all mechanisms.
func (u *tolerateFlags) limits(ctx context.Context, a asked, stdout, stderr io.Writer) error {
	p := command.NewProgress(stderr, command.Terminal(stderr), "pairs searched", command.TellEvery)
	defer p.End()
	var list []tolerate.LimitResult
	for _, m := range a.mechanisms {
		l, err := a.Limit(ctx, m, list, func(k, done, of int) {
			if done == 0 {
				p.Begin(fmt.Sprintf("pairs searched for sets of %d that %v does not tolerate", k, m))
				return
			}
			p.Told(uint64(done), uint64(of))
		})
		if err != nil {
			return err
		}
		list = append(list, l)
		if err := u.line(stdout, l); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	p.End()
	var ended error
	if ctx.Err() != nil {
		ended = fmt.Errorf("interrupted: %s may tolerate more than is said above", list[len(list)-1].Mechanisms)
	}
	return u.ended(stdout, func(w io.Writer) error { return printLimits(w, a, list) }, ended, true)
}

func printLimits(w io.Writer, a asked, list []tolerate.LimitResult) error {
	fmt.Fprintf(w, "%s: how many of %s may die wherever they are\n\n", a.Graph.Spec,
		command.Counted(len(a.Links), "link"))
	return command.Tabbed(w, func(tab func(...any)) {
		tab("mechanisms", "tolerates", "computed in", "a smallest set that is not tolerated")
		for _, l := range list {
			tolerates, example := fmt.Sprint(l.Tolerates), ""
			switch {
			case l.Any:
				tolerates, example = "any", "none: a pair that live links join has a way"
			case !l.Complete:
				tolerates, example = "at least "+tolerates, "interrupted"
			default:
				example = exampleText(l.Example)
			}
			tab(l.Mechanisms, tolerates, fmt.Sprintf("%.3f s", l.Seconds), example)
		}
	})
}
