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
	KindPart     = fault.KindPart    // a part ended, or did not answer
	KindProcess  = fault.KindProcess // a process that was a switch did
)

// Kinds of event about parts.
const (
	EventPartLost   = "part_lost"   // nobody answers for it: its host or its process is gone
	EventPartSilent = "part_silent" // it is there, but does not answer
	EventPartBack   = "part_back"   // it answers again, or was made anew
)

// Kinds of event about switch processes.
const (
	EventProcessJoined = "process_joined"
	EventProcessLeft   = "process_left"
	EventProcessLost   = "process_lost"   // it has ended without a word
	EventProcessSilent = "process_silent" // it is there, but does not answer
	EventProcessBack   = "process_back"   // it answers again
)

// eventsOf are those kinds for a switch process, by that for a part.
var eventsOf = map[string]string{EventPartLost: EventProcessLost, EventPartSilent: EventProcessSilent, EventPartBack: EventProcessBack}

// tellPart publishes an event about p.
func (f *Fabric) tellPart(p *outpost, kind, detail string, rec *record) {
	e := Event{Kind: kind, Node: p.name, Detail: detail, Fault: new(rec.report.Clone())}
	if p.sw != nil {
		e.Kind, e.Node, e.Switch, e.Detail = eventsOf[kind], "", p.name, p.String()
	}
	f.events.Publish(f.Now(), e)
}

// afterBroker is how long a part may take to come back after the broker was gone, before nobody answering for it means
// that it has ended. The client library tries every 2 s.
const afterBroker = 5 * time.Second

// hostEvery is how often somebody is asked to make a lost part anew. Chosen by us.
const hostEvery = 500 * time.Millisecond

// attendPart looks after a part until ctx ends.
func (f *Fabric) attendPart(ctx context.Context, p *outpost) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var troubled, hosted time.Time // when the broker was last away; when it was last tried to have the part made anew
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		want := host.SumRequest{Standing: p.quiet.Load() || p.stale.Load()}
		s, err := p.look(ctx, want)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if want.Standing {
				f.partSpeaks(ctx, p, s)
			}
			p.putRight()
		case errors.Is(err, host.ErrReplaced):
			p.hush() // another leader attends to it
		case errors.Is(err, reply.ErrNobody) || errors.Is(err, errNumber) || errors.Is(err, reply.ErrRefused):
			if time.Since(troubled) < afterBroker || f.renewing() {
				p.hush()
				continue
			}
			f.losePart(ctx, p)
			if p.sw != nil {
				return // who starts it again joins
			}
			if life := p.other(ctx); life.Number > 0 {
				f.takeAnew(ctx, p, life)
				continue
			}
			if time.Since(hosted) > hostEvery {
				hosted = time.Now()
				f.hostAnew(ctx, p)
			}
		case errors.Is(err, context.DeadlineExceeded):
			f.partSilent(ctx, p)
		default:
			troubled = time.Now()
			p.hush()
		}
	}
}

// look is read by whoever attends to the part, who needs the sum as it came.
func (p *outpost) look(ctx context.Context, want host.SumRequest) (host.Sum, error) {
	return p.lookAt(ctx, want, false)
}

// lookAt is look; final: p holds nothing any more and never will.
func (p *outpost) lookAt(ctx context.Context, want host.SumRequest, final bool) (host.Sum, error) {
	ctx, cancel := context.WithTimeout(ctx, p.patience())
	defer cancel()
	p.mu.Lock()
	want.Number, want.Term, want.Ends = p.number, p.fabric.opts.Term, true
	p.mu.Unlock()
	want.Peers = p.peers()
	asked := p.fabric.Now()
	s, err := p.host.Sum(ctx, want)
	if err != nil {
		p.fabric.refused(err)
		return s, err
	}
	s.Asked, s.Final = asked, final
	p.mu.Lock()
	p.clock.measure(asked, p.fabric.Now(), s.Now)
	p.mu.Unlock()
	return s, p.keep(s)
}

