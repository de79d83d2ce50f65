package verify

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document/table"
	"github.com/weft-fabric/weft/harness/verify"
)

// maxRules bounds the rules listed that discard; the rest are counted.
const maxRules = 20

// printVerified prints a result for people.
func printVerified(w io.Writer, c verify.Config, r *verify.Result) error {
	var b strings.Builder
	channels := "1 virtual channel"
	if r.VCs > 1 {
		channels = fmt.Sprintf("%d virtual channels", r.VCs)
	}
	fmt.Fprintf(&b, "%s, %s, %s, %s", r.Topology, routingOf(r), channels, map[string]string{
		"before": "faults before the first packet", "arriving": "faults arrive between any two hops",
		"flapping": "faults come and go between any two hops",
		"repaired": "some faults were repaired before the first packet, the others are there",
	}[r.When])
	if c.Around != nil || c.Mixed != nil && c.Mixed.Around != nil {
		b.WriteString(", known to the routing")
	}
	if r.AtOnce > 0 {
		fmt.Fprintf(&b, ", at most %d at once", r.AtOnce)
	}
	if r.OneByOne {
		b.WriteString(", and switches with their ports one by one")
	}
	if r.Registers != "" {
		fmt.Fprintf(&b, ", registers %s", r.Registers)
	}
	if c.FixedChoice {
		b.WriteString(", packets keep to their first choice")
	}
	b.WriteString("\n\n")
	byFaults(&b, r)
	fmt.Fprintf(&b, "\n%s\n", r)
	claims(&b, c, r)
	for i, rule := range r.Rules() {
		if i == maxRules {
			fmt.Fprintf(&b, "  and %d more rules\n", len(r.Discards)-maxRules)
			break
		}
		if i == 0 {
			b.WriteString("ends without delivery, by rule, in how many states over all sets:\n")
		}
		fmt.Fprintf(&b, "  %12s  %s\n", command.Grouped(r.Discards[rule]), rule)
	}
	switch {
	case r.Symmetry != "" && r.Method == verify.Lazy: // of destinations
		fmt.Fprintf(&b, "symmetry: %s\n", r.Symmetry)
	case r.Symmetry != "":
		fmt.Fprintf(&b, "symmetry: %s: %s of %s\n", r.Symmetry, command.Grouped(r.Explored),
			command.Grouped(r.FaultSets))
	}
	for _, why := range []string{r.Asymmetry, r.SourceBased} {
		if why != "" {
			fmt.Fprintf(&b, "not believed: %s\n", why)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	if r.Counter != nil {
		fmt.Fprintf(&b, "counterexample: %s", r.Counter)
	}
	pairClasses(&b, r)
	method := "set by set"
	if r.Method == verify.Lazy {
		method = "all sets at once"
	}
	fmt.Fprintf(&b, "%s states, %s, in %.2f s\n", command.Grouped(r.States), method, r.Seconds)
	_, err := io.WriteString(w, b.String())
	return err
}

// Bounds of what is listed of pairs that fail; --json has all.
const (
	maxClasses = 10
	maxNamed   = 4 // elements of a counterexample
)

// pairClasses prints the pairs that fail, by what was found of them.
func pairClasses(b *strings.Builder, r *verify.Result) {
	t := table.New("pairs that fail", "with", "by this share of sets", "for example", "dead")
	t.Right = true
	left := r.OtherPairs
	for i, c := range r.Classes {
		switch {
		case c.Verdict == verify.Holds:
			continue
		case i >= maxClasses:
			left += c.Pairs
			continue
		}
		share := "not counted"
		if len(c.ByFaults) > 0 {
			share = shareOf(&c.ByFaults[0])
		}
		dead := strings.Join(c.Dead[:min(len(c.Dead), maxNamed)], ", ")
		if more := len(c.Dead) - maxNamed; more > 0 {
			dead += fmt.Sprintf(" and %d more", more)
		}
		faults := fmt.Sprintf("%d faults", c.Faults)
		if c.Faults == 1 {
			faults = "1 fault"
		}
		t.Row(command.Grouped(uint64(c.Pairs)), faults, share, c.From+" to "+c.To, dead)
	}
	if len(r.Classes) > 0 {
		b.WriteString("\n")
		_ = t.Text(b) // to memory
	}
	if left > 0 {
		fmt.Fprintf(b, "and %s pairs more\n", command.Grouped(uint64(left)))
	}
	if len(r.Classes) > 0 {
		b.WriteString("\n")
	}
}

// shareOf is the share of sets that disconnect a pair.
func shareOf(s *verify.PairShare) string {
	switch {
	case s.Connected != nil:
		part, _ := new(big.Rat).SetFrac(new(big.Int).Sub(s.Sets, s.Connected), s.Sets).Float64()
		return fmt.Sprintf("%.3g%%", 100*part)
	case s.Sampled != nil:
		return fmt.Sprintf("%.2f%% to %.2f%%", 100-100*s.Sampled.High, 100-100*s.Sampled.Low)
	}
	return "not counted"
}

// routingOf is the routing of a result, or both of a mixture.
func routingOf(r *verify.Result) string {
	if r.Mixed == "" {
		return r.Routing
	}
	return r.Routing + " and " + r.Mixed + " mixed in every way"
}

// byFaults prints a line for each number of faults.
func byFaults(b *strings.Builder, r *verify.Result) {
	compared := slices.ContainsFunc(r.ByFaults, func(s verify.ByFaults) bool { return s.Compared })
	head := []any{"faults", "fault sets", "all pairs connected", "can deadlock"}
	if compared {
		head = append(head, "by up/down tables", "physically")
	}
	t := table.New(head...)
	t.Right = true
	for _, s := range r.ByFaults {
		of := func(n uint64) string { return fmt.Sprintf("%s  %6s", sets(n), command.Share(n, s.Sets)) }
		row := []any{s.Faults, sets(s.Sets), of(s.Connected), command.Grouped(s.Deadlocks)}
		if s.Uncounted {
			row[2] = "not counted"
		}
		if u := s.Sampled; u != nil {
			row[2] = fmt.Sprintf("%.2f%% to %.2f%%, of %s drawn", 100*u.Low, 100*u.High, sets(uint64(u.Sets)))
		}
		if r.Undecided != "" {
			row[3] = "not decided"
		}
		if compared {
			row = append(row, of(s.UpDown), of(s.Physical))
		}
		t.Row(row...)
	}
	_ = t.Text(b) // to memory
}

// sets is a number of sets, which is the largest where there are more.
func sets(n uint64) string {
	if n == math.MaxUint64 {
		return "over 1.8e19"
	}
	return command.Grouped(n)
}

// extended prints what was found of the graphs of escape channels and bubble rings, which say why
// there is no deadlock.
func extended(b *strings.Builder, c verify.Config, r *verify.Result) {
	e := r.Extended
	what, proof := "", ""
	if e.Escape {
		what, proof = " of escape channels", "Duato's theorem"
		if e.Connected == r.CyclicSets {
			what += ", which lead everywhere"
		}
	}
	if e.Rings > 0 {
		rings := fmt.Sprintf("%d rings that are entered with two free places only", e.Rings)
		if e.Rings == 1 {
			rings = "a ring that is entered with two free places only"
		}
		what += ", with " + rings
		if proof != "" {
			proof += " and "
		}
		proof += "bubble flow control"
	}
	switch {
	case c.FixedChoice && e.Escape:
		return // what keeps to one output does not escape
	case e.Acyclic == r.CyclicSets:
		fmt.Fprintf(b, "extended graph%s: no cycle in any of these: no deadlock, by %s\n", what, proof)
	default:
		fmt.Fprintf(b, "extended graph%s: CYCLES in %s of these\n", what, command.Grouped(r.CyclicSets-e.Acyclic))
	}
}

// claims prints what was found about dependencies between channels.
func claims(b *strings.Builder, c verify.Config, r *verify.Result) {
	switch {
	case r.FaultSets == 0:
		return
	case r.Undecided != "":
		b.WriteString("channel dependency graph: of all sets together it has cycles; each set was not looked at\n")
	case r.Released:
		b.WriteString("channel dependency graph: of all sets together it has cycles, but whoever turns has a way up " +
			"with nothing dead\n")
	case r.CyclicSets == 0:
		b.WriteString("channel dependency graph: no cycle in any set\n")
	case c.FixedChoice:
		fmt.Fprintf(b, "channel dependency graph: cycles in %s sets, and packets keep to one output\n",
			command.Grouped(r.CyclicSets))
	default:
		fmt.Fprintf(b, "channel dependency graph: cycles in %s sets, in %s of which packets can wait for one another only\n",
			command.Grouped(r.CyclicSets), command.Grouped(r.Deadlocks))
	}
	if e := r.Extended; e != nil && (e.Escape || e.Rings > 0) {
		extended(b, c, r)
	}
	if r.Numbering != nil {
		word := "rises"
		if !*r.Numbering {
			word = "DOES NOT RISE"
		}
		fmt.Fprintf(b, "channel numbering: %s on every hop\n", word)
	}
	if d := r.Duato; d != nil {
		fmt.Fprintf(b, "Duato's condition: holds in %s of %s sets that leave fault-free subtrees\n",
			command.Grouped(d.Held), command.Grouped(d.Checked))
	}
}
