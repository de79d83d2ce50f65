package fabric

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
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
	EventHostFailed  = "part_lost"   // nobody answers for it: its host or its process is gone
	EventHostSuspect = "part_silent" // it is there, but does not answer
	EventHostBack    = "part_back"   // it answers again, or was made anew
)

// Kinds of event about switch processes.
const (
	EventProcessJoined  = "process_joined"
	EventProcessLeft    = "process_left"
	EventProcessFailed  = "process_lost"   // it has ended without a word
	EventProcessSuspect = "process_silent" // it is there, but does not answer
	EventProcessBack    = "process_back"   // it answers again
)

// eventsOf are those kinds for a switch process, by that for a part.
var eventsOf = map[string]string{EventHostFailed: EventProcessFailed, EventHostSuspect: EventProcessSuspect, EventHostBack: EventProcessBack}

// publishHost publishes an event about p.
func (f *Fabric) publishHost(h *hostState, kind, detail string, rec *incident) {
	e := Event{Kind: kind, Node: h.name, Detail: detail, Fault: new(rec.report.Clone())}
	if h.sw != nil {
		e.Kind, e.Node, e.Switch, e.Detail = eventsOf[kind], "", h.name, h.String()
	}
	f.events.Publish(f.Now(), e)
}

// afterBroker is how long a host may take to come back after the broker was gone, before nobody answering for it means
// that it has ended. The client library tries every 2 s.
const afterBroker = 5 * time.Second

// hostEvery is how often somebody is asked to make a lost host anew. Chosen by us.
const hostEvery = 500 * time.Millisecond

// attendHost looks after a host until ctx ends.
func (f *Fabric) attendHost(ctx context.Context, h *hostState) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var troubled, hosted time.Time // when the broker was last away; when it was last tried to have the host made anew
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		want := host.SumRequest{Applied: h.suspect.Load() || h.stale.Load()}
		s, err := h.look(ctx, want)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if want.Applied {
				f.hostAnswers(ctx, h, s)
			}
			h.putRight()
		case errors.Is(err, host.ErrReplaced):
			h.markSuspect() // another leader attends to it
		case errors.Is(err, reply.ErrNobody) || errors.Is(err, errNumber) || errors.Is(err, reply.ErrRefused):
			if time.Since(troubled) < afterBroker || f.renewing() {
				h.markSuspect()
				continue
			}
			f.failHost(ctx, h)
			if h.sw != nil {
				return // who starts it again joins
			}
			if life := h.laterIncarnation(ctx); life.Number > 0 {
				f.takeIncarnation(ctx, h, life)
				continue
			}
			if time.Since(hosted) > hostEvery {
				hosted = time.Now()
				f.restartHost(ctx, h)
			}
		case errors.Is(err, context.DeadlineExceeded):
			f.suspectHost(ctx, h)
		default:
			troubled = time.Now()
			h.markSuspect()
		}
	}
}

// look is read by whoever attends to the host, who needs the sum as it came.
func (h *hostState) look(ctx context.Context, want host.SumRequest) (host.Sum, error) {
	return h.lookAt(ctx, want, false)
}

// lookAt is look; final: h holds nothing any more and never will.
func (h *hostState) lookAt(ctx context.Context, want host.SumRequest, final bool) (host.Sum, error) {
	ctx, cancel := context.WithTimeout(ctx, h.patience())
	defer cancel()
	h.mu.Lock()
	want.Number, want.Term, want.Ends = h.number, h.fabric.opts.Term, true
	h.mu.Unlock()
	want.Peers = h.peers()
	asked := h.fabric.Now()
	s, err := h.host.Sum(ctx, want)
	if err != nil {
		h.fabric.refused(err)
		return s, err
	}
	s.Asked, s.Final = asked, final
	h.mu.Lock()
	h.clock.measure(asked, h.fabric.Now(), s.Now)
	h.mu.Unlock()
	return s, h.keep(s)
}

