package fabric

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/nic"
)

// How often the latencies of all NICs are added up, which takes longer than all else: every second,
// but for at most a hundredth of the time. Chosen by us.
const (
	latencyEvery = time.Second
	latencyShare = 100
)

// recent derives the latencies of the latest packets from those of all packets.
type recent struct {
	all, last Latency
	count     uint64    // packets that all is of
	next      weft.Time // when they are to be added up again; 0: they never were
	sum       *hdrhistogram.Histogram
	before    *hdrhistogram.Snapshot // sum, when it was read before
}

func newRecent() *recent { return &recent{sum: nic.NewLatency()} }

// TotalsWatch reads totals again and again, with the latencies of the latest packets. One goroutine
// may use it.
type TotalsWatch struct {
	reader *reader
	recent *recent
}

// WatchTotals returns a watch that has not read yet.
func (f *Fabric) WatchTotals() *TotalsWatch { return &TotalsWatch{f.reader, newRecent()} }

// Read returns the totals without DamagedFrames, and the latencies of the packets delivered in the
// last second or so.
func (w *TotalsWatch) Read(now weft.Time) (Totals, Latency) {
	w.reader.look(host.CountersRequest{Latency: true}, false)
	return w.recent.totals(w.reader, now), w.recent.last
}

// Ledger is the ledger as of the latest Read.
func (w *TotalsWatch) Ledger() Ledger { return w.reader.addUp() }

// totals adds the counters of all nodes up.
func (r *recent) totals(rd *reader, now weft.Time) Totals {
	t := Totals{NoticesLost: rd.notices.lost.Load()}
	t.add(rd.ledger.total())
	r.read(rd, now)
	t.Latency = r.all
	return t
}

// read adds the latencies up when it is time. In virtual time all NICs share one histogram, which
// is read as it is.
func (r *recent) read(rd *reader, now weft.Time) {
	if r.next != 0 && now < r.next {
		return
	}
	began := time.Now()
	sum := rd.latency
	if sum == nil {
		sum = r.sum
		sum.Reset()
		rd.mergeLatency(sum)
	}
	r.all, r.count = latencyOf(sum), uint64(sum.TotalCount())
	at := sum.Export()
	r.last = r.all
	if r.before != nil {
		since := *at
		since.Counts = make([]int64, len(at.Counts))
		for i, n := range at.Counts {
			since.Counts[i] = n - r.before.Counts[i]
		}
		r.last = latencyOf(hdrhistogram.Import(&since))
	}
	r.before = at
	r.next = now + weft.FromDuration(max(latencyEvery, latencyShare*time.Since(began)))
}
