package screen

import (
	"strconv"
	"strings"

	"github.com/weft-fabric/weft/fabricd/fault"
)

// table is a page that is a list.
type table struct {
	name  string
	list  list
	rows  func(a *app) []row
	empty string // said instead of a table without rows
}

func (p *table) title() string     { return p.name }
func (p *table) filtered() *filter { return &p.list.filter }

// on and key look at what there is now: several keys may come before anything is drawn.
func (p *table) on(a *app) target {
	p.list.set(p.rows(a))
	return p.list.on()
}

func (p *table) key(a *app, k string) bool {
	p.list.set(p.rows(a))
	return p.list.key(k)
}

func (p *table) draw(a *app, w, h int) []string {
	p.list.set(p.rows(a))
	if len(p.list.rows) == 0 {
		text := p.empty
		if p.list.filter.on() {
			text = "nothing matches /" + p.list.filter.text + " (" + strconv.Itoa(p.list.all) + " hidden); esc shows all"
		}
		return []string{"", a.render(dim, "  "+text)}
	}
	return p.list.draw(a.th, w, h, a.marked)
}

func newLinksPage() *table {
	return &table{
		name: "Links", rows: linkRows, empty: "no links",
		list: list{columns: columns("LINK", "STATE", ">A TO B", ">B TO A", ">LOAD", ">QUEUED", ">LOST", "DETAILS")},
	}
}

func linkRows(a *app) (rows []row) {
	for i, l := range a.mirror.Links {
		tr := a.mirror.Trouble(i)
		lost := plain
		if l.Lost > 0 {
			lost = bad
		}
		rows = append(rows, row{of: target{aLink, i}, cells: []cell{
			{a.mirror.Topology.Links[i].ID, plain},
			{a.th.stateWord(tr), troubleTone(tr)},
			{rate(l.RateAB), plain},
			{rate(l.RateBA), plain},
			{percent(busier(l)), loadTone(busier(l))},
			{strconv.Itoa(l.QueuedAB) + "/" + strconv.Itoa(l.QueuedBA), plain},
			{strconv.FormatUint(l.Lost, 10), lost},
			{a.mirror.LinkState(i).Details(), troubleTone(tr)},
		}})
	}
	return rows
}

// stateWord is the word for a trouble with its sign.
func (t theme) stateWord(tr trouble) string {
	if tr == linkWell {
		return tr.String()
	}
	return tr.String() + " " + string(t.signs.trouble[tr])
}

func newSwitchesPage() *table {
	return &table{
		name: "Switches", rows: switchRows, empty: "no switches",
		list: list{columns: columns("SWITCH", "STATE", ">LINKS UP", ">LOAD", ">HELD", ">BLOCKED", ">REROUTED", ">U-TURNS",
			"RE-ROUTE VECTOR")},
	}
}

func switchRows(a *app) (rows []row) {
	for i, s := range a.mirror.Switches {
		ports := a.mirror.Topology.Ports[i]
		up, load := 0, 0.0
		for _, p := range ports {
			if t := a.mirror.Trouble(p.Link); t < linkComing || t == linkSilent {
				up++
			}
			load = max(load, busier(a.mirror.Links[p.Link]))
		}
		links, state := plain, plain
		if up < len(ports) {
			links = bad
		}
		switch s.State {
		case switchDown:
			state = bad
		case switchSuspect:
			state = warn
		}
		active := func(n float64) cell {
			if n > 0 {
				return cell{rate(n), accent}
			}
			return cell{rate(n), dim}
		}
		waits := cell{strconv.Itoa(s.Blocked), plain}
		if s.Blocked > 0 {
			waits.tone = warn
		}
		rows = append(rows, row{of: target{aSwitch, i}, cells: []cell{
			{a.mirror.Topology.Switches[i].ID, plain},
			{s.State, state},
			{strconv.Itoa(up) + "/" + strconv.Itoa(len(ports)), links},
			{percent(load), loadTone(load)},
			{strconv.Itoa(s.Held), plain},
			waits, active(s.Rerouted), active(s.UTurns),
			{s.Vector, accent},
		}})
	}
	return rows
}