// partSilent notes that p does not answer. Its neighbours find out by themselves.
func (f *Fabric) partSilent(ctx context.Context, p *outpost) {
	p.hush()
	f.lookAtHosts()
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.gone != nil || f.stopped || ctx.Err() != nil || p.sw != nil && p.sw.crash != nil {
		return
	}
	what := p.name + " does not answer"
	if p.sw != nil {
		what = fmt.Sprintf("process of %s does not answer (%v)", p.name, p)
	}
	p.gone = f.beginPart(p, what, "")
	f.accounts.step(f.Now(), ledger.HostSuspect{Host: p.id, Incident: p.gone.report.ID})
	f.tellPart(p, EventPartSilent, "", p.gone)
}

// beginPart opens the report about a part, from when it was last heard. The caller holds mu.
func (f *Fabric) beginPart(p *outpost, what, note string) *record {
	at := p.known.Load().at
	r := fault.Report{Kind: KindPart, Target: p.name, What: what, Note: note}
	if p.sw != nil {
		r.Kind = KindProcess
	}
	rec := f.beginAt(at, r, slices.Concat(p.border, p.inside), p.sw, p.neighbours(at))
	f.refresh(rec)
	return rec
}

// neighbours are the ends beside p that are up, or were at some time after at.
func (p *outpost) neighbours(at weft.Time) (ends []weft.End) {
	for _, l := range p.border {
		for i, e := range l.ends() {
			if !p.runs(e.Node) && (l.up[i].Load() || p.fabric.monitor.lostSince(e, at)) {
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

// losePart notes that nobody answers for p: its neighbours lose signal, and its switches and NICs count as crashed until it
// answers again or is made anew; a switch that was a process, until another joins or it is restarted.
func (f *Fabric) losePart(ctx context.Context, p *outpost) {
	if p.lost.Load() {
		return
	}
	p.hush()
	f.lookAtHosts()
	rec, dark := f.darken(ctx, p)
	if rec == nil {
		return
	}
	_ = dark.wait()
	f.accounts.step(f.Now(), ledger.HostFailed{Host: p.id, Incident: rec.report.ID})
	f.refreshParts(host.SumRequest{}) // neighbours have no signal from it, so their counters stand
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noteSeen()
	f.refresh(rec)
	f.keepSoon()
	f.tellPart(p, EventPartLost, "", rec)
	if p.sw != nil {
		p.vacate()
	}
	f.portsChanged()
	f.ports.poke()
}

// darken opens the report of the loss of p, or goes on with that of its silence, and takes signal from its neighbours. The report is nil
// when p is not to be lost any more.
func (f *Fabric) darken(ctx context.Context, p *outpost) (*record, given) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || ctx.Err() != nil || p.sw != nil && p.holder.Load().leaves {
		return nil, nil
	}
	note := "what it received, injected or discarded after it was last heard is made up from what its neighbours have sent and received"
	what := fmt.Sprintf("%s is gone: nobody answers for it", p.name)
	if p.sw != nil {
		f.release(p.holder.Load()) // what it may have sent has come
		what = fmt.Sprintf("process of %s is gone (%v)", p.name, p)
		note = "what it lost or discarded after it was last heard counts as lost inside"
	}
	rec := p.gone
	switch {
	case p.sw != nil && p.sw.crash != nil:
		if rec != nil {
			f.repaired(rec, f.Now())
		}
		rec = p.sw.crash.rec
	case rec == nil:
		rec = f.beginPart(p, what, note)
	default:
		rec.report.What, rec.report.Note = what, note
	}
	if p.gone = rec; p.sw != nil && p.sw.crash == nil {
		p.sw.crash = &active{spec: fault.Spec{Do: fault.VerbCrash, A: p.name}, rec: rec, sw: p.sw}
	}
	p.mu.Lock()
	p.lost.Store(true) // keep keeps nothing from here on
	p.mu.Unlock()
	dark := f.give(func(o *orders) {
		for _, l := range p.border {
			o.align(l)
		}
	})
	for _, l := range slices.Concat(p.border, p.inside) {
		for i, e := range l.ends() {
			if p.runs(e.Node) {
				l.up[i].Store(false)
				l.lit[i] = false
			}
		}
	}
	return rec, dark
}

// partSpeaks notes that p answers again and is who it was, and tells it what it has missed.
func (f *Fabric) partSpeaks(ctx context.Context, p *outpost, s host.Sum) {
	how := "it answers again"
	if p.lost.Load() {
		how = "it was out of reach, and has gone on meanwhile"
		if !f.exhume(ctx, p, s) {
			return
		}
	}
	f.partIsBack(ctx, p, s.Standing, how)
}

// exhume takes p for alive again, which was lost. It reports false when that is not to be.
func (f *Fabric) exhume(ctx context.Context, p *outpost, s host.Sum) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || ctx.Err() != nil {
		return false
	}
	p.lost.Store(false)
	return p.keep(s) == nil
}

// hostAnew has p made anew, if there is somebody who does.
func (f *Fabric) hostAnew(ctx context.Context, p *outpost) {
	f.mu.Lock()
	p.again++
	c, err := f.charterOf(p)
	p.again--
	f.mu.Unlock()
	if err != nil {
		f.opts.Log.Error("charter of a part", "part", p.name, "err", err)
		return
	}
	try, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	if err := f.opts.Host(try, p.name, c); err != nil {
		f.opts.Log.Debug("a part is not hosted anew", "part", p.name, "err", err)
		return
	}
	f.takeAnew(ctx, p, lifeOf(&c))
}

// takeAnew takes a new incarnation for p, which was lost.
func (f *Fabric) takeAnew(ctx context.Context, p *outpost, life linkend.Incarnation) {
	try, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	p.mu.Lock()
	p.retire()
	p.lost.Store(false)
	p.mu.Unlock()
	p.begin(life)
	if err := f.ready(try, p); err != nil {
		f.opts.Log.Warn("a part was hosted anew", "part", p.name, "err", err)
		return // it is lost again, as its next look tells
	}
	f.mu.Lock()
	stopped := f.stopped
	if !stopped {
		p.again++
		f.admitted(p)
	}
	f.mu.Unlock()
	if !stopped {
		f.partIsBack(ctx, p, nil, "it was made anew")
	}
}

// partIsBack tells p what it should know, brings its links up again, and closes the report of its absence.
func (f *Fabric) partIsBack(ctx context.Context, p *outpost, standing *host.Standing, how string) {
	p.speak()
	if err := p.brief(standing); err != nil {
		f.opts.Log.Warn("a part is told what it has missed", "part", p.name, "err", err)
		return
	}
	rec, b := f.reach(ctx, p)
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
	f.tellPart(p, EventPartBack, how, rec)
	f.keepSoon()
}

// reach gives the links of p, which is back, their signal again, and says which report is over; nil: none was open.
func (f *Fabric) reach(ctx context.Context, p *outpost) (*record, *batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rec := p.gone
	if rec == nil || f.stopped || ctx.Err() != nil {
		return nil, nil
	}
	p.gone = nil
	b := &batch{f: f, touched: p.border, back: slices.Concat(p.border, p.inside), steps: []step{{ended: []*record{rec}}}}
	b.act()
	return rec, b
}

// other is a later incarnation of p that answers, of number 0 when there is none: its agent has made one, and that was not heard.
func (p *outpost) other(ctx context.Context) linkend.Incarnation {
	ctx, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	s, err := p.host.Sum(ctx, host.SumRequest{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || s.Number <= p.number {
		return linkend.Incarnation{}
	}
	return linkend.Incarnation{Number: s.Number, First: s.First}
}
