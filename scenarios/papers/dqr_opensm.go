package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm/peer"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// pairing is what is held against each other.
type pairing struct {
	spec   string
	engine string // of OpenSM
	ours   []own
}

type own struct{ routing, method string }

var pairings = []pairing{
	{"mport-tree:36,2", "ftree", []own{{"ftree", "ddrc"}, {"ftree", "dqr"}}},
	{"mport-tree:36,2", "updn", []own{{"ftree", "ddrc"}}},
	{"irregular:128,256,1", "lash", []own{{"lash:both=true", "dqr"}}},
	{"irregular:128,256,1", "updn", []own{{"updn:in-port=false", "dqr"}}},
	{"mesh:10x10", "dor", []own{{"xy", "dqr"}}},
	{"mesh:10x10", "updn", []own{{"xy", "dqr:plugin=mesh"}}},
}

// verbose has OpenSM's log say when an engine begins; it takes longer then.
var verbose = []string{"-D", "0x47"}

func dqrOpenSM() *cobra.Command {
	return experiment("dqr-opensm FOLDER [CUTS]", "Measure the time from a cut to new tables, beside OpenSM",
		`Measures how long it takes from a cut to new tables, beside OpenSM, the subnet manager of InfiniBand, on the same
topologies and the same links, one after the other.

It writes reconfigure-opensm.md into the folder, of so many cuts (9) of each. It needs the packages opensm, ibsim-utils
and libumad2sim0.`,
		cobra.RangeArgs(1, 2), measureCuts)
}

// patience is for a topology.
const patience = 2 * time.Minute

func measureCuts(ctx context.Context, args []string) error {
	cuts, err := number(args, 1, 9, 1, "cuts")
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, dqrOpenSMIntro, cuts, runtime.NumCPU(), loadAverage())
	for _, p := range pairings {
		lines, err := p.measure(ctx, cuts)
		if err != nil {
			return fmt.Errorf("%s: %w", p.spec, err)
		}
		for _, line := range lines {
			fmt.Fprintln(os.Stderr, line)
			fmt.Fprintln(&b, line)
		}
	}
	b.WriteString(dqrOpenSMOutro)
	return safefile.Write(filepath.Join(args[0], "reconfigure-opensm.md"), []byte(b.String()))
}

