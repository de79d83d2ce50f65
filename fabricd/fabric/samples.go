package fabric

import (
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// Throughput is sampled in bins, for the dips that faults make.
const (
	minBin    = 10 * time.Millisecond
	binPerNIC = 100 * time.Microsecond // reading thousands of NICs costs more than small bins are worth
	maxBins   = 6000
	// dipSpan is how long after a fault a dip is looked for.
	dipSpan = 30 * weft.Second
)

// samples are the packets delivered per bin since the start, the latest maxBins of them.
type samples struct {
	width time.Duration // constant

	mu    sync.Mutex
	bins  []uint64
	first int    // number of bins[0]
	last  uint64 // delivered when the last bin ended
	since int    // number of the first bin of the traffic that flows now
}

// newSamples takes how many NICs there are, and whether some are on other hosts, of which only what they last told is known.
func newSamples(nics int, parts bool) *samples {
	s := &samples{width: max(minBin, time.Duration(nics)*binPerNIC)}
	if parts {
		s.width = max(s.width, askEvery)
	}
	return s
}

// add ends bins up to now, when so many packets have been delivered. Those that were slept through share evenly.
func (s *samples) add(now weft.Time, delivered uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// turn begins to count anew, for the traffic has changed: what came before is nothing to compare with.
func (s *samples) turn(now weft.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = int(now.Duration()/s.width) + 1
}

// dip is what throughput did after a fault.
func (s *samples) dip(began, until weft.Time) fault.Dip {
	s.mu.Lock()
	defer s.mu.Unlock()
	skip := min(max(0, s.since-s.first), len(s.bins))
	bin := func(t weft.Time) int { return int(t.Duration()/s.width) - s.first - skip }
	at := bin(began)
	if at < 0 {
		return fault.Dip{}
	}
	bins := s.bins[skip:]
	return fault.MeasureDip(bins, s.width, at, min(len(bins), bin(min(until, began+dipSpan))+1))
}

// settleDips measures the dips of all faults that still count, before the traffic changes. The caller holds mu.
func (f *Fabric) settleDips(now weft.Time) {
	for _, r := range f.openIncidents {
		if !r.dipMeasured {
			r.report.Dip, r.dipMeasured = f.samples.dip(r.began, min(now, r.closes)), true
		}
	}
	f.samples.turn(now)
}

// attendFaults samples throughput, begins a new era when a fault has been seen by the last of its ends, and closes reports
// whose time has come, until the world stops.
func (f *Fabric) attendFaults() {
	f.monitor.wake.set(f.runtime.Task(0, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.noteSeen()
	}))
	f.runtime.Task(f.samples.width, func() {
		delivered := f.deliveredNow()
		now := f.Now()
		f.samples.add(now, delivered)
		f.publishDue(now)
		if f.due(now) {
			f.look(func() { f.refreshHosts(host.SumRequest{Eras: true}) }) // for reports that begin or end
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.reportFound()
		f.reportSilences(now - explains)
		f.endSilences(now)
		f.closeDue(now)
	})
}

// due reports whether a report may be about to begin for a silence, or to be closed.
func (f *Fabric) due(now weft.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.monitor.hasSilences(now-explains) || slices.ContainsFunc(f.openIncidents, func(r *incident) bool { return now >= r.closes })
}

// deliveredNow are the packets delivered: in this process as of now, elsewhere as it was told last.
func (f *Fabric) deliveredNow() uint64 {
	var elsewhere uint64
	f.ledger.read(func(l *ledger.Ledger) {
		here := l.OfHost(localHostID, 0)
		elsewhere = l.Total().NICs.Delivered - here.Counters.NICs.Delivered
	})
	return elsewhere + f.local.local.Delivered()
}

// noteSeen begins a new era for the faults that the last of their ends has found out. The caller holds mu.
func (f *Fabric) noteSeen() {
	seen := f.monitor.news()
	for _, r := range seen {
		r.report.Era, r.detectedByAll = f.era, true
	}
	if len(seen) > 0 {
		f.nextEra()
	}
}

// news returns the faults that were seen by the last of their ends since it was asked before.
func (m *monitor) news() (seen []*incident) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.open {
		if r.detection.news {
			r.detection.news = false
			seen = append(seen, r)
		}
	}
	return seen
}

// closeDue closes reports whose time has come, and settles the dips of those that last. The caller holds mu.
func (f *Fabric) closeDue(now weft.Time) {
	if slices.ContainsFunc(f.openIncidents, func(r *incident) bool { return now >= r.closes }) {
		f.recordLocal(host.SumRequest{})
	}
	f.ledger.step(now, ledger.Tick{})
	for _, r := range slices.Clone(f.openIncidents) {
		switch {
		case now >= r.closes:
			f.closeReport(r)
		case !r.dipMeasured && now > r.began+dipSpan:
			r.report.Dip = f.samples.dip(r.began, now)
			r.dipMeasured = true
		}
	}
}
