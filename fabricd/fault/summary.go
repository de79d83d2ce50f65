package fault

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Summary tells the report in one line, and in an indented second one what it did to the traffic,
// if anything.
func (r Report) Summary() string {
	var b strings.Builder
	head := r.head()
	b.WriteString(head)
	if strings.Contains(head, ",") {
		b.WriteByte(',')
	}
	fmt.Fprintf(&b, " at %.3f s", r.At)
	if r.Kind != KindHandover { // nobody needs to find out
		b.WriteString(", " + r.seen())
	}
	fmt.Fprintf(&b, "; lost %d on the wire, %d queued", r.LostWire, r.LostQueued)
	if r.ofSwitch() {
		fmt.Fprintf(&b, ", %d inside", r.LostCrash)
	}
	if r.RestoredAt > 0 {
		fmt.Fprintf(&b, "; restored at %.3f s, rerouted meanwhile %d", r.RestoredAt, r.Rerouted)
	}
	if effects := r.effects(); len(effects) > 0 {
		b.WriteString("\n  " + strings.Join(effects, "; "))
	}
	return b.String()
}

// head names the fault.
func (r Report) head() string {
	switch Verb(r.Kind) {
	case VerbCut, VerbFlap, VerbImpair, VerbCrash:
	default:
		return cmp.Or(r.What, r.Kind+" "+r.Target) // nobody ordered it, so no verb says what it was
	}
	s := r.Kind + " " + r.Target
	if r.Silent {
		s += " silently"
	}
	if between := r.Direction.between(r.Target); between != "" {
		s += ", " + between
	}
	return s
}

// seen tells who has acted on the fault.
func (r Report) seen() string {
	who := "both ends"
	switch ends := r.ends(); {
	case ends == 0 && (r.Silent || r.Kind == string(VerbImpair)):
		if r.RestoredAt > 0 {
			return "seen by neither end"
		}
		return "seen by neither end yet"
	case r.ofSwitch():
		who = "its neighbours"
	case ends == 1:
		who = r.Detected[0].End + " alone"
	case ends > 2:
		who = fmt.Sprintf("%d ends", ends)
	}
	return fmt.Sprintf("%s acted within %.2f ms", who, ms(r.SeenAfter))
}

// ends is how many different ends have found out.
func (r Report) ends() int {
	type end struct {
		node string
		port int
	}
	seen := map[end]bool{}
	for _, d := range r.Detected {
		seen[end{d.End, d.Port}] = true
	}
	return len(seen)
}

// effects tells what the traffic suffered beyond what was lost.
func (r Report) effects() (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if r.FirstReroute != nil {
		add("first re-route after %.2f ms", ms(*r.FirstReroute))
	}
	if r.Requeued > 0 {
		add("requeued %d", r.Requeued)
	}
	if r.Discarded > 0 {
		add("discarded %d", r.Discarded)
	}
	if r.Reordered > 0 || r.Duplicated > 0 {
		add("reordered %d, duplicated %d", r.Reordered, r.Duplicated)
	}
	if r.Extra.Packets > 0 {
		packets := "packets"
		if r.Extra.Packets == 1 {
			packets = "packet"
		}
		add("%d %s went %.2f hops further, at most %d", r.Extra.Packets, packets, r.Extra.Mean, r.Extra.Most)
	}
	if r.Degradation.Found {
		add("throughput %s", r.Degradation)
	}
	if c := r.Connections; c != nil {
		add("%s", c)
	}
	if len(r.SharedWith) > 0 {
		add("shared with %s, counted at the same time", r.others())
	}
	return list
}

// others names the reports that share figures: "fault 2 and 3".
func (r Report) others() string {
	ids := make([]string, len(r.SharedWith))
	for i, id := range r.SharedWith {
		ids[i] = fmt.Sprint(id)
	}
	noun := "fault "
	if len(ids) > 1 {
		noun = "faults "
	}
	return noun + strings.Join(ids, ", ")
}

// maxEnds bounds the ends that are listed for people, chosen by us: all of a 16-port switch. A
// broker that is lost has hundreds; the JSON has them all.
const maxEnds = 16

// Figure is one line of a report for people.
type Figure struct {
	Label  string // empty: the line above goes on
	Text   string
	Shared bool // it may be due to other faults as well, see [Report.Shared]
}

