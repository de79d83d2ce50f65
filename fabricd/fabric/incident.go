package fabric

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
)

// maxDetected bounds the ends that one report names, those that found out first; when the last of them did it says all the same.
// Chosen by us.
const maxDetected = 1024

// maxReports bounds the reports that are kept. Of older ones only the sum of their losses is.
const maxReports = 4096

// incident is a report in the making.
type incident struct {
	began      weft.Time
	links      []*link // what it acts on, until it is closed
	linksOnce  []*link // what it acted on
	sw         *liveSwitch
	detectedBy string // how its ends find out, when they cannot say themselves

	report fault.Report // guarded by Fabric.mu, except what watch says

	detection struct { // guarded by monitor.mu
		ends     map[weft.End]bool // those that should find out, and whether they have
		missing  int               // of them, those that have not
		detected []fault.Detection
		seen     weft.Time // when the last of them had
		turned   weft.Time // first re-route; Never: none yet
		news     bool      // the last end has found out, and the fabric does not know yet
	}
	firstEra      uint16    // when it began
	closes        weft.Time // when its effects are no longer counted; Never while it lasts
	dipMeasured   bool      // throughput has been measured
	detectedByAll bool      // by the last of its ends
}

// monitor hears from observers what faults do. They call it under the locks of cores, so it holds its own lock for moments
// only and calls nobody.
type monitor struct {
	awaits atomic.Bool // some fault waits for its first re-route
	effect atomic.Int64

	mu   sync.Mutex
	last map[weft.End]*lastDown // guarded by mu
	wait []*lastDown            // guarded by mu: of these, those since which no packet was re-routed
	open []*incident            // guarded by mu: in force, or still counting
	wake *waker                 // a fault was seen by the last of its ends

	silent []silentEnd // guarded by mu: silences that may need a report
}

// lastDown is how an end last lost its link.
type lastDown struct {
	at     weft.Time
	node   string
	why    weft.Cause
	turned weft.Time // first re-route since; Never: none yet
}

func newMonitor() monitor {
	return monitor{wake: new(waker), last: map[weft.End]*lastDown{}}
}

// add watches r from now on. expect are the ends that should find out.
func (m *monitor) add(r *incident, expect []weft.End) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &r.detection
	w.ends, w.turned = map[weft.End]bool{}, weft.Never
	for _, e := range expect {
		w.ends[e] = false
	}
	w.missing = len(w.ends)
	m.open = append(m.open, r)
	m.awaits.Store(true)
	for _, e := range expect {
		if d, ok := m.last[e]; ok && d.at >= r.began { // the fault is noticed later than what it did
			m.detect(r, e, d)
			w.turned = min(w.turned, d.turned)
		}
	}
}

// remove ends watching r.
func (m *monitor) remove(r *incident) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = slices.DeleteFunc(m.open, func(o *incident) bool { return o == r })
}

// down tells that an end has lost its link.
func (m *monitor) down(now weft.Time, e weft.End, node string, why weft.Cause) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := &lastDown{at: now, node: node, why: why, turned: weft.Never}
	if old := m.last[e]; old != nil {
		m.wait = slices.DeleteFunc(m.wait, func(w *lastDown) bool { return w == old })
	}
	m.last[e], m.wait = d, append(m.wait, d)
	m.awaits.Store(true)
	for _, r := range m.open {
		m.detect(r, e, d)
	}
	if why == weft.BySilence {
		m.silent = append(m.silent, silentEnd{end: e, at: now})
	}
}

// detect notes in r that an end has found out, unless it is none of r's ends or had done so before. The caller holds mu.
func (m *monitor) detect(r *incident, e weft.End, d *lastDown) {
	w := &r.detection
	if told, ok := w.ends[e]; !ok || told || d.at < r.began {
		return
	}
	if (d.why == weft.BySignal || d.why == weft.ByCrash) && fault.Verb(r.report.Kind) == fault.VerbImpair {
		return // no impairment takes signal away: another fault did
	}
	w.ends[e] = true
	w.missing--
	w.seen = max(w.seen, d.at)
	by := cmp.Or(r.detectedBy, how(d.why))
	if d.why == weft.BySignal && (r.report.Kind == KindProcess || r.report.Kind == KindHost) {
		by = fault.ByProcess // they have no signal because the fabric saw it go
	}
	if len(w.detected) < maxDetected {
		w.detected = append(w.detected, fault.Detection{End: d.node, Port: int(e.Port), AfterMS: ms(d.at - r.began), How: by})
	}
	if w.missing == 0 {
		w.news = true
		m.wake.wake()
	}
}

