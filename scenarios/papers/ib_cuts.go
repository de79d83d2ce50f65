package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/ib/ibd"
	"github.com/weft-fabric/weft/fabricd/ib/opensm"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// repairer is one of those that repair routes after a cut.
type repairer struct {
	name, routing, method string
	args                  string // of OpenSM, if that manages
	slow                  bool   // its datagrams take as long over a link as packets of their length
}

var repairers = []repairer{
	{name: "OpenSM with `updn`, datagrams as slow as packets", routing: subnet.FromManager, args: "-R updn", slow: true},
	{name: "OpenSM with `updn`, datagrams take no time", routing: subnet.FromManager, args: "-R updn"},
	{name: "our manager: `ftree` with `ddrc`", routing: "ftree", method: "ddrc"},
	{name: "local re-routing: `adaptive-link`", routing: "adaptive-link"},
}

func ibCuts() *cobra.Command {
	return experiment("ib-cuts FOLDER [CUTS]", "Count what a cut costs: OpenSM, our manager, local re-routing",
		`Cuts links between switches of a 3-ary 3-tree under load, one after the other in one live run, and repairs each before
the next: with an unmodified OpenSM, with our own manager, and with local re-routing. It measures how long after a cut the
last packet is lost, and counts what is lost and what arrives after a later packet of its flow.

It writes infiniband-cuts.md into the folder. There are 20 cuts unless given.`,
		cobra.RangeArgs(1, 2), measureIBCuts)
}

const (
	ibCutsSpec = "kary-ntree:3,3"
	ibCutsLoad = 0.05
	// Chosen by us: how long is waited for the last packet to be lost after a cut, and after the
	// repair; longer while the manager is at work.
	ibCutsWindow   = 500 * time.Millisecond
	ibCutsPatience = time.Minute
	ibCutsPoll     = time.Millisecond
	ibCutsCalm     = time.Second // so long the manager has had nothing to do, when it counts as done
)

var ibCutsLink = settings.Link{Paced: true}

// ibCut is what one cut cost.
type ibCut struct {
	last    float64 // ms until the last packet was lost or discarded; 0: none was
	lost    uint64  // on the wire and in queues
	dropped uint64  // discarded by switches
	late    uint64  // arrived after a later one of their flow
	inForce float64 // ms; 0: nobody wrote tables
}

func measureIBCuts(ctx context.Context, args []string) error {
	cuts, err := number(args, 1, 20, 1, "cuts")
	if err != nil {
		return err
	}
	g, err := topology.Parse(ibCutsSpec)
	if err != nil {
		return err
	}
	var results [][]ibCut
	for _, r := range repairers {
		list, err := ibCutsOf(ctx, g, r, drawnLinks(g, cuts))
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		results = append(results, list)
	}
	return safefile.Write(filepath.Join(args[0], "infiniband-cuts.md"), []byte(ibCutsReport(results)))
}

// ibCutsOf cuts links in one run.
func ibCutsOf(ctx context.Context, g *topology.Graph, r repairer, links []weft.LinkID) (list []ibCut, err error) {
	traffic, err := settings.ParseTraffic(fmt.Sprintf("uniform:%g", ibCutsLoad))
	if err != nil {
		return nil, err
	}
	f, err := startManaged(ctx, managedConfig{
		Graph: g, Routing: r.routing, Method: r.method, Link: ibCutsLink, Seed: 1,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	settled := func() bool { return true } // the manager has nothing to do
	if r.method != "" {
		settled = func() bool { return lastReconfigured(f.Fabric) != nil }
	}
	if r.args != "" {
		o := fabric.Options{}
		if r.slow {
			o.Link = ibCutsLink
		}
		if _, o.Switch.VCs, err = subnet.Firmware(ctx, r.routing, g); err != nil {
			return nil, err
		}
		m, err := opensm.Attach(ctx, f.Fabric, opensm.Config{Args: strings.Fields(r.args), Options: o})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, m.Stop()) }()
		settled = m.Settled
	}
	if err := f.SetTraffic(traffic); err != nil {
		return nil, err
	}
	if err := f.Pause(ctx, time.Second, nil); err != nil {
		return nil, err
	}
	for i, id := range links {
		fmt.Fprintf(os.Stderr, "%s: %d of %d\n", r.name, i+1, len(links))
		c, err := ibCutOne(ctx, f.Fabric, id, settled)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Links[id].Name, err)
		}
		fmt.Fprintf(os.Stderr, "%+v\n", c)
		list = append(list, c)
	}
	if err := f.StopTraffic(); err != nil {
		return nil, err
	}
	l, err := f.Quiesce(ctx)
	if err == nil && (!l.Balanced || l.InFlight > 0) {
		err = fmt.Errorf("the ledger does not balance: %+v", l)
	}
	return list, err
}

