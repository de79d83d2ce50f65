package fault

import (
	"fmt"
	"io"
	"text/tabwriter"
	"unicode/utf8"
)

// minWhat is how much of what a fault is a table shows however narrow it should be: an impairment
// with its link.
const minWhat = 18

// WriteTable writes a line for each report, with headings. When width is not 0, lines are to fit
// into so many characters: columns move together, and what does not fit of what a fault is ends in
// an ellipsis.
func WriteTable(out io.Writer, width int, reports []Report) error {
	if len(reports) == 0 {
		_, err := fmt.Fprintln(out, "no fault yet")
		return err
	}
	rows := [][]string{Headings()}
	whats := []string{"WHAT"}
	for _, r := range reports {
		rows = append(rows, r.Row())
		whats = append(whats, r.What)
	}
	room, gap := 1<<30, 2
	if width > 0 {
		longest := 0
		for _, w := range whats {
			longest = max(longest, utf8.RuneCountInString(w))
		}
		if before(rows, gap)+longest > width {
			gap = 1
		}
		room = max(minWhat, width-before(rows, gap))
	}
	w := tabwriter.NewWriter(out, 0, 8, gap, ' ', 0)
	for i, row := range rows {
		for _, cell := range row {
			fmt.Fprint(w, cell, "\t")
		}
		fmt.Fprintln(w, shorten(whats[i], room))
	}
	return w.Flush()
}

// Headings are those of the figures of a table of reports, in order.
func Headings() []string {
	return []string{"ID", "FROM", "FOR", "SEEN", "LOST", "REROUTED", "DISCARDED", "DIP"}
}

// Row is the report in short, under the [Headings]: a number with a star shares some of its figures
// with other reports.
func (r Report) Row() []string {
	id := fmt.Sprint(r.ID)
	if len(r.Shared) > 0 {
		id += "*"
	}
	return []string{
		id, fmt.Sprintf("%.1fs", r.At), r.lasted(), r.seenAfter(), fmt.Sprint(r.Lost()), fmt.Sprint(r.Rerouted),
		fmt.Sprint(r.Discarded), r.Degradation.short(),
	}
}

// before is how wide the columns before the last are.
func before(rows [][]string, gap int) (sum int) {
	for c := range rows[0] {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[c]))
		}
		sum += widest + gap
	}
	return sum
}

func shorten(s string, room int) string {
	if r := []rune(s); len(r) > room {
		return string(r[:room-1]) + "…"
	}
	return s
}

// lasted is for how long it was in force.
func (r Report) lasted() string {
	if r.RestoredAt == 0 {
		return "lasts"
	}
	return shortTime(r.RestoredAt - r.At)
}

// seenAfter is how long the last end took.
func (r Report) seenAfter() string {
	if len(r.Detected) == 0 {
		return "no"
	}
	return shortTime(r.SeenAfter)
}

// short tells d in a word or two: how deep, and how long until it was made good.
func (d Degradation) short() string {
	switch {
	case !d.Found:
		return "no"
	case d.MadeGoodAfter == nil:
		return fmt.Sprintf("%.0f%%", d.Depth)
	}
	return fmt.Sprintf("%.0f%% %s", d.Depth, shortTime(*d.MadeGoodAfter))
}

// shortTime prints seconds, or milliseconds when they are few, with three digits.
func shortTime(seconds float64) string {
	n, unit := ms(seconds), "ms"
	if n >= 999.5 {
		n, unit = seconds, "s"
	}
	switch {
	case n < 9.995:
		return fmt.Sprintf("%.2f%s", n, unit)
	case n < 99.95:
		return fmt.Sprintf("%.1f%s", n, unit)
	}
	return fmt.Sprintf("%.0f%s", n, unit)
}
