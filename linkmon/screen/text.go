package screen

import (
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/api"
)

// textPage is a page of lines, made anew each time.
type textPage struct {
	name  string
	lines func(a *app, w int) []string
	of    target
	top   int
	most  int // the last line that can be on top
}

// newTextPage shows lines that stay as they are.
func newTextPage(name string, lines []string) *textPage {
	name, _, _ = strings.Cut(name, " ")
	return &textPage{name: name, lines: func(*app, int) []string { return lines }}
}

func (p *textPage) title() string  { return p.name }
func (p *textPage) on(*app) target { return p.of }

func (p *textPage) key(_ *app, k string) bool {
	switch k {
	case "up", "k":
		p.top--
	case "down", "j":
		p.top++
	case "pgup", "ctrl+b":
		p.top -= 10
	case "pgdown", "ctrl+f":
		p.top += 10
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = p.most
	default:
		return false
	}
	p.top = max(0, min(p.top, p.most))
	return true
}

func (p *textPage) draw(a *app, w, h int) []string {
	lines := p.lines(a, w)
	p.most = max(0, len(lines)-h)
	p.top = min(p.top, p.most)
	return lines[p.top:min(len(lines), p.top+h)]
}

// newFaultPage is the report of one fault.
func newFaultPage(_ *app, id int) *textPage {
	return &textPage{name: fmt.Sprintf("fault %d", id), of: target{aFault, id}, lines: func(a *app, w int) []string {
		r, ok := a.mirror.Fault(id)
		if !ok {
			return []string{"", a.render(dim, "  this report is no longer kept")}
		}
		var b strings.Builder
		_, _ = r.WriteTo(&b) // a Builder never fails
		lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		out := []string{a.render(strong, lines[0])}
		for _, l := range lines[1:] {
			if len(l) > 17 && l[:2] == "  " && l[2] != '*' {
				l = a.render(dim, l[:17]) + l[17:]
			}
			out = append(out, l)
		}
		return out
	}}
}

// newLinkPage is one link: what is done to it, what its ends make of it, what it carries, and what
// it has suffered.
func newLinkPage(a *app, link int) *textPage {
	return &textPage{name: a.mirror.Topology.Links[link].ID, of: target{aLink, link}, lines: func(a *app, w int) []string {
		return a.linkLines(link, w)
	}}
}

func (a *app) linkLines(link, w int) []string {
	m := a.mirror
	l, v, tr := m.Topology.Links[link], m.Links[link], m.Trouble(link)
	var out []string
	add := func(label, text string) { out = append(out, a.render(dim, fit("  "+label, 14))+text) }
	out = append(out, a.render(strong, "link "+l.ID)+"  "+a.render(troubleTone(tr), a.th.stateWord(tr)))
	for _, s := range strings.Split(m.LinkState(link).Details(), "; ") {
		if s != "" {
			out = append(out, a.render(troubleTone(tr), "  "+s))
		}
	}
	out = append(out, "")
	seen := func(up, held bool) string {
		switch {
		case held:
			return a.render(warn, "held down by damping")
		case up:
			return "sees it up"
		}
		return a.render(bad, "sees it down")
	}
	add("end a", fmt.Sprintf("%s port %d, %s", l.A, l.APort, seen(v.AUp, v.HeldA)))
	add("end b", fmt.Sprintf("%s port %d, %s", l.B, l.BPort, seen(v.BUp, v.HeldB)))
	direction := func(label, from, to string, rates, load float64, queued int) {
		add(label, fmt.Sprintf("%s %s %s: %8s  load %4s %s  queued %d", from, a.th.signs.to, to, rate(rates), percent(load),
			a.bar(load, 16), queued))
	}
	direction("a to b", l.A, l.B, v.RateAB, v.LoadAB, v.QueuedAB)
	direction("b to a", l.B, l.A, v.RateBA, v.LoadBA, v.QueuedBA)
	var trail []float64
	for _, x := range m.Trail(link) {
		trail = append(trail, float64(x))
	}
	add("both ways", a.render(info, a.th.spark(trail, min(w-16, 60))))
	add("lost", fmt.Sprintf("%d packets since the start", v.Lost))
	out = append(out, "")
	out = append(out, a.summary(l.ID)...)
	return out
}

// summary is what happened to a link or switch: its faults and its events, the newest first.
func (a *app) summary(name string) (out []string) {
	m := a.mirror
	for i := len(m.Faults) - 1; i >= 0; i-- {
		if r := m.Faults[i]; r.Target == name {
			text := fmt.Sprintf("fault %d, %s: lost %d, rerouted %d", r.ID, r.What, r.Lost(), r.Rerouted)
			if r.RestoredAt == 0 {
				text = a.render(bad, text+", lasts")
			}
			out = append(out, fmt.Sprintf("  %8.3fs  %s", r.At, text))
		}
	}
	if len(out) > 0 {
		out = append([]string{a.render(strong, "faults")}, out...)
		out = append(out, "")
	}
	head := false
	for i := len(m.Events) - 1; i >= 0; i-- {
		e := m.Events[i]
		text := e.Summary()
		if (e.Link != name && e.Switch != name) || (text == "" && e.Node == "") {
			continue
		}
		if !head {
			out, head = append(out, a.render(strong, "events")), true
		}
		if text == "" {
			text = strings.ReplaceAll(e.Kind, "_", " ") + ", seen by " + e.Node
		}
		text, _, _ = strings.Cut(text, "\n")
		out = append(out, a.render(dim, fmt.Sprintf("  %8.3fs  ", e.At))+text)
	}
	return out
}

