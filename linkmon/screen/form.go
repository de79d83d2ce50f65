package screen

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/dustin/go-humanize/english"
)

// field is one thing that a form asks: a choice of some words, or a text.
type field struct {
	name    string
	choices []string
	labels  []string // what is shown for the choices; nil: themselves
	choice  int
	text    string
	hint    string
}

// value is what was chosen or typed.
func (f field) value() string {
	if f.choices != nil {
		return f.choices[f.choice]
	}
	return strings.TrimSpace(f.text)
}

// form asks how a fault is to be, and makes a command line of it.
type form struct {
	verb    string
	names   string // of the links, as words of a command line
	undo    string
	title   string
	fields  []field
	at      int
	wrong   string // why the order was refused
	running bool
}

// line is the command line that the form stands for.
func (f *form) line() string {
	words := []string{f.verb, f.names}
	for _, x := range f.fields {
		switch v := x.value(); {
		case v == "" || v == "both" || v == "signalled":
		case v == "silent":
			words = append(words, "--silent")
		default:
			words = append(words, "--"+x.name, v)
		}
	}
	return strings.Join(words, " ")
}

// beSilent chooses that nobody is told.
func (f *form) beSilent() {
	if i := slices.IndexFunc(f.fields, func(x field) bool { return x.name == "signal" }); i >= 0 {
		f.fields[i].choice = slices.Index(f.fields[i].choices, "silent")
	}
}

func newForm(a *app, verb string, links []target, fields ...field) *form {
	f := &form{verb: verb, names: a.names(links), fields: fields}
	f.title = title(verb) + " " + f.names
	f.undo = "restore " + f.names
	if len(links) > 1 {
		f.title = title(verb) + " " + english.Plural(len(links), "link", "") + " at one instant"
	}
	return f
}

// signal asks whether the ends are told.
func signal() field {
	return field{
		name: "signal", choices: []string{"signalled", "silent"},
		labels: []string{"signalled: both ends lose signal", "silent: nobody is told"},
	}
}

// direction asks which way, by the names of the ends when there is one link.
func direction(a *app, links []target) field {
	f := field{name: "direction", choices: []string{"both", "to", "from"}}
	if len(links) == 1 {
		l := a.mirror.Topology.Links[links[0].i]
		to := " " + a.th.signs.to + " "
		f.labels = []string{"both", l.A + to + l.B, l.B + to + l.A}
	}
	return f
}

func howLong() field { return field{name: "for", hint: "until it is restored; or a time, as 10s"} }

func newCutForm(a *app, links []target) *form {
	return newForm(a, "cut", links, signal(), direction(a, links), howLong())
}

func newFlapForm(a *app, links []target) *form {
	return newForm(a, "flap", links,
		field{name: "period", text: "1s", hint: "from one cut to the next"},
		field{name: "duty", hint: "share of it that the link is down, as 30%; 50% unless given"},
		field{name: "jitter", hint: "every edge late by up to this, as 50ms"},
		field{name: "count", hint: "end after so many periods"},
		signal(), direction(a, links), howLong())
}

func newImpairForm(a *app, links []target) *form {
	f := newForm(a, "impair", links,
		field{name: "loss", text: "10%", hint: "share of frames lost"},
		field{name: "delay", hint: "added, as 5ms"},
		field{name: "jitter", hint: "the delay differs by up to this, as 1ms"},
		field{name: "rate", hint: "most it carries, as 100kB/s"},
		direction(a, links), howLong())
	f.undo = "impair " + f.names + " --clear"
	return f
}

// key handles a key while a form is open.
func (f *form) key(a *app, msg tea.KeyPressMsg) tea.Cmd {
	x := &f.fields[f.at]
	switch k := msg.String(); k {
	case "esc", "ctrl+g":
		a.form = nil
	case "enter":
		if !f.running {
			f.running, f.wrong = true, ""
			return a.run(f.line(), f.undo)
		}
	case "up", "shift+tab":
		f.at = (f.at + len(f.fields) - 1) % len(f.fields)
	case "down", "tab":
		f.at = (f.at + 1) % len(f.fields)
	case "left", "right", "space":
		if x.choices == nil {
			break
		}
		step := 1
		if k == "left" {
			step = len(x.choices) - 1
		}
		x.choice = (x.choice + step) % len(x.choices)
	case "backspace", "ctrl+h":
		if r := []rune(x.text); len(r) > 0 {
			x.text = string(r[:len(r)-1])
		}
	case "ctrl+u":
		x.text = ""
	default:
		if x.choices == nil && len(x.text) < 32 {
			x.text += msg.Text
		}
	}
	return nil
}

func (f *form) draw(a *app, w int) []string {
	var body []string
	for i, x := range f.fields {
		name := fit(x.name, 10)
		if i == f.at {
			name = a.render(strong, name)
		}
		body = append(body, name+f.input(a, x, i == f.at))
	}
	body = append(body, "")
	switch {
	case f.wrong != "":
		for _, line := range wrapped(f.wrong, w-4) {
			body = append(body, a.render(bad, line))
		}
	default:
		body = append(body, a.render(info, clip(f.line(), w-4, a.th.signs.ellipsis)))
	}
	body = append(body, a.render(strong, "enter")+a.render(dim, " do it   ")+a.render(strong, "tab")+
		a.render(dim, " next   ")+
		a.render(strong, "left right")+a.render(dim, " choose   ")+a.render(strong, "esc")+a.render(dim, " leave it"))
	return a.box(f.title, body, w)
}

func (f *form) input(a *app, x field, focused bool) string {
	reverse := lipgloss.NewStyle().Reverse(true)
	if x.choices == nil {
		text := x.text
		if focused {
			text += reverse.Render(" ")
		}
		return fit(text, 12) + " " + a.render(dim, x.hint)
	}
	var b strings.Builder
	for i, c := range x.choices {
		if x.labels != nil {
			c = x.labels[i]
		}
		switch {
		case i == x.choice && focused:
			b.WriteString(reverse.Render("[" + c + "]"))
		case i == x.choice:
			b.WriteString(a.render(strong, "["+c+"]"))
		default:
			b.WriteString(a.render(dim, " "+c+" "))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// box draws a frame with a title around lines.
func (a *app) box(title string, body []string, w int) []string {
	s := a.th.signs
	title = clip(" "+title+" ", w-6, s.ellipsis)
	out := []string{s.topLeft + s.rule + a.render(strong, title) +
		strings.Repeat(s.rule, max(0, w-3-lipgloss.Width(title))) + s.topRight}
	for _, line := range body {
		out = append(out, s.side+" "+fit(line, w-4)+" "+s.side)
	}
	return append(out, s.bottomLeft+strings.Repeat(s.rule, w-2)+s.bottomRight)
}

// wrapped breaks text into lines of at most w characters.
func wrapped(text string, w int) []string { return strings.Split(lipgloss.Wrap(text, w, ""), "\n") }

// confirm asks before something is destroyed.
type confirm struct {
	question   string
	line, undo string
}

func (c *confirm) key(a *app, k string) tea.Cmd {
	switch k {
	case "y", "Y":
		a.confirm = nil
		return a.run(c.line, c.undo)
	case "n", "N", "esc", "q", "enter":
		a.confirm = nil
		a.notify(dim, "nothing was done")
	}
	return nil
}

func (c *confirm) draw(a *app, w int) []string {
	body := wrapped(c.question, w-4)
	body = append(body, "", a.render(strong, "y")+a.render(dim, " yes   ")+a.render(strong, "n")+
		a.render(dim, " no, leave it (also enter and esc)"))
	return a.box("Really?", body, w)
}
