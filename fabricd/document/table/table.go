// Package table writes rows of cells as text in columns and as Markdown.
package table

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table is rows of cells. The first row is the head, where there is one.
type Table struct {
	// Gap is how many spaces are between columns of text; 0: 3. Of text alone.
	Gap int
	// Right: columns of text are aligned to the right.
	Right bool

	rows [][]string
}

// New returns a table with a head, or without one where there are no cells.
func New(head ...any) *Table {
	t := &Table{}
	if len(head) > 0 {
		t.Row(head...)
	}
	return t
}

// Row adds a row of cells, which are printed as fmt.Print does. Rows may have fewer cells than
// others: columns of text then end there, and begin anew below.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

// Len is how many rows there are, the head among them.
func (t *Table) Len() int { return len(t.rows) }

// Text writes columns as wide as their widest cell. The error is that of w.
func (t *Table) Text(w io.Writer) error {
	gap, flags, end := t.Gap, uint(0), "\n"
	gap = cmp.Or(gap, 3)
	if t.Right {
		flags, end = tabwriter.AlignRight, "\t\n" // what no tab ends is in no column
	}
	out := bufio.NewWriter(w) // tabwriter writes cell by cell
	tab := tabwriter.NewWriter(out, 0, 0, gap, ' ', flags)
	for _, row := range t.rows {
		fmt.Fprint(tab, strings.Join(row, "\t"), end)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	return out.Flush()
}

var markdown = strings.NewReplacer("|", `\|`, "\n", " ")

// Markdown writes the table with its head. The error is that of w.
func (t *Table) Markdown(w io.Writer) error {
	var b strings.Builder
	for i, row := range t.rows {
		for _, cell := range row {
			b.WriteString("| " + markdown.Replace(strings.TrimSpace(cell)) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
