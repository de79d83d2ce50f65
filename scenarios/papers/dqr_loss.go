package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/manager"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/virtual/world"
)

// lossMethod is one of those that are compared.
type lossMethod struct {
	name, routing, manager string
	beside                 int // it is compared with that one; -1: with none
}

var lossMethods = []lossMethod{
	{"DDRC: up/down tables, computed anew", "ftree", "ddrc", -1},
	{"local re-routing (DDLR)", "deterministic-link", "", -1},
	{"hybrid: DDLR until there are new tables", "hybrid", "ddrc", 1},
	{"local re-routing (ADLR)", "adaptive-link", "", -1},
	{"hybrid: ADLR until there are new tables", "hybrid-adaptive", "ddrc", 3},
}

func dqrLoss() *cobra.Command {
	return experiment("dqr-loss FOLDER [CUTS [LOAD]]", "Count what a cut link costs: DDRC, local re-routing, hybrid",
		`Counts what a cut link costs in a fat tree under load, with local re-routing, with up/down tables that a subnet manager
computes anew (DDRC), and with both (hybrid): first in virtual time, where it is exact, and then live.

It writes reconfigure-loss.md into the folder. At a load (0.4), of so many cuts (60) of links between switches of a 4-ary
3-tree, each is made in a new fabric for every method, one after the other: the same link, the same seed, and so the same
packets.`,
		cobra.RangeArgs(1, 3), measureLoss)
}

func measureLoss(ctx context.Context, args []string) error {
	cuts, err := number(args, 1, 60, 2, "cuts")
	if err != nil {
		return err
	}
	load := 0.4
	if len(args) == 3 {
		if load, err = strconv.ParseFloat(args[2], 64); err != nil || !(load > 0 && load <= 1) {
			return fmt.Errorf("load %q: give a number above 0, up to 1", args[2])
		}
	}
	g, err := topology.Parse(lossSpec)
	if err != nil {
		return err
	}
	links := drawnLinks(g, cuts)
	var results [2][][]cutCost // exact and live; per method, per cut
	for i, begin := range []starter{virtually, overBroker} {
		results[i] = make([][]cutCost, len(lossMethods))
		for k, link := range links {
			for m := range lossMethods {
				m = (m + k) % len(lossMethods) // whoever is first meets another machine than whoever is last
				c, err := cutOne(ctx, begin, g, lossMethods[m], load, link, uint64(k)+1)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", lossMethods[m].routing, g.Links[link].Name, err)
				}
				results[i][m] = append(results[i][m], c)
			}
			fmt.Fprintf(os.Stderr, "%d of %d\n", k+1, len(links))
		}
	}
	return safefile.Write(filepath.Join(args[0], "reconfigure-loss.md"), []byte(lossReport(load, results[0], results[1])))
}

const (
	lossSpec = "kary-ntree:4,3"
	// lossWindow is how long each of these lasts: warming up, measuring the ways of packets before the
	// cut, waiting after it, measuring again.
	lossWindow = 200 * time.Millisecond
	// lossInForce bounds how long new tables are waited for.
	lossInForce = 30 * time.Second
)

// cutCost is what one cut did.
type cutCost struct {
	wire, queued, discarded uint64
	inForce                 float64 // ms; 0: nobody manages
	rate                    float64 // packets a second over a link between switches, both directions, before
	before, after           float64 // switches crossed by packets delivered, over those of shortest ways
	injected                uint64  // before the cut
}

func (c cutCost) lost() float64 { return float64(c.wire + c.queued + c.discarded) }

// starter starts a fabric with its manager, if any, and how to end both.
type starter func(ctx context.Context, c managedConfig) (*fabric.Fabric, func() error, error)