const dqrOpenSMIntro = `# From a cut to new tables, beside OpenSM

Written by ` + "`go run ./scenarios/papers dqr-opensm docs/results`" + `, not by hand.

OpenSM 3.3.23 manages the topology that ibsim simulates, and Weft manages a live fabric of it over its embedded broker, one after the other on one machine: the
same %d links between switches are cut, one at a time, and each is restored before the next. %d processors, a load average of %s. Medians, and in brackets the least and the most, in ms.

OpenSM's times are of its own log, from when the simulator is told of the cut: to *tables configured on all switches*, when it has them and goes on to send them, and to
*subnet up*, when all has been sent and answered, which is its whole loop. They are in force somewhere between. What of it is its engine's computing is of further cuts with a verbose log, which holds it
up. Weft's are of the fault report: from the cut until the last switch has acknowledged, signalled by its ports, told over the broker, with what the manager is about to do written to its store before. Its
computing holds the routes, what differs from the tables in force, and the search for cycles in all mixtures of both. Ratios are of medians.

| topology | OpenSM | its tables | its engine alone | subnet up | Weft: routing, method | in force | detect | compute | distribute | computing, times faster | cut to tables in force, times faster |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

const dqrOpenSMOutro = `
Refused is how often OpenSM's engine had no tables for what was left (with no_fallback); such cuts do not count for it. Detecting holds the 2 ms in which the manager waits for the
other end of the link to say the same.
`

// measure gives a line of the table for each of ours.
func (p pairing) measure(ctx context.Context, cuts int) ([]string, error) {
	g, err := topology.Parse(p.spec)
	if err != nil {
		return nil, err
	}
	links := drawnLinks(g, cuts)
	theirs, refused, err := p.theirs(ctx, g, links)
	if err != nil {
		return nil, err
	}
	wordy, _, err := p.theirs(ctx, g, links[:min(len(links), 5)], verbose...)
	if err != nil {
		return nil, err
	}
	tables := of(theirs, func(r peer.Rerouted) float64 { return milliseconds(r.Configured) })
	done := of(theirs, func(r peer.Rerouted) float64 { return milliseconds(r.Up) })
	engine := of(wordy, func(r peer.Rerouted) float64 { return milliseconds(r.Engine) })
	first := true
	var lines []string
	for _, o := range p.ours {
		list, err := o.measure(ctx, g, links)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", o.routing, o.method, err)
		}
		field := func(i int) []float64 {
			return of(list, func(r [4]float64) float64 { return r[i] })
		}
		theirs := fmt.Sprintf("`%s`", p.engine)
		if refused > 0 {
			theirs += fmt.Sprintf(", refused %d of %d", refused, len(links))
		}
		columns := []string{"`" + p.spec + "`", theirs, spread(tables), spread(engine), spread(done)}
		if !first {
			columns = []string{"", "", "", "", ""}
		}
		first = false
		columns = append(columns, fmt.Sprintf("`%s`, `%s`", o.routing, o.method))
		for i := range 4 {
			columns = append(columns, spread(field(i)))
		}
		columns = append(columns, timesFaster(engine, field(2)),
			timesFaster(tables, field(0))+" to "+timesFaster(done, field(0)))
		lines = append(lines, "| "+strings.Join(columns, " | ")+" |")
	}
	return lines, nil
}

// theirs are OpenSM's times.
func (p pairing) theirs(ctx context.Context, g *topology.Graph, links []weft.LinkID,
	more ...string,
) (list []peer.Rerouted, refused int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	folder, err := os.MkdirTemp("", "opensm")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(folder)
	sim, err := peer.Start(ctx, folder, g)
	if err != nil {
		return nil, 0, err
	}
	defer func() { sim.Stop() }()
	var m *peer.Manager
	defer func() {
		if m != nil {
			m.Stop()
		}
	}()
	for _, id := range links {
		l := &g.Links[id]
		if m == nil {
			options, err := p.options(folder, g)
			if err != nil {
				return nil, 0, err
			}
			if m, err = sim.Manage(ctx, p.engine, append(options, more...)...); err != nil {
				return nil, 0, err
			}
		}
		r, err := m.Cut(ctx, l)
		switch {
		case errors.Is(err, peer.ErrRefused):
			refused++ // and it configures nothing any more
			m.Stop()
			m = nil
			sim.Stop()
			if err := os.Mkdir(filepath.Join(folder, l.Name), 0o700); err != nil {
				return nil, 0, err
			}
			if sim, err = peer.Start(ctx, filepath.Join(folder, l.Name), g); err != nil {
				return nil, 0, err
			}
			continue
		case err != nil:
			return nil, 0, err
		}
		list = append(list, r)
		if err := m.Restore(ctx, l); err != nil {
			return nil, 0, err
		}
	}
	return list, refused, nil
}

// options of OpenSM's engine: the roots, without which one dead link makes its ftree refuse a tree.
// Those of a tree are the switches without NICs.
func (p pairing) options(folder string, g *topology.Graph) ([]string, error) {
	if p.engine != "updn" && p.engine != "ftree" {
		return nil, nil
	}
	leaf := make([]bool, len(g.Switches))
	for _, n := range g.NICs {
		s, _ := g.SwitchOf(n.ID)
		leaf[s] = true
	}
	var list []byte
	for _, s := range g.Switches {
		if !leaf[s.ID] || s.ID == 0 && leaf[0] {
			list = fmt.Appendln(list, g.Identity(s.ID.Node()).GUID)
		}
	}
	roots := filepath.Join(folder, "roots")
	return []string{"-a", roots}, os.WriteFile(roots, list, 0o600)
}

// measure are ours: in force, detect, compute, distribute.
func (o own) measure(ctx context.Context, g *topology.Graph, links []weft.LinkID) (list [][4]float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	f, err := startManaged(ctx, managedConfig{Graph: g, Routing: o.routing, Method: o.method, Seed: 1})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, id := range links {
		r, err := f.CutManaged(ctx, id)
		if err != nil {
			return nil, err
		}
		c := r.Reconfiguration
		list = append(list, [4]float64{
			1000 * c.InForceSeconds, 1000 * c.DetectSeconds, 1000 * c.ComputeSeconds,
			1000 * (c.DrainSeconds + c.DistributeSeconds),
		})
		if err := f.RestoreManaged(ctx, id); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// timesFaster is how many times as long one takes as the other, by their medians.
func timesFaster(theirs, ours []float64) string {
	if len(theirs) == 0 || len(ours) == 0 || median(theirs) == 0 {
		return "?"
	}
	return fmt.Sprintf("%.1f", median(theirs)/median(ours))
}

// spread is the median with the least and the most.
func spread(list []float64) string {
	if len(list) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", median(list), slices.Min(list), slices.Max(list))
}
