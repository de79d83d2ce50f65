package fabric

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// Leave takes a switch back from its process, which has been told to end. What the process held is lost, in a report of
// kind [KindHandover]; the fabric emulates the switch again, unless it was crashed.
func (f *Fabric) Leave(ctx context.Context, req member.AttachRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return err
	}
	p := s.process()
	if j := s.joining; j != nil && j.number == req.Number {
		f.release(j)
		s.joining = nil
		if p == nil {
			return f.revive(ctx, s)
		}
		return nil
	}
	if p == nil || p.number != req.Number {
		return nil // it is that switch no more
	}
	wasDown := s.crash != nil
	if err := f.handOver(s, fmt.Sprintf("%s is handed back by %v", s.name, p)); err != nil {
		return err
	}
	if _, err := p.request(member.AskState, nil); err != nil {
		f.bury(p)
	} else {
		h := s.who.Load()
		s.who.Store(&holding{past: h.past.plus(p.last.Load())})
	}
	f.release(p)
	f.events.Publish(f.Now(), Event{Kind: EventProcessLeft, Switch: s.name, Detail: p.String()})
	if wasDown {
		return nil
	}
	return f.revive(ctx, s)
}

// handOver takes the links of s from whoever is s, unless it is down anyway. The caller holds mu.
func (f *Fabric) handOver(s *liveSwitch, what string) error {
	if s.crash != nil {
		return nil
	}
	rec := f.takeDown(s, 0, fault.Report{Kind: KindHandover, Target: s.name, What: what})
	links := f.linksOf(s.id)
	b := batch{f: f, crash: []*liveSwitch{s}, touched: links}
	err := b.act()
	f.refresh(rec)
	f.events.Publish(f.Now(), Event{Kind: KindHandover, Switch: s.name, Fault: new(rec.report.Clone())})
	return err
}

// takeDown makes s count as crashed from now on. The caller holds mu, and acts on it.
func (f *Fabric) takeDown(s *liveSwitch, at weft.Time, r fault.Report) *record {
	rec := f.beginAt(at, r, f.linksOf(s.id), s, f.neighbours(s, at))
	s.crash = &active{spec: fault.Spec{Do: fault.VerbCrash, A: s.name}, rec: rec, sw: s}
	return rec
}

// lostSince reports whether an end has lost its link at or after at, unless at is 0.
func (m *monitor) lostSince(e weft.End, at weft.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.last[e]
	return ok && at > 0 && d.at >= at
}

// awaitAttach takes a switch back whose process does not attach in time.
func (f *Fabric) awaitAttach(p *process) {
	timer := time.NewTimer(joinTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.over:
		return
	case <-p.attached:
		return
	case <-f.ctx.Done():
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := p.sw; s.joining == p && !f.stopped {
		f.opts.Log.Warn("switch process does not attach", "switch", s.name, "process", p.String())
		if err := f.revive(f.ctx, s); err != nil {
			f.opts.Log.Error("take a switch back", "switch", s.name, "err", err)
		}
	}
}

// release ends what p may do on the broker.
func (f *Fabric) release(p *process) {
	p.mu.Lock()
	if !p.ended() {
		close(p.over)
	}
	p.mu.Unlock()
	p.hush()
	if p.user != "" {
		f.opts.Processes.Broker.Revoke(p.user)
	}
}

// takeBack makes the fabric emulate s itself again, unless a process is the switch. The caller holds mu.
func (f *Fabric) takeBack(s *liveSwitch) {
	if s.process() != nil || !s.away {
		return
	}
	if p := s.joining; p != nil {
		s.joining = nil
		f.release(p)
	}
	s.away = false
	for _, l := range f.linksOf(s.id) {
		for i, e := range l.ends() {
			if e.Node != s.id.Node() {
				continue
			}
			if err := f.opts.Transport.Listen(l.dirs[1-i], f.live.machine.Inbox(e)); err != nil {
				f.opts.Log.Error("take a switch back", "switch", s.name, "err", err)
			}
		}
	}
}
