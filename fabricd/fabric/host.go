package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// Chosen by us: how long a host may take from its spec to its first answer, which for thousands of
// nodes on a loaded machine is seconds; how often it is asked by then; and how many questions
// measure its clock.
const (
	hostTime   = 60 * time.Second
	readyEvery = 20 * time.Millisecond
	clockLooks = 5
)

// startHosts has all hosts made, at once, and gives their links signal.
func (at *attendance) startHosts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	specs, err := at.specsOf(at.remote)
	if err != nil {
		return err
	}
	start := func(ctx context.Context, h *hostState) error { return at.startHost(ctx, h, specs[h]) }
	if err := each(ctx, at.remote, start); err != nil {
		return fmt.Errorf("fabric: hosts do not come up: %w", err)
	}
	at.inLoop(func(l loop) {
		for _, h := range l.remote {
			at.admissions.admitted(l, h)
		}
	})
	return each(ctx, at.remote, func(_ context.Context, h *hostState) error { return at.resync(h, nil) })
}

// specsOf are what hosts need to be these hosts.
func (at *attendance) specsOf(list []*hostState) (map[*hostState]host.Spec, error) {
	specs := make(map[*hostState]host.Spec, len(list))
	for _, h := range list {
		by, err := at.admissions.admit(h)
		if err != nil {
			return nil, err
		}
		at.inLoop(func(l loop) { specs[h], err = at.specOf(l, h, by) })
		if err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// startHost has a host made, and returns when it answers. Nobody else acts on h meanwhile.
func (at *attendance) startHost(ctx context.Context, h *hostState, c host.Spec) error {
	if err := at.opts.Host(ctx, h.name, c); err != nil {
		return fmt.Errorf("%v is not hosted: %w", h, err)
	}
	h.begin(incarnationOf(&c))
	return at.ready(ctx, h, nil)
}

// ready returns when h answers, and what its clock says is known. It gives up when the host is gone
// that runs beside it on the same agent; nil: none does.
func (at *attendance) ready(ctx context.Context, h, beside *hostState) error {
	var life ledger.Incarnation
	if beside != nil {
		life = beside.incarnation()
	}
	for looks := 0; looks < clockLooks; {
		err := h.read(host.CountersRequest{})
		switch {
		case err == nil:
			looks++
			continue
		case ctx.Err() != nil:
			return fmt.Errorf("%v was hosted and does not answer: %w", h, errors.Join(context.Cause(ctx), err))
		case errors.Is(err, errNumber):
			return err
		case beside != nil && (beside.failed.Load() || beside.incarnation() != life):
			return fmt.Errorf("%v is gone: %w", beside, err)
		}
		if err := at.runtime.Pause(ctx, at.Now()+weft.FromDuration(readyEvery), nil); err != nil {
			return fmt.Errorf("%v was hosted and does not answer: %w", h, err)
		}
	}
	return nil
}

// begin makes h a new incarnation, of which nothing is known yet.
func (h *hostState) begin(life linkend.Incarnation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addIncarnation(life)
	number := life.Number
	h.life.Store(number)
	h.number, h.unheard, h.heard, h.due, h.correctedBy, h.clock = number, true, 0, 0, nil, skew{}
	h.counters.Store(newHostCounters(0, newAnswer(host.Counters{Number: number}), &h.retired))
	if number == 0 {
		return
	}
	e := ledger.HostStarted{Host: h.id, Incarnation: ledger.Incarnation(number)}
	if h.sw == nil {
		e.Nodes = nodesOf(h.placement)
	}
	h.site.ledger.step(h.site.Now(), e)
}

// resync tells a host all that it should know, and returns when it has acted on that. Standing is
// what it has heard before, nil: nothing, it has just been made.
func (at *attendance) resync(h *hostState, applied *host.Applied) (err error) {
	h.stale.Store(false)
	defer func() {
		if err != nil {
			h.stale.Store(true) // it is told again when it answers
		}
	}()
	if h.sw != nil { // it joins while the fabric runs, and so may new tables come
		h.sw.Loading.Lock()
		defer h.sw.Loading.Unlock()
	}
	var versions []uint64
	if applied != nil {
		versions = applied.Versions
	}
	if err := h.reload(versions); err != nil { // before its links carry anything
		return err
	}
	var o host.Order
	var resync *sent
	at.inLoop(func(l loop) {
		o = at.resyncOrder(l, h, applied)
		resync = h.send(o) // before any order that says more
	})
	err = resync.wait()
	if err == nil && o.Clock > 0 {
		h.mu.Lock()
		h.clock = skew{}
		h.mu.Unlock()
	}
	return err
}

// resyncOrder is the order that tells a host all that it should know.
func (at *attendance) resyncOrder(l loop, h *hostState, applied *host.Applied) host.Order {
	var clock weft.Time
	var known *leader.Applied
	if applied == nil {
		h.mu.Lock()
		clock = max(0, h.clock.behind)
		h.mu.Unlock()
	} else {
		known = &leader.Applied{Traffic: applied.Traffic.Spec, Draws: applied.Traffic.Draws}
		for _, d := range applied.Cut {
			known.Cut = append(known.Cut, leader.Direction(d))
		}
		known.Away = applied.Away
		for _, i := range applied.Impaired {
			known.Impaired = append(known.Impaired, i.End.End())
		}
		for i, e := range h.ends {
			if host.Bit(applied.Signals, i) {
				known.Carrier = append(known.Carrier, e)
			}
		}
	}
	decided := l.decide(leader.Resync{Host: h.id, Applied: known}).order
	o := orderOf(&decided)
	if applied != nil {
		o.After = new(applied.Orders)
	}
	for _, id := range decided.Away {
		r := host.ReleaseOrder{Switch: id}
		if lives := l.switches[id].allLives(); applied != nil { // what it holds is lost on its way
			latest := lives[len(lives)-1]
			r.Number, r.To = uint64(latest.First), latest.Number
		}
		o.Release = append(o.Release, r)
	}
	o.Refuse = h.refuses()
	for _, id := range decided.Take {
		number := l.switches[id].addLife(h.incarnation())
		o.Take = append(o.Take, l.switches[id].takenEmpty(number))
	}
	o.Take = append(o.Take, at.takenAgain(l, h, decided.Take)...)
	o.Clock, o.SignalAll = clock, true
	return o
}

// takenAgain are the orders to take switches that h may have missed, but for some switches. A host
// that was out of reach when a switch left it and when the switch came back runs it below the
// epochs that the neighbours hear.
func (at *attendance) takenAgain(l loop, h *hostState, but []weft.SwitchID) (list []host.TakeOrder) {
	life := incarnationIn(h.allIncarnations(), uint64(h.incarnation()))
	for _, id := range h.switches {
		s := l.switches[id]
		lives := s.lives.Load()
		if lives == nil || s.moved.Load() || l.isMoving(s) || slices.Contains(but, id) {
			continue
		}
		if k := (*lives)[len(*lives)-1]; k.Number == life.Number && k.First > life.First {
			list = append(list, s.takenEmpty(k.First))
		}
	}
	return list
}

// takenEmpty is the order to run a switch above an epoch. What may be on its way is lost.
func (s *liveSwitch) takenEmpty(above weft.Epoch) host.TakeOrder {
	o := host.TakeOrder{Switch: s.id, Above: above, Lost: true}
	if lives := s.allLives(); len(lives) > 1 && lives[len(lives)-2].Number != lives[len(lives)-1].Number {
		o.From, o.Number = lives[len(lives)-2].Number, uint64(lives[len(lives)-1].First)
	}
	return o
}

// endHosts tells all hosts that the fabric has ended, and keeps their last sums. What runs switches
// of this process goes with it, also when the other hosts do not.
func (at *attendance) endHosts() {
	list := slices.DeleteFunc(at.owned(), func(h *hostState) bool { return at.detached && h.sw.home.late() })
	if !at.detached {
		list = append(list, at.remote...)
	}
	_ = each(context.Background(), list, func(ctx context.Context, h *hostState) error {
		h.mu.Lock()
		number := h.number
		h.mu.Unlock()
		if number == 0 || h.sw != nil && h.suspect.Load() {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, h.patience())
		defer cancel()
		asked := at.Now()
		why := "fabric " + at.opts.Processes.Fabric + " has been stopped"
		s, err := h.host.End(ctx, host.EndOrder{Number: number, Term: at.opts.Term, Why: why})
		if s.Asked = asked; err == nil {
			err = h.storeCounters(s)
		}
		h.markSuspect()
		return err
	})
}
