package screen

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/dustin/go-humanize/english"

	"github.com/weft-fabric/weft/fabricd/fault"
)

// done tells what came of a command line.
type done struct {
	line   string
	undo   string // the line that takes it back; empty: none
	output string
	err    error
}

// mayAct reports whether anything may be changed, and says so when it may not.
func (a *app) mayAct() bool {
	if a.cfg.ReadOnly {
		a.notify(warn, "read-only: nothing can be changed here; start linkmon without --readonly")
	}
	return !a.cfg.ReadOnly
}

// run runs a command line.
func (a *app) run(line, undo string) tea.Cmd {
	ctx, do := a.ctx, a.cfg.Do
	a.notify(dim, "%s %s", line, a.th.signs.ellipsis)
	return func() tea.Msg {
		output, err := do(ctx, line)
		return done{line, undo, output, err}
	}
}

// finished shows what came of a command line: in the last line, or on a page of its own when it is
// long.
func (a *app) finished(d done) {
	if d.err != nil {
		if a.form != nil && a.form.running {
			a.form.running, a.form.wrong = false, d.err.Error()
			a.said = ""
			return
		}
		a.notify(bad, "%v", d.err)
		return
	}
	if a.form != nil && a.form.running {
		a.form = nil
	}
	if d.undo != "" {
		a.undo = append(a.undo, d.undo)
	}
	text := strings.TrimRight(d.output, "\n")
	switch lines := strings.Split(text, "\n"); {
	case text == "":
		a.notify(dim, "%s: done", d.line)
	case len(lines) > 6 && !acts(d.line):
		a.said = ""
		a.open(newTextPage(d.line, lines))
	default:
		for i, l := range lines {
			lines[i] = strings.Join(strings.Fields(l), " ")
		}
		a.notify(info, "%s", strings.Join(lines, "; "))
	}
}

// acts reports whether a command line changes the fabric.
func acts(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return slices.Contains(fault.Verbs(), fault.Verb(word)) || word == "link" || word == "apply"
}

// chosen are the things that an order is for: those marked that are of the kind that the cursor is
// on, or else the one that it is on; when an order is for no such thing, those marked that it is
// for.
func (a *app) chosen(kinds ...kind) (list []target) {
	at := a.linkOf(a.object())
	onKind := slices.Contains(kinds, at.kind)
	if onKind {
		kinds = []kind{at.kind}
	}
	for t := range a.marks {
		if slices.Contains(kinds, t.kind) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(x, y target) int { return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.i, y.i)) })
	if len(list) == 0 && onKind {
		list = append(list, at)
	}
	return list
}

// names are those of things, as words of a command line.
func (a *app) names(list []target) string {
	var words []string
	for _, t := range list {
		if t.kind == aLink {
			words = append(words, quoted(a.mirror.Topology.Links[t.i].ID))
		} else {
			words = append(words, quoted(a.mirror.Topology.Switches[t.i].ID))
		}
	}
	return strings.Join(words, " ")
}

// quoted is a name as one word of a command line.
func quoted(name string) string {
	if strings.ContainsAny(name, " \t\"'\\`$&|;<>()#*?~") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	}
	return name
}

// askFor opens a form for the links that are meant.
func (a *app) askFor(form func(a *app, links []target) *form, silent bool) {
	if !a.mayAct() {
		return
	}
	links := a.chosen(aLink)
	if len(links) == 0 {
		a.notify(warn, "no link here: choose one with tab, or on the page of links")
		return
	}
	a.form = form(a, links)
	if silent {
		a.form.beSilent()
	}
}

