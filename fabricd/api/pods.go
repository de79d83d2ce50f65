package api

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// A large fabric is looked at by pods: a viewer is told of each pod, and of the links between each
// two, in sum, and of single switches and links only in pods that it has opened.

// podsAbove is the links above which a fabric is looked at by pods: where a frame that has all of
// them can no longer come as often as frames should.
const podsAbove = int(frameEvery / framePerLink)

// TopologyPod is switches that are looked at as one, with their NICs and the links between them.
type TopologyPod struct {
	ID       string   `json:"id"`
	Switches []string `json:"switches"`
	NICs     int      `json:"nics"`
	Links    int      `json:"links" jsonschema_description:"Between its switches, and to its NICs."`
}

// TopologyBundle is all links between two pods.
type TopologyBundle struct {
	ID    string `json:"id"`
	A     string `json:"a"`
	B     string `json:"b"`
	Links int    `json:"links"`
}

// PodView is a pod in sum. Members that are zero are left out.
type PodView struct {
	I         int     `json:"i" jsonschema_description:"Index in the topology's pods."`
	Down      int     `json:"down,omitempty" jsonschema_description:"Switches that are not up."`
	LinksUp   int     `json:"links_up,omitempty" jsonschema_description:"Of its links, those that are up."`
	Faults    int     `json:"faults,omitempty" jsonschema_description:"Links that are not simply up: cut, flapping, impaired, held down; and switches that are down."`
	Load      float64 `json:"load,omitempty" jsonschema_description:"Mean share of the configured rate, over both directions of its links."`
	Most      float64 `json:"most,omitempty" jsonschema_description:"Load of its busiest direction of a link."`
	Held      int     `json:"held,omitempty" jsonschema_description:"Packets inside its switches."`
	Blocked   int     `json:"blocked,omitempty" jsonschema_description:"Of them, those that wait for room."`
	Rerouted  float64 `json:"rerouted,omitempty" jsonschema_description:"Packets per second."`
	UTurns    float64 `json:"u_turns,omitempty" jsonschema_description:"Packets per second."`
	Lost      uint64  `json:"lost,omitempty" jsonschema_description:"Packets lost on its links since the start, those queued for them included."`
	Discarded uint64  `json:"discarded,omitempty" jsonschema_description:"Packets that its switches ended by a rule, or lost in a crash, since the start."`
}

// BundleView is the links between two pods in sum. Members that are zero are left out.
type BundleView struct {
	I       int     `json:"i" jsonschema_description:"Index in the topology's bundles."`
	LinksUp int     `json:"links_up,omitempty"`
	Faults  int     `json:"faults,omitempty"`
	RateAB  float64 `json:"rate_ab,omitempty" jsonschema_description:"Packets per second of all links together."`
	RateBA  float64 `json:"rate_ba,omitempty"`
	LoadAB  float64 `json:"load_ab,omitempty" jsonschema_description:"Mean share of the configured rate."`
	LoadBA  float64 `json:"load_ba,omitempty"`
	Lost    uint64  `json:"lost,omitempty"`
}

// grouping is which switches and links are looked at together. Constant.
type grouping struct {
	pods    []TopologyPod
	bundles []TopologyBundle
	podOf   []int    // per switch
	ends    [][2]int // per link, the pods of its ends
	forward []bool   // per link between pods: it leads from A of its bundle to B
	bundle  []int    // per link, its bundle; -1: it is inside a pod
}

// group makes the pods of a fabric; nil when it is too small to need any.
func group(g *topology.Graph) *grouping {
	if len(g.Links) <= podsAbove {
		return nil
	}
	return newGrouping(g, placement.Pods(g))
}

