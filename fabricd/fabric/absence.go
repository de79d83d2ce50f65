package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// Kinds of report, and event, beside the faults by their verbs.
const (
	KindHandover = fault.KindHandover
	KindHost     = fault.KindHost    // a host ended, or did not answer
	KindProcess  = fault.KindProcess // a process that was a switch did
)

// Kinds of event about hosts.
const (
	EventHostFailed  = leader.EventHostFailed  // nobody answers for it: its host or its process is gone
	EventHostSuspect = leader.EventHostSuspect // it is there, but does not answer
	EventHostBack    = leader.EventHostBack    // it answers again, or was made anew
)

// Kinds of event about switch processes.
const (
	EventProcessJoined  = "process_joined"
	EventProcessLeft    = "process_left"
	EventProcessFailed  = leader.EventProcessFailed  // it has ended without a word
	EventProcessSuspect = leader.EventProcessSuspect // it is there, but does not answer
	EventProcessBack    = leader.EventProcessBack    // it answers again
)

// afterBroker is how long a host may take to come back after the broker was gone, before nobody
// answering for it means that it has ended. The client library tries every 2 s.
const afterBroker = 5 * time.Second

// hostEvery is how often somebody is asked to make a lost host anew. Chosen by us.
const hostEvery = 500 * time.Millisecond

// attendance looks after hosts: it has them made, tells them all that they should know, and notes
// when they do not answer, are gone or are back; and who owns those of one switch alone. Its
// goroutines, one for each host, bring what they find to the loop.
type attendance struct {
	*decisions
	admissions *admissions

	// What only the loop touches.
	detached bool   // hosts go on without this leader
	packed   []byte // the topology, compressed; nil: nobody has needed it
}

// attendHost looks after a host until ctx ends.
func (at *attendance) attendHost(ctx context.Context, h *hostState) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var brokerAway, restarted time.Time // when the broker was last away; when the host was last restarted
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		want := host.CountersRequest{Applied: h.suspect.Load() || h.stale.Load()}
		s, err := h.look(ctx, want)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if want.Applied {
				at.hostAnswers(ctx, h, s)
			}
			h.putRight()
		case errors.Is(err, host.ErrReplaced):
			h.markSuspect() // another leader attends to it
		case errors.Is(err, reply.ErrNobody) || errors.Is(err, errNumber) || errors.Is(err, reply.ErrRefused):
			if time.Since(brokerAway) < afterBroker || at.admissions.renewing() {
				h.markSuspect()
				continue
			}
			at.failHost(ctx, h)
			if h.sw != nil {
				return // who starts it again joins
			}
			if life := h.laterIncarnation(ctx); life.Number > 0 {
				at.takeIncarnation(ctx, h, life)
				continue
			}
			if time.Since(restarted) > hostEvery {
				restarted = time.Now()
				at.restartHost(ctx, h)
			}
		case errors.Is(err, context.DeadlineExceeded):
			at.suspectHost(ctx, h)
		default:
			brokerAway = time.Now()
			h.markSuspect()
		}
	}
}

// look is read by whoever attends to the host, who needs the sum as it came.
func (h *hostState) look(ctx context.Context, want host.CountersRequest) (host.Counters, error) {
	return h.lookAt(ctx, want, false)
}

// lookAt is look; final: h holds nothing any more and never will.
func (h *hostState) lookAt(ctx context.Context, want host.CountersRequest, final bool) (host.Counters, error) {
	ctx, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	h.mu.Lock()
	want.Number, want.Term, want.Ends = h.number, h.site.opts.Term, true
	h.mu.Unlock()
	asked := h.site.Now() // the answer counts for all neighbours that there were by then
	want.Peers = h.peers()
	h.owing.CompareAndSwap(0, int64(asked))
	s, err := h.host.Counters(ctx, want)
	h.owing.Store(0)
	if err != nil {
		h.site.refused(err)
		return s, err
	}
	s.Asked, s.Final = asked, final
	h.mu.Lock()
	h.clock.measure(asked, h.site.Now(), s.Now)
	h.mu.Unlock()
	if err = h.storeCounters(s); err == nil && want.Generations {
		h.told.Store(max(h.told.Load(), int64(asked)))
	}
	return s, err
}

