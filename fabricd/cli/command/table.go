package command

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Tabbed prints lines in columns.
func Tabbed(w io.Writer, lines func(tab func(...any))) error {
	tab := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	lines(func(cells ...any) {
		for i, c := range cells {
			if i > 0 {
				fmt.Fprint(tab, "\t")
			}
			fmt.Fprint(tab, c)
		}
		fmt.Fprintln(tab)
	})
	return tab.Flush()
}
