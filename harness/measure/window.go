package measure

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// windowBatches is how many batches a window is cut into for its confidence intervals.
const windowBatches = 10

// open begins the window.
func (r *run) open() {
	r.begun = true
	r.result.WarmupCycles = r.cycle()
	r.before = r.totals()
	r.meters.open()
}

// measure lets the window pass.
func (r *run) measure() error {
	start := r.cycle()
	for i := range int64(windowBatches) {
		at, end := r.cycle(), start+(i+1)*int64(r.cfg.Window)/windowBatches
		if end == at {
			continue // a window of few cycles
		}
		on, err := r.advance(end)
		if !on || err != nil {
			return err
		}
		b := r.batch()
		b.delivered /= float64(end - at)
		r.batches = append(r.batches, b)
	}
	return nil
}

// finish works out the result of what was measured.
func (r *run) finish() {
	t := r.totals()
	res, m := &r.result, r.meters.counts()
	res.Cycles = r.cycle()
	if r.begun {
		r.finishWindow(t)
	} else {
		res.WarmupCycles = res.Cycles
	}
	res.LostTotal = m.lost()
	if n := float64(r.died); n > 0 {
		res.LostPerFault = float64(m.lost()) / n
		res.LostQueuedPerFault, res.LostWirePerFault, res.LostCrashPerFault = float64(m.lostQueue)/n, float64(m.lostWire)/n,
			float64(m.lostCrash)/n
		res.MissingPerFault = float64(m.lost()+m.discarded-r.discarded) / n
	}
	res.Discarded, res.Reordered, res.Rerouted = m.discarded, t.reordered, t.rerouted
	res.PacketHops, res.Events = t.hops, r.engine.Events()
	res.Hash = fmt.Sprintf("%016x", r.engine.Hash())
}

func (r *run) finishWindow(t totals) {
	res, w, m := &r.result, r.meters.window(), r.meters[0]
	cycles := float64(max(1, res.Cycles-res.WarmupCycles))
	res.Offered = float64(t.offered-r.before.offered) / cycles
	res.Injected, res.Accepted = float64(w.entered)/cycles, float64(w.delivered)/cycles
	res.Saturated = t.refused > r.before.refused ||
		saturated(float64(t.queued)-float64(r.before.queued), float64(t.offered-r.before.offered))
	if w.delivered == 0 {
		return
	}
	cycle := float64(r.cfg.Cycle)
	n := float64(w.delivered)
	res.HopsMean = float64(w.hops) / n
	res.LatencyMean, res.LatencyMax = float64(w.latency)/n/cycle, float64(w.latencyMax)/cycle
	res.NetworkLatencyMean, res.NetworkLatencyMax = float64(w.network)/n/cycle, float64(w.networkMax)/cycle
	res.LatencyP50, res.LatencyP95, res.LatencyP99 = r.quantiles(m.latency, res.LatencyMax)
	res.NetworkLatencyP50, res.NetworkLatencyP95, res.NetworkLatencyP99 = r.quantiles(m.network, res.NetworkLatencyMax)
	var accepted, latency []float64
	for _, b := range r.batches {
		accepted = append(accepted, b.delivered)
		if b.delivered > 0 {
			latency = append(latency, b.latency)
		}
	}
	_, res.AcceptedHalfWidth = Interval(accepted)
	_, res.LatencyHalfWidth = Interval(latency)
}

// quantiles are read from the buckets of a histogram, to three digits, and no higher than the
// highest value, which is known exactly.
func (r *run) quantiles(h *hdrhistogram.Histogram, most float64) (p50, p95, p99 float64) {
	at := func(q float64) float64 {
		return min(most, float64(h.ValueAtPercentile(q))*float64(r.meters[0].unit)/float64(r.cfg.Cycle))
	}
	return at(50), at(95), at(99)
}
