package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// hostState is a host as its leader knows it: the nodes of this process, a host of the options, or
// the processes that are a switch, one after another.
type hostState struct {
	counted
	site      *site
	id        ledger.HostID
	local     *host.Local // the host, when it is in this process: it always answers; nil: it is in another
	name      string
	sw        *liveSwitch           // that it is for alone; nil: it is a host of the options
	owner     atomic.Pointer[owner] // of a host of one switch alone; nil: it has none
	placement host.Placement
	// switches and nics are those of place that it alone runs; of a switch that processes are it
	// has none.
	switches       []weft.SwitchID
	nics           []weft.NICID
	ends           []weft.End // in the order of host.Counters.Up
	cross          []weft.End // of these, those of links to nodes elsewhere
	inside         []*link    // both ends are its own
	border         []*link    // one is
	host           host.Host
	loads          loads
	orders         queue
	neighbourHosts atomic.Pointer[neighbourHosts] // nil: it was not needed yet
	// only the loop touches it: ends in this process of links of switches that processes are or were
	shared []weft.End

	life         atomic.Uint64 // its incarnation, as number
	suspect      atomic.Bool   // it does not answer: nobody waits for it
	failed       atomic.Bool   // nobody answers for it: its nodes count as crashed. Then it is quiet too
	stale        atomic.Bool   // it has missed an order
	told         atomic.Int64  // when it was asked for the counters that it told last, generations and all
	owing        atomic.Int64  // since when it owes an answer; 0: it does not
	counters     atomic.Pointer[hostCounters]
	readings     atomic.Pointer[readings]              // nil: nobody has watched
	incarnations atomic.Pointer[[]linkend.Incarnation] // kept by the ledger, and the latest; nil: it was never hosted

	// begins is the epoch of its first spec since its latest incarnation; 0: there was none. The lock
	// of epochs guards it.
	begins weft.Epoch

	mu       sync.Mutex
	number   uint64    // guarded by mu: its incarnation; 0: it was never hosted
	unheard  bool      // guarded by mu: nothing is known yet of this incarnation
	heard    uint64    // guarded by mu: observations it has told
	due      uint64    // guarded by mu: observations by dueSince; all arrive, or are lost, within askTime
	dueSince weft.Time // guarded by mu
	// guarded by mu: the host.Counters.Up that its links were last set by, while nothing was heard
	// since
	correctedBy []byte
	clock       skew               // guarded by mu
	answers     context.Context    // guarded by mu: ends when it gets quiet
	unanswered  context.CancelFunc // guarded by mu
	news        broadcast          // it has told something

	// guarded by mu: what it counted in incarnations before and the ledger does not know
	retired        host.Counters
	retiredLatency *hdrhistogram.Histogram // guarded by mu: likewise; nil: there were none

	// Only the loop touches these, and sets what others read.
	again         atomic.Uint32             // how many incarnations there were before
	user          string                    // of its credentials, where somebody makes them
	nextAdmission atomic.Pointer[admission] // of its next incarnation; nil: not made yet
}

// hostCounters is what is known of a host. Constant.
type hostCounters struct {
	at   weft.Time         // on the fabric's clock
	own  answer            // of the incarnation that runs
	all  host.Counters     // and of those before, what the ledger does not know
	held map[weft.End]bool // ends that damping keeps down
}

func newHostState(si *site, id ledger.HostID, name string, place host.Placement) *hostState {
	h := &hostState{site: si, id: id, name: name, placement: place, switches: place.SwitchIDs(), nics: place.NICIDs()}
	h.news.init()
	if name != "" {
		h.host, h.counted, h.ends = si.opts.Processes.Hosts.Reach(name), remoteCounters{h}, place.Ends(si.graph)
	}
	h.answers, h.unanswered = context.WithCancel(context.Background())
	h.counters.Store(newHostCounters(0, answer{}, &host.Counters{}))
	return h
}

// String names the host, or the process, for those who look for it.
func (h *hostState) String() string {
	if o := h.owner.Load(); o != nil {
		return o.String()
	}
	if h.local != nil {
		return "this process"
	}
	return "host " + h.name
}

// runs reports whether the host runs a node now.
func (h *hostState) runs(n weft.Node) bool { return h.site.hostOf(n) == h }

// late reports whether what the host tells comes some moments later, and perhaps never: it is in
// another process.
func (h *hostState) late() bool { return h.local == nil }

// patience is how long the host may take to answer.
func (h *hostState) patience() time.Duration {
	if h.sw != nil {
		return askTime
	}
	return answerTime
}

