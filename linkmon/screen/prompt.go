package screen

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// prompt is the last line while something is typed into it: a command, or a filter.
type prompt struct {
	input    textinput.Model
	command  bool   // after ":", else a filter after "/"
	before   filter // what esc brings back
	position int    // how far back in the history
}

// suggested are the lines that the one in the prompt may become.
type suggested struct {
	of   string
	list []string
}

func newPrompt(a *app, sign, text string) *prompt {
	p := &prompt{input: textinput.New(), command: sign == ":", position: len(a.history)}
	p.input.Prompt = sign
	p.input.SetVirtualCursor(false)
	p.input.ShowSuggestions = p.command
	p.input.KeyMap.NextSuggestion = key.NewBinding(key.WithKeys("ctrl+n"))
	p.input.KeyMap.PrevSuggestion = key.NewBinding(key.WithKeys("ctrl+p"))
	styles := textinput.Styles{}
	styles.Focused.Prompt = a.th.styles[strong]
	styles.Focused.Suggestion = a.th.styles[dim]
	p.input.SetStyles(styles)
	p.input.SetWidth(a.w - 2)
	p.input.SetValue(text)
	p.input.Focus()
	return p
}

func (p *prompt) view() string { return p.input.View() }

func (p *prompt) cursor(y int) *tea.Cursor {
	c := p.input.Cursor()
	if c != nil {
		c.Y = y
	}
	return c
}

// above lists what tab could complete to, above the prompt.
func (p *prompt) above(a *app, w int) []string {
	list := p.input.MatchedSuggestions()
	if !p.command || len(list) == 0 || p.input.Value() == "" || (len(list) == 1 && list[0] == p.input.Value()) {
		return nil
	}
	cut := strings.LastIndexByte(p.input.Value(), ' ') + 1
	var b strings.Builder
	for i, s := range list {
		word := s[min(cut, len(s)):]
		if lipgloss.Width(b.String())+len(word)+2 > w-2 {
			b.WriteString(a.th.signs.ellipsis)
			break
		}
		if i == p.input.CurrentSuggestionIndex() {
			word = lipgloss.NewStyle().Reverse(true).Render(word)
		} else {
			word = a.render(dim, word)
		}
		b.WriteString(word + "  ")
	}
	return []string{b.String()}
}

// update gives a message to the line that is typed.
func (p *prompt) update(a *app, msg tea.Msg) tea.Cmd {
	before := p.input.Value()
	p.input, _ = p.input.Update(msg) // the cursor is the terminal's own, there is nothing to blink
	if p.input.Value() == before {
		return nil
	}
	if !p.command {
		a.setFilter(newFilter(p.input.Value()))
		return nil
	}
	return a.complete(p.input.Value())
}

// key handles a key while something is typed.
func (p *prompt) key(a *app, msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc", "ctrl+g":
		if !p.command {
			a.setFilter(p.before)
		}
		a.prompt = nil
		return nil
	case "backspace", "ctrl+h":
		if p.input.Value() == "" {
			a.prompt = nil
			return nil
		}
	case "enter":
		a.prompt = nil
		if p.command {
			return a.command(strings.TrimSpace(p.input.Value()))
		}
		return nil
	case "up", "down":
		if p.command {
			p.remember(a, msg.String() == "up")
			return a.complete(p.input.Value())
		}
	}
	return p.update(a, msg)
}

// remember shows an earlier or later command.
func (p *prompt) remember(a *app, earlier bool) {
	if earlier {
		p.position = max(0, p.position-1)
	} else {
		p.position = min(len(a.history), p.position+1)
	}
	text := ""
	if p.position < len(a.history) {
		text = a.history[p.position]
	}
	p.input.SetValue(text)
	p.input.CursorEnd()
}

// suggest takes suggestions over if they are for what is typed now.
func (p *prompt) suggest(s suggested) {
	if p.command && s.of == p.input.Value() {
		p.input.SetSuggestions(s.list)
	}
}

// complete asks what line may become.
func (a *app) complete(line string) tea.Cmd {
	own := a.ownWords(line)
	ctx, more := a.ctx, a.cfg.Complete
	return func() tea.Msg {
		list := own
		if more != nil && strings.TrimSpace(line) != "" {
			for _, s := range more(ctx, line) {
				if !containsWord(list, s) {
					list = append(list, s)
				}
			}
		}
		return suggested{line, list}
	}
}

func containsWord(list []string, word string) bool {
	return slices.ContainsFunc(list,
		func(s string) bool { return strings.TrimRight(s, " ") == strings.TrimRight(word, " ") })
}

// ownWords are the commands that only the full screen has, which open its pages.
func (a *app) ownWords(line string) (list []string) {
	for _, w := range []string{
		"map", "links", "switches", "nics", "events", "faults", "charts", "fabrics", "help",
		"quit",
	} {
		if line != "" && strings.HasPrefix(w, line) {
			list = append(list, w)
		}
	}
	return list
}

func (a *app) setFilter(f filter) {
	if p, ok := a.page().(filterable); ok {
		*p.filtered() = f
	}
}
