package work

import (
	"container/heap"
)

// Farm is workers in virtual time that do a job as workers on many machines do: cut by the same
// code.
type Farm struct {
	Workers int
	Trip    float64 // seconds of a question to the queue
	Lost    float64 // seconds until the batch of a worker that died is given to another
	// Seconds is what a worker takes for a piece that it begins at that time; nil: its cost.
	Seconds func(worker, piece int, at float64) float64
	// Dies is when a worker dies; nil, or 0: it does not.
	Dies func(worker int) float64
}

// Done is what a Farm made of a job.
type Done struct {
	Seconds float64   // until the last piece
	Busy    float64   // share of the time until 98% of the work was done in which living workers worked
	Twice   int       // pieces that were done twice
	Ends    []float64 // of the pieces, in their order
}

type farmer struct {
	rate  Rate
	batch []int // what it has
}

// farm is a run.
type farm struct {
	Farm
	costs  []float64
	queue  [][]int
	events farmEvents
	number int
	idle   []int // workers that wait
	list   []farmer
	done   Done
	left   int
	total  float64 // cost
	spent  float64 // cost done
	cutoff float64 // time at which 98% were done
	spans  [][2]float64
}

type farmEvent struct {
	at     float64
	number int
	do     func(at float64)
}

type farmEvents []farmEvent

func (e farmEvents) Len() int { return len(e) }
func (e farmEvents) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].number < e[j].number
}
func (e farmEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *farmEvents) Push(x any)   { *e = append(*e, x.(farmEvent)) }
func (e *farmEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (f *farm) at(t float64, do func(at float64)) {
	f.number++
	heap.Push(&f.events, farmEvent{t, f.number, do})
}

// Run does pieces of these costs.
func (f Farm) Run(costs []float64) Done {
	r := &farm{Farm: f, costs: costs, list: make([]farmer, f.Workers), left: len(costs)}
	if r.Seconds == nil {
		r.Seconds = func(_, p int, _ float64) float64 { return costs[p] }
	}
	pieces := make([]int, len(costs))
	for i, c := range costs {
		pieces[i] = i
		r.total += c
	}
	r.done.Ends = make([]float64, len(costs))
	r.queue = Deal(pieces, func(i int) float64 { return costs[i] })
	for w := range r.list {
		r.at(0, func(at float64) { r.take(w, at) })
	}
	for r.left > 0 && len(r.events) > 0 {
		e := heap.Pop(&r.events).(farmEvent)
		e.do(e.at)
	}
	r.finish()
	return r.done
}

func (f *farm) finish() {
	until, busy, lived := f.cutoff, 0.0, 0.0
	for _, s := range f.spans {
		busy += max(0, min(s[1], until)-min(s[0], until))
	}
	for w := range f.list {
		if d := f.dies(w); d > 0 {
			lived += min(d, until)
		} else {
			lived += until
		}
	}
	f.done.Busy = busy / lived
}

func (f *farm) dies(w int) float64 {
	if f.Dies == nil {
		return 0
	}
	return f.Dies(w)
}

func (f *farm) costsOf(pieces []int) (list []float64) {
	for _, p := range pieces {
		list = append(list, f.costs[p])
	}
	return list
}

func (f *farm) offer(batch []int, at float64) {
	f.queue = append(f.queue, batch)
	if len(f.idle) > 0 {
		w := f.idle[0]
		f.idle = f.idle[1:]
		f.at(at+f.Trip, func(at float64) { f.take(w, at) })
	}
}

// take has a worker take a batch, or cut one.
func (f *farm) take(w int, at float64) {
	if d := f.dies(w); d > 0 && at >= d {
		return
	}
	if len(f.queue) == 0 {
		f.idle = append(f.idle, w)
		return
	}
	batch := f.queue[0]
	f.queue = f.queue[1:]
	costs := f.costsOf(batch)
	if n := Take(costs, f.list[w].rate.Seconds()); n < len(batch) {
		f.offer(batch[:n], at)
		for _, part := range Parts(batch[n:], costs[n:]) {
			f.offer(part, at)
		}
		f.at(at+2*f.Trip, func(at float64) { f.take(w, at) })
		return
	}
	f.list[w].batch = batch
	f.at(at+f.Trip, func(at float64) { f.piece(w, at) })
}

// piece has a worker do the next piece of its batch.
func (f *farm) piece(w int, at float64) {
	x := &f.list[w]
	if len(x.batch) == 0 {
		f.take(w, at)
		return
	}
	if len(f.queue) == 0 && len(x.batch) > 1 {
		n := Halve(f.costsOf(x.batch))
		f.offer(x.batch[n:], at)
		x.batch = x.batch[:n]
	}
	p := x.batch[0]
	took := f.Seconds(w, p, at)
	if d := f.dies(w); d > 0 && at+took > d {
		batch := x.batch
		f.spans = append(f.spans, [2]float64{at, d})
		f.at(d+f.Lost, func(at float64) {
			for _, p := range batch { // a batch that is given out again is cut into its pieces
				f.offer([]int{p}, at)
			}
		})
		return
	}
	f.at(at+took, func(end float64) {
		f.spans = append(f.spans, [2]float64{at, end})
		x.rate.Add(f.costs[p], took)
		x.batch = x.batch[1:]
		f.ended(p, end)
		f.piece(w, end)
	})
}

func (f *farm) ended(p int, at float64) {
	if f.done.Ends[p] > 0 {
		f.done.Twice++
		return
	}
	f.done.Ends[p] = at
	f.done.Seconds = at
	f.left--
	if f.spent += f.costs[p]; f.cutoff == 0 && f.spent >= 0.98*f.total {
		f.cutoff = at
	}
}