func overBroker(ctx context.Context, c managedConfig) (*fabric.Fabric, func() error, error) {
	f, err := startManaged(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return f.Fabric, f.Close, nil
}

// virtually starts a fabric in virtual time, whose manager takes 30 ms.
func virtually(ctx context.Context, c managedConfig) (*fabric.Fabric, func() error, error) {
	entry, err := subnet.ByName(c.Routing)
	if err != nil {
		return nil, nil, err
	}
	fw, vcs, err := entry.New(ctx, c.Graph)
	if err != nil {
		return nil, nil, err
	}
	o := fabric.Options{
		Topology: c.Graph, Firmware: fw, Runtime: world.New(), Link: c.Link, Traffic: c.Traffic,
		Seed: c.Seed,
	}
	o.Switch.VCs = max(vcs, 1)
	f, err := fabric.New(o)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Start(ctx); err != nil {
		return nil, nil, err
	}
	end := func() error { f.Stop(); return nil }
	if c.Method == "" {
		return f, end, nil
	}
	m, err := manage.Parse(c.Method)
	if err == nil {
		_, err = manager.Attach(f, c.Routing, m, o.Switch.VCs, manager.Delays{})
	}
	return f, end, err
}

// cutOne cuts a link in a new fabric.
func cutOne(ctx context.Context, start starter, g *topology.Graph, m lossMethod, load float64, id weft.LinkID,
	seed uint64,
) (c cutCost, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	traffic, err := settings.ParseTraffic(fmt.Sprintf("uniform:%g", load))
	if err != nil {
		return c, err
	}
	f, end, err := start(ctx,
		managedConfig{
			Graph: g, Routing: m.routing, Method: m.manager, Traffic: traffic, Seed: seed,
			Link: settings.Link{Paced: true},
		})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := f.Pause(ctx, lossWindow, nil); err != nil {
		return c, err
	}
	if c.before, c.rate, err = stretch(ctx, f); err != nil {
		return c, err
	}
	was := f.Ledger()
	c.injected = was.Injected
	began := f.Now()
	if _, _, err := f.Cut(id); err != nil {
		return c, err
	}
	if m.manager != "" {
		if c.inForce, err = repaired(ctx, f); err != nil {
			return c, err
		}
	}
	if err := f.Pause(ctx, max(0, lossWindow-(f.Now()-began).Duration()), nil); err != nil {
		return c, err
	}
	if c.after, _, err = stretch(ctx, f); err != nil {
		return c, err
	}
	if err := f.StopTraffic(); err != nil {
		return c, err
	}
	now, err := f.Quiesce(ctx)
	if err == nil && (!now.Balanced || now.InFlight != 0) {
		err = fmt.Errorf("the ledger does not balance: %+v", now)
	}
	c.wire, c.queued, c.discarded = now.LostWire-was.LostWire, now.LostQueued-was.LostQueued, now.Discarded-was.Discarded
	return c, err
}

// repaired waits for new tables.
func repaired(ctx context.Context, f *fabric.Fabric) (ms float64, err error) {
	for late := f.Now() + weft.FromDuration(lossInForce); f.Now() < late; {
		var r *fault.Reconfiguration
		if all := f.Faults(); len(all) > 0 {
			r = all[len(all)-1].Reconfiguration
		}
		if r != nil && r.Error != "" {
			return 0, errors.New(r.Error)
		}
		if r != nil && r.InForceSeconds > 0 {
			return 1000 * r.InForceSeconds, nil
		}
		if err := f.Pause(ctx, time.Millisecond, nil); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("no new tables came")
}

// stretch is how many times as many switches as on shortest ways without faults were crossed by the
// packets delivered in a while, and how many packets a second a link between switches carried in
// both directions, in the mean.
func stretch(ctx context.Context, f *fabric.Fabric) (x, rate float64, err error) {
	was, began := f.Totals(), f.Now()
	if err := f.Pause(ctx, lossWindow, nil); err != nil {
		return 0, 0, err
	}
	now, seconds := f.Totals(), (f.Now() - began).Duration().Seconds()
	hops := func(t fabric.Totals) float64 { return t.MeanHops * float64(t.Delivered) }
	shortest := func(t fabric.Totals) float64 {
		if t.Delivered == 0 {
			return 0
		}
		return hops(t) / t.Stretch
	}
	crossed := hops(now) - hops(was)
	links := float64(len(drawnLinks(f.Topology(), math.MaxInt)))
	return crossed / (shortest(now) - shortest(was)), (crossed - float64(now.Delivered-was.Delivered)) / links / seconds,
		nil
}

func mean(list []float64) float64 { return stat.Mean(list, nil) }

// differences are what each cut cost with one method more than with another.
func differences(a, b []cutCost) (list []float64) {
	for i := range a {
		list = append(list, a[i].lost()-b[i].lost())
	}
	return list
}

func lossReport(load float64, exact, wall [][]cutCost) string {
	var b strings.Builder
	n := len(exact[0])
	fmt.Fprintf(&b, `# What a cut costs: DDRC, local re-routing, hybrid

Written by `+"`go run ./scenarios/papers dqr-loss docs/results %d`"+`, not by hand.

A 4-ary 3-tree, uniform load of %g at links of %d packets a second, %d cuts of links between switches. Each is made in a new fabric for every method, one after the other and
in another order each time: the same link, the same seed, and so the same packets. Counted the same way for all: the ledger from before the cut until the
traffic that lasts %v longer has ended. Every ledger balanced. On the wire and in queues is what the dead link held, whoever decides.
Discarded is what switches sent to it meanwhile: of DDRC until there are new tables; local re-routing discards none.

## In virtual time

The manager takes 30 ms from the cut to new tables.

`, n, load, fabric.DefaultRate/256, n, 2*lossWindow)
	lossTable(&b, exact)
	for i, m := range lossMethods {
		if m.beside < 0 {
			continue
		}
		less, same, more, sent := 0, 0, 0, 0
		for k, d := range differences(exact[i], exact[m.beside]) {
			switch {
			case d < 0:
				less++
			case d > 0:
				more++
			default:
				same++
			}
			if exact[i][k].injected != exact[m.beside][k].injected {
				sent++
			}
		}
		fmt.Fprintf(&b, "\n`%s` beside `%s`: fewer lost in %d cuts, as many in %d, more in %d; packets generated until the "+
			"cut differ in %d.\n",
			m.routing, lossMethods[m.beside].routing, less, same, more, sent)
	}
	fmt.Fprintf(&b, `
## Live

Over the embedded broker on %d processors, which others use too. The manager reaches the fabric over the broker, as `+"`fabricd manage`"+` does. Fabrics that nobody
manages have the same company: an API server, and somebody who hears of cuts over the broker, asks which links are dead, and leaves it at that.

`, runtime.NumCPU())
	lossTable(&b, wall)
	b.WriteString(`
| | packets lost more per cut than with local re-routing alone: mean with its 95% interval | median | cuts with fewer, as many, more |
|---|---|---|---|
`)
	for i, m := range lossMethods {
		if m.beside < 0 {
			continue
		}
		d := differences(wall[i], wall[m.beside])
		more, half := measure.Interval(d)
		count := [3]int{}
		for _, x := range d {
			count[cmp.Compare(x, 0)+1]++
		}
		fmt.Fprintf(&b, "| `%s` beside `%s` | %+.2f ± %.2f | %+.0f | %d, %d, %d |\n", m.routing,
			lossMethods[m.beside].routing, more, half, median(d), count[0], count[1], count[2])
	}
	model, discarded := mean(of(wall[0], func(c cutCost) float64 { return c.rate * c.inForce / 1000 })),
		mean(of(wall[0], func(c cutCost) float64 { return float64(c.discarded) }))
	fmt.Fprintf(&b, `
The model of Sem-Jacobsen, Skeie, Lysne, Duato: *Dynamic Fault Tolerance in Fat Trees*, section IX-B, rate of a link times time until there are new tables, gives %.2f packets
discarded per cut for DDRC live, and %.2f were; `+"`fabricd sweep scenarios/papers/dqr/ddrc-loss.yaml`"+
		` has it from 0 to 0.5 s.
`, model, discarded)
	b.WriteString(lossConclusions)
	return b.String()
}

// lossTable has a line for each method.
func lossTable(b *strings.Builder, results [][]cutCost) {
	b.WriteString(
		`| | lost on the wire | in queues | discarded | packets lost or discarded per cut: mean with its 95% interval, median, most | packets a second on a link before the cut | new tables in force, ms, median | switches crossed over those of shortest ways, before and after |
|---|---|---|---|---|---|---|---|
`)
	for i, m := range lossMethods {
		list := results[i]
		in := "none"
		if m.manager != "" {
			in = fmt.Sprintf("%.1f", median(of(list, func(c cutCost) float64 { return c.inForce })))
		}
		all := of(list, cutCost.lost)
		lost, half := measure.Interval(all)
		fmt.Fprintf(b, "| %s (`%s`) | %.2f | %.2f | %.2f | %.2f ± %.2f, %.0f, %.0f | %.0f | %s | %.4f, %.4f |\n", m.name,
			m.routing,
			mean(of(list, func(c cutCost) float64 { return float64(c.wire) })),
			mean(of(list, func(c cutCost) float64 { return float64(c.queued) })),
			mean(of(list, func(c cutCost) float64 { return float64(c.discarded) })), lost, half, median(all), slices.Max(all),
			mean(of(list, func(c cutCost) float64 { return c.rate })), in,
			mean(of(list, func(c cutCost) float64 { return c.before })),
			mean(of(list, func(c cutCost) float64 { return c.after })))
	}
}

const lossConclusions = `
In virtual time hybrid loses packet for packet what local re-routing loses: until the cut both forward alike, at the cut the link holds the same packets, and
neither discards any afterwards. Live the moment of a cut differs by milliseconds from run to run, and so does what the link held; a difference in the mean would
show beyond the interval. With hybrid all go the shortest ways again once there are new tables; with ADLR beneath, but for packets that find no room on these
while the machine is late: they take another live up port, as ADLR would have them.
`
