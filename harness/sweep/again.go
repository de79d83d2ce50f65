package sweep

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-fabric/weft/fabricd/work"
)

// again makes some of the runs once more that other versions of the program have made, spread over
// all of them. Where one is not the same, it ends: runs of this version do not belong beside them.
// They are made in this process, whoever makes the others.
func (w *start) again(ctx context.Context) error {
	kept := w.kept()
	if len(kept) == 0 {
		return nil
	}
	if was, err := readRecord(w.Dir); err == nil && was.Again != nil && was.Again.Version == orUnknown(w.Version) {
		w.remade = was.Again
	}
	n := min(w.Again, len(kept))
	if n == 0 {
		return nil
	}
	chosen := make([]job, n)
	for i := range chosen {
		chosen[i] = kept[i*len(kept)/n]
	}
	w.workers = 1
	done := 0
	j := work.Job{
		What: "runs once more", Count: n,
		Piece: func(i int) work.Piece { return w.pieceOf(chosen[i]) },
	}
	j.Run, j.Merge = work.JSON(func(ctx context.Context, _, i int) (row, error) {
		r, err := w.one(ctx, &w.plan.points[chosen[i].point], chosen[i].sample)
		return rowOf(r), err
	}, func(i int, now row) error {
		if err := w.same(chosen[i], now); err != nil {
			return err
		}
		if done++; w.Progress != nil {
			w.Progress(done, n)
		}
		return nil
	})
	err := work.Local{Workers: w.Jobs}.Run(ctx, &j)
	if err != nil && ctx.Err() != nil {
		return w.interrupted(w.total - w.left)
	}
	if err == nil {
		w.remade = &Again{n, orUnknown(w.Version)}
	}
	return err
}

// kept are the runs that other versions have made, one sample of all points before the next.
func (w *start) kept() (list []job) {
	for s, more := 0, true; more; s++ {
		more = false
		for i := range w.plan.points {
			pt := &w.plan.points[i]
			key := pt.key(w.e.Measure, s, pt.seed(w.e.Seed, s))
			if _, done := w.journal.done[key]; !done {
				continue
			}
			more = true
			if w.journal.madeBy(key) != orUnknown(w.Version) {
				list = append(list, job{point: i, sample: s, key: key})
			}
		}
	}
	return list
}

// same says in what a run that was made once more is not what it was, but for the time it took.
func (w *start) same(k job, now row) error {
	var words []string
	for i, was := range w.journal.done[k.key] {
		if c := columns[i]; was != now[i] && !c.timed() {
			words = append(words, fmt.Sprintf("%s was %s and is %s", c.name, orNothing(was), orNothing(now[i])))
		}
	}
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("%s: version %s made sample %d of %s, and this version, %s, makes another: %s: remove the file to "+
		"make all anew, or name another folder with --out", w.journal.path, w.journal.madeBy(k.key), k.sample,
		w.plan.points[k.point].text(w.plan.axes), orUnknown(w.Version), strings.Join(words, ", "))
}
