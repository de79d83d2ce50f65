package leader

import (
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

const (
	maxBins = 6000
	// degradationSpan is how long after a fault throughput is searched for a degradation.
	degradationSpan = 30 * weft.Second
)

// samples counts the packets delivered per bin since the start, in the latest maxBins bins.
type samples struct {
	width time.Duration // constant
	bins  []uint64
	first int    // number of bins[0]
	last  uint64 // delivered when the last bin ended
	since int    // number of the first bin of the traffic that flows now
}

// add ends the bins up to now, with so many packets delivered so far. Bins without a sample share
// evenly.
func (s *samples) add(now weft.Time, delivered uint64) {
	n := int(now.Duration()/s.width) - s.first - len(s.bins)
	if n <= 0 {
		return
	}
	if n > maxBins {
		s.first += n - maxBins
		n = maxBins
	}
	more := delivered - s.last
	s.last = delivered
	for i := range uint64(n) {
		s.bins = append(s.bins, more*(i+1)/uint64(n)-more*i/uint64(n))
	}
	if drop := len(s.bins) - maxBins; drop > 0 {
		s.bins = append(s.bins[:0], s.bins[drop:]...)
		s.first += drop
	}
}

// advance starts counting anew because the traffic has changed: earlier bins are no baseline.
func (s *samples) advance(now weft.Time) { s.since = int(now.Duration()/s.width) + 1 }

// degradation measures throughput after a fault.
func (s *samples) degradation(began, until weft.Time) fault.Degradation {
	skip := min(max(0, s.since-s.first), len(s.bins))
	bin := func(t weft.Time) int { return int(t.Duration()/s.width) - s.first - skip }
	at := bin(began)
	if at < 0 {
		return fault.Degradation{}
	}
	bins := s.bins[skip:]
	return fault.MeasureDegradation(bins, s.width, at, min(len(bins), bin(min(until, began+degradationSpan))+1))
}