func newNICsPage() *table {
	return &table{
		name: "NICs", rows: nicRows, empty: "no NICs",
		list: list{columns: columns("NIC", "SWITCH", "STATE", ">SENDS", ">RECEIVES", ">LOAD", ">SEND QUEUE", ">LOST",
			"DETAILS")},
	}
}

func nicRows(a *app) (rows []row) {
	for i, n := range a.mirror.Topology.NICs {
		link := a.mirror.Topology.NICLinks[i]
		if link < 0 {
			continue
		}
		l, ends := a.mirror.Links[link], a.mirror.Topology.Links[link]
		sends, receives, queued, at := l.RateBA, l.RateAB, l.QueuedBA, ends.A
		if ends.A == n.ID {
			sends, receives, queued, at = l.RateAB, l.RateBA, l.QueuedAB, ends.B
		}
		tr := a.mirror.Trouble(link)
		rows = append(rows, row{of: target{aNIC, i}, cells: []cell{
			{n.ID, plain},
			{at, plain},
			{a.th.stateWord(tr), troubleTone(tr)},
			{rate(sends), plain},
			{rate(receives), plain},
			{percent(busier(l)), loadTone(busier(l))},
			{strconv.Itoa(queued), plain},
			{strconv.FormatUint(l.Lost, 10), plain},
			{a.mirror.LinkState(link).Details(), troubleTone(tr)},
		}})
	}
	return rows
}

func newEventsPage() *table {
	return &table{
		name: "Events", rows: eventRows, empty: "nothing has happened yet",
		list: list{tail: true, columns: columns(">AT", "WHAT HAPPENED")},
	}
}

func eventRows(a *app) (rows []row) {
	for _, e := range a.mirror.Events {
		text := e.Summary()
		if text == "" {
			continue // a detail of another
		}
		t := plain
		switch {
		case e.Fault != nil && e.Kind != "report":
			t = bad
		case strings.HasPrefix(e.Kind, "rest"):
			t = info
		}
		first, more, _ := strings.Cut(text, "\n")
		rows = append(rows, row{of: target{anEvent, int(e.Seq)}, cells: []cell{
			{strconv.FormatFloat(e.At, 'f', 3, 64) + "s", dim}, {strings.TrimSpace(first + "; " + strings.TrimSpace(more)), t},
		}})
		if more == "" {
			rows[len(rows)-1].cells[1].text = first
		}
	}
	return rows
}

// describeEvent opens what an event is about.
func (a *app) describeEvent(seq int) {
	for _, e := range a.mirror.Events {
		if int(e.Seq) != seq {
			continue
		}
		if e.Fault != nil {
			a.describe(target{aFault, e.Fault.ID})
		} else if i := a.mirror.Topology.Link(e.Link); i >= 0 {
			a.describe(target{aLink, i})
		} else if i := a.mirror.Topology.Switch(e.Switch); i >= 0 {
			a.describe(target{aSwitch, i})
		} else {
			a.open(newTextPage("event "+strconv.Itoa(seq), strings.Split(e.Summary(), "\n")))
		}
	}
}

func newFaultsPage() *table {
	p := &table{name: "Faults", rows: faultRows, empty: "no fault yet", list: list{tail: true}}
	for _, h := range fault.Headings() {
		p.list.columns = append(p.list.columns, column{title: h, right: h != "DIP"})
	}
	p.list.columns = append(p.list.columns, column{title: "WHAT"})
	return p
}

func faultRows(a *app) (rows []row) {
	for _, r := range a.mirror.Faults {
		t := plain
		switch {
		case r.RestoredAt == 0:
			t = bad
		case !r.Open:
			t = dim
		}
		var cells []cell
		for _, f := range append(r.Row(), r.What) {
			cells = append(cells, cell{f, t})
		}
		rows = append(rows, row{of: target{aFault, r.ID}, cells: cells})
	}
	return rows
}
