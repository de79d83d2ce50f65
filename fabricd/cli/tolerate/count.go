package tolerate

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/subnet/tolerate"
)

// countAll counts the sets of each number of links, for all the mechanisms.
func (u *tolerateFlags) countAll(ctx context.Context, a asked, stdout, stderr io.Writer) error {
	var total uint64 // sets of all numbers of links and all mechanisms
	for k := a.least; k <= a.most; k++ {
		n, ok := u.samples, true
		if n == 0 {
			if n, ok = tolerate.Choose(len(a.Links), k); !ok {
				return fmt.Errorf("%d faults of %s: more than 2^63 sets: give --samples, or a --region", k,
					command.Counted(len(a.Links), "link"))
			}
		}
		total += n * uint64(len(a.mechanisms))
	}
	p := command.NewProgress(stderr, command.Terminal(stderr), "fault sets", command.TellEvery)
	defer p.End()
	var done atomic.Uint64
	var mu sync.Mutex // guards p
	told := func(sets uint64) {
		n := done.Add(sets)
		if mu.TryLock() { // whoever comes at the same time need not tell
			p.Told(n, total)
			mu.Unlock()
		}
	}
	t := &table{Query: a.Query}
	var cells []tolerate.Cell
	for _, m := range a.mechanisms {
		for k := a.least; k <= a.most; k++ {
			cells = append(cells, tolerate.Cell{Mechanisms: m, Faults: k})
		}
	}
	sampling := tolerate.Sampling{Samples: u.samples, Seed: u.seed, NoSymmetry: u.noSymmetry}
	err := a.Count(ctx, u.engine, cells, sampling, told, func(cell tolerate.CountResult) error {
		t.cells = append(t.cells, cell)
		return u.line(stdout, cell)
	})
	if err != nil {
		return err
	}
	p.End()
	var ended error
	if ctx.Err() != nil {
		ended = fmt.Errorf("interrupted after %s of %s fault sets: what was counted until then is above",
			command.Grouped(done.Load()), command.Grouped(total))
	}
	return u.ended(stdout, t.print, ended, t.tolerated())
}
