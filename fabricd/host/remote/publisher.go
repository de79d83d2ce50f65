package remote

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
)

// Bounds of the observations that wait, chosen by us: a message stays well below what brokers take
// by default (1 MB).
const (
	maxWaiting    = 16384 // observations of packets; beyond, they are counted and forgotten
	maxBatchBytes = 512   // entries of one message
	// gather is how long observations wait for others after a message was sent.
	gather = time.Millisecond
)

// publisher observes the cores of a host and tells the leader. It never makes a core wait.
type publisher struct {
	number  uint64
	packets bool // somebody wants to hear of every packet that is dropped; else of those traced
	carry   func(n weft.Notice) bool
	publish func(host.EventBatch) error
	more    chan struct{} // capacity 1

	mu       sync.Mutex
	waiting  []host.Observation     // bound: maxWaiting, but for changes of ports
	notices  map[weft.Notice]bool   // those in waiting
	failing  map[weft.SwitchID]bool // that have a failure in waiting
	observed uint64                 // all that were made
	lost     uint64
}

// newPublisher returns a publisher of observations. It hands notices to carry, and publishes those
// that carry does not take.
func newPublisher(c *host.Spec, carry func(n weft.Notice) bool, publish func(host.EventBatch) error) *publisher {
	return &publisher{
		number: c.Number, packets: c.Packets, carry: carry, publish: publish, more: make(chan struct{}, 1),
		notices: map[weft.Notice]bool{}, failing: map[weft.SwitchID]bool{},
	}
}

// watch observes one node.
type watch struct {
	publisher *publisher
	node      weft.Node
}

// Observe implements switchd.Observer.
func (w *watch) Observe(now weft.Time, a *weft.Actions) {
	t := w.publisher
	o := host.Observation{
		NIC: !w.node.IsSwitch(), Node: w.node.Index, At: now, Changes: slices.Clone(a.Changes), Turned: a.Turned,
		Effects: len(a.Drops) > 0,
		Drops:   t.drops(a.Drops), Hops: hops(a.Hops), Egress: slices.Clone(a.Egress), Arrived: slices.Clone(a.Arrived),
	}
	for _, f := range a.Faults {
		o.Faults = append(o.Faults, host.Fault{Port: f.Port, Text: f.Err.Error(), Count: f.Count, Damaged: f.Damaged})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observed++
	for _, n := range a.Notices {
		if !t.carry(n) && !t.notices[n] && len(t.waiting) < maxWaiting { // one that waits says it all
			t.notices[n] = true
			o.Notices = append(o.Notices, n)
		}
	}
	if n := len(t.waiting); n > 1 && plain(&o) && plain(&t.waiting[n-1]) && plain(&t.waiting[n-2]) {
		// The first and the last of a row are enough, whichever nodes they are of.
		merge(&t.waiting[n-1], &o)
		return
	}
	if len(t.waiting) >= maxWaiting && len(o.Changes) == 0 {
		t.lost++
		return
	}
	t.wait(o)
}

// wait has an observation wait until it is told. The caller holds mu.
func (t *publisher) wait(o host.Observation) {
	t.waiting = append(t.waiting, o)
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// failed tells of a switch whose firmware has failed, unless that waits to be told already.
func (t *publisher) failed(sw weft.SwitchID, now weft.Time, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failing[sw] || len(t.waiting) >= maxWaiting {
		return
	}
	t.failing[sw] = true
	t.observed++
	t.wait(host.Observation{Node: uint32(sw), At: now, Failed: what})
}

// drops copies the drops that somebody wants to hear of.
func (t *publisher) drops(all []weft.Drop) (published []weft.Drop) {
	if t.packets {
		return slices.Clone(all)
	}
	for i := range all {
		if all[i].Header.Traced {
			published = append(published, all[i])
		}
	}
	return published
}

// hops copies hops with their candidates.
func hops(all []weft.Hop) []weft.Hop {
	all = slices.Clone(all)
	for i := range all {
		all[i].Candidates = slices.Clone(all[i].Candidates)
	}
	return all
}

// plain reports whether o only says that something happened.
func plain(o *host.Observation) bool {
	return o.Failed == "" &&
		len(o.Drops)+len(o.Hops)+len(o.Egress)+len(o.Arrived)+len(o.Changes)+len(o.Faults)+len(o.Notices) == 0
}

// merge puts a later plain observation into o.
func merge(o, p *host.Observation) {
	o.At, o.Turned, o.Effects = p.At, o.Turned+p.Turned, o.Effects || p.Effects
}

// counts returns how many observations were made and how many were lost.
func (t *publisher) counts() (observed, lost uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.observed, t.lost
}

// take removes the next message from what waits.
func (t *publisher) take() (host.EventBatch, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, entries := 0, 0
	for n < len(t.waiting) && entries < maxBatchBytes {
		o := &t.waiting[n]
		entries += 1 + len(o.Drops) + len(o.Hops) + len(o.Egress) + len(o.Arrived) + len(o.Notices)
		for _, notice := range o.Notices {
			delete(t.notices, notice)
		}
		if o.Failed != "" {
			delete(t.failing, weft.SwitchID(o.Node))
		}
		n++
	}
	s := host.EventBatch{
		Number: t.number, Upto: t.observed - uint64(len(t.waiting)-n),
		Events: slices.Clone(t.waiting[:n]),
	}
	t.waiting = slices.Delete(t.waiting, 0, n)
	return s, n > 0
}

// run publishes until ctx ends, and then what is left.
func (t *publisher) run(ctx context.Context) {
	timer := time.NewTimer(gather)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-t.more:
		case <-ctx.Done():
		}
		for s, ok := t.take(); ok; s, ok = t.take() {
			_ = t.publish(s) // a broker that is gone: the leader reads the state of the ports when it is back
		}
		timer.Reset(gather)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}
