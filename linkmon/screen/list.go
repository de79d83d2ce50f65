package screen

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// kind is what a thing on the screen is.
type kind uint8

const (
	nothing kind = iota
	aLink
	aSwitch
	aNIC
	aFault
	anEvent
	aFabric
)

// target is the thing that keys act on.
type target struct {
	kind kind
	i    int // index in the topology, or number of a report or event, or in the list of fabrics
}

// cell is one field of a table.
type cell struct {
	text string
	tone tone
}

// row is one line of a table.
type row struct {
	of    target
	cells []cell
}

// line is the text that filters look at.
func (r row) line() string {
	var b strings.Builder
	for _, c := range r.cells {
		b.WriteString(c.text)
		b.WriteByte(' ')
	}
	return b.String()
}

// column says how a table shows a field. The last column of a table gets the room that is left.
type column struct {
	title string
	right bool // numbers
}

// columns are those with these titles; those of numbers begin with >.
func columns(titles ...string) (list []column) {
	for _, title := range titles {
		title, right := strings.CutPrefix(title, ">")
		list = append(list, column{title, right})
	}
	return list
}

// list is a table with a cursor. Its rows are made anew for each drawing; the cursor stays on the
// thing it is on.
type list struct {
	columns []column
	filter  filter
	tail    bool // the newest row is the last, and the cursor stays at the end unless it is moved away

	rows    []row
	all     int // rows before filtering
	cursor  int
	offset  int
	height  int // lines for rows when it was last drawn
	started bool
}

// set takes new rows over.
func (l *list) set(rows []row) {
	var on target
	atEnd := l.tail && (!l.started || l.cursor >= len(l.rows)-1)
	if l.cursor < len(l.rows) {
		on = l.rows[l.cursor].of
	}
	l.all, l.started = len(rows), true
	if l.filter.on() {
		rows = slices.DeleteFunc(rows, func(r row) bool { return !l.filter.pass(r.line()) })
	}
	l.rows = rows
	if atEnd {
		l.cursor = len(rows) - 1
	} else if on != (target{}) {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.of == on }); i >= 0 {
			l.cursor = i
		}
	}
	l.cursor = max(0, min(l.cursor, len(rows)-1))
}

// on is what the cursor is on.
func (l *list) on() target {
	if l.cursor < len(l.rows) {
		return l.rows[l.cursor].of
	}
	return target{}
}

// key moves the cursor.
func (l *list) key(k string) bool {
	page := max(1, l.height-1)
	switch k {
	case "up", "k":
		l.cursor--
	case "down", "j":
		l.cursor++
	case "pgup", "ctrl+b":
		l.cursor -= page
	case "pgdown", "ctrl+f":
		l.cursor += page
	case "home", "g":
		l.cursor = 0
	case "end", "G":
		l.cursor = len(l.rows) - 1
	default:
		return false
	}
	l.cursor = max(0, min(l.cursor, len(l.rows)-1))
	return true
}

// draw renders the table in h lines of w characters, its headings among them.
func (l *list) draw(th theme, w, h int, marked func(target) bool) []string {
	widths := make([]int, len(l.columns))
	for i, c := range l.columns {
		widths[i] = lipgloss.Width(c.title)
	}
	for _, r := range l.rows {
		for i, c := range r.cells[:len(l.columns)-1] {
			widths[i] = max(widths[i], lipgloss.Width(c.text))
		}
	}
	gap := 2
	used := 2
	for _, n := range widths[:len(widths)-1] {
		used += n + gap
	}
	if used+10 > w { // columns move together before anything is cut
		gap = 1
		used -= len(widths) - 1
	}
	widths[len(widths)-1] = max(1, w-used)

	var head strings.Builder
	head.WriteString("  ")
	for i, c := range l.columns {
		head.WriteString(l.field(th, i, widths, gap, c.title))
	}
	out := []string{th.styles[dim].Bold(true).Render(strings.TrimRight(clip(head.String(), w, ""), " "))}
	l.height = max(1, h-1)
	l.offset = max(0, min(l.offset, len(l.rows)-l.height))
	l.offset = max(l.cursor-l.height+1, min(l.offset, l.cursor))
	for i := l.offset; i < min(len(l.rows), l.offset+l.height); i++ {
		out = append(out, l.row(th, l.rows[i], i == l.cursor, marked != nil && marked(l.rows[i].of), widths, gap, w))
	}
	return out
}

func (l *list) row(th theme, r row, selected, marked bool, widths []int, gap, w int) string {
	var b strings.Builder
	lead := "  "
	if marked {
		lead = th.signs.mark + " "
	}
	if selected {
		b.WriteString(lead)
		for i, c := range r.cells {
			b.WriteString(l.field(th, i, widths, gap, c.text))
		}
		return lipgloss.NewStyle().Reverse(true).Render(fit(b.String(), w))
	}
	b.WriteString(th.styles[accent].Render(lead))
	for i, c := range r.cells {
		text := l.field(th, i, widths, gap, c.text)
		if c.tone == plain {
			b.WriteString(text)
		} else {
			b.WriteString(th.styles[c.tone].Render(text))
		}
	}
	return clip(b.String(), w, "")
}

// field is a text cut or filled to its column.
func (l *list) field(th theme, i int, widths []int, gap int, text string) string {
	text = clip(text, widths[i], th.signs.ellipsis)
	fill := strings.Repeat(" ", widths[i]-lipgloss.Width(text))
	switch {
	case l.columns[i].right:
		text = fill + text
	case i < len(widths)-1:
		text += fill
	}
	if i < len(widths)-1 {
		text += strings.Repeat(" ", gap)
	}
	return text
}
