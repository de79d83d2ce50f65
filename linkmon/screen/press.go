package screen

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// press handles a key: first what is open above the page, then the keys that every page has, then
// the page, then what can be done to the thing the cursor is on.
func (a *app) press(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if k == "ctrl+c" {
		return tea.Quit
	}
	switch {
	case a.confirm != nil:
		return a.confirm.key(a, k)
	case a.form != nil:
		return a.form.key(a, msg)
	case a.prompt != nil:
		return a.prompt.key(a, msg)
	}
	a.said = ""
	if a.mirror == nil {
		switch {
		case k == "q" || k == "esc":
			return tea.Quit
		case a.picking() && k == "enter":
			a.choose(a.picker.on(a).i)
		case a.picking():
			a.picker.key(a, k)
		}
		return nil
	}
	switch k {
	case ":":
		a.prompt = newPrompt(a, ":", "")
		return nil
	case "/":
		if p, ok := a.page().(filterable); ok {
			a.prompt = newPrompt(a, "/", p.filtered().text)
			a.prompt.before = *p.filtered()
		} else {
			a.notify(dim, "there is nothing to filter here")
		}
		return nil
	case "?":
		a.open(newHelpPage(a))
		return nil
	case "F":
		return a.askFabrics()
	case "-":
		if a.previous != nil {
			a.stack, a.previous = a.previous, a.stack
		}
		return nil
	case "esc":
		a.back()
		return nil
	case "q":
		if len(a.stack) == 1 {
			return tea.Quit
		}
		a.previous, a.stack = a.stack, a.stack[:len(a.stack)-1]
		return nil
	}
	if n, err := strconv.Atoi(k); err == nil && n >= 1 && n <= len(a.roots) {
		a.show(n - 1)
		return nil
	}
	if a.page().key(a, k) {
		return nil
	}
	return a.pressOn(a.object(), k)
}

// back takes back one thing: the filter, the marks, or the page.
func (a *app) back() {
	if p, ok := a.page().(filterable); ok && p.filtered().on() {
		*p.filtered() = filter{}
		return
	}
	if len(a.stack) > 1 {
		a.previous, a.stack = a.stack, a.stack[:len(a.stack)-1]
		return
	}
	clear(a.marks)
}

// object is what the cursor is on.
func (a *app) object() target {
	if a.mirror == nil {
		return target{}
	}
	return a.page().on(a)
}

// pressOn handles the keys that do something with the thing that the cursor is on, or to those that
// are marked.
func (a *app) pressOn(t target, k string) tea.Cmd {
	switch k {
	case "enter", "d":
		a.describe(t)
	case "space":
		a.mark(t)
	case "c", "C":
		a.askFor(newCutForm, k == "C")
	case "f":
		a.askFor(newFlapForm, false)
	case "i":
		a.askFor(newImpairForm, false)
	case "x", "ctrl+d", "ctrl+k":
		return a.destroy(k)
	case "r":
		return a.restore()
	case "H":
		if a.mayAct() {
			a.confirm = &confirm{line: "heal --all", question: "Heal everything: all links and switches as they were?"}
		}
	case "u":
		return a.takeBack()
	}
	return nil
}

// notify says something in the last line, until the next key.
func (a *app) notify(t tone, format string, args ...any) {
	a.tone, a.said = t, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
}

// describe opens the page of a thing.
func (a *app) describe(t target) {
	switch t.kind {
	case aSwitch:
		a.open(newSwitchPage(a, t.i))
	case aLink:
		a.open(newLinkPage(a, t.i))
	case aNIC:
		if l := a.mirror.Topology.NICLinks[t.i]; l >= 0 {
			a.open(newLinkPage(a, l))
		}
	case aFault:
		a.open(newFaultPage(a, t.i))
	case anEvent:
		a.describeEvent(t.i)
	case aFabric:
		a.choose(t.i)
	}
}

// mark marks a link or switch, or takes the mark away.
func (a *app) mark(t target) {
	t = a.linkOf(t)
	if t.kind != aLink && t.kind != aSwitch {
		return
	}
	if a.marks[t] {
		delete(a.marks, t)
	} else {
		a.marks[t] = true
	}
	a.page().key(a, "down")
}

// linkOf is the link of a NIC in its place: a NIC has nothing else that can break.
func (a *app) linkOf(t target) target {
	if t.kind == aNIC {
		if l := a.mirror.Topology.NICLinks[t.i]; l >= 0 {
			return target{aLink, l}
		}
	}
	return t
}

func (a *app) marked(t target) bool { return a.marks[a.linkOf(t)] }
