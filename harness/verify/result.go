package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Result is what was found. Counts are over all sets, also those that are the same as an explored
// one by symmetry. Scripts may rely on the JSON.
type Result struct {
	Pass     bool   `json:"pass"` // every set was explored, all pairs are connected and nothing can deadlock
	Topology string `json:"topology"`
	Routing  string `json:"routing,omitempty"`
	Mixed    string `json:"mixed,omitempty"` // the second routing: every subset of the switches runs it
	VCs      int    `json:"vcs"`
	Method   string `json:"method"` // lazy: all sets at once; enumeration: one by one
	Kind     Kind   `json:"kind,omitempty"`
	When     string `json:"when"`
	// most faults of a set dead at one moment, of those that also go
	AtOnce    int    `json:"at_once,omitempty"`
	OneByOne  bool   `json:"one_by_one,omitempty"` // a switch that is back has its ports up one by one
	Registers string `json:"registers,omitempty"`  // of firmwares that have some
	Symmetry  string `json:"symmetry,omitempty"`
	// why a firmware that says it is symmetric was explored as if it did not
	Asymmetry   string `json:"asymmetry,omitempty"`
	SourceBased string `json:"source_based,omitempty"` // why one that says it is destination-based was explored so too
	// FaultSets, and all counts below, are at most 1<<64 - 1. About is then how many sets there are.
	About     string `json:"fault_sets_about,omitempty"`
	FaultSets uint64 `json:"fault_sets"`
	Explored  uint64 `json:"explored_sets"` // the others are the same by symmetry
	Pairs     int    `json:"pairs"`         // ordered pairs of NICs of the topology
	// pairs over all sets; the pairs of a dead switch's NICs do not count
	Walks       uint64 `json:"walks"`
	Unconnected uint64 `json:"unconnected"` // of these: some choice is not delivered
	Livelocks   uint64 `json:"livelocks"`   // of these: some choice comes to a cycle
	// sets with an unconnected pair; at least, where some are not counted
	BadSets   uint64 `json:"bad_sets"`
	Deadlocks uint64 `json:"deadlock_sets"` // sets in which channels can wait for each other only
	// the channel dependency graph of every set, or the extended one
	CDGAcyclic bool `json:"cdg_acyclic"`
	// sets whose graph has a cycle, whatever the extended one has
	CyclicSets uint64 `json:"cyclic_sets"`
	// Released is that the dependencies of all sets together have a cycle, and packets always go on
	// all the same: who turns has an up port above which nothing is dead.
	Released  bool              `json:"released,omitempty"`
	Undecided string            `json:"undecided,omitempty"` // what exploring all sets at once cannot decide: deadlock
	Extended  *Extended         `json:"extended,omitempty"`
	Numbering *bool             `json:"numbering_rises,omitempty"` // the firmware's channel numbering, on every hop
	Duato     *Duato            `json:"duato,omitempty"`
	MaxHops   int               `json:"max_hops"` // most switches that a packet crosses which every choice delivers
	Discards  map[string]uint64 `json:"discards,omitempty"`
	States    uint64            `json:"states"`  // that packets came to, in the sets explored
	Seconds   float64           `json:"seconds"` // of wall time
	Notes     []string          `json:"notes,omitempty"`
	ByFaults  []ByFaults        `json:"by_faults"`
	// Classes are the pairs by what was found of them, where some fail and all sets were explored at
	// once.
	Classes []PairClass `json:"classes,omitempty"`
	// OtherPairs are those of more classes than Classes has.
	OtherPairs   int             `json:"other_pairs,omitempty"`
	Interrupted  bool            `json:"interrupted,omitempty"`
	Counter      *Counterexample `json:"counterexample"` // nil when nothing is wrong
	fixed        bool            // packets keep to the output they chose first: an escape is no escape
	firsts       []first
	inexactSoFar inexact
}

// ByFaults are the sets of one size.
type ByFaults struct {
	Faults    int    `json:"faults"`
	Sets      uint64 `json:"fault_sets"`
	Connected uint64 `json:"connected"` // sets in which all pairs are connected
	Deadlocks uint64 `json:"deadlock_sets"`
	UpDown    uint64 `json:"updown_connected,omitempty"` // by up/down tables made anew
	Physical  uint64 `json:"physically_connected,omitempty"`
	Compared  bool   `json:"compared,omitempty"`
	// Uncounted: some of the sets do not connect all pairs, and those that do were not counted.
	Uncounted bool `json:"uncounted,omitempty"`
	// Sampled, where they were not counted, is what random sets say.
	Sampled *Sampled `json:"sampled,omitempty"`
}