// Figures are the lines of the report for people, in their order.
func (r Report) Figures() (list []Figure) {
	line := func(label, format string, args ...any) {
		list = append(list, Figure{label, fmt.Sprintf(format, args...), slices.Contains(r.Shared, labels[label])})
	}
	switch {
	case r.RestoredAt > 0:
		line("when", "%.3f s to %.3f s", r.At, r.RestoredAt)
	default:
		line("when", "from %.3f s, it lasts", r.At)
	}
	if len(r.Detected) == 0 {
		line("detected", "by no end")
	}
	for i, d := range r.Detected {
		label := "detected"
		if i > 0 {
			label = ""
		}
		if more := len(r.Detected) - i; i == maxEnds && more > 1 {
			line(label, "by %d more, the last after %.2f ms", more, ms(r.SeenAfter))
			break
		}
		line(label, "by %s port %d after %.2f ms, by %s", d.End, d.Port, ms(d.AfterSeconds), d.How)
	}
	line("first re-route", "%s", after(r.FirstReroute, "none"))
	line("lost", "%d: %d on the wire, %d queued, %d inside", r.Lost(), r.LostWire, r.LostQueued, r.LostCrash)
	line("rerouted", "%d", r.Rerouted)
	line("requeued", "%d", r.Requeued)
	line("discarded", "%d%s", r.Discarded, r.rules())
	line("reordered", "%d", r.Reordered)
	line("duplicated", "%d", r.Duplicated)
	line("extra hops", "mean %.2f, most %d, of %d packets", r.Extra.Mean, r.Extra.Most, r.Extra.Packets)
	line("throughput", "%s", r.Degradation)
	if c := r.Connections; c != nil {
		line("connections", "%s", c)
		for _, one := range c.Worst {
			line("", "%s", one)
		}
		if more := c.Count - len(c.Worst); more > 0 {
			line("", "and %d more", more)
		}
	}
	line("last effect", "%s", after(r.LastEffect, "none"))
	if c := r.Reconfiguration; c != nil {
		line("manager", "%s: %s", c.Method, c)
		flows := ""
		if c.FlowsTotal > 0 { // the manager knows of flows
			flows = fmt.Sprintf(", %d of %d flows re-routed", c.FlowsRerouted, c.FlowsTotal)
		}
		if len(c.Lost) > 0 {
			line("lost meanwhile", "%s", c.losses())
		}
		line("", "version %d, %d entries of %d switches%s%s", c.Version, c.Entries, c.Switches, flows, c.settled())
	}
	return list
}

// Remarks are what else people should know of the report.
func (r Report) Remarks() (list []string) {
	if len(r.SharedWith) > 0 {
		list = append(list, fmt.Sprintf("* may be due to %s as well, counted at the same time (until 1 s after repair)",
			r.others()))
	}
	if r.Note != "" {
		list = append(list, r.Note)
	}
	if r.Open && r.RestoredAt > 0 {
		list = append(list, "its effects are still being counted")
	}
	return list
}

// Name is the order in one line, or what else went wrong and where.
func (r Report) Name() string { return cmp.Or(r.What, r.Kind+" "+r.Target) }

// WriteTo writes the whole report for people, one figure a line.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "fault %d: %s\n", r.ID, r.Name())
	for _, f := range r.Figures() {
		fmt.Fprintf(&b, "  %-14s %s", f.Label, f.Text)
		if f.Shared {
			b.WriteString(" *")
		}
		b.WriteByte('\n')
	}
	for _, remark := range r.Remarks() {
		fmt.Fprintf(&b, "  %s\n", remark)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// labels gives the JSON name of what a line of WriteTo shows, where it can be shared.
var labels = map[string]string{
	"first re-route": "first_reroute_seconds", "rerouted": "rerouted", "requeued": "requeued", "discarded": "discarded",
	"reordered":  "reordered",
	"duplicated": "duplicated", "extra hops": "extra_hops", "throughput": "throughput", "connections": "connections",
	"last effect": "last_effect_seconds",
}

// rules lists the discards by rule.
func (r Report) rules() string {
	if len(r.DiscardedBy) == 0 {
		return ""
	}
	return ": " + ByRule(r.DiscardedBy)
}

// ByRule words counts of discarded packets by the rule that discarded them, the most first.
func ByRule(counts map[string]uint64) string {
	rules := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, rule := range rules {
		rules[i] = fmt.Sprintf("%d by %q", counts[rule], rule)
	}
	return strings.Join(rules, ", ")
}

// after prints milliseconds after the fault.
func after(seconds *float64, none string) string {
	if seconds == nil {
		return none
	}
	return fmt.Sprintf("after %.2f ms", ms(*seconds))
}

// ofSwitch reports whether it is about a switch, which may have lost what was inside.
func (r Report) ofSwitch() bool {
	return r.Kind == string(VerbCrash) || r.Kind == KindProcess || r.Kind == KindHost || r.Kind == KindHandover
}