// newHostCounters is what s says, with what was before.
func newHostCounters(at weft.Time, s answer, retired *host.Counters) *hostCounters {
	a := &hostCounters{at: at, own: s, all: s.Counters, held: make(map[weft.End]bool, len(s.HeldDown))}
	a.all.Add(retired)
	for _, e := range s.HeldDown {
		a.held[e.End()] = true
	}
	return a
}

// Chosen by us. A host adds up many nodes and may run beside others on a loaded machine; one that
// carries out an order of thousands of signals is given as long as its leader waits for a repair.
const (
	answerTime = 2 * time.Second
	orderTime  = 10 * time.Second
	signalTime = time.Millisecond // for each end
)

// errNumber means that another incarnation of a host answers than the one that was hosted.
var errNumber = errors.New("another incarnation of this host answers")

// errLater means that an answer, which was to be the last, was overtaken by a later one.
var errLater = errors.New("a later answer has come")

// read asks the host what it has added up. Within the call no other read ends that began before it.
func (h *hostState) read(want host.CountersRequest) error {
	_, err := h.look(context.Background(), want)
	return err
}

// heardOf reports whether this incarnation of the host has answered before. One that is still being
// made answers nobody, and who makes it waits for it: whoever asks meanwhile must not take it for
// gone.
func (h *hostState) heardOf() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.number != 0 && !h.unheard
}

// storeCounters makes s the latest that is known; when a later one is, it keeps what only s has.
// s.Asked says when it was asked for.
func (h *hostState) storeCounters(s host.Counters) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.Number != h.number {
		return fmt.Errorf("%v: %w: %v, not %v", h, errNumber, ledger.Incarnation(s.Number), ledger.Incarnation(h.number))
	}
	old := h.counters.Load()
	switch later := old.own.Number == s.Number && old.own.At > s.At; {
	case later && s.Final:
		return errLater
	case h.failed.Load():
		return nil // what it says now is weighed when it is taken back
	case later:
		h.counters.Store(newHostCounters(old.at, old.own.with(newAnswer(s)), &h.retired))
		return nil
	}
	h.counters.Store(newHostCounters(h.clock.toLocal(s.At, h.site.Now()), newAnswer(s).with(old.own), &h.retired))
	h.record(&s)
	if h.unheard {
		h.unheard, h.heard = false, max(h.heard, s.Observed) // it may have told since by the time the answer is here
	}
	switch now := h.site.Now(); {
	case h.heard >= h.due:
		h.due, h.dueSince = s.Observed, now
	case now-h.dueSince > weft.FromDuration(askTime):
		h.heard = h.due // the host told of them while the broker was away: they are lost
	}
	if h.heard == s.Observed {
		h.correctLinks(s.Up)
	}
	return nil
}

// answer is what a host has told, and when it had counted that for which not all who ask it ask, on
// its clock; 0: it has not told that.
type answer struct {
	host.Counters
	generations, latency weft.Time
}

func newAnswer(s host.Counters) answer {
	a := answer{Counters: s}
	if s.Generations != nil {
		a.generations = s.At
	}
	if s.Latency != nil {
		a.latency = s.At
	}
	return a
}

// with is a with what not all ask for, where another answer of the incarnation has that later.
func (a answer) with(o answer) answer {
	if o.Number != a.Number {
		return a
	}
	if o.generations > a.generations {
		a.generations, a.FirstGeneration = o.generations, o.FirstGeneration
		a.Generations, a.OlderGenerations = o.Generations, o.OlderGenerations
	}
	if o.latency > a.latency {
		a.latency, a.Latency = o.latency, o.Latency
	}
	return a
}

// correctLinks corrects what is thought of the host's links, should something it told have been
// lost. The caller holds mu.
func (h *hostState) correctLinks(up []byte) {
	if slices.Equal(up, h.correctedBy) {
		return
	}
	changed := false
	h.site.read(func(s *leader.State) {
		for i, e := range h.ends {
			l, side, ok := h.site.linkAt(e)
			if is := host.Bit(up, i); ok && h.runs(e.Node) && s.Links[l.ID].Up[side] != is {
				s.Step(h.site.Now(), leader.PortSynced{End: e, Up: is})
				changed = true
			}
		}
	})
	h.correctedBy = up
	if changed {
		h.site.portsChanged()
	}
}

// orderTime is how long the host may take to carry out an order. To give thousands of ends signal
// is the longest there is: each wakes goroutines that have hellos to send at once.
func (h *hostState) orderTime(o *host.Order) time.Duration {
	if o.SignalAll {
		return orderTime + time.Duration(len(h.ends))*signalTime
	}
	return orderTime
}