// Duato is how often the routing subfunction of the proof met Duato's condition.
type Duato struct {
	Checked uint64 `json:"checked"` // sets for which there is a subfunction
	Held    uint64 `json:"held"`
}

// Extended is what was found of the extended channel dependency graphs of the sets whose graph has
// a cycle: of the candidates of the last class, with bubble rings for channels. Without a cycle in
// it nothing can deadlock.
type Extended struct {
	Acyclic   uint64 `json:"acyclic"`
	Connected uint64 `json:"connected"` // the last class by itself delivers every packet, wherever it is
	Escape    bool   `json:"escape"`    // there are several classes of candidates
	Rings     int    `json:"rings"`     // most bubble rings
}

func (e *Extended) add(o *Extended) *Extended {
	if e == nil || o == nil {
		return cmp.Or(e, o)
	}
	return &Extended{e.Acyclic + o.Acyclic, e.Connected + o.Connected, e.Escape || o.Escape, max(e.Rings, o.Rings)}
}

// first is a set in which something was wrong, a candidate for the counterexample.
type first struct {
	Index uint64 `json:"index"`
	Size  int    `json:"size"`
	What  string `json:"what"`
}

// What can be wrong with a set.
const (
	Unconnected = "unconnected"
	Livelock    = "livelock"
	Deadlock    = "deadlock"
	Numbering   = "numbering"
)

// maxFirsts is how many bad sets of the smallest size are kept, of which the one with the shortest
// path is shown.
const maxFirsts = 64

func (r *Result) size(n int) *ByFaults {
	i, ok := slices.BinarySearchFunc(r.ByFaults, n, func(b ByFaults, n int) int { return b.Faults - n })
	if !ok {
		r.ByFaults = slices.Insert(r.ByFaults, i, ByFaults{Faults: n})
	}
	return &r.ByFaults[i]
}

// count adds what was found in a set that stands for so many.
func (r *Result) count(index uint64, set []Element, t *tally, weight uint64, fixed bool) {
	r.FaultSets += weight
	r.Explored++
	r.Walks += weight * uint64(t.pairs)
	r.Unconnected += weight * uint64(t.unconnected)
	r.Livelocks += weight * uint64(t.livelocks)
	r.MaxHops = max(r.MaxHops, t.hops)
	r.States += uint64(t.states)
	for rule, n := range t.discards {
		r.Discards[rule] += weight * uint64(n)
	}
	s := r.size(len(set))
	s.Sets += weight
	bad := func(what string) { r.keep(first{Index: index, Size: len(set), What: what}) }
	if t.unconnected > 0 {
		r.BadSets += weight
		if t.livelocks > 0 {
			bad(Livelock)
		} else {
			bad(Unconnected)
		}
	} else {
		s.Connected += weight
	}
	if t.cyclic {
		r.CyclicSets += weight
		r.Extended = r.Extended.add(t.extension(weight))
		if t.deadlocks(fixed) {
			r.Deadlocks += weight
			s.Deadlocks += weight
			bad(Deadlock)
		}
	}
	if t.falling {
		*r.Numbering = false
		bad(Numbering)
	}
	if t.duato != unasked {
		r.Duato.Checked += weight
		if t.duato == holds {
			r.Duato.Held += weight
		}
	}
}

// keep keeps the smallest.
func (r *Result) keep(f first) {
	r.firsts = append(r.firsts, f)
	if len(r.firsts) > 4*maxFirsts {
		r.trim()
	}
}

// rank orders what can be wrong: packets that do not arrive, then packets that may wait for ever,
// then hops that only break a rule.
func rank(what string) int {
	switch what {
	case Unconnected, Livelock:
		return 0
	case Deadlock:
		return 1
	}
	return 2
}

