package tables

import (
	"slices"

	"github.com/weft-fabric/weft"
)

// Edited is a copy of the tables in which those of some switches may be changed; a switch that is
// not there is left out. The others share theirs with the tables before, which stay as they were:
// set nothing there in either. Rows that nothing is forwarded by are dropped, so numbers of rows of
// the tables before mean nothing in the copy.
func (t *Tables) Edited(switches []weft.SwitchID) *Tables {
	c := *t
	c.switches = slices.Clone(t.switches)
	for _, s := range switches {
		if sw := c.of(s); sw != nil {
			sw.own()
		}
	}
	return &c
}

// own gives a table storage of its own, of the rows that are used.
func (sw *table) own() {
	of, number := make([]uint16, len(sw.row)), make([]uint16, len(sw.rows))
	for i := range number {
		number[i] = noRow
	}
	rows := make([]row, 0, len(sw.rows))
	for i, n := range sw.row {
		if of[i] = noRow; n == noRow {
			continue
		}
		if number[n] == noRow {
			number[n] = uint16(len(rows))
			rows = append(rows, sw.rows[n])
		}
		of[i] = number[n]
	}
	sw.row, sw.rows = of, rows
}

// Row is the number of the row of switch s with those hops, as [Tables.AddRow] takes them; it is
// added if there is none.
func (t *Tables) Row(s weft.SwitchID, hops []Hop) (int, error) {
	if sw := t.of(s); sw != nil {
		for i := range sw.rows {
			if r := &sw.rows[i]; r.first == nil && slices.Equal(r.hops, hops) {
				return i, nil
			}
		}
	}
	return t.AddRow(s, hops)
}

// shares reports whether two tables are the same storage, and so forward alike.
func (sw *table) shares(other *table) bool {
	return sw != nil && other != nil && len(sw.row) == len(other.row) && len(sw.row) > 0 && &sw.row[0] == &other.row[0] &&
		len(sw.rows) == len(other.rows) && (len(sw.rows) == 0 || &sw.rows[0] == &other.rows[0])
}
