package command

import (
	"io"

	"github.com/weft-fabric/weft/fabricd/document/table"
)

// Tabbed prints lines in columns.
func Tabbed(w io.Writer, lines func(tab func(...any))) error {
	var t table.Table
	lines(t.Row)
	return t.Text(w)
}
