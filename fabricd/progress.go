package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far work in countable pieces has come: as a bar on a terminal, elsewhere as a line now and then. What takes less than a
// moment shows nothing.
type progress struct {
	w     io.Writer
	what  string // the pieces, as "fault sets"
	live  bool
	every time.Duration
	bar   *progressbar.ProgressBar

	began, spoke time.Time
	spokeAt      uint64 // pieces done then
	total        uint64
}

// tellEvery is the time between lines where there is no terminal.
const tellEvery = 10 * time.Second

// moment is how long the bar waits before it appears.
const moment = 300 * time.Millisecond

func newProgress(w io.Writer, live bool, what string, every time.Duration) *progress {
	now := time.Now()
	return &progress{w: w, live: live, what: what, every: every, began: now, spoke: now}
}

// told is told by one goroutine at a time.
func (p *progress) told(done, total uint64) {
	p.total = total
	now := time.Now()
	if p.live {
		if p.bar == nil && now.Sub(p.began) > moment && done < total {
			p.bar = progressbar.NewOptions64(int64(total), progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(p.what),
				progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionSetWidth(30),
				progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		if p.bar != nil {
			_ = p.bar.Set64(int64(done)) // it only shows
		}
		return
	}
	since := now.Sub(p.spoke)
	if since < p.every || done == total {
		return
	}
	left := "" // by the rate since the last line: what an earlier run has done is counted in no time
	if rate := float64(done-p.spokeAt) / since.Seconds(); rate > 0 {
		left = ", about " + time.Duration(float64(total-done)/rate*float64(time.Second)).Round(time.Second).String() + " left"
	}
	fmt.Fprintf(p.w, "%s of %s %s, %s%s\n", grouped(done), grouped(total), p.what, share(done, total), left)
	p.spoke, p.spokeAt = now, done
}

// end takes the bar away.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// counted is so many things.
func counted(n int, what string) string {
	if n != 1 {
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
