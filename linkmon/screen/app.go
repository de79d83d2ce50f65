package screen

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/weft-fabric/weft/fabricd/api"
)

// page is one view. Pages are drawn from the mirror each time and keep no state of the fabric
// themselves.
type page interface {
	title() string
	draw(a *app, w, h int) []string
	// key handles a key that is the page's own.
	key(a *app, k string) bool
	// on is what the cursor is on.
	on(a *app) target
}

// filterable is a page that shows only what matches.
type filterable interface{ filtered() *filter }

// app is the model of the program: what is shown of the mirror, and what the user is about to do.
type app struct {
	ctx context.Context // ends commands under way when the program ends
	cfg Config
	th  theme
	w   int
	h   int

	mirror      *mirror // nil until the fabric was reached for the first time
	status      api.Status
	unreachable error // why the fabric cannot be reached; nil while it can
	live        bool  // frames arrive
	detail      question
	asking      bool // an answer is on its way

	fabrics []api.Listed // as they were listed last
	picker  *table       // of these

	roots    []page // by number key, from 1
	stack    []page // what esc goes back through; the last is shown
	previous []page // the stack that "-" goes back to
	marks    map[target]bool

	prompt  *prompt
	form    *form
	confirm *confirm
	said    string // what came of the latest order
	tone    tone
	undo    []string // lines that take back the orders given here, the latest last
	history []string // lines typed after ":"
}

func newApp(ctx context.Context, cfg Config) *app {
	a := &app{ctx: ctx, cfg: cfg, th: newTheme(true, cfg.ASCII), w: 80, h: 24, marks: map[target]bool{}}
	a.roots = []page{
		newMapPage(), newLinksPage(), newSwitchesPage(), newNICsPage(), newEventsPage(), newFaultsPage(),
		&chartsPage{},
	}
	a.stack, a.picker = []page{a.roots[0]}, newFabricsPage()
	return a
}

// Init implements tea.Model.
func (a *app) Init() tea.Cmd { return tea.RequestBackgroundColor }

// Update implements tea.Model.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		a.th = newTheme(msg.IsDark(), a.cfg.ASCII)
	case connected:
		a.connect(msg)
	case arrived:
		if a.mirror == nil {
			return a, nil // of the fabric before the one that is chosen now
		}
		a.live, a.unreachable = true, nil
		a.mirror.Apply(msg.frame)
		return a, a.askDetail()
	case detailed:
		a.answer(msg)
	case gone:
		a.live, a.unreachable = false, msg.err
		if a.mirror == nil {
			return a, a.askFabrics()
		}
	case fabrics:
		a.offer(msg)
	case done:
		a.finished(msg)
	case suggested:
		if a.prompt != nil {
			a.prompt.suggest(msg)
		}
	case tea.PasteMsg:
		if a.prompt != nil {
			return a, a.prompt.update(a, msg)
		}
	case tea.KeyPressMsg:
		return a, a.press(msg)
	}
	return a, nil
}

// connect takes a fabric over. The state of one that was shown before stays until its first frame
// if it is of the same topology, so that a moment without the broker does not empty the screen.
func (a *app) connect(c connected) {
	a.unreachable, a.detail = nil, c.detail
	if a.mirror == nil || a.status.Name != c.status.Name || !sameGraph(a.mirror.Topology, c.topology) {
		a.mirror = newMirror(c.topology)
		clear(a.marks)
		a.form, a.confirm, a.undo = nil, nil, nil
		a.previous, a.stack = nil, []page{a.roots[0]}
		a.roots[0].(*mapPage).reset()
	}
	a.status = c.status
}

func sameGraph(x, y *topology) bool {
	return len(x.Switches) == len(y.Switches) && len(x.NICs) == len(y.NICs) &&
		slices.EqualFunc(x.Links, y.Links, func(a, b api.TopologyLink) bool { return a.ID == b.ID })
}

func (a *app) page() page { return a.stack[len(a.stack)-1] }

// open shows a page on top of the others; esc goes back.
func (a *app) open(p page) {
	a.previous = append([]page(nil), a.stack...)
	a.stack = append(a.stack[:len(a.stack):len(a.stack)], p)
}