// carryOut asks a host to carry out an order. A host that does not answer is not asked: it is told
// what it has missed when it does.
func (h *hostState) carryOut(o host.Order) (host.OrderAnswer, error) {
	if !h.late() {
		return h.host.Order(context.Background(), o)
	}
	if h.suspect.Load() {
		h.stale.Store(true)
		return host.OrderAnswer{}, errSuspect
	}
	h.mu.Lock()
	alive, number := h.answers, h.number
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(alive, h.orderTime(&o))
	defer cancel()
	defer context.AfterFunc(h.site.ctx, cancel)()
	o.Number, o.Term = number, h.site.opts.Term
	asked := h.site.Now() // the answer counts for all neighbours that there were by then
	o.Counters = &host.CountersRequest{Number: number, Ends: true, Peers: h.peers()}
	a, err := h.host.Order(ctx, o)
	if err == nil {
		a.Counters.Asked = asked
		err = h.storeCounters(a.Counters)
	}
	if err != nil {
		h.stale.Store(true)
		if noAnswer(err) {
			h.markSuspect()
		}
		h.site.refused(err)
		h.site.opts.Log.Warn("order to a host", "host", h.name, "err", err)
		return a, err
	}
	h.await(a.Counters.Observed)
	return a, nil
}

// noAnswer reports whether err says that a host does not answer just now. By the time that is read
// it may answer again.
func noAnswer(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, reply.ErrNobody) || errors.Is(err, errSuspect)
}

// markSuspect keeps others from waiting for it.
func (h *hostState) markSuspect() {
	h.mu.Lock()
	h.suspect.Store(true)
	h.unanswered()
	h.mu.Unlock()
	h.noteAnswers()
	h.site.portsChanged()
}

// markAlive ends that.
func (h *hostState) markAlive() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.suspect.Swap(false) {
		h.answers, h.unanswered = context.WithCancel(context.Background())
	}
	h.noteAnswers()
}

// await waits until the host has told so many observations, which are on their way.
func (h *hostState) await(observed uint64) {
	timer := time.NewTimer(askTime)
	defer timer.Stop()
	for {
		news := h.news.wait()
		h.mu.Lock()
		heard := h.heard
		h.mu.Unlock()
		if heard >= observed {
			return
		}
		select {
		case <-news:
		case <-timer.C:
			return // some were lost; the next sum mends it
		}
	}
}

// owes reports whether the host has owed an answer for longer than somebody who looks waits.
func (h *hostState) owes() bool {
	since := h.owing.Load()
	return since != 0 && h.site.Now()-weft.Time(since) > weft.FromDuration(lookTime)
}

// skew is how far the clock of a host is behind the fabric's. Of the questions that it was measured
// by, the one that was answered fastest counts, for neither its way there nor that back can have
// taken longer; unless both cannot be true: then the clock has jumped.
type skew struct {
	behind weft.Time
	trip   weft.Time // of that question
	asked  weft.Time // when it was asked
	known  bool
}

// skewLasts is how long a measurement counts before a slower one takes its place; clocks of hosts
// drift by some 10 us a second, bad ones by 200.
const skewLasts = 5 * weft.Second

// measure takes the times when a question was asked and its answer had come, and that of the host's
// clock in between.
func (s *skew) measure(asked, answered, there weft.Time) {
	trip := answered - asked
	behind := asked + trip/2 - there
	jump := max(behind-s.behind, s.behind-behind) > (trip+s.trip)/2
	if s.known && trip > s.trip && asked-s.asked < skewLasts && !jump {
		return
	}
	*s = skew{behind: behind, trip: trip, asked: asked, known: true}
}

// toLocal is a time of the host's clock on the fabric's, which is not later than now.
func (s *skew) toLocal(there, now weft.Time) weft.Time { return max(0, min(there+s.behind, now)) }

// steerFrom is how wrong a host's clock may be before it is put right; chosen by us: below what a
// packet takes across hosts.
const steerFrom = weft.Millisecond

// steer is by how much a clock is to be put right, and takes it to be; 0: it is right, as far as is
// known.
func (s *skew) steer() (by weft.Time) {
	if wrong := max(s.behind, -s.behind); !s.known || wrong < steerFrom || wrong < s.trip {
		return 0
	}
	by = s.behind
	if by > 0 {
		s.behind = 0 // at once
	} else {
		s.trip = weft.Second // it takes its time, and every measurement knows better than this one
	}
	return by
}

// putRight has the host's clock go with the fabric's.
func (h *hostState) putRight() {
	h.mu.Lock()
	by := weft.Time(0)
	if !h.failed.Load() && !h.suspect.Load() {
		by = h.clock.steer()
	}
	h.mu.Unlock()
	if by != 0 {
		_, _ = h.order(host.Order{Clock: by}) // or it is measured again
	}
}
