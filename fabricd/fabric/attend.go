package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// Kinds of report, and event, beside the faults by their verbs.
const (
	KindHandover = fault.KindHandover
	KindProcess  = fault.KindProcess
)

// Kinds of event about switch processes.
const (
	EventProcessJoined = "process_joined"
	EventProcessLeft   = "process_left"
	EventProcessLost   = "process_lost"   // it has ended without a word
	EventProcessSilent = "process_silent" // it is there, but does not answer
	EventProcessBack   = "process_back"   // it answers again
)

// afterBroker is how long a process may take to come back after the broker was gone, before nobody answering for it means
// that it has ended. The client library tries every 2 s.
const afterBroker = 5 * time.Second

// attend looks after a process until it is the switch no more.
func (f *Fabric) attend(p *process) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var troubled time.Time // when the broker was last away
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-p.over:
			return
		case <-tick.C:
		}
		_, err := p.request(member.AskState, nil)
		switch {
		case err == nil:
			if p.quiet.Load() || p.stale.Load() {
				f.speaks(p)
			}
		case errors.Is(err, bus.ErrNoProcess):
			if time.Since(troubled) < afterBroker {
				p.hush()
				continue
			}
			f.mu.Lock()
			f.lose(p)
			f.mu.Unlock()
		case errors.Is(err, context.DeadlineExceeded):
			f.silent(p)
		default:
			troubled = time.Now()
		}
	}
}

// holds reports whether p is its switch. The caller holds mu.
func (f *Fabric) holds(p *process) bool { return p.sw.process() == p && !f.stopped }

// silent notes that p does not answer. Its neighbours find out by themselves.
func (f *Fabric) silent(p *process) {
	p.hush()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := p.sw
	if !f.holds(p) || p.silence != nil || s.crash != nil {
		return
	}
	at := p.last.Load().At
	links := f.linksOf(s.id)
	p.silence = f.beginAt(at, fault.Report{Kind: KindProcess, Target: s.name, What: fmt.Sprintf("process of %s does not answer (%v)", s.name, p)},
		links, s, f.neighbours(s, at))
	f.refresh(p.silence)
	f.events.Publish(f.Now(), Event{Kind: EventProcessSilent, Switch: s.name, Detail: p.String(), Fault: new(p.silence.report.Clone())})
}

// speaks notes that p answers again, and tells it what it has missed.
func (f *Fabric) speaks(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.holds(p) {
		return
	}
	p.quiet.Store(false)
	f.brief(p)
	if r := p.silence; r != nil && !p.quiet.Load() {
		p.silence = nil
		f.repaired(r, f.Now())
		f.nextEra()
		f.events.Publish(f.Now(), Event{Kind: EventProcessBack, Switch: p.sw.name, Detail: p.String()})
	}
}

// lose notes that p has ended without leaving: its neighbours lose signal, and the switch counts as crashed until another
// process joins or it is restarted. The caller holds mu.
func (f *Fabric) lose(p *process) {
	s := p.sw
	if s.process() != p {
		return
	}
	f.release(p)
	if f.stopped {
		return
	}
	what := fmt.Sprintf("process of %s is gone (%v)", s.name, p)
	const note = "what it lost or discarded after it was last heard counts as lost inside"
	rec := p.silence
	switch {
	case s.crash != nil:
		rec = s.crash.rec
	case rec != nil:
		rec.report.What, rec.report.Note = what, note
		s.crash = &active{spec: fault.Spec{Do: fault.VerbCrash, A: s.name}, rec: rec, sw: s}
	default:
		rec = f.takeDown(s, p.last.Load().At, fault.Report{Kind: KindProcess, Target: s.name, What: what, Note: note})
	}
	f.give(func(o *orders) {
		for _, l := range f.linksOf(s.id) {
			o.align(l)
			for i, e := range l.ends() {
				if e.Node == s.id.Node() {
					l.up[i].Store(false)
				}
			}
		}
	})
	f.bury(p)
	f.noteSeen()
	f.refresh(rec)
	f.events.Publish(f.Now(), Event{Kind: EventProcessLost, Switch: s.name, Detail: p.String(), Fault: new(rec.report.Clone())})
	f.changed.notify()
}

// neighbours are the ends beside s that are up, or were at some time after at.
func (f *Fabric) neighbours(s *liveSwitch, at weft.Time) (ends []weft.End) {
	for _, l := range f.linksOf(s.id) {
		for i, e := range l.ends() {
			if e.Node != s.id.Node() && (l.up[i].Load() || f.monitor.lostSince(e, at)) {
				ends = append(ends, e)
			}
		}
	}
	return ends
}