// destroy crashes the switches or cuts the links that are meant, after a question unless it is ctrl-k.
func (a *app) destroy(k string) tea.Cmd {
	if !a.mayAct() {
		return nil
	}
	of, noun, verb, undo := aSwitch, "switch", "crash", "restart"
	if k != "x" && a.linkOf(a.object()).kind == aLink {
		of, noun, verb, undo = aLink, "link", "cut", "restore"
	}
	things := a.chosen(of)
	if len(things) == 0 {
		a.notify(warn, "no switch here to crash")
		return nil
	}
	names := a.names(things)
	if things = slices.DeleteFunc(things, a.destroyed); len(things) == 0 {
		a.notify(warn, "%s: %s", names, map[string]string{"cut": "cut already", "crash": "crashed already"}[verb])
		return nil
	}
	line, back := verb+" "+a.names(things), undo+" "+a.names(things)
	if k == "ctrl+k" {
		return a.run(line, back)
	}
	a.confirm = &confirm{
		line: line, undo: back,
		question: title(verb) + " " + english.Plural(len(things), noun, "") + ": " + a.names(things) + "?",
	}
	return nil
}

// destroyed reports whether a link is cut both ways, or a switch down: nothing would come of an order
// to do so, nor could undo take it back.
func (a *app) destroyed(t target) bool {
	if t.kind == aSwitch {
		return a.mirror.Switches[t.i].State == switchDown
	}
	l := a.mirror.Links[t.i]
	return l.CutAB != "" && l.CutBA != ""
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// restore repairs what is meant.
func (a *app) restore() tea.Cmd {
	if !a.mayAct() {
		return nil
	}
	things := a.chosen(aLink, aSwitch)
	if t := a.object(); t.kind == aFault {
		if r, ok := a.mirror.Fault(t.i); ok {
			return a.run("restore "+quoted(r.Target), "")
		}
	}
	if len(things) == 0 {
		a.notify(warn, "no link or switch here to restore")
		return nil
	}
	return a.run("restore "+a.names(things), "")
}

// takeBack undoes the latest order that was given here.
func (a *app) takeBack() tea.Cmd {
	if !a.mayAct() {
		return nil
	}
	if len(a.undo) == 0 {
		a.notify(dim, "nothing to undo: no fault was set from here")
		return nil
	}
	line := a.undo[len(a.undo)-1]
	a.undo = a.undo[:len(a.undo)-1]
	return a.run(line, "")
}

// command does what was typed after ":": it opens a page, or is a line of the shell.
func (a *app) command(line string) tea.Cmd {
	if line == "" {
		return nil
	}
	if n := len(a.history); n == 0 || a.history[n-1] != line {
		a.history = append(a.history, line)
	}
	words := strings.Fields(line)
	if len(words) == 1 {
		switch words[0] {
		case "q", "quit", "exit", "q!":
			return tea.Quit
		case "help", "h", "?":
			a.open(newHelpPage(a))
			return nil
		case "fabrics":
			return a.askFabrics()
		}
		for i, p := range a.roots {
			if name := strings.ToLower(p.title()); words[0] == name || words[0]+"s" == name || words[0]+"es" == name {
				a.show(i)
				return nil
			}
		}
	}
	if t, ok := a.named(words); ok {
		a.describe(t)
		return nil
	}
	if a.cfg.Do == nil {
		a.notify(bad, "unknown command %q", words[0])
		return nil
	}
	return a.run(line, "")
}

// named is the thing that a command asks to be shown: "switch s1.03", "link s0.00 s1.00", "s1.03", "fault 3".
func (a *app) named(words []string) (target, bool) {
	t := a.mirror.Topology
	if len(words) == 2 && strings.HasPrefix("faults", words[0]) && len(words[0]) > 4 {
		for _, r := range a.mirror.Faults {
			if words[1] == strconv.Itoa(r.ID) {
				return target{aFault, r.ID}, true
			}
		}
		return target{}, false
	}
	if len(words) > 1 && (words[0] == "switch" || words[0] == "link" || words[0] == "nic") {
		words = words[1:]
	}
	switch len(words) {
	case 1:
		if i := t.Switch(words[0]); i >= 0 {
			return target{aSwitch, i}, true
		}
		if i := t.NIC(words[0]); i >= 0 {
			return target{aNIC, i}, true
		}
		if i := t.Link(words[0]); i >= 0 {
			return target{aLink, i}, true
		}
	case 2:
		for _, name := range []string{words[0] + "-" + words[1], words[1] + "-" + words[0]} {
			if i := t.Link(name); i >= 0 {
				return target{aLink, i}, true
			}
		}
	}
	return target{}, false
}
