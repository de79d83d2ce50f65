package chart

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Ticks marks round numbers at even distances, at most so many and no closer than finest (0: as
// close as it comes).
func Ticks(from, to float64, most int, finest float64) (ticks []plot.Tick) {
	if !(to > from) || math.IsInf(to-from, 0) {
		return []plot.Tick{{Value: from, Label: label(from, 6)}}
	}
	step, digits := roundStep(from, to, most, finest)
	first, last := math.Ceil(from/step-1e-9)+0, math.Floor(to/step+1e-9) // -0 + 0 is 0
	for k := first; k <= last; k++ {
		ticks = append(ticks, plot.Tick{Value: float64(k * step), Label: label(float64(k*step), digits)})
	}
	return ticks
}

// roundStep is 1, 2 or 5 times a power of ten, and how many digits after the point it has.
func roundStep(from, to float64, most int, finest float64) (step float64, digits int) {
	power := math.Floor(math.Log10((to - from) / float64(most)))
	for {
		for _, f := range []float64{1, 2, 5} {
			step = f * math.Pow(10, power)
			if step >= finest && math.Floor(to/step+1e-9)-math.Ceil(from/step-1e-9) < float64(most) {
				return step, int(max(0, -power))
			}
		}
		power++
	}
}

// logTicks are LogTicks of an axis of logarithms.
func logTicks(from, to float64) []plot.Tick {
	ticks := LogTicks(math.Pow(10, from), math.Pow(10, to))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	return ticks
}

// LogTicks marks powers of ten, and between them 2 and 5 where there is room, for a logarithmic
// axis. Marks outside of it are left out: room would be kept for their labels.
func LogTicks(from, to float64) (ticks []plot.Tick) {
	if !(from > 0) || !(to >= from) || math.IsInf(to, 0) {
		return nil
	}
	wide := to/from > 1000
	for power := math.Floor(math.Log10(from)); power <= math.Ceil(math.Log10(to)); power++ {
		for f := 1.0; f < 10; f++ {
			x := f * math.Pow(10, power)
			if x < from*(1-1e-9) || x > to*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: x}
			if f == 1 || !wide && (f == 2 || f == 5) {
				t.Label = label(x, int(max(0, -power)))
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// label prints a number with so many digits after the point, and thousands in groups.
func label(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', digits, 64)
	sign, text := strings.HasPrefix(text, "-"), strings.TrimPrefix(text, "-")
	whole, rest, point := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && len(whole) > 4; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	if sign {
		whole = "-" + whole
	}
	return whole
}
