package screen

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/guptarohit/asciigraph"

	"github.com/weft-fabric/weft/fabricd/api"
)

// tone is what a piece of text means; a theme says how that looks. Colours only ever add to what
// words and signs say already, for terminals and people without them.
type tone uint8

const (
	plain  tone = iota
	dim         // of less interest
	strong      // headings and names
	info        // lively: packets on their way
	accent      // going another way than usual
	warn        // impaired, waiting
	bad         // broken
	load1       // load1 to load4: links by load
	load2
	load3
	load4
	tones
)

// theme is how things look on one terminal.
type theme struct {
	styles  [tones]lipgloss.Style
	palette [tones]asciigraph.AnsiColor // the same for charts, of the 256 colours
	signs   signs
}

// newTheme makes the theme for a dark or light background. The colours are those of Okabe and Ito,
// which people with any kind of colour vision can tell apart, darker on light backgrounds.
func newTheme(dark, ascii bool) theme {
	pick := lipgloss.LightDark(dark)
	c := func(light, dark string) color.Color { return pick(lipgloss.Color(light), lipgloss.Color(dark)) }
	t := theme{signs: unicodeSigns}
	if ascii {
		t.signs = asciiSigns
	}
	fg := func(c color.Color) lipgloss.Style { return lipgloss.NewStyle().Foreground(c) }
	t.styles = [tones]lipgloss.Style{
		plain:  lipgloss.NewStyle(),
		dim:    fg(c("#707070", "#8C8C8C")),
		strong: lipgloss.NewStyle().Bold(true),
		info:   fg(c("#0072B2", "#56B4E9")),
		accent: fg(c("#94407A", "#DD8FBF")).Bold(true),
		warn:   fg(c("#8F5F00", "#E69F00")).Bold(true),
		bad:    fg(c("#B03A00", "#FF7043")).Bold(true),
		load1:  fg(c("#7FA8C9", "#4E7A9E")),
		load2:  fg(c("#3B86BD", "#56B4E9")),
		load3:  fg(c("#00618F", "#7FD6C2")),
		load4:  fg(c("#7A5200", "#F0E442")),
	}
	t.palette[dim], t.palette[info], t.palette[accent], t.palette[warn], t.palette[bad] = 245, 75, 175, 214, 209
	if !dark {
		t.palette[dim], t.palette[info], t.palette[accent], t.palette[warn], t.palette[bad] = 242, 25, 96, 94, 130
	}
	return t
}

// signs are the characters that are drawn.
type signs struct {
	load                     []rune // from idle to full
	trouble                  [linkDeadlocked + 1]rune
	wire, post               [4]rune // a link from left to right, and from above: idle, low, half, full
	turn, rerouted, blocked  rune
	mark, dot, to            string
	ellipsis, rule           string
	spark                    []rune
	topLeft, topRight        string
	bottomLeft, bottomRight  string
	side                     string
	live, gone, rising, back string
}

var unicodeSigns = signs{
	load: []rune("·▁▂▃▄▅▆▇█"),
	trouble: [...]rune{
		linkWell: ' ', linkImpaired: '!', linkFlapping: '~', linkComing: ':', linkDown: '○', linkSilent: '?',
		linkCut: '✕', linkDeadlocked: '◆',
	},
	wire: [...]rune{'┄', '─', '━', '═'}, post: [...]rune{'┆', '│', '┃', '║'},
	turn: '↺', rerouted: '»', blocked: '▪',
	mark: "●", dot: "·", to: "→", ellipsis: "…", rule: "─", spark: []rune("▁▂▃▄▅▆▇█"),
	topLeft: "╭", topRight: "╮", bottomLeft: "╰", bottomRight: "╯", side: "│",
	live: "●", gone: "○", rising: "▲", back: "←",
}

var asciiSigns = signs{
	load: []rune(".12345678"),
	trouble: [...]rune{
		linkWell: ' ', linkImpaired: '!', linkFlapping: '~', linkComing: ':', linkDown: 'o', linkSilent: '?',
		linkCut: 'x', linkDeadlocked: 'D',
	},
	wire: [...]rune{'.', '-', '=', '#'}, post: [...]rune{'.', '|', '|', '#'},
	turn: 'u', rerouted: '>', blocked: 'w',
	mark: "*", dot: "-", to: "->", ellipsis: "~", rule: "-", spark: []rune("12345678"),
	topLeft: "+", topRight: "+", bottomLeft: "+", bottomRight: "+", side: "|",
	live: "*", gone: "o", rising: "^", back: "<-",
}

// troubleTone is how alarming a trouble is.
func troubleTone(t trouble) tone {
	switch t {
	case linkWell:
		return plain
	case linkImpaired, linkFlapping, linkComing:
		return warn
	}
	return bad
}

// loadLevel is which of n levels a load falls into: 0 for none at all, n-1 for a full link.
func loadLevel(load float64, n int) int {
	if !(load > 0) {
		return 0
	}
	return min(n-1, 1+int(load*float64(n-1)))
}

// loadTone is the colour of a load.
func loadTone(load float64) tone {
	if !(load > 0) {
		return dim
	}
	return load1 + tone(min(3, int(load*4)))
}

// sign is how a link looks that is drawn as one character, with its tone.
func (t theme) sign(m *mirror, link int) (rune, tone) {
	if tr := m.Trouble(link); tr != linkWell {
		return t.signs.trouble[tr], troubleTone(tr)
	}
	load := busier(m.Links[link])
	return t.signs.load[loadLevel(load, len(t.signs.load))], loadTone(load)
}

// busier is the load of the busier direction.
func busier(l api.LinkView) float64 { return max(l.LoadAB, l.LoadBA) }
