package tolerate

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/direct"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
)

// counter counts the sets of one number of links for one of the mechanisms after another.
type counter struct {
	u     *tolerateFlags
	a     tolerating
	p     *command.Progress
	total uint64 // sets of all numbers of links and all mechanisms

	mu   sync.Mutex // guards p
	done atomic.Uint64
}

// countAll counts the sets of each number of links, for all the mechanisms.
func (u *tolerateFlags) countAll(ctx context.Context, a tolerating, stdout, stderr io.Writer) error {
	c := &counter{u: u, a: a}
	for k := a.least; k <= a.most; k++ {
		n := u.samples
		if n == 0 {
			var ok bool
			if n, ok = tolerate.Choose(len(a.region), k); !ok {
				return fmt.Errorf("%d faults of %s: more than 2^63 sets: give --samples, or a --region", k, command.Counted(len(a.region), "link"))
			}
		}
		c.total += n * uint64(len(a.mechanisms))
	}
	c.p = command.NewProgress(stderr, command.Terminal(stderr), "fault sets", u.tellEvery)
	defer c.p.End()
	t := &tolerateTable{region: len(a.region), topology: a.g.Spec, name: u.region}
	for _, m := range a.mechanisms {
		if ctx.Err() != nil {
			break
		}
		judges := make([]tolerate.Judge, a.jobs)
		for i := range judges {
			judges[i] = a.net.NewEvaluator(m)
		}
		symmetries := tolerate.Symmetries(a.net, m)
		if u.noSymmetry {
			symmetries = nil
		}
		for k := a.least; k <= a.most && ctx.Err() == nil; k++ {
			cell, err := c.cell(ctx, m, k, symmetries, judges)
			if err != nil {
				return err
			}
			t.cells = append(t.cells, cell)
			if err := u.line(stdout, cell); err != nil {
				return err
			}
		}
	}
	c.p.End()
	var ended error
	if ctx.Err() != nil {
		ended = fmt.Errorf("interrupted after %s of %s fault sets: what was counted until then is above", command.Grouped(c.done.Load()), command.Grouped(c.total))
	}
	return u.ended(stdout, t.print, ended, t.tolerated())
}

// cell counts the sets of k links.
func (c *counter) cell(ctx context.Context, m direct.Mechanisms, k int, symmetries []tolerate.Symmetry, judges []tolerate.Judge) (tolerateCell, error) {
	start := time.Now()
	cell := c.head(m, k)
	var sum tolerate.Counts
	var err error
	if c.u.samples > 0 {
		err = c.sample(ctx, k, judges, &sum)
	} else {
		var sets *tolerate.Sets
		if sets, err = tolerate.NewSets(c.a.region, k, symmetries); err != nil {
			return cell, err
		}
		cell.Symmetries = sets.Symmetries()
		c.each(ctx, sets.Parts(), judges, &sum, func(part int, j tolerate.Judge, n *tolerate.Counts) {
			sets.Count(part, j, n, c.told(ctx))
		})
		if ctx.Err() == nil {
			err = sets.Complete(&sum)
		}
	}
	if err != nil {
		return cell, err
	}
	cell.fill(c, m, &sum)
	cell.Complete = ctx.Err() == nil
	cell.Seconds = time.Since(start).Seconds()
	return cell, nil
}

// sampleBlock is how many samples one goroutine takes at a time, chosen by us.
const sampleBlock = 2048

// sample draws sets. Sample i has draws of its own, so it is the same whoever takes it; and with
// one more fault it is the same set with one more link.
func (c *counter) sample(ctx context.Context, k int, judges []tolerate.Judge, sum *tolerate.Counts) error {
	blocks := int((c.u.samples + sampleBlock - 1) / sampleBlock)
	var mu sync.Mutex
	var failed error // guarded by mu
	c.each(ctx, blocks, judges, sum, func(block int, j tolerate.Judge, n *tolerate.Counts) {
		pcg := rand.NewPCG(0, 0)
		source := rand.New(pcg).IntN
		from := uint64(block) * sampleBlock
		_, err := tolerate.Sample(c.a.region, k, from, min(from+sampleBlock, c.u.samples), func(i uint64) func(int) int {
			*pcg = *weft.Stream(c.u.seed, weft.StreamRegionSets, i, 0)
			return source
		}, j, n, c.told(ctx))
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed = err
		}
	})
	return failed
}

// each counts parts with all judges at once.
func (c *counter) each(ctx context.Context, parts int, judges []tolerate.Judge, sum *tolerate.Counts, count func(part int, j tolerate.Judge, n *tolerate.Counts)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex // guards sum
	for _, j := range judges {
		wg.Go(func() {
			var n tolerate.Counts
			for ctx.Err() == nil {
				part := int(next.Add(1)) - 1
				if part >= parts {
					break
				}
				count(part, j, &n)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Add(&n)
		})
	}
	wg.Wait()
}

// told is asked by each goroutine whether to go on.
func (c *counter) told(ctx context.Context) func(sets uint64) bool {
	return func(sets uint64) bool {
		done := c.done.Add(sets)
		if c.mu.TryLock() { // whoever comes at the same time need not tell
			c.p.Told(done, c.total)
			c.mu.Unlock()
		}
		return ctx.Err() == nil
	}
}

func (c *counter) head(m direct.Mechanisms, k int) tolerateCell {
	n := len(c.a.g.Switches)
	cell := tolerateCell{Topology: c.a.g.Spec, Mechanisms: m.String(), Faults: k, Region: c.u.region, Links: len(c.a.region), Samples: c.u.samples, Pairs: n * (n - 1)}
	if c.u.samples > 0 {
		cell.Seed = &c.u.seed
	}
	return cell
}

// exampleOf names an example: its links, and the pairs without a way.
func (a tolerating) exampleOf(m direct.Mechanisms, dead []weft.LinkID) *tolerateExample {
	s := a.solve(m, dead)
	e := &tolerateExample{Links: linkNames(a.g, dead), Unroutable: len(s.Unroutable)}
	if len(s.Unroutable) > 0 {
		e.Src, e.Dst = a.g.Name(s.Unroutable[0].Src.Node()), a.g.Name(s.Unroutable[0].Dst.Node())
	}
	return e
}
