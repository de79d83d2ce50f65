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
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// outpost is a host as its leader knows it: the nodes of this process, a part of the options, or the processes that are a switch, one
// after another.
type outpost struct {
	counted
	fabric *Fabric
	id     ledger.HostID
	local  *host.Local // the host, when it is in this process: it always answers; nil: it is in another
	name   string
	sw     *liveSwitch            // that processes are; nil: it is a part of the options
	holder atomic.Pointer[holder] // which process is the switch now; nil: the fabric itself is
	place  host.Place
	// switches and nics are those of place that it alone runs; of a switch that processes are it has none.
	switches []weft.SwitchID
	nics     []weft.NICID
	ends     []weft.End // in the order of host.Sum.Up
	cross    []weft.End // of these, those of links to nodes elsewhere
	inside   []*link    // both ends are its own
	border   []*link    // one is
	host     host.Host
	loads    loads
	outbox   outbox
	beside   atomic.Pointer[beside] // nil: it was not needed yet
	shared   []weft.End             // guarded by Fabric.mu: ends in this process of links of switches that processes are or were

	quiet    atomic.Bool // it does not answer: nobody waits for it
	lost     atomic.Bool // nobody answers for it: its nodes count as crashed. Then it is quiet too
	stale    atomic.Bool // it has missed an order
	known    atomic.Pointer[account]
	readings atomic.Pointer[readings]              // nil: nobody has watched
	lives    atomic.Pointer[[]linkend.Incarnation] // its latest incarnations, see lives.go; nil: it was never hosted

	mu     sync.Mutex
	number uint64             // guarded by mu: its incarnation; 0: it was never hosted
	fresh  bool               // guarded by mu: nothing is known yet of this incarnation
	heard  uint64             // guarded by mu: observations it has told
	mended []byte             // guarded by mu: the host.Sum.Up that its links were last set by, while nothing was heard since
	clock  skew               // guarded by mu
	alive  context.Context    // guarded by mu: ends when it gets quiet
	hushed context.CancelFunc // guarded by mu
	news   broadcast          // it has told something

	past        host.Sum                // guarded by mu: what it counted in incarnations before and the ledger does not know
	pastLatency *hdrhistogram.Histogram // guarded by mu: likewise; nil: there were none

	// Guarded by Fabric.mu.
	again uint32     // how many incarnations there were before
	user  string     // of its credentials, where somebody makes them
	next  *admission // of its next incarnation; nil: not made yet
	gone  *record    // of its loss, or of its not answering; nil: it is well
}

// account is what is known of a part. Constant.
type account struct {
	at   weft.Time         // on the fabric's clock
	own  host.Sum          // of the incarnation that runs
	all  host.Sum          // and of those before, what the ledger does not know
	held map[weft.End]bool // ends that damping keeps down
}

func newOutpost(f *Fabric, id ledger.HostID, name string, place host.Place) *outpost {
	p := &outpost{fabric: f, id: id, name: name, place: place, switches: place.SwitchIDs(), nics: place.NICIDs()}
	p.news.init()
	if name != "" {
		p.host, p.counted, p.ends = f.opts.Processes.Hosts.Reach(name), remoteHost{p}, place.Ends(f.graph)
	}
	p.alive, p.hushed = context.WithCancel(context.Background())
	p.known.Store(newAccount(0, host.Sum{}, &host.Sum{}))
	return p
}

// String names the part, or the process, for those who look for it.
func (p *outpost) String() string {
	if h := p.holder.Load(); h != nil {
		return h.String()
	}
	if p.local != nil {
		return "this process"
	}
	return "part " + p.name
}

// runs reports whether a node is the part's, while that is hosted.
func (p *outpost) runs(n weft.Node) bool {
	if p.sw != nil {
		return n == p.sw.id.Node()
	}
	return p.fabric.home(n) == p
}

// late reports whether what the host tells comes some moments later, and perhaps never: it is in another process.
func (p *outpost) late() bool { return p.local == nil }

// patience is how long the part may take to answer.
func (p *outpost) patience() time.Duration {
	if p.sw != nil {
		return askTime
	}
	return partTime
}

// newAccount is what s says, with what was before.
func newAccount(at weft.Time, s host.Sum, past *host.Sum) *account {
	a := &account{at: at, own: s, all: s, held: map[weft.End]bool{}}
	a.all.Add(past)
	for _, e := range s.HeldDown {
		a.held[e.End()] = true
	}
	return a
}

