package screen

import (
	"fmt"
	"math"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// count prints a number or rate in at most five characters: 7, 310, 12.9k, 1.2M.
func count(n float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		switch {
		case unit == "" && n < 9.95 && n != float64(int(n)):
			return fmt.Sprintf("%.1f", n)
		case unit == "" && n < 999.5:
			return fmt.Sprintf("%.0f", n)
		case n < 99.95:
			return fmt.Sprintf("%.1f%s", n, unit)
		case n < 999.5:
			return fmt.Sprintf("%.0f%s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.0fT", n)
}

// rate prints packets a second.
func rate(n float64) string { return count(n) + "/s" }

// percent prints a share.
func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// micros prints microseconds with a unit that fits.
func micros(us float64) string {
	switch {
	case math.IsNaN(us):
		return "none"
	case us < 1000:
		return fmt.Sprintf("%.0fus", us)
	case us < 1e6:
		return fmt.Sprintf("%.1fms", us/1e3)
	}
	return fmt.Sprintf("%.1fs", us/1e6)
}

// fit cuts or fills a line, which may hold escape sequences, to exactly w characters.
func fit(s string, w int) string {
	if n := lipgloss.Width(s); n > w {
		return ansi.Truncate(s, w, "")
	} else if n < w {
		return s + strings.Repeat(" ", w-n)
	}
	return s
}

// clip cuts a line to at most w characters and shows that there was more.
func clip(s string, w int, ellipsis string) string {
	if lipgloss.Width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, ellipsis)
}

// sides puts left and right into a line of w characters; right goes first when there is no room for
// both.
func sides(left, right string, w int, ellipsis string) string {
	room := w - lipgloss.Width(right)
	if room < 12 {
		return fit(left, w)
	}
	return fit(clip(left, room-1, ellipsis), room) + right
}

// spark draws values as a line of little bars, the newest at the right, scaled to the greatest of
// them.
func (t theme) spark(values []float64, w int) string {
	values = values[max(0, len(values)-w):]
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", w-len(values)))
	for _, v := range values {
		level := 0
		if most > 0 {
			level = min(len(t.signs.spark)-1, int(v/most*float64(len(t.signs.spark))))
		}
		b.WriteRune(t.signs.spark[level])
	}
	return b.String()
}