// ibCutOne cuts a link, looks at what is lost, and repairs it. settled says that the manager has
// nothing to do; it may seem so for a moment while it computes.
func ibCutOne(ctx context.Context, f *fabric.Fabric, id weft.LinkID, settled func() bool) (c ibCut, err error) {
	was, late := f.Ledger(), f.Totals().Reordered
	began := f.Now()
	if _, _, err := f.Cut(id); err != nil {
		return c, err
	}
	gone := was.Lost + was.Discarded
	busy := began
	goesOn := func() bool {
		now := f.Now()
		if !settled() {
			busy = now
		}
		since := now - began
		return since < weft.FromDuration(ibCutsWindow) ||
			since < weft.FromDuration(ibCutsPatience) && now-busy < weft.FromDuration(ibCutsCalm)
	}
	for goesOn() {
		if err := f.Pause(ctx, ibCutsPoll, nil); err != nil {
			return c, err
		}
		if l := f.Ledger(); l.Lost+l.Discarded > gone {
			gone = l.Lost + l.Discarded
			c.last = float64((f.Now() - began).Duration().Microseconds()) / 1000
		}
	}
	now := f.Ledger()
	c.lost, c.dropped, c.late = now.Lost-was.Lost, now.Discarded-was.Discarded, f.Totals().Reordered-late
	if r := lastReconfigured(f); r != nil {
		c.inForce = 1000 * r.InForceSeconds
	}
	if _, err := f.Restore(ctx, id); err != nil {
		return c, err
	}
	for began = f.Now(); goesOn(); {
		if err := f.Pause(ctx, 10*ibCutsPoll, nil); err != nil {
			return c, err
		}
	}
	return c, nil
}

// lastReconfigured is how the routes were repaired after the last fault; nil: not yet.
func lastReconfigured(f *fabric.Fabric) *fault.Reconfiguration {
	all := f.Faults()
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Reconfiguration
}

func ibCutsReport(results [][]ibCut) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What a cut costs: OpenSM, our manager, local re-routing

Written by `+"`go run ./scenarios/papers ib-cuts docs/results %d`"+`, not by hand.

A live 3-ary 3-tree of 27 switches and 27 NICs, uniform load of %g at links of %d packets a second, on %d
processors, which others use too. In one run for each row the same %d links between switches are cut,
one after the other, each repaired before the next. OpenSM is Debian's, unmodified, with its defaults
but for the engine; our manager reaches the fabric over its broker. Losses are looked at every %v.
Medians, and in brackets the least and the most: times of the cuts by which packets were lost and after
which tables were written, counts of all cuts. Every ledger balanced.

| | cuts that lost packets | ms from the cut until the last packet was lost | new tables in force, ms | lost on the wire and in queues | discarded | delivered late: after a later packet of their flow |
|---|---|---|---|---|---|---|
`, len(results[0]), ibCutsLoad, fabric.DefaultRate/256, runtime.NumCPU(), len(results[0]), ibCutsPoll)
	for i, r := range repairers {
		list := results[i]
		var last, inForce []float64
		for _, c := range list {
			if c.last > 0 {
				last = append(last, c.last)
			}
			if c.inForce > 0 {
				inForce = append(inForce, c.inForce)
			}
		}
		count := func(f func(c ibCut) uint64) string {
			whole := spread(of(list, func(c ibCut) float64 { return float64(f(c)) }))
			return strings.ReplaceAll(whole, ".0", "")
		}
		fmt.Fprintf(&b, "| %s | %d of %d | %s | %s | %s | %s | %s |\n",
			r.name, len(last), len(list), spread(last), spread(inForce),
			count(func(c ibCut) uint64 { return c.lost }), count(func(c ibCut) uint64 { return c.dropped }),
			count(func(c ibCut) uint64 { return c.late }))
	}
	fmt.Fprintf(&b, `
A cut of a link that no packet is led over costs nothing. OpenSM spreads destinations over ports in the same
order at each tier, so that in this fabric two thirds of the links to the top tier carry nothing.

Local re-routing loses what the dead link held. A manager loses beside it what switches send to the dead
link until they have other tables. OpenSM hears of a cut by trap 128 and looks at the whole fabric before
it writes tables. Its datagrams go hop by hop. In the first row they take %v over each link, as a packet of
their length does, and most of its time is theirs: the links here are ten thousand times slower than those
of hardware. In the second row they take none. Our manager is told over the broker, beside the fabric.
`, ibd.Hop(ibCutsLink).Round(10*time.Microsecond))
	return b.String()
}