// Chosen by us. A part adds up many nodes and may run beside others on a loaded machine; one that carries out an order of thousands
// of signals is given as long as its leader waits for a repair.
const (
	partTime  = 2 * time.Second
	orderTime = 10 * time.Second
	lightTime = time.Millisecond // for each end
)

// errNumber means that another incarnation of a part answers than the one that was hosted.
var errNumber = errors.New("another incarnation of this part answers")

// read asks the part what it has added up. Within the call no other read ends that began before it.
func (p *outpost) read(want host.SumRequest) error {
	_, err := p.look(context.Background(), want)
	return err
}

// keep makes s the latest that is known, unless a later one is. s.Asked says when it was asked for.
func (p *outpost) keep(s host.Sum) error {
	f := p.fabric
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Number != p.number {
		return fmt.Errorf("%v: %w: %v, not %v", p, errNumber, ledger.Incarnation(s.Number), ledger.Incarnation(p.number))
	}
	old := p.known.Load()
	if old.own.Number == s.Number && old.own.At > s.At || p.lost.Load() {
		return nil // what it says now is weighed when it is taken back
	}
	s = kept(s, &old.own)
	p.known.Store(newAccount(p.clock.here(s.At, f.Now()), s, &p.past))
	p.tell(&s)
	if p.fresh {
		p.fresh, p.heard = false, s.Observed // what it told before is history
	}
	if p.heard == s.Observed {
		p.mend(s.Up)
	}
	return nil
}

// kept is s with what it does not have, and an older one of the incarnation has.
func kept(s host.Sum, old *host.Sum) host.Sum {
	if old.Number != s.Number {
		return s
	}
	if s.Latency == nil {
		s.Latency = old.Latency
	}
	if s.Eras == nil {
		s.FirstEra, s.Eras, s.OlderEra = old.FirstEra, old.Eras, old.OlderEra
	}
	return s
}

// mend corrects what is thought of the part's links, should something it told have been lost. The caller holds mu.
func (p *outpost) mend(up []byte) {
	if slices.Equal(up, p.mended) {
		return
	}
	changed := false
	for i, e := range p.ends {
		l, side, ok := p.fabric.linkAt(e)
		if is := host.Bit(up, i); ok && l.up[side].Swap(is) != is {
			changed = true
		}
	}
	p.mended = up
	if changed {
		p.fabric.portsChanged()
	}
}

// orderTime is how long the part may take to carry out an order. To give thousands of ends signal is the longest there is: each wakes
// goroutines that have hellos to send at once.
func (p *outpost) orderTime(o *host.Order) time.Duration {
	if o.Light {
		return orderTime + time.Duration(len(p.ends))*lightTime
	}
	return orderTime
}

// carryOut asks a host in another process to carry out an order. A host that does not answer is not
// asked: it is told what it has missed when it does.
func (p *outpost) carryOut(o host.Order) (host.OrderAnswer, error) {
	if p.quiet.Load() {
		p.stale.Store(true)
		return host.OrderAnswer{}, errQuiet
	}
	p.mu.Lock()
	alive, number := p.alive, p.number
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(alive, p.orderTime(&o))
	defer cancel()
	defer context.AfterFunc(p.fabric.ctx, cancel)()
	o.Number, o.Term = number, p.fabric.opts.Term
	o.Sum = &host.SumRequest{Number: number, Ends: true, Peers: p.peers()}
	asked := p.fabric.Now()
	a, err := p.host.Order(ctx, o)
	if err == nil {
		a.Sum.Asked = asked
		err = p.keep(a.Sum)
	}
	if err != nil {
		p.stale.Store(true)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, reply.ErrNobody) {
			p.hush()
		}
		p.fabric.refused(err)
		p.fabric.opts.Log.Warn("order to a part", "part", p.name, "err", err)
		return a, err
	}
	p.await(a.Sum.Observed)
	return a, nil
}

// refused says that this leader was replaced, when err of a part does.
func (f *Fabric) refused(err error) {
	if f.opts.Replaced != nil && errors.Is(err, host.ErrReplaced) {
		f.opts.Replaced()
	}
}

