package up

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// upOutput prints what fabricd up shows: a banner, one line of state, events above it, the ledger.
// For any goroutine.
type upOutput struct {
	json   bool
	fabric string
	lasts  time.Duration // --for
	stdout io.Writer

	mu   sync.Mutex
	line *command.Line // guarded by mu
	over bool          // guarded by mu: more is offered than carried, as was told
	calm int           // guarded by mu: samples in a row without that, since it was told
}

// Line is one line of fabricd up --json; one of its fields is set.
type Line struct {
	Standby *standbyLine   `json:"standby,omitempty"` // another process leads
	Up      *upLine        `json:"up,omitempty"`
	Event   *fabric.Event  `json:"event,omitempty"`
	Sample  *api.Sample    `json:"sample,omitempty"`
	Report  *fault.Report  `json:"report,omitempty"` // of each fault, before the ledger
	Ledger  *fabric.Ledger `json:"ledger,omitempty"`
	Left    string         `json:"left,omitempty"` // beside the ledger: why packets are left in flight
}

// standbyLine says who leads a fabric on agents for which this process stands by.
type standbyLine struct {
	Fabric string         `json:"fabric"`
	Leader cluster.Leader `json:"leader"`
}

// upLine says where the fabric listens.
type upLine struct {
	Name     string  `json:"name"`
	URL      string  `json:"url"`
	Page     string  `json:"page,omitempty"` // with its token
	Topology string  `json:"topology"`
	Switches int     `json:"switches"`
	NICs     int     `json:"nics"`
	Links    int     `json:"links"`
	Seconds  float64 `json:"start_seconds"`

	Placed *placedLine `json:"placed,omitempty"` // on agents
}

// placedLine says where a fabric is on agents.
type placedLine struct {
	Agents   []placedAgent `json:"agents"`
	Links    int           `json:"switch_links"`
	Crossing int           `json:"crossing_links"`
	Traffic  float64       `json:"crossing_traffic"` // share of the hops between switches, of uniform traffic
	PerPath  float64       `json:"crossings_per_packet"`
}

type placedAgent struct {
	Name     string `json:"name"`
	Switches int    `json:"switches"`
	NICs     int    `json:"nics"`
	Ports    int    `json:"ports"`
}

// write prints it for people.
func (p *placedLine) write(w io.Writer) {
	fmt.Fprintf(w, "on %d agents: %d of %d links between switches cross hosts (%.0f%%), and %.0f%% of the hops of "+
		"uniform traffic, %.2f a packet\n",
		len(p.Agents), p.Crossing, p.Links, 100*float64(p.Crossing)/float64(max(p.Links, 1)), 100*p.Traffic, p.PerPath)
	for _, a := range p.Agents {
		fmt.Fprintf(w, "  %-12s %5d switches %6d NICs %7d ports\n", a.Name, a.Switches, a.NICs, a.Ports)
	}
}

func linesOf(p *placement.Placement) *placedLine {
	if p == nil {
		return nil
	}
	l := &placedLine{Links: p.Cost.Links, Crossing: p.Cost.Crossing, Traffic: p.Cost.Traffic, PerPath: p.Cost.PerPath}
	for _, q := range p.Hosts {
		l.Agents = append(l.Agents, placedAgent{q.Agent, len(q.Switches), len(q.NICs), q.Ports})
	}
	return l
}

func (o *upOutput) standby(l cluster.Leader) {
	if o.json {
		o.print(Line{Standby: &standbyLine{o.fabric, l}})
		return
	}
	fmt.Fprintf(o.stdout, "standing by: %v leads fabric %s; this one takes over when that ends\n", l, o.fabric)
}

func (o *upOutput) banner(t *lead.Term) {
	g, url, placed := t.Fabric.Topology(), t.Entry.URL, linesOf(t.Placement)
	o.mu.Lock()
	o.over, o.calm = false, 0
	o.mu.Unlock()
	if o.json {
		o.print(Line{Up: &upLine{
			Name: o.fabric, URL: url, Page: t.Page, Topology: g.Spec, Switches: len(g.Switches), NICs: len(g.NICs),
			Links: len(g.Links), Seconds: t.Took.Seconds(), Placed: placed,
		}})
		return
	}
	w := command.Folded(o.stdout)
	fmt.Fprintf(w, "fabric %s: %s, %d switches, %d NICs, %d links, %s, up in %v\n",
		o.fabric, g.Spec, len(g.Switches), len(g.NICs), len(g.Links), t.Settings.Routing, t.Took.Round(time.Millisecond))
	if placed != nil {
		placed.write(w)
	}
	whose := "credentials of this run; it enforces cuts"
	if !t.OwnBroker {
		whose = "not ours: its owner says who may do what, and the ends of a link enforce cuts"
	}
	if t.Page != "" {
		fmt.Fprintf(w, "watch it and cut it:                %s\n", t.Page)
	}
	fmt.Fprintf(w, "links are NATS subjects at %s (%s)\n", url, whose)
	flag := ""
	if o.fabric != "weft" {
		flag = " --fabric " + o.fabric
	}
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			a, z := g.Name(l.A.Node), g.Name(l.B.Node)
			fmt.Fprintf(w, "cut a link from another terminal:   linkmon%s cut %s %s\nbring it back:                      "+
				"linkmon%s heal --all\nsee what happens:                   linkmon%s events --follow\n", flag, a, z, flag, flag)
			break
		}
	}
	if other := wayAround(t.Settings.Routing, g); other != "" {
		fmt.Fprintf(w, "a packet that meets a dead link:    is discarded by %s; --routing %s leads around it\n",
			t.Settings.Routing, other)
	}
	if o.lasts > 0 {
		fmt.Fprintf(w, "in %v it ends by itself; before that, ", o.lasts)
	}
	fmt.Fprintln(w, "Ctrl-C drains the fabric and prints the ledger")
}