// show shows one of the numbered pages.
func (a *app) show(i int) {
	if len(a.stack) == 1 && a.stack[0] == a.roots[i] {
		return
	}
	a.previous = append([]page(nil), a.stack...)
	a.stack = []page{a.roots[i]}
}

// View implements tea.Model.
func (a *app) View() tea.View {
	v := tea.NewView(strings.Join(a.lines(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "linkmon " + a.status.Name
	if a.prompt != nil {
		v.Cursor = a.prompt.cursor(a.h - 1)
	}
	return v
}

// The least size that anything is drawn at.
const (
	minWidth  = 40
	minHeight = 10
)

// lines is the screen, a.h lines of at most a.w characters.
func (a *app) lines() []string {
	if a.w < minWidth || a.h < minHeight {
		return []string{clip("too small: make it 80x24", a.w, "")}
	}
	out := a.head()
	room := a.h - len(out) - 1
	var body, sheet []string
	switch {
	case a.confirm != nil:
		sheet = a.confirm.draw(a, a.w)
	case a.form != nil:
		sheet = a.form.draw(a, a.w)
	case a.prompt != nil:
		sheet = a.prompt.above(a, a.w)
	case a.said != "":
		sheet = a.saidLines()
		sheet = sheet[:len(sheet)-1] // the last is the last of the screen
	}
	sheet = sheet[:min(len(sheet), room-1)]
	if a.picking() {
		body = append([]string{"", "  which fabric? enter shows it; q quits", ""},
			a.picker.draw(a, a.w, room-len(sheet)-3)...)
	} else if a.mirror == nil {
		body = a.waiting()
	} else {
		body = a.page().draw(a, a.w, room-len(sheet))
	}
	body = body[:min(len(body), room-len(sheet))]
	for len(body) < room-len(sheet) {
		body = append(body, "")
	}
	out = append(append(append(out, body...), sheet...), a.foot())
	for i, line := range out {
		out[i] = clip(line, a.w, "")
	}
	return out
}

// waiting is shown until the fabric was reached for the first time.
func (a *app) waiting() []string {
	text := "connecting" + a.th.signs.ellipsis
	if a.unreachable != nil {
		text = "no fabric: " + a.unreachable.Error()
	}
	return []string{
		"", "  " + clip(text, a.w-4, a.th.signs.ellipsis), "",
		a.render(dim, "  linkmon waits for it; q quits"),
	}
}

func (a *app) render(t tone, text string) string { return a.th.styles[t].Render(text) }

// foot is the last line: what is typed, or what was said, or which keys there are.
func (a *app) foot() string {
	switch {
	case a.prompt != nil:
		return a.prompt.view()
	case a.said != "":
		lines := a.saidLines()
		return lines[len(lines)-1]
	}
	hints := []string{"?", "help", ":", "command", "/", "filter", "enter", "open", "space", "mark"}
	if !a.cfg.ReadOnly {
		switch a.object().kind {
		case aSwitch:
			hints = append(hints, "x", "crash", "r", "restart", "H", "heal")
		case aLink, aNIC:
			hints = append(hints, "c", "cut", "r", "restore", "f", "flap", "i", "impair")
		default:
			hints = append(hints, "u", "undo", "H", "heal")
		}
	}
	var b strings.Builder
	for i := 0; i < len(hints); i += 2 {
		next := a.render(strong, hints[i]) + " " + a.render(dim, hints[i+1]) + "  "
		if lipgloss.Width(b.String()+next) > a.w+2 {
			break
		}
		b.WriteString(next)
	}
	return strings.TrimRight(b.String(), " ")
}

// maxSaid bounds the lines of what was said, so that the page is not covered. Chosen by us.
const maxSaid = 5

// saidLines is what was said, in as many lines as it needs.
func (a *app) saidLines() []string {
	lines := wrapped(a.said, a.w)
	if len(lines) > maxSaid {
		lines = append(lines[:maxSaid-1], clip(lines[maxSaid-1], a.w-2, "")+a.th.signs.ellipsis)
	}
	for i, l := range lines {
		lines[i] = a.render(a.tone, l)
	}
	return lines
}
