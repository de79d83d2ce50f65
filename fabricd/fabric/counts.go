package fabric

// FaultCount is what the faults of one kind have come to since the start.
type FaultCount struct {
	Begun uint64
	Open  int    // last, or are still counted
	Lost  uint64 // packets, as of when each report was brought up to date
}

// FaultCounts counts the faults by their kinds, those whose reports are no longer kept included. It brings no report up to date.
func (f *Fabric) FaultCounts() map[string]FaultCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := make(map[string]FaultCount, len(f.past))
	for kind, c := range f.past {
		counts[kind] = c
	}
	for _, r := range f.records {
		c := counts[r.report.Kind]
		c.Begun++
		c.Lost += r.report.Lost()
		if r.report.Open {
			c.Open++
		}
		counts[r.report.Kind] = c
	}
	return counts
}

// notePast counts a report that is forgotten. The caller holds mu.
func (f *Fabric) notePast(r *record) {
	if f.past == nil {
		f.past = map[string]FaultCount{}
	}
	c := f.past[r.report.Kind]
	c.Begun++
	c.Lost += r.report.Lost()
	f.past[r.report.Kind] = c
}
