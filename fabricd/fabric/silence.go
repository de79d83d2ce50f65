package fabric

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// A silence is a neighbour that was not heard although no fault here explains it: a switch process or a broker that was held
// up, a machine that stood still. It gets a report as any fault does, so that what it cost is not lost from sight.

// KindSilence is the kind of its report.
const KindSilence = fault.KindSilence

// explains is how long a fault that explains a silence may take to be noticed, as that a process has ended.
const explains = 500 * weft.Millisecond

// silentEnd is an end that lost its link by silence while no open report covered it.
type silentEnd struct {
	end weft.End
	at  weft.Time
}

// unexplained takes the silences that are old enough that what explains them would have been noticed.
func (m *monitor) unexplained(before weft.Time) (ends []silentEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = slices.DeleteFunc(m.silent, func(s silentEnd) bool {
		if s.at > before {
			return false
		}
		ends = append(ends, s)
		return true
	})
	return ends
}

// hasSilences reports whether an end has lost its link by silence and nothing has explained it yet.
func (m *monitor) hasSilences() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.silent) > 0
}

// reportSilences opens reports for silences before that time which nothing explains. The caller holds mu.
func (f *Fabric) reportSilences(before weft.Time) {
	for _, s := range f.monitor.unexplained(before) {
		_, id, _ := f.graph.Peer(s.end)
		l := f.links[id]
		if f.explained(l, s.at) {
			continue
		}
		ends := l.ends()
		r := f.beginAt(s.at, fault.Report{
			Kind: KindSilence, Target: l.Name,
			What: fmt.Sprintf("silence on %s that no fault explains", l.Name),
			Note: fmt.Sprintf("%s heard nothing for %v; perhaps this machine or the broker stood still", f.graph.Name(s.end.Node), f.opts.Link.Liveness.Detection()),
		}, []*link{l}, nil, ends[:])
		f.refresh(r)
		f.events.Publish(f.Now(), Event{Kind: KindSilence, Link: l.Name, Fault: new(r.report.Clone())})
	}
}

// explained reports whether a fault on l was in force, or its effects counted, at that time. The caller holds mu.
func (f *Fabric) explained(l *link, at weft.Time) bool {
	for _, r := range slices.Backward(f.incidents) {
		if r.began <= at && at <= r.closes && (slices.Contains(r.links, l) || slices.Contains(r.linksOnce, l)) {
			return true
		}
	}
	return false
}

// endSilences closes the reports of links that are heard again. The caller holds mu.
func (f *Fabric) endSilences(now weft.Time) {
	for _, r := range f.openIncidents {
		if r.report.Kind == KindSilence && r.closes == weft.Never && r.links[0].up[0].Load() && r.links[0].up[1].Load() {
			f.repaired(r, now)
			f.nextEra()
		}
	}
}