func newGrouping(g *topology.Graph, pods []placement.Pod) *grouping {
	n := len(g.Links)
	o := &grouping{
		podOf: make([]int, len(g.Switches)), ends: make([][2]int, n), forward: make([]bool, n),
		bundle: make([]int, n),
	}
	for i, p := range pods {
		t := TopologyPod{ID: p.Name}
		for _, s := range p.Switches {
			o.podOf[s] = i
			t.Switches = append(t.Switches, g.Switches[s].Name)
		}
		o.pods = append(o.pods, t)
	}
	bundles := map[[2]int]int{}
	for i, l := range g.Links {
		a, b := -1, -1
		if l.A.Node.IsSwitch() {
			a = o.podOf[l.A.Node.Index]
		}
		if b = a; l.B.Node.IsSwitch() {
			b = o.podOf[l.B.Node.Index]
		} else {
			o.pods[a].NICs++ // a link's first end is at a switch
		}
		o.ends[i], o.bundle[i], o.forward[i] = [2]int{a, b}, -1, a < b
		if a == b {
			o.pods[a].Links++
			continue
		}
		key := [2]int{min(a, b), max(a, b)}
		k, ok := bundles[key]
		if !ok {
			k = len(o.bundles)
			bundles[key] = k
			p, q := o.pods[key[0]].ID, o.pods[key[1]].ID
			o.bundles = append(o.bundles, TopologyBundle{ID: p + "-" + q, A: p, B: q})
		}
		o.bundles[k].Links++
		o.bundle[i] = k
	}
	return o
}

// scope is which pods a viewer has opened; nil is a viewer who is told of everything, and of
// nothing in sum.
type scope []bool

// scope reads the names of pods, separated by commas. Without pods there is nothing to choose. The
// error names one that there is not.
func (o *grouping) scope(open string) (scope, error) {
	if o == nil {
		return nil, nil
	}
	s := make(scope, len(o.pods))
	for name := range strings.SplitSeq(open, ",") {
		if name == "" {
			continue
		}
		i := slices.IndexFunc(o.pods, func(p TopologyPod) bool { return p.ID == name })
		if i < 0 {
			names := make([]string, len(o.pods))
			for i, p := range o.pods {
				names[i] = p.ID
			}
			return nil, document.Unknown("pod", name, names)
		}
		s[i] = true
	}
	return s, nil
}

// of leaves what is in the scope of a frame.
func (s scope) of(f Frame, o *grouping) Frame {
	if s == nil {
		f.Pods, f.Bundles = nil, nil
		return f
	}
	var links []LinkView
	for i := range f.Links {
		if e := o.ends[f.Links[i].I]; s[e[0]] || s[e[1]] {
			links = append(links, f.Links[i])
		}
	}
	var switches []SwitchView
	for i := range f.Switches {
		if s[o.podOf[f.Switches[i].I]] {
			switches = append(switches, f.Switches[i])
		}
	}
	f.Links, f.Switches = links, switches
	return f
}

// podSums adds up what viewers of pods are told. For one goroutine.
type podSums struct {
	*grouping
	pods    []PodView // as viewers have them
	bundles []BundleView
	now     []PodView // storage
	between []BundleView
}

func newPodSums(o *grouping) *podSums {
	if o == nil {
		return nil
	}
	p := &podSums{
		grouping: o, pods: make([]PodView, len(o.pods)), bundles: make([]BundleView, len(o.bundles)),
		now: make([]PodView, len(o.pods)), between: make([]BundleView, len(o.bundles)),
	}
	for i := range p.pods {
		p.pods[i].I = -1 // nobody has been told of it
	}
	for i := range p.bundles {
		p.bundles[i].I = -1
	}
	return p
}

