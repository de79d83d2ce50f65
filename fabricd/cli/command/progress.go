package command

import (
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"charm.land/bubbles/v2/progress"
	"charm.land/lipgloss/v2"
	"github.com/dustin/go-humanize"
)

// Progress shows how far work in countable pieces has come: as a bar on a terminal, elsewhere as a
// line now and then. What takes less than a moment shows nothing.
type Progress struct {
	w     io.Writer
	what  string // the pieces, as "fault sets"
	live  bool
	every time.Duration
	line  *Line // with the bar, when live
	bar   bool  // it is shown

	began, spoke time.Time
	// pieces done when it was told for the first time: an earlier run has done them in no time of ours
	first uint64
	heard bool // it was told
	Total uint64
}

// TellEvery is the time between lines where there is no terminal.
const TellEvery = 10 * time.Second

// width is that of the bar and its percentage. Chosen by us.
const width = 35

// moment is how long the bar waits before it appears.
const moment = 300 * time.Millisecond

// flicker is the least time between two looks of the bar.
const flicker = 100 * time.Millisecond

// NewProgress shows the progress of pieces on w: as a bar when live, else as a line every so often.
func NewProgress(w io.Writer, live bool, what string, every time.Duration) *Progress {
	now := time.Now()
	return &Progress{
		w: w, line: &Line{w: Printable(w), live: true}, live: live, what: what, every: every, began: now,
		spoke: now,
	}
}

// Begin is for other work that follows, in pieces of its own.
func (p *Progress) Begin(what string) {
	p.End()
	p.what, p.began, p.heard, p.bar = what, time.Now(), false, false
}

// Told is told by one goroutine at a time.
func (p *Progress) Told(done, total uint64) {
	p.Total = total
	if !p.heard {
		p.first, p.heard = done, true
	}
	now := time.Now()
	if p.live {
		if !p.bar && now.Sub(p.began) > moment && done < total {
			p.bar, p.spoke = true, time.Time{}
		}
		if p.bar && now.Sub(p.spoke) > flicker {
			p.spoke = now
			bar := progress.New(progress.WithWidth(width), progress.WithFillCharacters('█', '░'),
				progress.WithColors(lipgloss.NoColor{}))
			bar.EmptyColor = lipgloss.NoColor{}
			p.line.Show(fmt.Sprintf("%s%s  %s  (%d/%d)", p.what, p.left(now, done, total),
				bar.ViewAs(float64(done)/float64(total)), done, total))
		}
		return
	}
	if now.Sub(p.spoke) < p.every || done == total {
		return
	}
	fmt.Fprintf(p.w, "%s of %s %s, %s%s\n", Grouped(done), Grouped(total), p.what, Share(done, total),
		p.left(now, done, total))
	p.spoke = now
}

// left says how long the rest takes at the rate so far; nothing as long as there is none.
func (p *Progress) left(now time.Time, done, total uint64) string {
	since := now.Sub(p.began).Seconds()
	if done <= p.first || since <= 0 {
		return ""
	}
	rest := float64(total-done) / float64(done-p.first) * since
	return ", about " + Roundly(time.Duration(min(rest, 1e9)*float64(time.Second))).String() + " left"
}

// End takes the bar away.
func (p *Progress) End() { p.line.Done() }

// Counted is so many things.
func Counted(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return Grouped(uint64(n)) + " " + what
}

// Grouped prints n in groups of three digits.
func Grouped(n uint64) string { return humanize.BigComma(new(big.Int).SetUint64(n)) }

// Share is n of all in percent. It is 100% only when it is all, and 0% only when it is none.
func Share(n, all uint64) string {
	switch p := 100 * float64(n) / float64(all); {
	case n == all:
		return "100%"
	case n == 0:
		return "0%"
	default:
		return fmt.Sprintf("%.2f%%", min(max(p, 0.01), 99.99))
	}
}

// Roundly is d to about two digits.
func Roundly(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{10 * time.Minute, time.Minute, time.Second, 100 * time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(10 * time.Millisecond)
}
