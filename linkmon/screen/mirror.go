package screen

import (
	"slices"
	"sort"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Bounds of what is kept, chosen by us: events and reports as many as anybody scrolls through, ten
// minutes of history at a point a second, as the fabric keeps it, and of each link as much as a
// line of the screen shows.
const (
	maxEvents  = 2000
	maxFaults  = 1000
	maxHistory = 600
	maxTrail   = 64
)

// minStep is the least time between two points of a link's trail, in seconds. Frames that an event
// brings come between.
const minStep = 0.2

// mirror is the state of a fabric as its frames have told it. The zero value with a topology set
// has heard nothing yet.
type mirror struct {
	Topology *topology

	Run      string
	Seq      uint64
	At       float64
	Links    []api.LinkView   // by index of the link
	Switches []api.SwitchView // by index of the switch
	Sample   api.Sample
	Ledger   fabric.Ledger
	Traffic  string
	Deadlock []api.ChannelView

	Events  []fabric.Event // oldest first
	Faults  []fault.Report // by ID
	History []api.Point    // oldest first

	trails  [][]float32 // per link: the rates of both directions together, newest last
	trailed float64     // when trails were added to last
}

// newMirror returns a mirror of a fabric with this topology that has heard nothing yet.
func newMirror(t *topology) *mirror {
	m := &mirror{Topology: t}
	m.forget()
	return m
}

func (m *mirror) forget() {
	*m = mirror{
		Topology: m.Topology,
		Links:    make([]api.LinkView, len(m.Topology.Links)),
		Switches: make([]api.SwitchView, len(m.Topology.Switches)),
		trails:   make([][]float32, len(m.Topology.Links)),
	}
	m.reset()
}

// reset takes all for well until a snapshot says otherwise.
func (m *mirror) reset() {
	for i := range m.Links {
		m.Links[i] = api.LinkView{I: i, State: fabric.LinkUp, AUp: true, BUp: true}
	}
	for i := range m.Switches {
		m.Switches[i] = api.SwitchView{I: i, State: switchUp}
	}
}

// Heard reports whether there was a frame.
func (m *mirror) Heard() bool { return m.Seq > 0 }

// Apply takes a frame over. It reports false when the frame does not follow those before, so that a
// new snapshot is needed; nothing is taken over then.
func (m *mirror) Apply(f api.Frame) bool {
	snapshot := f.Kind == api.KindSnapshot
	if !snapshot && (f.Run != m.Run || f.Seq != m.Seq+1) {
		return false
	}
	if f.Run != m.Run {
		m.forget() // another run of the fabric: times and numbers start anew
	}
	if snapshot {
		m.reset()
	}
	m.Run, m.Seq, m.At = f.Run, f.Seq, f.At
	for _, l := range f.Links {
		if l.I >= 0 && l.I < len(m.Links) {
			m.Links[l.I] = settled(l)
		}
	}
	for _, s := range f.Switches {
		if s.I >= 0 && s.I < len(m.Switches) {
			m.Switches[s.I] = s
		}
	}
	m.Sample, m.Ledger, m.Deadlock = f.Sample, f.Ledger, f.Deadlock
	if f.Traffic != "" {
		m.Traffic = f.Traffic
	}
	m.addEvents(f.Events)
	m.addFaults(f.Faults)
	if snapshot {
		m.History = nil
	}
	m.History = append(m.History, f.History...)
	m.History = slices.Delete(m.History, 0, max(0, len(m.History)-maxHistory))
	m.addTrails()
	return true
}

// settled is l, with the ends of a link that is well taken to see it so: a snapshot may leave that
// out.
func settled(l api.LinkView) api.LinkView {
	if l.State == fabric.LinkUp {
		l.AUp, l.BUp = true, true
	}
	return l
}

// addEvents appends those that are new.
func (m *mirror) addEvents(events []fabric.Event) {
	for _, e := range events {
		if n := len(m.Events); n == 0 || e.Seq > m.Events[n-1].Seq {
			m.Events = append(m.Events, e)
		}
	}
	if extra := len(m.Events) - maxEvents; extra > 0 {
		m.Events = slices.Delete(m.Events, 0, extra)
	}
}

// addFaults adds reports, or puts them in the place of what they said before.
func (m *mirror) addFaults(reports []fault.Report) {
	for _, r := range reports {
		i := sort.Search(len(m.Faults), func(i int) bool { return m.Faults[i].ID >= r.ID })
		if i < len(m.Faults) && m.Faults[i].ID == r.ID {
			m.Faults[i] = r
		} else {
			m.Faults = slices.Insert(m.Faults, i, r)
		}
	}
	if extra := len(m.Faults) - maxFaults; extra > 0 {
		m.Faults = slices.Delete(m.Faults, 0, extra)
	}
}

func (m *mirror) addTrails() {
	if m.At-m.trailed < minStep {
		return
	}
	m.trailed = m.At
	for i, l := range m.Links {
		m.trails[i] = appendBounded(m.trails[i], maxTrail, float32(l.RateAB+l.RateBA))
	}
}

// appendBounded appends v to list and drops the oldest beyond most.
func appendBounded[T any](list []T, most int, v T) []T {
	if len(list) < most {
		return append(list, v)
	}
	copy(list, list[1:])
	list[most-1] = v
	return list
}

// Trail is what a link has carried lately, packets a second in both directions together, newest
// last.
func (m *mirror) Trail(link int) []float32 { return m.trails[link] }

// Fault is a report by its number.
func (m *mirror) Fault(id int) (fault.Report, bool) {
	i := sort.Search(len(m.Faults), func(i int) bool { return m.Faults[i].ID >= id })
	if i < len(m.Faults) && m.Faults[i].ID == id {
		return m.Faults[i], true
	}
	return fault.Report{}, false
}
