package fabric

import (
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// A silence is a neighbour that was not heard although no fault here explains it: a switch process or a broker that was held
// up, a machine that stood still. It gets a report as any fault does, so that what it cost is not lost from sight.

// KindSilence is the kind of its report.
const KindSilence = fault.KindSilence

// explains is how long a fault that explains a silence may take to be noticed, as that a process has ended.
const explains = 500 * weft.Millisecond

// silentEnd is an end that lost its link by silence, which a report may cover or not.
type silentEnd struct {
	end  weft.End
	at   weft.Time
	note string // what else there is to say; empty: that nothing was heard
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

// hasSilences reports whether an end lost its link by silence before that time, and nobody has seen yet whether that is explained.
func (m *monitor) hasSilences(before weft.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.silent, func(s silentEnd) bool { return s.at <= before })
}

// reportSilences opens reports for silences before that time which nothing explains, and for those of which no fault has what they
// cost: it became known when the fault that explains them was closed. The caller holds mu.
func (f *Fabric) reportSilences(before weft.Time) {
	ends := f.monitor.unexplained(before)
	if len(ends) == 0 {
		return
	}
	unclaimed := f.unclaimed()
	for _, s := range ends {
		_, id, _ := f.graph.Peer(s.end)
		l := f.links[id]
		if f.explained(l, s.at) && !slices.Contains(unclaimed, id) {
			continue
		}
		ends, note := l.ends(), s.note
		if note == "" {
			note = fmt.Sprintf("%s heard nothing for %v; perhaps this machine or the broker stood still", f.graph.Name(s.end.Node), f.opts.Link.Liveness.Detection())
		}
		unclaimed = slices.DeleteFunc(unclaimed, func(k weft.LinkID) bool { return k == id })
		r := f.beginLate(s.at, fault.Report{
			Kind: KindSilence, Target: l.Name, What: fmt.Sprintf("silence on %s that no fault explains", l.Name), Note: note,
		}, []*link{l}, nil, ends[:])
		f.refresh(r)
		f.events.Publish(f.Now(), Event{Kind: KindSilence, Link: l.Name, Fault: new(r.report.Clone())})
	}
}

// unclaimed are the links that have lost packets which no fault has.
func (f *Fabric) unclaimed() (list []weft.LinkID) {
	f.ledger.read(func(l *ledger.Ledger) {
		for _, u := range l.State().Unclaimed {
			if u.Node.Kind == 0 {
				list = append(list, u.Link)
			}
		}
	})
	return list
}

// suspectSilences has links that lost packets while nobody led count as silent, unless a fault explains that in time.
func (f *Fabric) suspectSilences() {
	now := f.Now()
	f.monitor.mu.Lock()
	defer f.monitor.mu.Unlock()
	for _, id := range f.unclaimed() {
		f.monitor.silent = append(f.monitor.silent, silentEnd{f.links[id].A, now, "it lost packets while nobody led the fabric"})
	}
}

// explained reports whether a fault on l was in force, or its effects counted, at that time. The caller holds mu.
func (f *Fabric) explained(l *link, at weft.Time) bool {
	for _, r := range slices.Backward(f.incidents) {
		if lasts := r.report.Kind == KindSilence && r.closes == weft.Never; (lasts || r.began <= at) && at <= r.closes && (slices.Contains(r.links, l) || slices.Contains(r.linksOnce, l)) {
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
