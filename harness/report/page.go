package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/topology/layout"
)

// About is what a report says of how the run came about.
type About struct {
	Scenario *scenario.Scenario
	Command  string    // that runs it again
	Version  string    // of Weft; empty: not known
	Began    time.Time // zero: not told
	Note     string    // what else is to be known, such as whose broker carried the links
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{"grouped": grouped}).Parse(pageText))

// long is a whole number of four or more digits, and what comes before: no name, and no decimal.
var long = regexp.MustCompile(`(^|[^\w.])(\d{4,})`)

// grouped prints v with its long numbers in groups of three digits.
func grouped(v any) string {
	return long.ReplaceAllStringFunc(fmt.Sprint(v), func(s string) string {
		digits := strings.TrimLeftFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return s
		}
		return strings.TrimSuffix(s, digits) + humanize.Comma(n)
	})
}

// maxLostOn is how many links are listed that lost packets, those that lost most.
const maxLostOn = 20

// pair is a line of a table.
type pair struct{ Name, Value, Key string }

type lostOn struct {
	Link         string
	Wire, Queued uint64
}

type eventView struct {
	At                    float64
	Kind, Where, By, Text string
}

// view is what the page is made of.
type view struct {
	About    About
	Scenario *scenario.Scenario
	Result   scenario.Result
	Verdict  string
	Class    string
	Why      string
	Source   string

	Facts, Totals, Versions []pair
	Discards                string
	LostOn                  []lostOn
	MoreLostOn              int
	Charts                  []template.HTML
	Samples                 int
	MapWidth                int
	Scenes                  []sceneView
	Hidden                  int
	Legend                  any
	Events                  []eventView
	Missed                  uint64
	Shared                  bool // several faults share figures

	RerouteFill, RerouteEdge, CrashFill, CrashEdge string
}

// write writes the page.
func (r *Recorder) write(w io.Writer, about About) error {
	v := view{
		About: about, Scenario: about.Scenario, Result: r.result, Source: strings.TrimRight(about.Scenario.Source, "\n"),
		Legend: legend, Samples: len(r.samples),
		Hidden: r.hidden, Missed: r.missed, Discards: fault.ByRule(r.result.Ledger.DiscardedBy),
		RerouteFill: reroutesFill, RerouteEdge: rerouteEdge, CrashFill: crashedFill, CrashEdge: crashedColor,
	}
	switch {
	case r.err != nil:
		v.Verdict, v.Class, v.Why = "NOT FINISHED", "open", r.err.Error()
	case r.result.Pass:
		v.Verdict = "PASS"
	default:
		v.Verdict, v.Class = "FAIL", "bad"
	}
	v.Facts, v.Totals, v.Versions = r.facts(about), totals(r.result), versions(about.Version)
	v.Shared = slices.ContainsFunc(r.result.Faults, func(f fault.Report) bool { return len(f.Shared) > 0 })
	v.LostOn, v.MoreLostOn = losses(r.result.Ledger)
	for _, e := range r.events {
		v.Events = append(v.Events, told(e))
	}
	at := layout.Of(r.graph)
	// About as large as names can be read, and no larger than a page is wide.
	v.MapWidth = min(1300, max(360, int(60*at.Width)))
	var err error
	if v.Charts, err = r.charts(); err != nil {
		return err
	}
	if v.Scenes, err = r.views(at); err != nil {
		return err
	}
	return page.Execute(w, v)
}

func (r *Recorder) facts(about About) []pair {
	o, g, res := about.Scenario.Options, r.graph, r.result
	how := "live"
	if r.virtual {
		how = "in virtual time"
	}
	list := []pair{
		{Name: "topology", Value: fmt.Sprintf("%s: %d switches, %d NICs, %d links", g.Spec, len(g.Switches), len(g.NICs),
			len(g.Links))},
		{Name: "routing", Value: about.Scenario.Routing},
		{Name: "traffic", Value: o.Traffic.String()},
		{Name: "length", Value: about.Scenario.Duration.String()},
		{Name: "seed", Value: fmt.Sprint(res.SimSeed)},
		{Name: "how", Value: how},
		{Name: "pacing", Value: r.pacing(o, res.TimeFactor)},
		{Name: "took", Value: fmt.Sprintf("%.1f s", res.Seconds)},
	}
	if res.EventHash != "" {
		list = append(list, pair{Name: "event hash", Value: res.EventHash},
			pair{Name: "virtual time", Value: fmt.Sprintf("%.3f s", res.VirtualSeconds)})
	}
	if !about.Began.IsZero() {
		list = append(list, pair{Name: "began", Value: about.Began.Format(time.RFC3339)})
	}
	if about.Note != "" {
		list = append(list, pair{Name: "links", Value: about.Note})
	}
	return list
}