// suspectHost notes that h does not answer. Its neighbours find out by themselves.
func (at *attendance) suspectHost(ctx context.Context, h *hostState) {
	h.markSuspect()
	at.lookAtHosts()
	at.inLoop(func(l loop) { at.noteSuspect(ctx, l, h) })
}

func (at *attendance) noteSuspect(ctx context.Context, l loop, h *hostState) {
	if l.hasStopped() || ctx.Err() != nil {
		return
	}
	what := h.name + " does not answer"
	if h.sw != nil {
		what = fmt.Sprintf("process of %s does not answer (%v)", h.name, h)
	}
	l.countNow()
	l.decide(leader.HostSuspect{Host: h.id, Heard: h.counters.Load().at, What: what, Who: h.String()})
}

// failHost notes that nobody answers for h: its neighbours lose signal, and its switches and NICs
// count as crashed until it answers again or is made anew; a switch that was a process, until
// another joins or it is restarted.
func (at *attendance) failHost(ctx context.Context, h *hostState) {
	if h.failed.Load() {
		return
	}
	h.markSuspect()
	if o := h.owner.Load(); h.sw != nil && o != nil {
		_ = at.admissions.revoke(o.user).wait() // what it may have sent has come
	}
	at.lookAtHosts()
	var a *action
	at.inLoop(func(l loop) { a = at.beginFailure(ctx, l, h) })
	if a == nil {
		return
	}
	_ = a.dispatched.wait()
	at.ledger.step(at.Now(), ledger.HostFailed{Host: h.id, Incident: a.incident})
	at.refreshHosts(host.CountersRequest{}) // neighbours have no signal from it, so their counters stand
	at.inLoop(func(l loop) {
		l.countNow()
		l.decide(leader.HostWrittenOff{Host: h.id, Incident: a.incident, Who: h.String()})
		if h.sw != nil {
			at.vacate(l, h)
		}
		l.portsChanged()
		l.manager.wake()
	})
}

// beginFailure begins the incident of the loss of h, and takes signal from its neighbours; nil: h
// is not to be lost any more.
func (at *attendance) beginFailure(ctx context.Context, l loop, h *hostState) *action {
	switch {
	case l.hasStopped(), ctx.Err() != nil:
		return nil
	case h.sw != nil && !h.sw.moved.Load():
		at.drop(l, h, false)
		return nil
	}
	e := leader.HostFailed{
		Host: h.id, Heard: h.counters.Load().at, What: fmt.Sprintf("%s is gone: nobody answers for it", h.name),
		Note: "what it received, injected or discarded after it was last heard is made up from what its neighbours have " +
			"sent and received",
	}
	if h.sw != nil {
		at.revokeOwner(h.owner.Load())
		e.What = fmt.Sprintf("process of %s is gone (%v)", h.name, h)
		e.Note = "what it lost or discarded after it was last heard counts as lost inside"
	}
	l.countNow()
	h.setFailed(true) // keep keeps nothing from here on
	return l.decide(e)
}

// setFailed says whether nobody answers for h.
func (h *hostState) setFailed(yes bool) {
	h.mu.Lock()
	h.failed.Store(yes)
	h.mu.Unlock()
	h.noteAnswers()
}

// hostAnswers notes that h answers again and is who it was, and tells it what it has missed.
func (at *attendance) hostAnswers(ctx context.Context, h *hostState, s host.Counters) {
	at.raise(s.Applied)
	how := "it answers again"
	if h.failed.Load() {
		how = "it was out of reach, and has gone on meanwhile"
		undone := false
		at.inLoop(func(l loop) { undone = at.undoFailure(ctx, l, h, s) })
		if !undone {
			return
		}
		h.goesOn()
	}
	at.hostIsBack(ctx, h, s.Applied, how)
}