// turned tells that packets were sent another way.
func (m *monitor) turned(now weft.Time) {
	if !m.awaits.Load() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.open {
		if r.detection.turned == weft.Never && now >= r.began {
			r.detection.turned = now
		}
	}
	for _, d := range m.wait {
		d.turned = now
	}
	m.wait = m.wait[:0]
	m.awaits.Store(false)
}

// touch tells that something happened that a fault may be the reason of.
func (m *monitor) touch(now weft.Time) { m.effect.Store(int64(now)) }

func how(c weft.Cause) string {
	switch c {
	case weft.BySilence:
		return fault.BySilence
	case weft.ByNeighbour:
		return fault.ByNeighbour
	}
	return fault.BySignal
}

func ms(t weft.Time) float64 { return float64(t.Duration().Nanoseconds()) / 1e6 }

// begin opens the report of a fault that is about to act on links, and on the switch unless nil. The caller holds mu, and has had hosts
// tell what they have counted.
func (f *Fabric) begin(r fault.Report, links []*link, sw *liveSwitch, expect []weft.End) *incident {
	return f.beginIncident(&incident{report: r, links: links, sw: sw}, false, expect)
}

// beginLate opens the report of a fault that is noticed only now: what its links and switch have lost
// before, and no fault has cost, is its own. at is since when it acts; 0: that is not known.
func (f *Fabric) beginLate(at weft.Time, r fault.Report, links []*link, sw *liveSwitch, expect []weft.End) *incident {
	return f.beginIncident(&incident{began: at, report: r, links: links, sw: sw}, true, expect)
}

// beginIncident opens the report of an incident and has the ledger begin it.
func (f *Fabric) beginIncident(rec *incident, late bool, expect []weft.End) *incident {
	f.recordLocal(host.SumRequest{}) // what was lost before is not its own
	f.reportFound()
	b := ledger.FaultBegan{Kind: rec.report.Kind, Target: rec.report.Target, Late: late}
	for _, l := range rec.links {
		b.Links = append(b.Links, l.ID)
	}
	if rec.sw != nil {
		b.Switches = []weft.SwitchID{rec.sw.id}
	}
	rec.report.ID, rec.closes = f.ledger.begin(f.Now(), b), weft.Never
	if rec.began == 0 {
		rec.began = f.Now()
	}
	f.file(rec)
	f.monitor.add(rec, expect)
	return rec
}

// file puts a report that opens in its place among the others. The caller holds mu.
func (f *Fabric) file(rec *incident) {
	r := &rec.report
	r.Open, r.Era, rec.firstEra = true, f.era, f.era
	r.At, r.CountedFrom = rec.began.Duration().Seconds(), f.Now().Duration().Seconds()
	for _, o := range f.openIncidents {
		share(&o.report, r.ID)
		share(r, o.report.ID)
	}
	at, _ := f.incidentAt(r.ID)
	f.incidents, f.openIncidents = slices.Insert(f.incidents, at, rec), append(f.openIncidents, rec)
	if len(f.incidents) > maxReports {
		f.forget()
	}
}

// incidentAt is where the report of that number is among the incidents, or would be.
func (f *Fabric) incidentAt(id int) (at int, ok bool) {
	return slices.BinarySearchFunc(f.incidents, id, func(r *incident, id int) int { return cmp.Compare(r.report.ID, id) })
}

// forget drops the oldest report that is closed. The caller holds mu.
func (f *Fabric) forget() {
	for i, r := range f.incidents {
		if !r.report.Open {
			f.incidents = slices.Delete(f.incidents, i, i+1)
			return
		}
	}
}

func share(r *fault.Report, with int) {
	if !slices.Contains(r.SharedWith, with) {
		r.SharedWith = append(r.SharedWith, with)
	}
	r.Shared = fault.FabricWide()
}

// repaired notes that the fault has been repaired; its effects are counted a little longer. The caller holds mu.
func (f *Fabric) repaired(r *incident, now weft.Time) {
	if r.closes != weft.Never {
		return
	}
	f.ledger.step(now, ledger.FaultEnded{Incident: r.report.ID})
	r.report.RestoredAt = now.Duration().Seconds()
	r.closes = f.ledger.incident(r.report.ID).Repaired + ledger.Settle
	if !r.final() {
		r.report.Era = f.era
	}
}

// final reports whether the fault costs nothing any more once it was seen by the last of its ends.
func (r *incident) final() bool {
	kind := fault.Verb(r.report.Kind)
	return (kind == fault.VerbCut || kind == fault.VerbCrash || kind == KindBroker) && r.detectedByAll
}

