package sweep

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/work"
)

// again makes some of the runs once more that other versions of the program have made, spread over
// all of them. Where one is not the same, what this version would add does not belong to them. They
// are made in this process, whoever makes the others.
func (w *start) again(ctx context.Context) error {
	kept := w.kept()
	if was, err := readRecord(w.Dir); err == nil && len(kept) > 0 && was.Again != nil &&
		was.Again.Version == orUnknown(w.Version) {
		w.remade = was.Again
	}
	n := min(w.Again, len(kept))
	if n == 0 {
		return nil
	}
	w.workers = 1
	done := 0
	j := work.Job{What: "runs once more", Count: n, Piece: func(i int) work.Piece { return w.pieceOf(kept[i*len(kept)/n]) }}
	j.Run, j.Merge = work.JSON(func(ctx context.Context, _, i int) (row, error) {
		k := kept[i*len(kept)/n]
		r, err := w.one(ctx, &w.plan.points[k.point], k.sample)
		return rowOf(r), err
	}, func(i int, now row) error {
		k := kept[i*len(kept)/n]
		if text := differ(w.journal.done[k.key], now); text != "" {
			return fmt.Errorf("%s: sample %d of %s was made by version %s, and this is %s, which makes another: %s: remove the "+
				"file to make all anew, or name another folder with --out", w.journal.path, k.sample,
				w.plan.points[k.point].text(w.plan.axes), w.journal.madeBy(k.key), orUnknown(w.Version), text)
		}
		if done++; w.Progress != nil {
			w.Progress(done, n)
		}
		return nil
	})
	err := work.Local{Workers: w.Jobs}.Run(ctx, &j)
	if err == nil {
		w.remade = &Again{n, orUnknown(w.Version)}
	}
	return err
}

// kept are the runs that other versions have made, one sample of all points before the next.
func (w *start) kept() (list []job) {
	for s, any := 0, true; any; s++ {
		any = false
		for i := range w.plan.points {
			pt := &w.plan.points[i]
			key := pt.key(w.e.Measure, s, pt.seed(w.e.Seed, s))
			if _, done := w.journal.done[key]; done {
				any = true
				if w.journal.madeBy(key) != orUnknown(w.Version) {
					list = append(list, job{point: i, sample: s, key: key})
				}
			}
		}
	}
	return list
}

// differ says in what a run is not what it was, but for the time it took.
func differ(was, is row) string {
	var words []string
	for i, c := range columns {
		if was[i] != is[i] && !c.timed() {
			words = append(words, fmt.Sprintf("%s was %s and is %s", c.name, orNothing(was[i]), orNothing(is[i])))
		}
	}
	return strings.Join(words, ", ")
}