// wayAround is a routing that leads around dead links, for one that neither does so nor has
// anything that a subnet manager could replace; empty for all others.
func wayAround(routing string, g *topology.Graph) string {
	e, err := subnet.ByName(routing)
	if err != nil || e.Tolerance.Links || e.Routes != nil || e.Mechanisms != nil || routing == subnet.None {
		return ""
	}
	if d, err := subnet.ByName(subnet.Default(g)); err == nil && d.Tolerance.Links {
		return d.Name
	}
	return "updn"
}

func (o *upOutput) print(l Line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = command.JSON(o.stdout, l) // a closed pipe ends the process by signal
}

func (o *upOutput) sample(s api.Sample) {
	if o.json {
		o.print(Line{Sample: &s})
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calm++; s.Overload != "" {
		o.calm = 0
	}
	switch {
	case s.Deadlock != "": // less traffic does not end it
	case !o.over && s.Overload != "":
		o.over = true
		o.line.Print("         " + s.Overload +
			":\n         the fabric is saturated, or this machine too slow for it; give less, as --traffic uniform:0.02")
	case o.over && o.calm == calmFor:
		o.over = false
		o.line.Print("         all that is offered is carried again")
	}
	o.line.Show(s.String())
}

// calmFor is for how many samples all must be carried before that is told: near saturation one
// second differs from the next. Chosen by us.
const calmFor = 10

// event prints all events as JSON, otherwise those a person did and the reports of faults.
func (o *upOutput) event(e fabric.Event) {
	if o.json {
		o.print(Line{Event: &e})
		return
	}
	if e.Kind == fabric.EventTables {
		return // one for each switch: the line of the whole upload follows
	}
	if text := e.Summary(); text != "" {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.line.Print(fmt.Sprintf("%6.1fs  %s", e.At, strings.ReplaceAll(text, "\n", "\n         ")))
	}
}

func (o *upOutput) draining() {
	if o.json {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line.Print("draining; Ctrl-C again to leave at once")
}

// maxReports bounds the faults that are listed at the end, chosen by us: what fits a screen above
// the ledger. Each was told when it was complete.
const maxReports = 20

// end prints what each fault has cost, and the ledger.
func (o *upOutput) end(r lead.Result) {
	l, drained, t, faults := r.Ledger, r.Drained, r.Totals, r.Faults
	if o.json {
		for _, r := range faults {
			o.print(Line{Report: &r})
		}
		line := Line{Ledger: &l}
		if drained != nil {
			line.Left = drained.Error()
		}
		o.print(line)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.line.Done()
	w := command.Folded(o.stdout)
	if drained != nil {
		fmt.Fprintln(w, drained)
	}
	if _, ok := errors.AsType[*fabric.NotDrainedError](drained); ok {
		fmt.Fprintln(w, "to wait longer, give --drain-timeout; to have less to wait for, less traffic, as --traffic "+
			"uniform:0.02")
	}
	if more := len(faults) - maxReports; more > 0 {
		fmt.Fprintf(w, "the latest %d of %d faults:\n", maxReports, len(faults))
		faults = faults[more:]
	}
	if len(faults) > 0 {
		_ = fault.WriteTable(o.stdout, command.Width(o.stdout), faults) // a closed pipe ends the process by signal
	}
	command.PrintLedger(w, l)
	if t.DamagedFrames > 0 {
		fmt.Fprintf(w, "damaged: %d frames did not arrive on their link as they were sent; their packets are lost on wires\n",
			t.DamagedFrames)
	}
	fmt.Fprintf(w, "latency %v; %d rerouted, %d U-turns, mean stretch %.4f\n",
		t.Latency, t.Rerouted, t.UTurns, t.Stretch)
}