// refresh brings an open report up to date with what hosts have told. The caller holds mu.
func (f *Fabric) refresh(r *incident) {
	if r.report.Open {
		f.recordLocal(host.SumRequest{})
		f.refreshBy(r, f.ledger.incident(r.report.ID), new(count))
	}
}

// count is what NICs have counted per era now, for any number of reports; nil: nobody has asked yet.
type count struct{ eras []eraCount }

// eraCount is what some NICs have counted per era.
type eraCount struct {
	first int
	eras  []nic.EraStats
}

// refreshBy is refresh of a report by its incident. What that costs may become known later.
func (f *Fabric) refreshBy(r *incident, in ledger.Incident, now *count) {
	p := &r.report
	if in.ID != 0 {
		p.LostWire, p.LostQueued, p.LostCrash = in.Lost.Wire, in.Lost.Queued, in.Lost.Crash
	}
	if !p.Open {
		return
	}
	sw, n := &in.Counted.Switches, &in.Counted.NICs
	p.CountedTo = f.Now().Duration().Seconds()
	p.Rerouted, p.Requeued, p.Reordered, p.Duplicated = sw.Rerouted, sw.Requeued, n.Reordered, n.Duplicated
	p.Discarded, p.DiscardedBy = sw.Discarded+n.Wrong, rules(in.Discards)
	if p.Extra.Packets = n.Rerouted; p.Extra.Packets > 0 {
		p.Extra.Mean = float64(n.Detour) / float64(p.Extra.Packets)
		p.Extra.Most = f.mostExtra(r, now)
	}
	if !r.dipMeasured {
		p.Dip = f.samples.dip(r.began, min(f.Now(), r.closes))
	}
	f.monitor.report(r)
}

// mostExtra is the most extra hops of a re-routed packet that arrived while r was in force or just after.
func (f *Fabric) mostExtra(r *incident, now *count) (most int) {
	if now.eras == nil {
		f.countEras(func(s *host.Sum) { now.eras = append(now.eras, eraCount{s.FirstEra, s.Eras}) })
	}
	for _, c := range now.eras {
		for i, e := range c.eras {
			if c.first+i >= int(r.firstEra) {
				most = max(most, e.MostExtra)
			}
		}
	}
	return most
}

// report copies what the monitor knows of r into its report.
func (m *monitor) report(r *incident) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w, p := &r.detection, &r.report
	p.Detected = slices.Clone(w.detected)
	if len(w.detected) > 0 {
		p.SeenAfter = ms(w.seen - r.began)
	}
	if w.turned != weft.Never {
		p.FirstReroute = new(ms(w.turned - r.began))
	}
	if e := weft.Time(m.effect.Load()); e >= r.began {
		p.LastEffect = new(ms(e - r.began))
	}
}

// Faults returns the reports of the latest faults, at most 4096, in order; those that last are brought up to date.
func (f *Fabric) Faults() []fault.Report {
	f.look(func() { f.refreshHosts(host.SumRequest{Eras: true}) })
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reportsAfter(0)
}

// reportsAfter brings the open ones among the reports with higher numbers up to date and copies them. The caller holds mu.
func (f *Fabric) reportsAfter(id int) []fault.Report {
	f.reportFound()
	from, _ := f.incidentAt(id + 1)
	out := make([]fault.Report, 0, len(f.incidents)-from)
	var list []ledger.Incident
	f.ledger.read(func(l *ledger.Ledger) { list = l.Incidents(id) })
	now := new(count)
	for _, r := range f.incidents[from:] {
		for len(list) > 0 && list[0].ID < r.report.ID {
			list = list[1:]
		}
		if len(list) > 0 && list[0].ID == r.report.ID {
			f.refreshBy(r, list[0], now)
		}
		out = append(out, r.report.Clone())
	}
	return out
}

// closeReport ends the counting for r. The caller holds mu.
func (f *Fabric) closeReport(r *incident) {
	f.refresh(r)
	r.report.Open = false
	f.monitor.remove(r)
	f.openIncidents = slices.DeleteFunc(f.openIncidents, func(o *incident) bool { return o == r })
	f.events.Publish(f.Now(), Event{Kind: EventReport, Fault: new(r.report.Clone())})
	f.checkpointSoon()
	r.links, r.linksOnce = nil, r.links
}

// CloseReports ends the counting of effects for all faults that have been repaired, as when a run is over.
func (f *Fabric) CloseReports() {
	f.refreshHosts(host.SumRequest{Eras: true})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reportFound()
	f.reportSilences(weft.Never)
	f.endSilences(f.Now())
	for _, r := range slices.Clone(f.openIncidents) {
		if r.closes != weft.Never {
			f.closeReport(r)
		}
	}
}
