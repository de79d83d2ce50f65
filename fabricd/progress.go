package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/weft-fabric/weft/fabricd/cli"
)

// progress shows how far work in countable pieces has come: as a bar on a terminal, elsewhere as a
// line now and then. What takes less than a moment shows nothing.
type progress struct {
	w     io.Writer
	what  string // the pieces, as "fault sets"
	live  bool
	every time.Duration
	bar   *progressbar.ProgressBar

	began, spoke time.Time
	first        uint64 // pieces done when it was told for the first time: an earlier run has done them in no time of ours
	heard        bool   // it was told
	total        uint64
}

// tellEvery is the time between lines where there is no terminal.
const tellEvery = 10 * time.Second

// moment is how long the bar waits before it appears.
const moment = 300 * time.Millisecond

// flicker is the least time between two looks of the bar.
const flicker = 100 * time.Millisecond

func newProgress(w io.Writer, live bool, what string, every time.Duration) *progress {
	now := time.Now()
	return &progress{w: w, live: live, what: what, every: every, began: now, spoke: now}
}

// begin is for other work that follows, in pieces of its own.
func (p *progress) begin(what string) {
	p.end()
	p.what, p.began, p.heard, p.bar = what, time.Now(), false, nil
}

// told is told by one goroutine at a time.
func (p *progress) told(done, total uint64) {
	p.total = total
	if !p.heard {
		p.first, p.heard = done, true
	}
	now := time.Now()
	if p.live {
		if p.bar == nil && now.Sub(p.began) > moment && done < total {
			p.bar = progressbar.NewOptions64(int64(total), progressbar.OptionSetWriter(cli.Raw(p.w)),
				progressbar.OptionSetDescription(p.what),
				progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false), progressbar.OptionSetWidth(30),
				progressbar.OptionClearOnFinish())
			p.spoke = time.Time{}
		}
		if p.bar != nil && now.Sub(p.spoke) > flicker {
			p.spoke = now
			p.bar.Describe(p.what + p.left(now, done, total))
			_ = p.bar.Set64(int64(done)) // it only shows
		}
		return
	}
	if now.Sub(p.spoke) < p.every || done == total {
		return
	}
	fmt.Fprintf(p.w, "%s of %s %s, %s%s\n", grouped(done), grouped(total), p.what, share(done, total), p.left(now, done, total))
	p.spoke = now
}

// left says how long the rest takes at the rate so far; nothing as long as there is none.
func (p *progress) left(now time.Time, done, total uint64) string {
	since := now.Sub(p.began).Seconds()
	if done <= p.first || since <= 0 {
		return ""
	}
	rest := float64(total-done) / float64(done-p.first) * since
	return ", about " + roundly(time.Duration(min(rest, 1e9)*float64(time.Second))).String() + " left"
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// counted is so many things.
func counted(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return grouped(uint64(n)) + " " + what
}

// grouped prints n in groups of three digits.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// share is n of all in percent. It is 100% only when it is all, and 0% only when it is none.
func share(n, all uint64) string {
	switch p := 100 * float64(n) / float64(all); {
	case n == all:
		return "100%"
	case n == 0:
		return "0%"
	default:
		return fmt.Sprintf("%.2f%%", min(max(p, 0.01), 99.99))
	}
}

// roundly is d to about two digits.
func roundly(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{10 * time.Minute, time.Minute, time.Second, 100 * time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(10 * time.Millisecond)
}
