package sweep

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-fabric/weft/fabricd/document"
)

// What is made of the results: plots and checks.

func (p *parser) plot(e *Experiment, i int) {
	at, pl := fmt.Sprintf("$.plots[%d]", i), e.Plots[i]
	if !word.MatchString(pl.Name) {
		p.failf(at+".name", "the name is %q, expected lower-case letters, digits, - and _", pl.Name)
	}
	if slices.ContainsFunc(e.Plots[:i], func(o Plot) bool { return o.Name == pl.Name }) {
		p.failf(at+".name", "there are two plots of the name %s", pl.Name)
	}
	p.measurable(at+".y", pl.Y)
	switch {
	case pl.Cumulative && pl.X != "":
		p.failf(at+".x", "a cumulative plot has time along the bottom: leave x empty")
	case !pl.Cumulative:
		p.numericX(e, at+".x", pl.X)
		p.apart(e, at+".x", pl)
	}
	for j, name := range pl.Series {
		if e.full.index(name) < 0 {
			p.fail(fmt.Sprintf("%s.series[%d]", at, j), unknownAxis(name, &e.full))
		}
	}
	if pl.Split != "" && e.full.index(pl.Split) < 0 {
		p.fail(at+".split", unknownAxis(pl.Split, &e.full))
	}
	p.where(e, at+".where", pl.Where)
	if bars := []string{barsInterval, barsRange}; pl.Bars != "" && !slices.Contains(bars, pl.Bars) {
		p.fail(at+".bars", document.Unknown("kind of bars", pl.Bars, bars))
	}
	for j, v := range pl.Vertical {
		p.where(e, fmt.Sprintf("%s.vertical[%d].where", at, j), v.Where)
		if _, ok := v.At.number(); !ok && !slices.ContainsFunc(e.Loads, func(l Load) bool { return l.Name == string(v.At) }) {
			p.failf(fmt.Sprintf("%s.vertical[%d].at", at, j), "the line is at %q, expected a number or the name of a load", v.At)
		}
	}
}

// apart checks that no curve has two points above each other, where an axis is along the bottom.
// Above a column no two points of a curve need be.
func (p *parser) apart(e *Experiment, path string, pl Plot) {
	if e.full.index(pl.X) < 0 {
		return
	}
	for _, a := range e.full.axes {
		if a.name == pl.X || a.name == pl.Split || slices.Contains(pl.Series, a.name) {
			continue
		}
		n := 0
		for _, v := range a.values {
			if some, chosen := pl.Where[a.name]; !chosen || some.has(v) {
				n++
			}
		}
		if n > 1 {
			p.failf(path, "a curve would have %d points at each value of %s, one for each of %s: give %s in series or split, "+
				"or one value of it in where", n, pl.X, a.name, a.name)
		}
	}
}

// numericX checks what is along the bottom of a plot.
func (p *parser) numericX(e *Experiment, path, x string) {
	i := e.full.index(x)
	if i < 0 {
		if c := columnAt(x); c < 0 || !columns[c].numeric() {
			p.fail(path, document.Unknown("column", x, append(e.full.axisNames(), measurable()...)))
		}
		return
	}
	for _, v := range e.full.axes[i].values {
		if _, ok := v.number(); !ok {
			p.failf(path, "axis %s has the value %q, and what is along the bottom of a plot is a number", x, v)
			return
		}
	}
}

func (p *parser) measurable(path, name string) {
	if !slices.Contains(measurable(), name) {
		p.fail(path, document.Unknown("column", name, measurable()))
	}
}

func (p *parser) check(e *Experiment, i int) {
	at, c := fmt.Sprintf("$.checks[%d]", i), e.Checks[i]
	p.measurable(at+".value", c.Value)
	p.where(e, at+".where", c.Where)
	for _, name := range slices.Sorted(maps.Keys(c.Against)) {
		p.coordinate(e, at+".against", name, c.Against[name])
	}
	for _, w := range []struct {
		path, kind, word string
		words            []string
	}{
		{".as", "comparison", c.As, []string{asRatio, asDifference, asPercent}},
		{".of", "choice", c.Of, []string{ofEvery, ofMean, ofAny}},
		{".take", "choice", c.Take, []string{takeMean, takeLeast, takeLargest, takeSpread}},
	} {
		if w.word != "" && !slices.Contains(w.words, w.word) {
			p.fail(at+w.path, document.Unknown(w.kind, w.word, w.words))
		}
	}
	switch {
	case len(c.Against) > 0 && !c.plain():
		p.failf(at+".take", "points are compared by means: leave out take or against")
	case len(c.Against) == 0 && (c.As != "" || c.Per != ""):
		p.failf(at, "as and per say how points are compared: against which? give against")
	case c.Per != "" && c.As == asRatio, c.Per != "" && c.As == "":
		p.failf(at+".per", "a ratio has no slope: say as: percent or as: difference")
	case c.Per != "":
		if _, moved := c.Against[c.Per]; !moved {
			p.failf(at+".per", "the points do not differ on axis %s: give it in against", c.Per)
		} else {
			p.numericX(e, at+".per", c.Per)
		}
	}
	p.bounds(at, &c)
}

// bounds checks what a statement claims.
func (p *parser) bounds(at string, c *Check) {
	given, sound := 0, true
	for _, b := range []struct {
		name string
		v    *float64
	}{{"at_least", c.AtLeast}, {"at_most", c.AtMost}, {"above", c.Above}, {"below", c.Below}, {"scale", c.Scale}} {
		if b.v != nil && (math.IsNaN(*b.v) || math.IsInf(*b.v, 0)) {
			p.failf(at+"."+b.name, "%s is a number, found %v", b.name, *b.v)
			sound = false
		}
		given += b2i(b.v != nil && b.name != "scale")
	}
	if given == 0 {
		p.fail(at, errors.New("nothing is claimed: give at_least, at_most, above or below"))
	}
	low, high := c.within()
	if sound && (low > high || low == high && !c.met(low)) {
		p.failf(at, "no value can be what is claimed: from %v to %v", low, high)
	}
}