// suspectHost notes that h does not answer. Its neighbours find out by themselves.
func (f *Fabric) suspectHost(ctx context.Context, h *hostState) {
	h.markSuspect()
	f.lookAtHosts()
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.absence != nil || f.stopped || ctx.Err() != nil || h.sw != nil && h.sw.crash != nil {
		return
	}
	what := h.name + " does not answer"
	if h.sw != nil {
		what = fmt.Sprintf("process of %s does not answer (%v)", h.name, h)
	}
	h.absence = f.beginAbsence(h, what, "")
	f.ledger.step(f.Now(), ledger.HostSuspect{Host: h.id, Incident: h.absence.report.ID})
	f.publishHost(h, EventHostSuspect, "", h.absence)
}

// beginAbsence opens the report about a host, from when it was last heard. The caller holds mu.
func (f *Fabric) beginAbsence(h *hostState, what, note string) *incident {
	at := h.counters.Load().at
	if at == 0 { // by another leader
		f.ledger.read(func(l *ledger.Ledger) { at = min(l.Heard(h.id), f.Now()) })
	}
	r := fault.Report{Kind: KindHost, Target: h.name, What: what, Note: note}
	if h.sw != nil {
		r.Kind = KindProcess
	}
	rec := f.beginLate(at, r, slices.Concat(h.border, h.inside), h.sw, h.neighbours(at))
	f.refresh(rec)
	return rec
}

// neighbours are the ends beside h that are up, or were at some time after at.
func (h *hostState) neighbours(at weft.Time) (ends []weft.End) {
	for _, l := range h.border {
		for i, e := range l.ends() {
			if !h.runs(e.Node) && (l.up[i].Load() || h.fabric.monitor.lostSince(e, at)) {
				ends = append(ends, e)
			}
		}
	}
	return ends
}

// lostSince reports whether an end has lost its link at or after at, unless at is 0.
func (m *monitor) lostSince(e weft.End, at weft.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.last[e]
	return ok && at > 0 && d.at >= at
}

// failHost notes that nobody answers for h: its neighbours lose signal, and its switches and NICs count as crashed until it
// answers again or is made anew; a switch that was a process, until another joins or it is restarted.
func (f *Fabric) failHost(ctx context.Context, h *hostState) {
	if h.failed.Load() {
		return
	}
	h.markSuspect()
	f.lookAtHosts()
	rec, dark := f.beginFailure(ctx, h)
	if rec == nil {
		return
	}
	_ = dark.wait()
	f.ledger.step(f.Now(), ledger.HostFailed{Host: h.id, Incident: rec.report.ID})
	f.refreshHosts(host.SumRequest{}) // neighbours have no signal from it, so their counters stand
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noteSeen()
	f.refresh(rec)
	f.checkpointSoon()
	f.publishHost(h, EventHostFailed, "", rec)
	if h.sw != nil {
		h.vacate()
	}
	f.portsChanged()
	f.ports.wake()
}

// beginFailure opens the report of the loss of h, or goes on with that of its silence, and takes signal from its neighbours. The report is nil
// when h is not to be lost any more.
func (f *Fabric) beginFailure(ctx context.Context, h *hostState) (*incident, dispatched) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || ctx.Err() != nil || h.sw != nil && h.owner.Load().leaving {
		return nil, nil
	}
	note := "what it received, injected or discarded after it was last heard is made up from what its neighbours have sent and received"
	what := fmt.Sprintf("%s is gone: nobody answers for it", h.name)
	if h.sw != nil {
		f.release(h.owner.Load()) // what it may have sent has come
		what = fmt.Sprintf("process of %s is gone (%v)", h.name, h)
		note = "what it lost or discarded after it was last heard counts as lost inside"
	}
	rec := h.absence
	switch {
	case h.sw != nil && h.sw.crash != nil:
		if rec != nil {
			f.repaired(rec, f.Now())
		}
		rec = h.sw.crash.incident
	case rec == nil:
		rec = f.beginAbsence(h, what, note)
	default:
		rec.report.What, rec.report.Note = what, note
	}
	if h.absence = rec; h.sw != nil && h.sw.crash == nil {
		h.sw.crash = &activeFault{spec: fault.Spec{Do: fault.VerbCrash, A: h.name}, incident: rec, sw: h.sw}
	}
	h.mu.Lock()
	h.failed.Store(true) // keep keeps nothing from here on
	h.mu.Unlock()
	dark := f.dispatch(func(o *orders) {
		for _, l := range h.border {
			o.sync(l)
		}
	})
	for _, l := range slices.Concat(h.border, h.inside) {
		for i, e := range l.ends() {
			if h.runs(e.Node) {
				l.up[i].Store(false)
				l.signal[i] = false
			}
		}
	}
	return rec, dark
}

