package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/scenarios/papers/experiment"
)

func of[T any](list []cost, f func(c cost) T) (values []T) {
	for _, c := range list {
		values = append(values, f(c))
	}
	return values
}

func mean(list []float64) float64 { return stat.Mean(list, nil) }

// differences are what each cut cost with one method more than with another.
func differences(a, b []cost) (list []float64) {
	for i := range a {
		list = append(list, a[i].lost()-b[i].lost())
	}
	return list
}

func report(load float64, exact, wall [][]cost) string {
	var b strings.Builder
	n := len(exact[0])
	fmt.Fprintf(&b, `# What a cut costs: DDRC, local re-routing, hybrid

Written by `+"`go run ./scenarios/papers/dqr/loss docs/results %d`"+`, not by hand.

A 4-ary 3-tree, uniform load of %g at links of %d packets a second, %d cuts of links between switches. Each is made in a new fabric for every method, one after the other and
in another order each time: the same link, the same seed, and so the same packets. Counted the same way for all: the ledger from before the cut until the
traffic that lasts %v longer has ended. Every ledger balanced. On the wire and in queues is what the dead link held, whoever decides.
Discarded is what switches sent to it meanwhile: of DDRC until there are new tables; local re-routing discards none.

## In virtual time

The manager takes 30 ms from the cut to new tables.

`, n, load, fabric.DefaultRate/256, n, 2*window)
	table(&b, exact)
	for i, m := range methods {
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
		fmt.Fprintf(&b, "\n`%s` beside `%s`: fewer lost in %d cuts, as many in %d, more in %d; packets generated until the cut differ in %d.\n",
			m.routing, methods[m.beside].routing, less, same, more, sent)
	}
	fmt.Fprintf(&b, `
## Live

Over the embedded broker on %d processors, which others use too. The manager reaches the fabric over the broker, as `+"`fabricd manage`"+` does. Fabrics that nobody
manages have the same company: an API server, and somebody who hears of cuts over the broker, asks which links are dead, and leaves it at that.

`, runtime.NumCPU())
	table(&b, wall)
	b.WriteString(`
| | packets lost more per cut than with local re-routing alone: mean with its 95% interval | median | cuts with fewer, as many, more |
|---|---|---|---|
`)
	for i, m := range methods {
		if m.beside < 0 {
			continue
		}
		d := differences(wall[i], wall[m.beside])
		more, half := measure.Interval(d)
		count := [3]int{}
		for _, x := range d {
			count[cmp.Compare(x, 0)+1]++
		}
		fmt.Fprintf(&b, "| `%s` beside `%s` | %+.2f ± %.2f | %+.0f | %d, %d, %d |\n", m.routing, methods[m.beside].routing, more, half, experiment.Median(d), count[0], count[1], count[2])
	}
	model, discarded := mean(of(wall[0], func(c cost) float64 { return c.rate * c.inForce / 1000 })), mean(of(wall[0], func(c cost) float64 { return float64(c.discarded) }))
	fmt.Fprintf(&b, `
The model of Sem-Jacobsen, Skeie, Lysne, Duato: *Dynamic Fault Tolerance in Fat Trees*, section IX-B, rate of a link times time until there are new tables, gives %.2f packets
discarded per cut for DDRC live, and %.2f were; `+"`fabricd sweep scenarios/papers/dqr/ddrc-loss.yaml`"+` has it from 0 to 0.5 s.
`, model, discarded)
	b.WriteString(conclusions)
	return b.String()
}

// table has a line for each method.
func table(b *strings.Builder, results [][]cost) {
	b.WriteString(`| | lost on the wire | in queues | discarded | packets lost or discarded per cut: mean with its 95% interval, median, most | packets a second on a link before the cut | new tables in force, ms, median | switches crossed over those of shortest ways, before and after |
|---|---|---|---|---|---|---|---|
`)
	for i, m := range methods {
		list := results[i]
		in := "none"
		if m.manager != "" {
			in = fmt.Sprintf("%.1f", experiment.Median(of(list, func(c cost) float64 { return c.inForce })))
		}
		all := of(list, cost.lost)
		lost, half := measure.Interval(all)
		fmt.Fprintf(b, "| %s (`%s`) | %.2f | %.2f | %.2f | %.2f ± %.2f, %.0f, %.0f | %.0f | %s | %.4f, %.4f |\n", m.name, m.routing,
			mean(of(list, func(c cost) float64 { return float64(c.wire) })), mean(of(list, func(c cost) float64 { return float64(c.queued) })),
			mean(of(list, func(c cost) float64 { return float64(c.discarded) })), lost, half, experiment.Median(all), slices.Max(all), mean(of(list, func(c cost) float64 { return c.rate })), in,
			mean(of(list, func(c cost) float64 { return c.before })), mean(of(list, func(c cost) float64 { return c.after })))
	}
}

const conclusions = `
In virtual time hybrid loses packet for packet what local re-routing loses: until the cut both forward alike, at the cut the link holds the same packets, and
neither discards any afterwards. Live the moment of a cut differs by milliseconds from run to run, and so does what the link held; a difference in the mean would
show beyond the interval. With hybrid all go the shortest ways again once there are new tables; with ADLR beneath, but for packets that find no room on these
while the machine is late: they take another live up port, as ADLR would have them.
`
