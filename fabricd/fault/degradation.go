package fault

import (
	"fmt"
	"math"
	"time"
)

// Chosen by us: 50 ms is the shortest in which a moderate load delivers enough packets to compare,
// and what comes back for less than 100 ms has not come back.
const (
	degradationBaseline = time.Second            // what came before the fault, at most
	degradationWindow   = 50 * time.Millisecond  // rates are smoothed over this
	degradationStay     = 100 * time.Millisecond // made good is what stays so for this long

	degradationSigmas = 3 // what differs by less is noise, however seldom one looks
	// and more looks need more, to keep the chance that all noise together is taken for a degradation
	degradationFalseAlarm = 0.01
)

// Degradation is how far throughput fell after a fault. Rates are packets per second over all of
// the fabric.
type Degradation struct {
	Found    bool    `json:"found"`    // false: no fall that noise would not explain, or no traffic before to compare with
	Baseline float64 `json:"baseline"` // mean before the fault; 0: there was nothing to compare with
	Lowest   float64 `json:"lowest"`   // least over 50 ms since; of a degradation that is not Found it is noise
	Depth    float64 `json:"depth"`    // percent of the baseline that Lowest is short of; 0 unless Found

	// when the lowest 50 ms began; nil unless Found
	LowestAfter *float64 `json:"lowest_after_seconds" jsonschema:"nullable"`
	// since when it has been as before, for 100 ms at least; nil: not yet
	MadeGoodAfter *float64 `json:"made_good_after_seconds" jsonschema:"nullable"`
}

// MeasureDegradation finds the degradation that a fault at the start of bins[at] made. Bins are the
// packets delivered in each width of time; those from end on are not looked at, for another fault
// may have come. What counts as before is the second before the fault, or as much of it as there
// is.
//
// A rate is compared when smoothed over 50 ms. Noise is what its variance before the fault
// explains: three standard deviations of the smoothed rate, and more when there is more to look at,
// so that noise alone is taken for a degradation in less than 1% of runs, short or long. Deliveries
// that are steady may differ by a packet.
func MeasureDegradation(bins []uint64, width time.Duration, at, end int) Degradation {
	end = min(end, len(bins))
	if width <= 0 || at < 0 || at > end {
		return Degradation{}
	}
	per := func(d time.Duration) int { return int(max(1, (d+width/2)/width)) } // bins
	window, stay := per(degradationWindow), max(per(degradationStay), per(degradationWindow))
	before := bins[max(0, at-per(degradationBaseline)):at]
	after := windows(bins[at:end], window)
	if len(before) < 2*window || len(before) < 3 {
		return Degradation{} // too little to tell noise from anything
	}
	mean, deviation := noise(before, window)
	seconds := float64(window) * width.Seconds()
	d := Degradation{Baseline: mean / seconds}
	if mean == 0 || len(after) == 0 {
		return Degradation{Baseline: d.Baseline, Lowest: d.Baseline}
	}
	low := 0
	for i, n := range after {
		if n < after[low] {
			low = i
		}
	}
	d.Lowest = after[low] / seconds
	floor := mean - deviation*sigmas(len(after))
	if after[low] >= floor {
		return d
	}
	start := func(bin int) *float64 { return new(float64(bin) * width.Seconds()) }
	d.Found, d.Depth, d.LowestAfter = true, 100*(1-d.Lowest/d.Baseline), start(low)
	good := 0 // windows in a row, all as before
	for i := low + 1; i < len(after); i++ {
		if after[i] < floor {
			good = 0
			continue
		}
		if good++; good == stay-window+1 {
			d.MadeGoodAfter = start(i - good + 1)
			break
		}
	}
	return d
}

// windows are the sums of every n neighbouring bins.
func windows(bins []uint64, n int) []float64 {
	if len(bins) < n {
		return nil
	}
	sums := make([]float64, 0, len(bins)-n+1)
	var sum uint64
	for i, b := range bins {
		sum += b
		if i >= n {
			sum -= bins[i-n]
		}
		if i >= n-1 {
			sums = append(sums, float64(sum))
		}
	}
	return sums
}

// noise is the mean sum of n neighbouring bins, and the standard deviation of the difference of one
// such sum from it, at least a packet.
func noise(bins []uint64, n int) (mean, deviation float64) {
	mean, single := moments(bins, 1)
	mean, single = mean*float64(n), single*float64(n)
	// Bins that come in bursts longer than one are noisier together than each for itself.
	if blocks := len(bins) / n; blocks >= 8 {
		_, together := moments(bins, n)
		single = max(single, together)
	}
	m := float64(len(bins))
	single *= 1 + 2*math.Sqrt(2/(m-1)) // a variance of so few bins may be short of the true one by this
	single *= 1 + float64(n)/m         // the mean is one of few bins too
	return mean, max(1, math.Sqrt(single))
}

// moments are the mean and the variance of the sums of every n bins that do not overlap.
func moments(bins []uint64, n int) (mean, variance float64) {
	var count, squares float64
	for i := 0; i+n <= len(bins); i += n {
		var sum uint64
		for _, b := range bins[i : i+n] {
			sum += b
		}
		count++
		diff := float64(sum) - mean
		mean += diff / count
		squares += diff * (float64(sum) - mean)
	}
	if count < 2 {
		return mean, 0
	}
	return mean, squares / (count - 1)
}

// sigmas is how many standard deviations the least of that many looks must differ by to be more
// than noise.
func sigmas(looks int) float64 {
	chance := degradationFalseAlarm / float64(looks) // of one look; Bonferroni
	return max(degradationSigmas, math.Sqrt2*math.Erfinv(1-2*chance))
}

// String tells d in one line.
func (d Degradation) String() string {
	switch {
	case d.Baseline == 0:
		return "not compared, too little before"
	case !d.Found:
		return fmt.Sprintf("%.0f packets/s before, no dip", d.Baseline)
	}
	s := fmt.Sprintf("fell by %.0f%% of %.0f packets/s", d.Depth, d.Baseline)
	if d.LowestAfter != nil {
		s += fmt.Sprintf(" after %.0f ms", ms(*d.LowestAfter))
	}
	if d.MadeGoodAfter == nil {
		return s + ", not made good yet"
	}
	return s + fmt.Sprintf(", made good after %.0f ms", ms(*d.MadeGoodAfter))
}
