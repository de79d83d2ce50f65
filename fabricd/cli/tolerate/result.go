package tolerate

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
)

// exampleText names the links of a set, and a pair without a way.
func exampleText(e *tolerate.ExampleResult) string {
	more := ""
	if e.Unroutable > 1 {
		more = fmt.Sprintf(", and %s more", command.Counted(e.Unroutable-1, "pair"))
	}
	return fmt.Sprintf("%s: no way from %s to %s%s", strings.Join(e.Links, " "), e.Src, e.Dst, more)
}

// table are the results of a run.
type table struct {
	*tolerate.Query
	cells []tolerate.CountResult
}

func (t *table) tolerated() bool {
	return !slices.ContainsFunc(t.cells, func(c tolerate.CountResult) bool { return c.NotTolerated > 0 })
}

// rows are the numbers of faults, and columns the mechanisms, as they come.
func (t *table) rows() (faults []int, mechanisms []string) {
	for _, c := range t.cells {
		if !slices.Contains(faults, c.Faults) {
			faults = append(faults, c.Faults)
		}
		if !slices.Contains(mechanisms, c.Mechanisms) {
			mechanisms = append(mechanisms, c.Mechanisms)
		}
	}
	return faults, mechanisms
}

func (t *table) print(w io.Writer) error {
	where := ""
	if t.Region != tolerate.Whole {
		where = " within " + t.Region
	}
	fmt.Fprintf(w, "%s: sets of dead links of %d%s that are not tolerated\n\n", t.Graph.Spec, len(t.Links), where)
	faults, mechanisms := t.rows()
	err := command.Tabbed(w, func(tab func(...any)) {
		head := []any{"faults", "sets"}
		for _, m := range mechanisms {
			head = append(head, m)
		}
		tab(head...)
		for _, k := range faults {
			row := []any{k}
			for _, m := range mechanisms {
				i := slices.IndexFunc(t.cells, func(c tolerate.CountResult) bool { return c.Faults == k && c.Mechanisms == m })
				if i < 0 {
					row = append(row, "-")
					continue
				}
				c := &t.cells[i]
				if len(row) == 1 {
					row = append(row, command.Grouped(c.FaultSets))
				}
				row = append(row, cellText(c))
			}
			tab(row...)
		}
	})
	if err != nil {
		return err
	}
	t.excused(w)
	if err := t.pairs(w); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, c := range t.cells {
		if c.Example == nil || told[c.Mechanisms] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(w, "\nThe first sets that are not tolerated")
			fmt.Fprintln(w)
		}
		told[c.Mechanisms] = true
		fmt.Fprintf(w, "%s, %s: %s\n", c.Mechanisms, command.Counted(c.Faults, "fault"), exampleText(c.Example))
	}
	return nil
}

// excused tells of sets that leave pairs which nothing could lead anywhere: they are judged by the
// other pairs. It is the same for all mechanisms.
func (t *table) excused(w io.Writer) {
	told := map[int]bool{}
	for _, c := range t.cells {
		if c.Disconnected == 0 || told[c.Faults] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(w)
		}
		told[c.Faults] = true
		fmt.Fprintf(w, "%s: %s (%s) with pairs that no live links join; these are excused\n",
			command.Counted(c.Faults, "fault"), command.Counted(int(c.Disconnected), "set"),
			command.Share(c.Disconnected, c.FaultSets))
	}
}

func cellText(c *tolerate.CountResult) string {
	if c.FaultSets == 0 {
		return "-"
	}
	text := command.Share(c.NotTolerated, c.FaultSets)
	if c.NotTolerated > 0 {
		text += " (" + command.Grouped(c.NotTolerated) + ")"
	}
	if c.Samples > 0 {
		text += fmt.Sprintf(" +-%.2f", 100*c.Error)
	}
	if !c.Complete {
		text += fmt.Sprintf(" of %s, interrupted", command.Grouped(c.FaultSets))
	}
	return text
}

// pairs prints by what affected pairs go, as table 3 of the paper does.
func (t *table) pairs(w io.Writer) error {
	fmt.Fprintln(w, "\nPairs of switches that the tolerated sets affect, by the mechanisms that they use")
	fmt.Fprintln(w)
	return command.Tabbed(w, func(tab func(...any)) {
		tab("mechanisms", "faults", "affected, mean", "", "by")
		for _, c := range t.cells {
			var by []string
			for _, u := range c.Uses {
				by = append(by, u.Use+" "+command.Share(uint64(u.Pairs), uint64(c.PairsAffected)))
			}
			if c.FaultSets > 0 && c.NotTolerated == c.FaultSets {
				tab(c.Mechanisms, c.Faults, "-", "", "no set is tolerated")
				continue
			}
			tab(c.Mechanisms, c.Faults, fmt.Sprintf("%.1f", c.MeanAffected),
				fmt.Sprintf("%.2f%%", 100*c.AffectedShare), strings.Join(by, ", "))
		}
	})
}
