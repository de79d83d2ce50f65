package measure

import "math"

// batch is what is known of one batch of a warm-up.
type batch struct {
	delivered       float64 // packets
	latency         float64 // mean from generation, cycles
	network         float64 // mean from leaving the send queue, cycles
	inside          float64 // packets inside the network at its end
	queued, offered float64 // packets in send queues at its end; packets generated during it
}

// steady looks at batch after batch and says when the network is steady.
type steady struct {
	w    Warmup
	last []batch // bound: Warmup.Batches
}

// noise is how many standard errors a batch may be off on top of what the tolerance allows it, for
// few packets differ by chance.
const noise = 4

// add takes the next batch and reports whether the network is steady.
func (s *steady) add(b batch) bool {
	if len(s.last) == s.w.Batches {
		s.last = append(s.last[:0], s.last[1:]...)
	}
	s.last = append(s.last, b)
	if len(s.last) < s.w.Batches {
		return false
	}
	if !s.level(func(b *batch) float64 { return b.delivered }) || !s.level(func(b *batch) float64 { return b.network }) {
		return false
	}
	first, now := &s.last[0], &s.last[len(s.last)-1]
	if s.grew(first.inside, now.inside) || now.delivered == 0 && now.inside > 0 { // it may stand still, but is not steady
		return false
	}
	return s.growing() || s.level(func(b *batch) float64 { return b.latency })
}

// level reports whether a value of each batch is near the mean of all.
func (s *steady) level(of func(*batch) float64) bool {
	mean, packets := 0.0, math.Inf(1)
	for i := range s.last {
		mean += of(&s.last[i]) / float64(len(s.last))
		packets = min(packets, s.last[i].delivered)
	}
	allowed := max(s.w.Tolerance, noise/math.Sqrt(max(packets, 1))) * mean
	for i := range s.last {
		if math.Abs(of(&s.last[i])-mean) > allowed {
			return false
		}
	}
	return true
}

// grew reports whether a number of packets has changed by more than tolerance and chance allow.
func (s *steady) grew(from, to float64) bool {
	return math.Abs(to-from) > max(s.w.Tolerance*max(from, to), noise*math.Sqrt(max(from, to, 1)))
}

// growing reports whether send queues have grown throughout: the network is saturated, and latency
// from generation grows as long as it runs.
func (s *steady) growing() bool {
	offered := 0.0
	for i := 1; i < len(s.last); i++ {
		if s.last[i].queued <= s.last[i-1].queued {
			return false
		}
		offered += s.last[i].offered
	}
	return saturated(s.last[len(s.last)-1].queued-s.last[0].queued, offered)
}

// saturated reports whether send queues have grown by more than one in a hundred of the packets
// generated, and than chance allows.
func saturated(growth, offered float64) bool {
	return growth > max(offered/100, noise*math.Sqrt(offered))
}