// raise has all NICs generate in a later fault generation than one of a host that another leader
// has led, and that did not answer when this one took over.
func (at *attendance) raise(applied *host.Applied) {
	if applied == nil || applied.Generation <= at.generation() {
		return
	}
	at.inLoop(func(l loop) {
		l.note(leader.Reached{Generation: applied.Generation})
		l.decide(leader.Generate{})
	})
}

// undoFailure takes h for alive again, which was lost. It reports false when that is not to be.
func (at *attendance) undoFailure(ctx context.Context, l loop, h *hostState, s host.Counters) bool {
	if l.hasStopped() || ctx.Err() != nil {
		return false
	}
	h.setFailed(false)
	return h.storeCounters(s) == nil
}

// restartHost has h made anew, if there is somebody who does.
func (at *attendance) restartHost(ctx context.Context, h *hostState) {
	by, err := at.admissions.admit(h)
	var c host.Spec
	if err == nil {
		at.inLoop(func(l loop) {
			h.again.Add(1)
			c, err = at.specOf(l, h, by)
			h.again.Add(^uint32(0))
		})
	}
	if err != nil {
		at.opts.Log.Error("spec of a host", "host", h.name, "err", err)
		return
	}
	try, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	if err := at.opts.Host(try, h.name, c); err != nil {
		at.opts.Log.Debug("a host is not started anew", "host", h.name, "err", err)
		return
	}
	at.takeIncarnation(ctx, h, incarnationOf(&c))
}

// takeIncarnation takes a new incarnation for h, which was lost.
func (at *attendance) takeIncarnation(ctx context.Context, h *hostState, life linkend.Incarnation) {
	try, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	h.mu.Lock()
	h.retire()
	h.mu.Unlock()
	h.setFailed(false)
	h.begin(life)
	if err := at.ready(try, h, nil); err != nil {
		at.opts.Log.Warn("a host was started anew", "host", h.name, "err", err)
		return // it is lost again, as its next look tells
	}
	stopped := false
	at.inLoop(func(l loop) {
		if stopped = l.hasStopped(); !stopped {
			h.again.Add(1)
			at.admissions.admitted(l, h)
		}
	})
	if !stopped {
		at.hostIsBack(ctx, h, nil, "it was made anew")
	}
}

// hostIsBack tells h what it should know, brings its links up again, and closes the report of its
// absence.
func (at *attendance) hostIsBack(ctx context.Context, h *hostState, applied *host.Applied, how string) {
	h.markAlive()
	if err := at.resync(h, applied); err != nil {
		at.opts.Log.Warn("a host is told what it has missed", "host", h.name, "err", err)
		return
	}
	var a *action
	at.inLoop(func(l loop) { a = at.endAbsence(ctx, l, h) })
	if a == nil {
		return
	}
	if err := a.finish(ctx); err != nil {
		how += ": " + err.Error()
	}
	at.lookAtHosts()
	at.inLoop(func(l loop) {
		l.countNow()
		l.decide(leader.HostReported{Host: h.id, Incident: a.incident, How: how, Who: h.String()})
	})
}

// endAbsence gives the links of h, which is back, their signal again; nil: it was not missed.
func (at *attendance) endAbsence(ctx context.Context, l loop, h *hostState) *action {
	if l.hasStopped() || ctx.Err() != nil {
		return nil
	}
	a := l.decide(leader.HostBack{Host: h.id})
	if a.incident == 0 {
		return nil
	}
	return a
}

// laterIncarnation is a later incarnation of h that answers, of number 0 when there is none: its
// agent has made one, and that was not heard.
func (h *hostState) laterIncarnation(ctx context.Context) linkend.Incarnation {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := h.host.Counters(ctx, host.CountersRequest{})
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || s.Number <= h.number {
		return linkend.Incarnation{}
	}
	return linkend.Incarnation{Number: s.Number, First: s.First}
}
