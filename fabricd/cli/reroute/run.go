package reroute

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/reroute"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// given lets the faults of the flags come one after another.
func (u *rerouteFlags) given(a asked) (rerouteResult, error) {
	r := &rerouteGiven{rerouteHead: u.head(a), Acyclic: true, Connected: true, Tolerated: true}
	if a.wanted != nil {
		r.Paths = []reroutePath{}
	}
	for i, links := range a.faults {
		start := time.Now()
		s, err := a.routes.Fail(links...)
		took := time.Since(start).Seconds()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", u.down[i], err)
		}
		step, err := stepOf(u.down[i], len(links), s, took)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", u.down[i], err)
		}
		r.Faults = append(r.Faults, step)
		r.FlowsTotal, r.Unroutable, r.Isolated = s.FlowsTotal, s.Unroutable, s.Isolated
		r.FlowsRerouted += s.FlowsRerouted
		r.Share += s.Share()
		r.Seconds += took
		r.Acyclic, r.Tolerated = r.Acyclic && step.Acyclic, r.Tolerated && step.Tolerated
		r.Connected, r.Emptied = r.Connected && step.Connected, r.Emptied || step.Static
		if a.wanted == nil {
			continue
		}
		for p := range s.Paths() {
			if a.wanted(p) {
				r.Paths = append(r.Paths, pathOf(a.g, u.down[i], p))
			}
		}
	}
	return r, nil
}

// wanted says which flows are listed; nil: none.
func (u *rerouteFlags) wanted(g *topology.Graph, pair []string) (func(dqr.Rerouted) bool, error) {
	if len(pair) == 0 {
		if !u.paths {
			return nil, nil
		}
		return func(dqr.Rerouted) bool { return true }, nil
	}
	var at [2]weft.SwitchID
	var node [2]weft.Node
	for i, name := range pair {
		n, err := g.NodeByName(name)
		if err != nil {
			return nil, err
		}
		node[i], at[i] = n, weft.SwitchID(n.Index)
		if !n.IsSwitch() {
			at[i], _ = g.SwitchOf(weft.NICID(n.Index))
		}
	}
	return func(p dqr.Rerouted) bool {
		if p.From != at[0] {
			return false
		}
		if node[1].IsSwitch() && !p.To.IsSwitch() { // its NICs
			s, _ := g.SwitchOf(weft.NICID(p.To.Index))
			return s == at[1]
		}
		return p.To == node[1]
	}, nil
}

// rerouteMany is what came of many faults: of every link, or of links drawn.
type rerouteMany struct {
	rerouteHead
	FlowsTotal int     `json:"flows_total"`
	Runs       int     `json:"runs"`
	Acyclic    bool    `json:"cdg_acyclic"` // always
	Unroutable int     `json:"unroutable_pairs"`
	Seconds    float64 `json:"compute_seconds"`     // mean of a fault
	MaxSeconds float64 `json:"max_compute_seconds"` // of a fault

	ByFaults []rerouteAlive `json:"by_faults"`
	Worst    rerouteStep    `json:"worst"`                   // of the connected: the one that moved most
	Failed   []rerouteStep  `json:"not_tolerated,omitempty"` // the first of them
}

// rerouteAlive is what came of so many faults, one after another.
type rerouteAlive struct {
	Faults    int     `json:"faults"`
	Connected int     `json:"connected"` // runs in which all pairs that live links join have a path, after this fault and all before
	Emptied   int     `json:"emptied"`   // of these, those in which the fabric is emptied for this fault or one before
	Tolerated int     `json:"tolerated"` // of these, the others
	Joined    int     `json:"joined"`    // of the connected, those in which live links still join all
	Share     float64 `json:"tolerated_share"`
	Rerouted  float64 `json:"mean_flows_rerouted"` // by the last fault, of the connected
	Moved     float64 `json:"share"`               // the same as a share of all flows
	NewTurns  float64 `json:"mean_new_turns"`
	Stretch   float64 `json:"mean_stretch"` // of the flows that the last fault moved, in the mean of the runs in which it moved any
	Most      float64 `json:"max_stretch"`
	Twice     int     `json:"two_rounds"` // of the connected: the tables go out in two rounds

	moved int // runs in which flows moved
}

// maxFailed bounds the faults that are listed as not tolerated, chosen by us.
const maxFailed = 20

