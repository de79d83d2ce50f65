package api

import (
	"slices"
	"sync"
)

// maxPoints bounds the history of a fabric: ten minutes, at a point a second. Chosen by us.
const maxPoints = 600

// Point is one second of the history of a fabric, as charts show it. Rates are packets a second
// since the point before. Members that are zero are left out.
type Point struct {
	At        float64 `json:"at" jsonschema_description:"Seconds since the fabric started."`
	Injected  float64 `json:"injected_per_second,omitempty"`
	Delivered float64 `json:"delivered_per_second,omitempty"`
	Refused   float64 `json:"refused_per_second,omitempty"`
	Lost      float64 `json:"lost_per_second,omitempty"`
	Discarded float64 `json:"discarded_per_second,omitempty"`
	Rerouted  float64 `json:"rerouted_per_second,omitempty"`
	InFlight  uint64  `json:"in_flight,omitempty"`
	P50       float64 `json:"p50_us,omitempty" jsonschema_description:"Latency of the packets delivered in about the last second."`
	P99       float64 `json:"p99_us,omitempty"`
}

// history is the latest sample of a fabric and its last minutes.
type history struct {
	mu     sync.Mutex
	sample Sample  // guarded by mu
	points []Point // guarded by mu: oldest first
}

// add notes a sample, with the packets a second that were refused.
func (h *history) add(now Sample, refused float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.sample
	h.sample = now
	t := now.At - was.At
	h.points = newest(append(h.points, Point{
		At: now.At, Injected: now.InjectedRate, Delivered: now.DeliveredRate, Refused: refused,
		Lost: rate(now.Lost, was.Lost, t), Discarded: rate(now.Discarded, was.Discarded, t),
		Rerouted: rate(now.Rerouted, was.Rerouted, t), InFlight: now.InFlight, P50: now.Latency.P50, P99: now.Latency.P99,
	}), maxPoints)
}

// latest is the sample of the last second.
func (h *history) latest() Sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sample
}

// since are the points after a moment, in seconds since the fabric started.
func (h *history) since(at float64) []Point {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := len(h.points)
	for i > 0 && h.points[i-1].At > at {
		i--
	}
	return slices.Clone(h.points[i:])
}