// add puts into d the pods and bundles that have changed, given all links and switches as they are,
// and what switch i has discarded.
func (p *podSums) add(d *Frame, links []LinkView, switches []SwitchView, discarded func(i int) uint64) {
	if p == nil {
		return
	}
	clear(p.now)
	clear(p.between)
	for i := range links {
		l := &links[i]
		wrong, up := 0, 0
		if l.State == fabric.LinkUp {
			up = 1
		}
		if up == 0 || l.CutAB != "" || l.CutBA != "" || l.Flapping || l.HeldA || l.HeldB || l.SuffersAB != "" ||
			l.SuffersBA != "" {
			wrong = 1
		}
		k := p.bundle[i]
		if k < 0 {
			v := &p.now[p.ends[i][0]]
			v.LinksUp, v.Faults, v.Lost = v.LinksUp+up, v.Faults+wrong, v.Lost+l.Lost
			v.Load += l.LoadAB + l.LoadBA
			v.Most = max(v.Most, l.LoadAB, l.LoadBA)
			continue
		}
		v := &p.between[k]
		v.LinksUp, v.Faults, v.Lost = v.LinksUp+up, v.Faults+wrong, v.Lost+l.Lost
		rates, loads := [2]float64{l.RateAB, l.RateBA}, [2]float64{l.LoadAB, l.LoadBA}
		ab, ba := 0, 1
		if !p.forward[i] {
			ab, ba = 1, 0
		}
		v.RateAB, v.RateBA, v.LoadAB, v.LoadBA = v.RateAB+rates[ab], v.RateBA+rates[ba], v.LoadAB+loads[ab],
			v.LoadBA+loads[ba]
	}
	for i := range switches {
		s, v := &switches[i], &p.now[p.podOf[i]]
		if s.State != fabric.SwitchUp {
			v.Down++
			v.Faults++
		}
		v.Held, v.Blocked, v.Rerouted, v.UTurns = v.Held+s.Held, v.Blocked+s.Blocked, v.Rerouted+s.Rerouted, v.UTurns+s.UTurns
		v.Discarded += discarded(i)
	}
	for i := range p.now {
		v := &p.now[i]
		v.I, v.Load = i, thousandth(v.Load/max(1, 2*float64(p.grouping.pods[i].Links)))
		v.Rerouted, v.UTurns = tenth(v.Rerouted), tenth(v.UTurns)
		if podChanged(*v, p.pods[i]) {
			p.pods[i] = *v
			d.Pods = append(d.Pods, *v)
		}
	}
	for i := range p.between {
		v := &p.between[i]
		n := float64(p.grouping.bundles[i].Links)
		v.I, v.LoadAB, v.LoadBA = i, thousandth(v.LoadAB/n), thousandth(v.LoadBA/n)
		v.RateAB, v.RateBA = tenth(v.RateAB), tenth(v.RateBA)
		if bundleChanged(*v, p.bundles[i]) {
			p.bundles[i] = *v
			d.Bundles = append(d.Bundles, *v)
		}
	}
}

func thousandth(v float64) float64 { return math.Round(1000*v) / 1000 }

func tenth(v float64) float64 { return math.Round(10*v) / 10 }

// loadTolerance is by how much of a link's rate the load of a pod or bundle may be off, chosen by
// us: a colour that nobody can tell from another.
const loadTolerance = 0.02

// steady reports that viewers need not hear of a load: it has neither begun nor ended, and looks as
// before.
func steady(a, b float64) bool {
	return near(a, b) || a != 0 && b != 0 && math.Abs(a-b) <= loadTolerance
}

func podChanged(v, old PodView) bool {
	if !steady(v.Load, old.Load) || !steady(v.Most, old.Most) || !near(v.Rerouted, old.Rerouted) ||
		!near(v.UTurns, old.UTurns) ||
		!near(float64(v.Held), float64(old.Held)) || !near(float64(v.Blocked), float64(old.Blocked)) {
		return true
	}
	v.Load, v.Most, v.Rerouted, v.UTurns, v.Held, v.Blocked = old.Load, old.Most, old.Rerouted, old.UTurns, old.Held,
		old.Blocked
	return v != old
}

func bundleChanged(v, old BundleView) bool {
	if !steady(v.LoadAB, old.LoadAB) || !steady(v.LoadBA, old.LoadBA) {
		return true
	}
	v.RateAB, v.RateBA, v.LoadAB, v.LoadBA = old.RateAB, old.RateBA, old.LoadAB, old.LoadBA
	return v != old
}

// withPods puts pods and bundles into a listing of the topology.
func withPods(data []byte, o *grouping) ([]byte, error) {
	if o == nil {
		return data, nil
	}
	var all map[string]json.RawMessage
	err := json.Unmarshal(data, &all)
	if err == nil {
		all["pods"], err = json.Marshal(o.pods)
	}
	if err == nil {
		all["bundles"], err = json.Marshal(o.bundles)
	}
	if err != nil {
		return nil, fmt.Errorf("pods of the topology: %w", err)
	}
	return json.Marshal(all)
}
