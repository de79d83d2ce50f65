package screen

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/weft-fabric/weft/fabricd/api"
)

// head is what is above every page: which fabric it is, how it is, and which pages there are.
func (a *app) head() []string {
	return []string{a.fabricLine(), a.stateLine(), a.tabs()}
}

func (a *app) fabricLine() string {
	left := a.render(strong, "linkmon")
	if a.mirror != nil {
		sep := a.render(dim, " "+a.th.signs.dot+" ")
		left = a.render(strong, a.status.Name) + sep + strings.Join(a.what(), sep)
	}
	var right string
	switch {
	case a.unreachable != nil && a.mirror != nil:
		right = a.render(bad, a.th.signs.gone+" GONE, waiting for it")
	case a.unreachable != nil:
		right = a.render(bad, a.th.signs.gone+" no fabric")
	case !a.live:
		right = a.render(dim, a.th.signs.gone+" connecting")
	default:
		right = a.render(a.lively(), a.th.signs.live) + fmt.Sprintf(" %.1fs", a.mirror.At)
	}
	if a.cfg.ReadOnly {
		right = a.render(warn, "read-only") + "  " + right
	}
	if a.mirror != nil && a.mirror.Heard() {
		right = a.health() + "  " + right
	}
	return sides(left, right, a.w, a.th.signs.ellipsis)
}

// lively is the tone of what goes on, as long as nothing is wrong with the fabric as a whole.
func (a *app) lively() tone {
	switch {
	case len(a.mirror.Deadlock) > 0:
		return bad
	case a.mirror.Sample.Unwell() != "":
		return warn
	}
	return info
}

// what names what runs.
func (a *app) what() (list []string) {
	traffic := a.status.Traffic
	if a.mirror.Traffic != "" {
		traffic = a.mirror.Traffic
	}
	for _, s := range []string{a.status.Topology, a.status.Routing, traffic} {
		if s != "" {
			list = append(list, s)
		}
	}
	return list
}

// stateLine is the fabric in figures.
func (a *app) stateLine() string {
	if a.mirror == nil {
		return ""
	}
	m := a.mirror
	var p api.Point
	var delivered []float64
	for _, q := range m.History {
		delivered = append(delivered, q.Delivered)
		p = q
	}
	left := ""
	if text := m.Sample.Unwell(); text != "" {
		left = a.render(warn, strings.Replace(text, "with linkmon ", "with :", 1)) + "  " // : asks for a command here
	}
	if f := m.Sample.TimeFactor; f != 0 && f != 1 {
		left += a.render(dim, fmt.Sprintf("at %.3g%% of real time", 100*f)) + "  "
	}
	left += a.render(a.lively(), a.th.spark(delivered, 8)) + " " + a.render(strong, rate(p.Delivered))
	figure := func(name string, n float64, text string, alarm tone) {
		t := dim
		if n > 0 {
			t = alarm
		}
		left += "  " + a.render(dim, name+" ") + a.render(t, text)
	}
	figure("in flight", 0, count(float64(m.Ledger.InFlight)), dim)
	figure("lost", p.Lost, count(float64(m.Ledger.Lost)), bad)
	figure("discarded", p.Discarded, count(float64(m.Ledger.Discarded)), bad)
	figure("rerouted", p.Rerouted, rate(p.Rerouted), accent)
	return clip(left, a.w, a.th.signs.ellipsis)
}

// health says how many links and switches are up, or what is worse.
func (a *app) health() string {
	m := a.mirror
	if n := len(m.Deadlock); n > 0 {
		return lipgloss.NewStyle().Reverse(true).Bold(true).Render(fmt.Sprintf(" DEADLOCK of %d channels ", n))
	}
	by := m.Count()
	var list []string
	add := func(n int, t trouble, word string) {
		if n > 0 {
			list = append(list, a.render(troubleTone(t), fmt.Sprintf("%d %s", n, word)))
		}
	}
	add(by[linkCut]+by[linkSilent], linkCut, "cut")
	add(by[linkDown], linkDown, "down")
	add(by[linkImpaired]+by[linkFlapping]+by[linkComing], linkImpaired, "ill")
	add(len(m.Switches)-m.SwitchesUp(), linkDown, "crashed")
	if len(list) == 0 {
		if m.Sample.Overload != "" {
			return a.render(warn, "overloaded")
		} else if m.Sample.Waiting != "" {
			return a.render(warn, "packets wait")
		}
		return a.render(dim, "all up")
	}
	return strings.Join(list, " ")
}

// tabs lists the numbered pages, and after them the one that is open on top of them.
func (a *app) tabs() string {
	shown := a.page()
	var b strings.Builder
	for i, p := range a.roots {
		label := fmt.Sprintf(" %d %s ", i+1, p.title())
		switch {
		case p == shown:
			b.WriteString(lipgloss.NewStyle().Reverse(true).Bold(true).Render(label))
		case p == a.stack[0]:
			b.WriteString(a.render(strong, label))
		default:
			b.WriteString(a.render(dim, label))
		}
	}
	if len(a.stack) > 1 {
		b.WriteString(lipgloss.NewStyle().Reverse(true).Bold(true).Render(" " + shown.title() + " "))
	}
	var right []string
	if f, ok := shown.(filterable); ok && f.filtered().on() {
		right = append(right, a.render(warn, "/"+f.filtered().text))
	}
	if n := len(a.marks); n > 0 {
		right = append(right, a.render(accent, fmt.Sprintf("%d marked", n)))
	}
	return sides(b.String(), strings.Join(right, " "), a.w, "")
}
