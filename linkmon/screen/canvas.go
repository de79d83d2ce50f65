package screen

import (
	"cmp"
	"strings"
)

// glyph is one character of a canvas.
type glyph struct {
	r       rune
	t       tone
	reverse bool
	under   bool
}

// canvas is a rectangle of characters that is drawn on. What falls outside is not drawn.
type canvas struct {
	w, h  int
	cells []glyph
}

func newCanvas(w, h int) *canvas { return &canvas{w: w, h: h, cells: make([]glyph, w*h)} }

func (c *canvas) at(x, y int) *glyph {
	if x < 0 || y < 0 || x >= c.w || y >= c.h {
		return &glyph{}
	}
	return &c.cells[y*c.w+x]
}

func (c *canvas) put(x, y int, r rune, t tone) { *c.at(x, y) = glyph{r: r, t: t} }

func (c *canvas) text(x, y int, s string, t tone) {
	for _, r := range s {
		c.put(x, y, r, t)
		x++
	}
}

// lines renders the part of c that begins at (x0, y0), w wide and h high.
func (c *canvas) lines(th theme, x0, y0, w, h int) []string {
	out := make([]string, 0, h)
	for y := y0; y < y0+h; y++ {
		var b, run strings.Builder
		var look glyph
		flush := func() {
			if run.Len() == 0 {
				return
			}
			style := th.styles[look.t]
			if look.reverse {
				style = style.Reverse(true)
			}
			if look.under {
				style = style.Underline(true)
			}
			b.WriteString(style.Render(run.String()))
			run.Reset()
		}
		for x := x0; x < x0+w; x++ {
			g := glyph{}
			if y < c.h && x < c.w {
				g = *c.at(x, y)
			}
			g.r = cmp.Or(g.r, ' ')
			next := g
			next.r = 0
			if next != look {
				flush()
				look = next
			}
			run.WriteRune(g.r)
		}
		flush()
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}