// many tries every link, or links that are drawn.
func (u *rerouteFlags) many(ctx context.Context, a asked, p *command.Progress) (rerouteResult, error) {
	var links []weft.LinkID
	for _, l := range a.g.Links {
		if l.BetweenSwitches() {
			links = append(links, l.ID)
		}
	}
	deep, runs := 1, len(links)
	if !u.all {
		deep, runs = u.faults, u.random
	}
	if len(links) < deep {
		return nil, fmt.Errorf("--faults %d: %s has %s between switches", deep, a.g.Spec, command.Counted(len(links), "link"))
	}
	r := &rerouteMany{rerouteHead: u.head(a), Runs: runs, Acyclic: true, ByFaults: make([]rerouteAlive, deep)}
	draw := rand.New(weft.Stream(u.seed, weft.StreamReroutes, 0, 0))
	spent, steps := time.Duration(0), 0
	for i := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		chosen, routes := links, a.routes
		if u.all {
			chosen = links[i : i+1]
		} else {
			chosen = slices.Clone(links)
			draw.Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
			chosen = chosen[:deep]
			var err error
			if routes, err = routes.Clone(); err != nil {
				return nil, err
			}
		}
		emptied := false
		for k, l := range chosen {
			start := time.Now()
			s, err := one(routes, l, u.all)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.g.Links[l].Name, err)
			}
			took := time.Since(start)
			spent, steps = spent+took, steps+1
			r.MaxSeconds = max(r.MaxSeconds, took.Seconds())
			step, err := stepOf(a.g.Links[l].Name, 1, s, took.Seconds())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.g.Links[l].Name, err)
			}
			emptied = emptied || step.Static
			if !r.add(k, step, s, emptied) {
				break
			}
		}
		p.Told(uint64(i+1), uint64(runs))
	}
	for k := range r.ByFaults {
		b := &r.ByFaults[k]
		b.Faults, b.Share = k+1, float64(b.Tolerated)/float64(max(1, runs))
		if n := float64(b.Connected); n > 0 {
			b.Rerouted, b.Moved, b.NewTurns, b.Stretch = b.Rerouted/n, b.Moved/n, b.NewTurns/n, b.Stretch/float64(max(1, b.moved))
		}
	}
	r.Seconds = spent.Seconds() / float64(max(1, steps))
	return r, nil
}

func one(r *reroute.Reroute, l weft.LinkID, alone bool) (*reroute.Step, error) {
	if alone {
		return r.Try(l)
	}
	return r.Fail(l)
}

// add counts a step, fault k of its run, and reports whether the run goes on: all pairs that live
// links join have a path. emptied: for this fault or one before it the fabric is emptied.
func (r *rerouteMany) add(k int, step rerouteStep, s *reroute.Step, emptied bool) bool {
	r.FlowsTotal = s.FlowsTotal
	r.Acyclic = r.Acyclic && step.Acyclic
	r.Unroutable = max(r.Unroutable, s.Unroutable)
	if !step.Tolerated && len(r.Failed) < maxFailed {
		r.Failed = append(r.Failed, step)
	}
	if !step.Connected {
		return false
	}
	b := &r.ByFaults[k]
	if b.Connected++; emptied {
		b.Emptied++
	} else {
		b.Tolerated++
	}
	if s.Unroutable == 0 {
		b.Joined++
	}
	b.Rerouted += float64(s.FlowsRerouted)
	b.Moved += s.Share()
	b.NewTurns += float64(s.NewTurns)
	if step.MaxStretch > 0 {
		b.moved++
	}
	b.Stretch += step.MeanStretch
	b.Most = max(b.Most, step.MaxStretch)
	if step.Rounds > 1 {
		b.Twice++
	}
	if r.Worst.Fault == "" || step.FlowsRerouted > r.Worst.FlowsRerouted {
		r.Worst = step
	}
	return true
}

func (r *rerouteMany) tolerated() bool { return r.ByFaults[len(r.ByFaults)-1].Tolerated == r.Runs }

func (r *rerouteMany) print(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s, %s\n\n", r.line(), command.Counted(r.FlowsTotal, "flow"), command.Counted(r.Runs, "run"))
	err := command.Tabbed(w, func(tab func(...any)) {
		tab("faults", "connected", "", "fabric emptied", "", "in two rounds", "flows rerouted by the last, mean", "stretch", "turns enabled, mean")
		for _, b := range r.ByFaults {
			tab(b.Faults, command.Grouped(uint64(b.Connected)), command.Share(uint64(b.Connected), uint64(r.Runs)),
				command.Grouped(uint64(b.Emptied)), command.Share(uint64(b.Emptied), uint64(r.Runs)), command.Grouped(uint64(b.Twice)),
				fmt.Sprintf("%.1f (%.3f%%)", b.Rerouted, 100*b.Moved), stretchText(b.Stretch, b.Most), fmt.Sprintf("%.1f", b.NewTurns))
		}
	})
	if err != nil {
		return err
	}
	if s := r.Worst; s.Fault != "" {
		fmt.Fprintf(w, "\nmost flows moved: %s by %s (%.2f%%)\n", command.Grouped(uint64(s.FlowsRerouted)), s.Fault, 100*s.Share)
	}
	fmt.Fprintf(w, "free from deadlock: %s\ncomputed in %.4f s a fault, at most %.4f s\n", yesOrNo(r.Acyclic), r.Seconds, r.MaxSeconds)
	for i, s := range r.Failed {
		if i == 0 {
			fmt.Fprintln(w, "\nnot tolerated, the first of them:")
		}
		fmt.Fprintf(w, "  %s: without a path %s", s.Fault, command.Without(s.Unroutable, s.Isolated))
		if !s.Acyclic {
			fmt.Fprint(w, "; old and new paths together can deadlock: a manager empties the fabric first")
		}
		if s.NoSpare != "" {
			fmt.Fprintf(w, "; %s", s.NoSpare)
		}
		fmt.Fprintln(w)
	}
	return nil
}