// trim orders the candidates: fewer faults first, then by rank, then as numbered.
func (r *Result) trim() {
	slices.SortFunc(r.firsts, func(a, b first) int {
		switch {
		case a.Size != b.Size:
			return a.Size - b.Size
		case rank(a.What) != rank(b.What):
			return rank(a.What) - rank(b.What)
		case a.Index < b.Index:
			return -1
		}
		return 1
	})
	if len(r.firsts) > maxFirsts {
		r.firsts = r.firsts[:maxFirsts]
	}
}

// add adds what another part of the run has found.
func (r *Result) add(o *Result) {
	r.FaultSets += o.FaultSets
	r.Explored += o.Explored
	r.Walks += o.Walks
	r.Unconnected += o.Unconnected
	r.Livelocks += o.Livelocks
	r.BadSets += o.BadSets
	r.Deadlocks += o.Deadlocks
	r.CyclicSets += o.CyclicSets
	r.Extended = r.Extended.add(o.Extended)
	r.MaxHops = max(r.MaxHops, o.MaxHops)
	r.States += o.States
	for rule, n := range o.Discards {
		r.Discards[rule] += n
	}
	if r.Numbering != nil {
		*r.Numbering = *r.Numbering && *o.Numbering
	}
	if r.Duato != nil {
		r.Duato.Checked += o.Duato.Checked
		r.Duato.Held += o.Duato.Held
	}
	for _, b := range o.ByFaults {
		s := r.size(b.Faults)
		s.Sets += b.Sets
		s.Connected += b.Connected
		s.Deadlocks += b.Deadlocks
		s.UpDown += b.UpDown
		s.Physical += b.Physical
		s.Compared = s.Compared || b.Compared
	}
	r.firsts = append(r.firsts, o.firsts...)
	r.trim()
	r.inexactSoFar.draws = r.inexactSoFar.draws || o.inexactSoFar.draws
	r.inexactSoFar.queues = r.inexactSoFar.queues || o.inexactSoFar.queues
	r.inexactSoFar.now = r.inexactSoFar.now || o.inexactSoFar.now
	r.inexactSoFar.packet = r.inexactSoFar.packet || o.inexactSoFar.packet
}

// finish draws the conclusions.
func (r *Result) finish() {
	r.CDGAcyclic = r.Undecided == "" && !r.Released &&
		(r.CyclicSets == 0 || r.Extended.Acyclic == r.CyclicSets && !(r.fixed && r.Extended.Escape))
	r.Pass = !r.Interrupted && r.Undecided == "" && r.Unconnected == 0 && r.Deadlocks == 0 &&
		(r.Numbering == nil || *r.Numbering)
	for _, n := range []struct {
		is   bool
		what string
	}{
		{r.inexactSoFar.draws, "the firmware draws random numbers: it was asked with every residue modulo the ports, not " +
			"with every number"},
		{r.inexactSoFar.queues, "the firmware looks at queues: it was asked with all empty, all full, and each port's " +
			"full or empty alone"},
		{r.inexactSoFar.now, "the firmware looks at the time: it was asked at time 0 only"},
		{r.inexactSoFar.packet, "the firmware looks at a packet's size, age, hops or place in its flow: it was asked " +
			"with a few of each"},
	} {
		if n.is {
			r.Notes = append(r.Notes, n.what)
		}
	}
}

// Rules are the rules that discarded, the most frequent first.
func (r *Result) Rules() []string {
	return slices.SortedFunc(maps.Keys(r.Discards), func(a, b string) int {
		if r.Discards[a] != r.Discards[b] {
			if r.Discards[a] > r.Discards[b] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
}

// String says in a line what was found.
func (r *Result) String() string {
	verdict := "FAILS"
	switch {
	case r.Pass:
		verdict = "holds"
	case r.Interrupted && r.Counter == nil:
		verdict = "interrupted, nothing wrong so far"
	}
	deadlocks := fmt.Sprintf("%d sets that can deadlock", r.Deadlocks)
	if r.Undecided != "" {
		deadlocks = r.Undecided + " not decided"
		if r.Counter == nil {
			verdict = "UNDECIDED"
		}
	}
	return fmt.Sprintf("%s: %s fault sets, %d pairs each: %d not connected, %d livelocks, %s, at most %d hops",
		verdict, cmp.Or(r.About, fmt.Sprint(r.FaultSets)), r.Pairs, r.Unconnected, r.Livelocks, deadlocks, r.MaxHops)
}
