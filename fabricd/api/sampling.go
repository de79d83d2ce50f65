package api

import (
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// rateTime is the time over which rates are taken, chosen by us: long enough to be steady at a few
// hundred packets a second.
const rateTime = weft.Second

// rateTolerance is by how much of itself a rate may be off before viewers are told anew, chosen by
// us: far below what a colour shows, and above the noise of a steady load. Else every link would be
// in every frame.
const rateTolerance = 0.1

// counted are the counters that rates come from, at one moment.
type counted struct {
	at                  weft.Time
	sent                [][2]uint64 // per link
	injected, delivered uint64
}

// sampling makes frames of what a sampler reads. For one goroutine.
type sampling struct {
	f       *fabric.Fabric
	sampler *fabric.Sampler

	history          *history    // of the server, which watches all the time; nil: there is none
	lastPoint        float64     // when the last point was that viewers have
	readings         []counted   // the latest readings, oldest first; bound: what rateTime holds
	switches         [][2]uint64 // per switch: rerouted, U-turns at the reading before
	switchesAt       weft.Time
	lastEvent        uint64
	lastHop          uint64
	faultsAt         weft.Time            // when reports were asked for
	links            []LinkView           // as viewers have them
	views            []SwitchView         // likewise
	runs             []string             // per switch: the firmware that it runs, if it is another than the fabric's
	others           []string             // these, without repetition, by name
	sums             *podSums             // nil: there are no pods
	faults           map[int]fault.Report // as viewers have them; those of old numbers are forgotten
	changed          map[int]bool         // numbers of reports for the next frame
	openFrom, lastID int                  // number of the first report that is open, of the last there is
	sample           Sample
	begins           bool // ask for reports at once: something has been repaired, or somebody has come
}

func newSampling(f *fabric.Fabric) *sampling {
	g := f.Topology()
	return &sampling{
		f: f, sampler: f.NewSampler(), links: make([]LinkView, len(g.Links)), views: make([]SwitchView, len(g.Switches)),
		runs: make([]string, len(g.Switches)), switches: make([][2]uint64, len(g.Switches)),
		faults: map[int]fault.Report{}, changed: map[int]bool{}, openFrom: 1,
	}
}

// resume forgets old counters and hops, when nobody has watched for a while: a rate is that of now.
func (s *sampling) resume() {
	s.readings, s.switchesAt, s.begins = nil, 0, true
	_, s.lastHop, _ = s.f.Hops(math.MaxUint64)
}

// step is a frame that has no number yet.
type step struct {
	Frame
	counters bool // they were read
}

// frame is a delta of what has changed since the frame before, with counters when they are to be
// read.
func (s *sampling) frame(counters bool) step {
	var r *fabric.Reading
	if counters {
		r = s.sampler.Read()
		s.count(r)
	} else {
		r = s.sampler.States()
	}
	d := Frame{
		Kind: KindDelta, At: r.At.Duration().Seconds(), Ledger: r.Ledger, Totals: r.Totals,
		Traffic: r.Traffic.String(),
	}
	s.sample.LinksDown = 0
	for i := range r.Links {
		if r.Links[i].State != fabric.LinkUp {
			s.sample.LinksDown++
		}
		if v := s.link(i, r); linkChanged(&v, &s.links[i]) {
			s.links[i] = v
			d.Links = append(d.Links, v)
		}
	}
	s.firmware()
	d.Routings = s.others
	for i := range r.Switches {
		if v := s.view(i, r, counters); v != s.views[i] {
			s.views[i] = v
			d.Switches = append(d.Switches, v)
		}
	}
	s.sums.add(&d, s.links, s.views, func(i int) uint64 { st := s.sampler.Stats(i); return st.Discarded + st.LostCrash })
	if counters {
		for i := range r.Switches {
			s.switches[i] = [2]uint64{r.Switches[i].Rerouted, r.Switches[i].UTurns}
		}
		s.switchesAt = r.At
	}
	s.happened(&d)
	s.reports(r.At)
	for _, id := range slices.Sorted(maps.Keys(s.changed)) {
		if r, ok := s.faults[id]; ok {
			d.Faults = append(d.Faults, r)
		}
	}
	clear(s.changed)
	var missed uint64
	if d.Hops, s.lastHop, missed = s.f.Hops(s.lastHop); missed > 0 {
		d.Hops[0].Missed = missed
	}
	for _, c := range s.sampler.Deadlock() {
		d.Deadlock = append(d.Deadlock, ChannelView{Link: int(c.Link), Dir: [2]string{"ab", "ba"}[c.Dir], VC: int(c.VC)})
	}
	if s.history != nil {
		d.History = s.history.since(s.lastPoint)
	}
	if n := len(d.History); n > 0 {
		s.lastPoint = d.History[n-1].At
	}
	s.sample.At = d.At
	d.Sample = s.sample
	return step{d, counters}
}

// empty reports whether the frame says nothing.
func (d *step) empty() bool {
	return !d.counters && len(d.Links)+len(d.Switches)+len(d.Events)+len(d.Faults)+len(d.Hops) == 0
}

// count keeps the counters for rates.
func (s *sampling) count(r *fabric.Reading) {
	var c counted
	for len(s.readings) > 1 && r.At-s.readings[1].at >= rateTime { // readings[0] stays the newest that is rateTime old
		c, s.readings = s.readings[0], s.readings[1:]
	}
	if c.sent == nil {
		c.sent = make([][2]uint64, len(r.Links))
	}
	c.at, c.injected, c.delivered = r.At, r.Totals.Injected, r.Totals.Delivered
	for i := range r.Links {
		c.sent[i] = r.Links[i].Sent
	}
	s.readings = append(s.readings, c)
	old := &s.readings[0]
	t := (c.at - old.at).Duration().Seconds()
	s.sample.InjectedRate, s.sample.DeliveredRate = rate(c.injected, old.injected, t), rate(c.delivered, old.delivered, t)
	if s.history != nil {
		now := s.history.latest()
		s.sample.OfferedRate, s.sample.Overload, s.sample.Deadlock = now.OfferedRate, now.Overload, now.Deadlock
		s.sample.Waiting, s.sample.WaitingSeconds = now.Waiting, now.WaitingSeconds
		s.sample.Management = now.Management
		s.sample.Wall, s.sample.TimeFactor, s.sample.Time, s.sample.Late = now.Wall, now.TimeFactor, now.Time, now.Late
	}
	s.sample.InFlight, s.sample.Lost, s.sample.Discarded = r.Ledger.InFlight, r.Ledger.Lost, r.Ledger.Discarded
	s.sample.Rerouted, s.sample.Latency = r.Totals.Rerouted, r.Latency
}

// rate is what was counted per second, to a tenth; nothing while there is nothing to compare with.
func rate(now, before uint64, seconds float64) float64 {
	if seconds <= 0 || now <= before {
		return 0
	}
	return math.Round(10*float64(now-before)/seconds) / 10
}

func (s *sampling) link(i int, r *fabric.Reading) LinkView {
	l := &r.Links[i]
	v := LinkView{
		I: i, State: l.State, CutAB: l.Cut[0], CutBA: l.Cut[1], Flapping: l.Flapping, SuffersAB: l.Suffers[0],
		SuffersBA: l.Suffers[1],
		AUp:       l.Up[0], BUp: l.Up[1], HeldA: l.Held[0], HeldB: l.Held[1], QueuedAB: l.Queued[0], QueuedBA: l.Queued[1],
		Lost: l.Lost,
	}
	if n := len(s.readings); n > 1 {
		old, now := &s.readings[0], &s.readings[n-1]
		t := (now.at - old.at).Duration().Seconds()
		v.RateAB, v.RateBA = rate(now.sent[i][0], old.sent[i][0], t), rate(now.sent[i][1], old.sent[i][1], t)
		v.LoadAB, v.LoadBA = share(v.RateAB, r.Capacity), share(v.RateBA, r.Capacity)
	}
	return v
}

func share(rate, capacity float64) float64 { return math.Round(1000*rate/capacity) / 1000 }

// linkChanged reports whether viewers of a link should see v instead of old.
func linkChanged(v, old *LinkView) bool {
	a, b := *v, *old
	if !near(a.RateAB, b.RateAB) || !near(a.RateBA, b.RateBA) {
		return true
	}
	a.RateAB, a.RateBA, a.LoadAB, a.LoadBA = b.RateAB, b.RateBA, b.LoadAB, b.LoadBA
	return a != b
}

func near(a, b float64) bool {
	return a == b || a != 0 && b != 0 && math.Abs(a-b) <= rateTolerance*max(a, b)
}

func (s *sampling) view(i int, r *fabric.Reading, counters bool) SwitchView {
	w := &r.Switches[i]
	v := SwitchView{I: i, State: w.State, Held: w.Held, Blocked: w.Blocked, Vector: w.Registers}
	v.Routing = slices.Index(s.others, s.runs[i]) + 1
	if !counters {
		v.Rerouted, v.UTurns = s.views[i].Rerouted, s.views[i].UTurns
	} else if s.switchesAt > 0 {
		t := (r.At - s.switchesAt).Duration().Seconds()
		v.Rerouted, v.UTurns = rate(w.Rerouted, s.switches[i][0], t), rate(w.UTurns, s.switches[i][1], t)
	}
	return v
}

// firmware reads what switches run.
func (s *sampling) firmware() {
	s.others = nil
	for i := range s.runs {
		s.runs[i] = s.f.RoutingOf(weft.SwitchID(i))
		if s.runs[i] != "" && !slices.Contains(s.others, s.runs[i]) {
			s.others = append(s.others, s.runs[i])
		}
	}
	slices.Sort(s.others)
}

// happened adds the events since the frame before. Reports come with some of them.
func (s *sampling) happened(d *Frame) {
	d.Events = s.f.Events().Since(s.lastEvent)
	for i := range d.Events {
		e := &d.Events[i]
		if i == 0 && s.lastEvent > 0 {
			e.Missed = e.Seq - s.lastEvent - 1
		}
		if e.Fault != nil {
			s.report(*e.Fault)
		}
		s.begins = s.begins || e.Kind == fabric.EventRestore || e.Kind == fabric.EventRestart
	}
	if n := len(d.Events); n > 0 {
		s.lastEvent = d.Events[n-1].Seq
	}
}

// reports notes the reports that have changed. Open ones change all the time, so they are asked for
// once a second.
func (s *sampling) reports(now weft.Time) {
	if !s.begins && now-s.faultsAt < weft.Second {
		return
	}
	all := s.sampler.Faults(s.openFrom - 1)
	s.faultsAt, s.begins = now, false
	for _, r := range all {
		s.lastID = max(s.lastID, r.ID)
	}
	s.openFrom = s.lastID + 1
	for _, r := range newest(all, snapshotFaults) {
		if r.Open {
			s.openFrom = min(s.openFrom, r.ID)
		}
		s.report(r)
	}
}

// report notes a report unless viewers have it.
func (s *sampling) report(r fault.Report) {
	was, known := s.faults[r.ID]
	if known && (r.CountedTo < was.CountedTo || r.Open && !was.Open) {
		return // an event of a moment ago
	}
	was.CountedTo = r.CountedTo // changes always
	if known && reflect.DeepEqual(was, r) {
		return
	}
	s.faults[r.ID], s.changed[r.ID] = r, true
	s.lastID = max(s.lastID, r.ID)
	if len(s.faults) > 2*snapshotFaults {
		for id := range s.faults {
			if id <= s.lastID-snapshotFaults {
				delete(s.faults, id)
			}
		}
	}
}