// hush keeps others from waiting for it.
func (p *outpost) hush() {
	p.mu.Lock()
	p.quiet.Store(true)
	p.hushed()
	p.mu.Unlock()
	p.fabric.portsChanged()
}

// speak ends that.
func (p *outpost) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet.Swap(false) {
		p.alive, p.hushed = context.WithCancel(context.Background())
	}
}

// await waits until the part has told so many observations, which are on their way.
func (p *outpost) await(observed uint64) {
	timer := time.NewTimer(askTime)
	defer timer.Stop()
	for {
		told := p.news.wait()
		p.mu.Lock()
		heard := p.heard
		p.mu.Unlock()
		if heard >= observed {
			return
		}
		select {
		case <-told:
		case <-timer.C:
			return // some were lost; the next sum mends it
		}
	}
}

// refreshSums has all parts tell what they have counted, for what is about to be added up.
func (f *Fabric) refreshSums() { f.refreshParts(host.SumRequest{}) }

// refreshParts has all parts tell what they have added up, at once. It waits for none that does not answer.
func (f *Fabric) refreshParts(want host.SumRequest) {
	f.tellLocal()
	var wg sync.WaitGroup
	for _, p := range f.elsewhere() {
		if p.quiet.Load() {
			continue
		}
		wg.Go(func() {
			if err := p.read(want); errors.Is(err, context.DeadlineExceeded) || errors.Is(err, reply.ErrNobody) {
				p.hush()
			}
		})
	}
	wg.Wait()
}

// lookTime bounds how long whoever looks at the fabric, or begins a fault, waits for hosts. Of one that takes longer, what it told last holds.
// Chosen by us: a host on the same network answers in a few milliseconds.
const lookTime = 50 * time.Millisecond

// lookAtHosts has all hosts tell what they have counted, and their nodes too where asked for, and waits for none longer than lookTime.
func (f *Fabric) lookAtHosts(also ...func()) { f.look(append(also, f.refreshSums)...) }

// look does all that at once, and returns when it is done or lookTime is over.
func (f *Fabric) look(ask ...func()) {
	f.mu.Lock()
	if f.stopped || len(f.elsewhere()) == 0 {
		f.mu.Unlock()
		for _, do := range ask {
			do()
		}
		return
	}
	done := make(chan struct{}, len(ask))
	for _, do := range ask {
		f.running.Go(func() {
			do()
			done <- struct{}{}
		})
	}
	f.mu.Unlock()
	timer := time.NewTimer(lookTime)
	defer timer.Stop()
	for range ask {
		select {
		case <-done:
		case <-timer.C:
			return
		}
	}
}

// skew is how far the clock of a part is behind the fabric's. Of the questions that it was measured by, the one that was answered
// fastest counts, for neither its way there nor that back can have taken longer; unless both cannot be true: then the clock has jumped.
type skew struct {
	behind weft.Time
	trip   weft.Time // of that question
	asked  weft.Time // when it was asked
	known  bool
}

// skewLasts is how long a measurement counts before a slower one takes its place; clocks of hosts drift by some 10 us a second, bad ones by 200.
const skewLasts = 5 * weft.Second

// measure takes the times when a question was asked and its answer had come, and that of the part's clock in between.
func (s *skew) measure(asked, came, there weft.Time) {
	trip := came - asked
	behind := asked + trip/2 - there
	jump := max(behind-s.behind, s.behind-behind) > (trip+s.trip)/2
	if s.known && trip > s.trip && asked-s.asked < skewLasts && !jump {
		return
	}
	*s = skew{behind: behind, trip: trip, asked: asked, known: true}
}

// here is a time of the part's clock on the fabric's, which is not later than now.
func (s *skew) here(there, now weft.Time) weft.Time { return max(0, min(there+s.behind, now)) }

// steerFrom is how wrong a part's clock may be before it is put right; chosen by us: below what a packet takes across hosts.
const steerFrom = weft.Millisecond

// steer is by how much a clock is to be put right, and takes it to be; 0: it is right, as far as is known.
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

// putRight has the part's clock go with the fabric's.
func (p *outpost) putRight() {
	p.mu.Lock()
	by := weft.Time(0)
	if !p.lost.Load() && !p.quiet.Load() {
		by = p.clock.steer()
	}
	p.mu.Unlock()
	if by != 0 {
		_, _ = p.order(host.Order{Clock: by}) // or it is measured again
	}
}
