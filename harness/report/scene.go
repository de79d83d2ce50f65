package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
)

// maxNICs is how many NICs a map shows at most; chosen by eye.
const maxNICs = 64

// How links are drawn, in the colours of Okabe and Ito and in dashes of their own, so that nobody
// has to tell colours apart.
var (
	cutLook    = layout.LinkLook{Color: "#d55e00", Width: 2.5, Dash: "7 4"}
	silentLook = layout.LinkLook{Color: "#cc79a7", Width: 2.5, Dash: "2 3"}
	flapLook   = layout.LinkLook{Color: "#0072b2", Width: 2.5, Dash: "8 3 2 3"}
	badLook    = layout.LinkLook{Color: "#e69f00", Width: 2.5}
	downLook   = layout.LinkLook{Color: "#777777", Width: 1.5, Dash: "3 3"}
	comingLook = layout.LinkLook{Color: "#009e73", Width: 1.5, Dash: "1 3"}
)

// Switches.
const (
	crashedFill, crashedColor = "#f3c9b0", "#d55e00"
	reroutesFill, rerouteEdge = "#fff3c4", "#b07a00"
)

// legend explains the looks.
var legend = []struct {
	Look layout.LinkLook
	Text string
}{
	{cutLook, "signalled cut"},
	{silentLook, "silent cut"},
	{flapLook, "flapping"},
	{badLook, "impaired"},
	{downLook, "down with a switch"},
	{comingLook, "coming up, or taken for down"},
}

// look is how a link is drawn; false: as any other.
func look(s fabric.LinkState) (layout.LinkLook, bool) {
	var l layout.LinkLook
	switch {
	case s.CutAB == fabric.CutSilent || s.CutBA == fabric.CutSilent:
		l = silentLook
	case s.Flapping:
		l = flapLook
	case s.CutAB != "" || s.CutBA != "" || s.State == fabric.LinkCut:
		l = cutLook
	case s.State == fabric.LinkDown:
		l = downLook
	case s.SuffersAB != "" || s.SuffersBA != "":
		l = badLook
	case s.State != fabric.LinkUp:
		l = comingLook
	default:
		return l, false
	}
	var notes []string
	for _, d := range []struct{ from, to, cut, suffers string }{
		{s.A, s.B, s.CutAB, s.SuffersAB},
		{s.B, s.A, s.CutBA, s.SuffersBA},
	} {
		if d.cut != "" {
			notes = append(notes, fmt.Sprintf("%s to %s cut, %s", d.from, d.to, d.cut))
		}
		if d.suffers != "" {
			notes = append(notes, fmt.Sprintf("%s to %s %s", d.from, d.to, d.suffers))
		}
	}
	for _, end := range []struct {
		name string
		up   bool
	}{{s.A, s.AUp}, {s.B, s.BUp}} {
		word := "has it down"
		if end.up {
			word = "has it up"
		}
		notes = append(notes, end.name+" "+word)
	}
	l.Note = strings.Join(notes, "; ")
	return l, true
}

// sceneView is a scene as the page shows it.
type sceneView struct {
	At      float64
	What    string
	Faults  []int
	Map     template.HTML
	Caption string
}

// views draws the scenes.
func (r *Recorder) views(at layout.Layout) (list []sceneView, err error) {
	for _, s := range r.scenes {
		v := sceneView{At: s.At, What: s.What, Faults: s.Faults, Caption: r.rerouted(s)}
		if v.Map, err = r.drawn(s, at); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (r *Recorder) drawn(s scene, at layout.Layout) (template.HTML, error) {
	m := layout.Map{
		Options: layout.Options{NICs: len(r.graph.NICs) <= maxNICs}, Graph: r.graph, Layout: at,
		Title: fmt.Sprintf("the fabric at %.3f s: %s", s.At, s.What), Links: map[int]layout.LinkLook{},
		Switches: map[int]layout.SwitchLook{},
	}
	for i, l := range s.Links {
		if k, differs := look(l); differs {
			m.Links[i] = k
		}
	}
	for i := range r.graph.Switches {
		if n, turns := s.since(i); n > 0 {
			m.Switches[i] = layout.SwitchLook{
				Fill: reroutesFill, Color: rerouteEdge, Label: fmt.Sprint(n),
				Note: fmt.Sprintf("re-routed %d, %d of them U-turns", n, turns),
			}
		}
		if slices.Contains(s.Crashed, r.graph.Switches[i].Name) {
			m.Switches[i] = layout.SwitchLook{Fill: crashedFill, Color: crashedColor, Label: "crashed", Note: "crashed"}
		}
	}
	var b strings.Builder
	if err := m.Write(&b); err != nil {
		return "", err
	}
	return inline(b.String()), nil
}

// since is what switch i re-routed until the next scene.
func (s scene) since(i int) (rerouted, turns uint64) {
	if s.Until == nil {
		return 0, 0
	}
	return s.Until[i].Rerouted - s.Reroutes[i].Rerouted, s.Until[i].UTurns - s.Reroutes[i].UTurns
}

// mostNamed is how many switches are named that re-routed most.
const mostNamed = 6

// rerouted tells who re-routed until the next scene.
func (r *Recorder) rerouted(s scene) string {
	if s.Until == nil {
		return ""
	}
	type one struct {
		name string
		n    uint64
	}
	var list []one
	var sum, turns uint64
	for i, sw := range r.graph.Switches {
		n, u := s.since(i)
		sum, turns = sum+n, turns+u
		if n > 0 {
			list = append(list, one{sw.Name, n})
		}
	}
	if sum == 0 {
		return fmt.Sprintf("Until %.3f s no packet was re-routed.", s.End)
	}
	slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(b.n, a.n) })
	var names []string
	for i, o := range list {
		if i == mostNamed {
			names = append(names, fmt.Sprintf("%d more switches", len(list)-i))
			break
		}
		names = append(names, fmt.Sprintf("%s %d", o.name, o.n))
	}
	return fmt.Sprintf("Until %.3f s packets were re-routed %d times, %d of them U-turns: %s.", s.End, sum, turns,
		strings.Join(names, ", "))
}