// bar is a load as a bar of at most w characters.
func (a *app) bar(load float64, w int) string {
	full := min(w, max(0, int(load*float64(w)+0.5)))
	if full == 0 && load > 0 {
		full = 1
	}
	sign := string(a.th.signs.load[len(a.th.signs.load)-1])
	if a.cfg.ASCII {
		sign = "#"
	}
	return a.render(loadTone(load), strings.Repeat(sign, full)) +
		a.render(dim, strings.Repeat(string(a.th.signs.load[0]), w-full))
}

// linkFigures is a link on one line.
func (a *app) linkFigures(link int) string {
	v, tr := a.mirror.Links[link], a.mirror.Trouble(link)
	text := a.render(troubleTone(tr), a.th.stateWord(tr))
	text += fmt.Sprintf("  %s %s, %s %s  load %s  queued %d/%d", a.th.signs.to, rate(v.RateAB), a.th.signs.back,
		rate(v.RateBA),
		percent(busier(v)), v.QueuedAB, v.QueuedBA)
	if v.Lost > 0 {
		text += "  " + a.render(bad, fmt.Sprintf("lost %d", v.Lost))
	}
	if d := a.mirror.LinkState(link).Details(); d != "" {
		text += "  " + a.render(dim, d)
	}
	return text
}

// switchFigures is a switch on one line.
func (a *app) switchFigures(v api.SwitchView) string {
	state := plain
	switch v.State {
	case switchDown:
		state = bad
	case switchSuspect:
		state = warn
	}
	list := []string{a.render(state, v.State), fmt.Sprintf("holds %d", v.Held)}
	add := func(n float64, t tone, text string) {
		if n > 0 {
			list = append(list, a.render(t, text))
		}
	}
	add(float64(v.Blocked), warn, fmt.Sprintf("%d blocked", v.Blocked))
	add(v.Rerouted, accent, "rerouted "+rate(v.Rerouted))
	add(v.UTurns, accent, "U-turns "+rate(v.UTurns))
	if v.Vector != "" {
		list = append(list, a.render(dim, "vector ")+a.render(accent, v.Vector))
	}
	return strings.Join(list, "  ")
}

// newHelpPage lists the keys.
func newHelpPage(*app) *textPage {
	return &textPage{name: "help", lines: func(a *app, w int) []string {
		look, act := helpColumn(a, helpLook), helpColumn(a, append(helpAct[:len(helpAct):len(helpAct)], a.th.signsHelp()...))
		if w < 76 {
			return append(append(look, ""), act...)
		}
		for len(look) < len(act) {
			look = append(look, "")
		}
		for i := range look {
			if i < len(act) {
				look[i] = fit(look[i], w/2) + act[i]
			}
		}
		return look
	}}
}

// helpLook and helpAct are keys and what they do, in pairs; a key without a text is a heading.
var (
	helpLook = []string{
		"LOOKING", "",
		"1 to 7", "map, links, switches, ...",
		"enter d", "describe what is there",
		"esc q", "back, and quit with q",
		"-", "the page before",
		"arrows hjkl", "move; g first, G last",
		"tab", "on the map: choose a link",
		"n", "on the map: next trouble",
		"/text", "only what matches",
		"/!text", "what does not match",
		"/-f text", "what matches fuzzily",
		":", "a page, a name, or any",
		" ", "command of linkmon sh;",
		" ", "tab completes it",
		"F", "choose another fabric",
		"ctrl-c :q", "quit",
	}
	helpAct = []string{
		"ACTING", "",
		"space", "mark; all marked are meant",
		"c", "cut: one way, for a while",
		"C", "cut silently",
		"f", "flap",
		"i", "impair: loss, delay, rate",
		"x", "crash a switch",
		"ctrl-d", "cut or crash: asks first",
		"ctrl-k", "cut or crash: does not ask",
		"r", "restore, restart",
		"u", "undo your last fault",
		"H", "heal everything",
		" ", "",
		"THE MAP", "",
	}
)

// signsHelp explains the characters of the map.
func (t theme) signsHelp() []string {
	s := t.signs
	return []string{
		string(s.load), "load, idle to full",
		string(s.trouble[linkCut]) + " " + string(s.trouble[linkSilent]), "cut; cut, not noticed",
		string(s.trouble[linkDown]) + " " + string(s.trouble[linkComing]), "switch down; no answer",
		string(s.trouble[linkImpaired]) + " " + string(s.trouble[linkFlapping]), "impaired; flaps",
		string(s.turn) + " " + string(s.rerouted) + " " + string(s.blocked), "U-turns; re-routes; waits",
		string(s.trouble[linkDeadlocked]), "part of a deadlock",
	}
}

func helpColumn(a *app, pairs []string) (out []string) {
	for i := 0; i < len(pairs); i += 2 {
		switch {
		case pairs[i+1] == "":
			out = append(out, a.render(strong, pairs[i]))
		default:
			out = append(out, "  "+a.render(info, fit(pairs[i], 12))+pairs[i+1])
		}
	}
	return out
}
