package survey

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-fabric/weft/fabricd/subnet/layered"
)

// Summary is a survey in figures. Pairs are ordered pairs of different NICs, lengths are links
// between switches.
type Summary struct {
	Engine   string `json:"engine"`
	Topology string `json:"topology"`
	Kind     string `json:"kind"` // of KindWords
	Switches int    `json:"switches"`
	NICs     int    `json:"nics"`
	Links    int    `json:"links"` // between switches

	Layers     int       `json:"layers"`
	PerLayer   []int     `json:"pairs_per_layer"` // source/address pairs
	Acyclic    bool      `json:"cdg_acyclic"`     // free from deadlock
	Cycle      []Channel `json:"cycle,omitempty"`
	Seconds    float64   `json:"compute_seconds"` // the engine took
	Pairs      int       `json:"pairs"`
	Unroutable int       `json:"unroutable_pairs"`

	MaxLoad      int     `json:"max_channel_load"` // source/address pairs, see Survey.Loads
	MeanLoad     float64 `json:"mean_channel_load"`
	Channels     int     `json:"channels"`
	MaxFlow      float64 `json:"max_link_flow"` // pairs of NICs, see Survey.Flows
	MeanFlow     float64 `json:"mean_link_flow"`
	UniformLimit float64 `json:"uniform_limit"` // see Survey.UniformLimit

	Addresses     int     `json:"addresses"` // of each NIC
	MeanAddresses float64 `json:"mean_addresses_of_pair"`
	MeanHops      float64 `json:"mean_path_length"`
	MaxHops       int     `json:"max_hops"`
	MeanDistance  float64 `json:"mean_shortest_length"`
}

// KindWords are the words for kinds of routings in results.
var KindWords = map[layered.Kind]string{
	layered.Deterministic: "deterministic", layered.Adaptive: "adaptive", layered.Escape: "escape",
}

// Summary is the survey in figures, with the time that the engine took, in seconds.
func (s *Survey) Summary(seconds float64) Summary {
	r, g := s.Routing, s.Routing.Graph
	links := 0
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			links++
		}
	}
	return Summary{
		Engine: r.Engine, Topology: g.Spec, Kind: KindWords[r.Kind], Switches: len(g.Switches), NICs: len(g.NICs),
		Links:  links,
		Layers: r.Layers, PerLayer: s.PerLayer, Acyclic: s.Cycle == nil, Cycle: NamesOf(g, s.Cycle), Seconds: seconds,
		Pairs: s.Pairs, Unroutable: s.Unroutable, MaxLoad: s.MaxLoad(), MeanLoad: s.MeanLoad(), Channels: len(s.Loads),
		MaxFlow: s.MaxFlow(), MeanFlow: s.MeanFlow(), UniformLimit: s.UniformLimit(),
		Addresses: r.Tables.Paths(), MeanAddresses: s.Addresses,
		MeanHops: s.MeanHops, MaxHops: s.MaxHops, MeanDistance: s.MeanDistance,
	}
}

// CheckResult says whether a routing is free from deadlock and reaches everything.
type CheckResult struct {
	Pass       bool         `json:"pass"` // no cycle, and all pairs have a route
	Engine     string       `json:"engine"`
	Topology   string       `json:"topology"`
	Acyclic    bool         `json:"cdg_acyclic"`
	Cycle      []Dependency `json:"cycle,omitempty"`
	Pairs      int          `json:"pairs"`
	Unroutable int          `json:"unroutable_pairs"`
}

// Dependency is a channel of a cycle, and why packets in it wait for the next.
type Dependency struct {
	Channel
	Example string `json:"example"` // a source switch and a destination
	Pairs   int    `json:"pairs"`   // such source/address pairs
	Users   []User `json:"-"`       // these pairs
}

// Check looks for what makes packets of a cycle wait, of the survey's shortest. The error says that
// ctx has ended.
func (s *Survey) Check(ctx context.Context) (CheckResult, error) {
	g := s.Routing.Graph
	r := CheckResult{
		Pass: s.Cycle == nil && s.Unroutable == 0, Engine: s.Routing.Engine, Topology: g.Spec, Acyclic: s.Cycle == nil,
		Pairs: s.Pairs, Unroutable: s.Unroutable,
	}
	users, err := Users(ctx, s.Routing, s.Cycle)
	if err != nil {
		return CheckResult{}, err
	}
	for i, c := range NamesOf(g, s.Cycle) {
		d := Dependency{Channel: c, Pairs: len(users[i]), Users: users[i]}
		if d.Pairs > 0 {
			d.Example = g.Switches[d.Users[0].Src].Name + " to " + g.NICs[d.Users[0].Dst].Name
		}
		r.Cycle = append(r.Cycle, d)
	}
	return r, nil
}

// LoadResult is how loaded the channels between switches are. A load is how many source/address
// pairs have the channel on a way.
type LoadResult struct {
	Engine    string          `json:"engine"`
	Topology  string          `json:"topology"`
	Channels  int             `json:"channels"`
	Max       int             `json:"max_channel_load"`
	Mean      float64         `json:"mean_channel_load"`
	Histogram []LoadBucket    `json:"histogram"`
	Busiest   []LoadedChannel `json:"busiest"`
}

// LoadBucket counts the channels with a load between two, both included.
type LoadBucket struct {
	From     int `json:"from"`
	To       int `json:"to"`
	Channels int `json:"channels"`
}

// LoadedChannel is a channel and its load.
type LoadedChannel struct {
	Channel
	Load int `json:"load"`
}

// MostBuckets bounds the buckets of a histogram. Chosen by us.
const MostBuckets = 16

// LoadResult tells of the loads, and of so many of the busiest channels.
func (s *Survey) LoadResult(busiest int) LoadResult {
	g := s.Routing.Graph
	l := LoadResult{
		Engine: s.Routing.Engine, Topology: g.Spec, Channels: len(s.Loads), Max: s.MaxLoad(),
		Mean: s.MeanLoad(),
	}
	width := l.Max/MostBuckets + 1
	l.Histogram = make([]LoadBucket, l.Max/width+1)
	for i := range l.Histogram {
		l.Histogram[i].From, l.Histogram[i].To = i*width, (i+1)*width-1
	}
	for _, n := range s.Loads {
		l.Histogram[n/width].Channels++
	}
	type at struct {
		channel layered.Channel
		load    int
	}
	var all []at
	for i, n := range s.Dependencies.Loads {
		if n > 0 {
			all = append(all, at{s.Dependencies.Channels.Channel(i), n})
		}
	}
	slices.SortStableFunc(all, func(a, b at) int { return cmp.Compare(b.load, a.load) })
	for _, a := range all[:min(len(all), max(0, busiest))] {
		l.Busiest = append(l.Busiest, LoadedChannel{NameOf(g, a.channel), a.load})
	}
	return l
}