// hostAnswers notes that h answers again and is who it was, and tells it what it has missed.
func (f *Fabric) hostAnswers(ctx context.Context, h *hostState, s host.Sum) {
	how := "it answers again"
	if h.failed.Load() {
		how = "it was out of reach, and has gone on meanwhile"
		if !f.undoFailure(ctx, h, s) {
			return
		}
	}
	f.hostIsBack(ctx, h, s.Applied, how)
}

// undoFailure takes h for alive again, which was lost. It reports false when that is not to be.
func (f *Fabric) undoFailure(ctx context.Context, h *hostState, s host.Sum) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || ctx.Err() != nil {
		return false
	}
	h.failed.Store(false)
	return h.keep(s) == nil
}

// restartHost has h made anew, if there is somebody who does.
func (f *Fabric) restartHost(ctx context.Context, h *hostState) {
	f.mu.Lock()
	h.again++
	c, err := f.specOf(h)
	h.again--
	f.mu.Unlock()
	if err != nil {
		f.opts.Log.Error("spec of a host", "host", h.name, "err", err)
		return
	}
	try, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	if err := f.opts.Host(try, h.name, c); err != nil {
		f.opts.Log.Debug("a host is not started anew", "host", h.name, "err", err)
		return
	}
	f.takeIncarnation(ctx, h, incarnationOf(&c))
}

// takeIncarnation takes a new incarnation for h, which was lost.
func (f *Fabric) takeIncarnation(ctx context.Context, h *hostState, life linkend.Incarnation) {
	try, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	h.mu.Lock()
	h.retire()
	h.failed.Store(false)
	h.mu.Unlock()
	h.begin(life)
	if err := f.ready(try, h); err != nil {
		f.opts.Log.Warn("a host was started anew", "host", h.name, "err", err)
		return // it is lost again, as its next look tells
	}
	f.mu.Lock()
	stopped := f.stopped
	if !stopped {
		h.again++
		f.admitted(h)
	}
	f.mu.Unlock()
	if !stopped {
		f.hostIsBack(ctx, h, nil, "it was made anew")
	}
}

// hostIsBack tells h what it should know, brings its links up again, and closes the report of its absence.
func (f *Fabric) hostIsBack(ctx context.Context, h *hostState, applied *host.Applied, how string) {
	h.markAlive()
	if err := h.resync(applied); err != nil {
		f.opts.Log.Warn("a host is told what it has missed", "host", h.name, "err", err)
		return
	}
	rec, b := f.endAbsence(ctx, h)
	if rec == nil {
		return
	}
	if err := b.finish(ctx); err != nil {
		how += ": " + err.Error()
	}
	f.lookAtHosts()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh(rec)
	f.publishHost(h, EventHostBack, how, rec)
	f.checkpointSoon()
}

// endAbsence gives the links of h, which is back, their signal again, and says which report is over; nil: none was open.
func (f *Fabric) endAbsence(ctx context.Context, h *hostState) (*incident, *batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rec := h.absence
	if rec == nil || f.stopped || ctx.Err() != nil {
		return nil, nil
	}
	h.absence = nil
	b := &batch{f: f, touched: h.border, back: slices.Concat(h.border, h.inside), steps: []step{{ended: []*incident{rec}}}}
	b.act()
	return rec, b
}

// laterIncarnation is a later incarnation of h that answers, of number 0 when there is none: its agent has made one, and that was not heard.
func (h *hostState) laterIncarnation(ctx context.Context) linkend.Incarnation {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := h.host.Sum(ctx, host.SumRequest{})
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil || s.Number <= h.number {
		return linkend.Incarnation{}
	}
	return linkend.Incarnation{Number: s.Number, First: s.First}
}