// pacing says how links are paced, and what latencies and rates are therefore those of.
func (r *Recorder) pacing(o fabric.Options, factor float64) string {
	switch {
	case o.Link.Paced && !r.virtual:
		return fmt.Sprintf("each link carries %s, at %.0f%% of real time on average: latencies and rates are the fabric's",
			perSecond(o), 100*factor)
	case o.Link.Paced:
		return fmt.Sprintf("each link carries %s: latencies and rates are the fabric's", perSecond(o))
	case r.virtual:
		return "unpaced: a packet takes no time on a link but its delay"
	}
	return "unpaced: latencies and rates are those of the machine"
}

func perSecond(o fabric.Options) string {
	return humanize.Commaf(cmp.Or(o.Link.Rate, fabric.DefaultRate)) + " bytes a second"
}

func totals(res scenario.Result) []pair {
	t := res.Totals
	us := func(v float64) string { return fmt.Sprintf("%.0f µs", v) }
	n := func(v uint64) string { return fmt.Sprint(v) }
	return []pair{
		{"rerouted", n(res.Rerouted), "rerouted"},
		{"U-turns", n(t.UTurns), "totals.u_turns"},
		{"requeued", n(t.Requeued), "totals.requeued"},
		{"reordered", n(res.Reordered), "reordered"},
		{"duplicated", n(t.Duplicated), "totals.duplicated"},
		{"not injected: queue full", n(t.Refused), "totals.refused"},
		{"latency of half", us(t.Latency.P50), ""},
		{"of 90%", us(t.Latency.P90), ""},
		{"of 99%", us(t.Latency.P99), ""},
		{"longest", us(t.Latency.Max), ""},
		{"switches crossed, mean", fmt.Sprintf("%.3f", t.MeanHops), ""},
		{"most", fmt.Sprint(t.MaxHops), "totals.max_hops"},
		{"mean stretch", fmt.Sprintf("%.4f", t.Stretch), ""},
	}
}

// losses are the links that lost most, and how many more there are.
func losses(l fabric.Ledger) (list []lostOn, more int) {
	for name, n := range l.LostOn {
		list = append(list, lostOn{name, n.Wire, n.Queued})
	}
	slices.SortFunc(list, func(a, b lostOn) int {
		return cmp.Or(cmp.Compare(b.Wire+b.Queued, a.Wire+a.Queued), cmp.Compare(a.Link, b.Link))
	})
	if more = len(list) - maxLostOn; more > 0 {
		return list[:maxLostOn], more
	}
	return list, 0
}

// told is an event as the page tells it.
func told(e fabric.Event) eventView {
	v := eventView{
		At: e.At, Kind: strings.ReplaceAll(e.Kind, "_", " "), Where: cmp.Or(e.Link, e.Switch), By: e.Node,
		Text: e.Detail,
	}
	if e.Node != "" && e.Port != nil {
		v.By = fmt.Sprintf("%s port %d", e.Node, *e.Port)
	}
	if e.Fault != nil {
		v.Where = cmp.Or(v.Where, e.Fault.Target)
		v.Text = fmt.Sprintf("fault %d", e.Fault.ID)
		if e.Kind == fabric.EventReport {
			v.Text += " is over, and its report complete"
		}
	}
	return v
}

// modules are those whose versions can make a run differ.
var modules = []string{
	"github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go", "github.com/tinylib/msgp",
	"github.com/HdrHistogram/hdrhistogram-go",
	"gonum.org/v1/gonum", "gonum.org/v1/plot",
}

func versions(weft string) []pair {
	list := []pair{
		{Name: "Weft", Value: cmp.Or(weft, "not known")},
		{Name: "Go", Value: fmt.Sprintf("%s %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH,
			runtime.NumCPU())},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if slices.Contains(modules, m.Path) {
				list = append(list, pair{Name: m.Path, Value: m.Version})
			}
		}
	}
	return list
}
