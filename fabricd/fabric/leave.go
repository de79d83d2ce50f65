package fabric

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// Leave takes a switch back from its process, which has been told to end. What the process held is lost, in a report of
// kind [KindHandover]; the fabric emulates the switch again, unless it was crashed.
func (f *Fabric) Leave(ctx context.Context, req host.AttachRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return err
	}
	if h := s.joining; h != nil && h.number == req.Number {
		f.release(h)
		s.joining = nil
		return f.revive(ctx, s)
	}
	p := s.process()
	if p == nil || p.holder.Load().number != req.Number {
		return nil // it is that switch no more
	}
	wasDown, who := s.crash != nil, p.String()
	if err := f.handOver(s, fmt.Sprintf("%s is handed back by %s", s.name, who)); err != nil {
		return err
	}
	if _, err := p.lookAt(ctx, host.SumRequest{}, true); err != nil {
		f.accounts.step(f.Now(), ledger.HostEnded{Host: p.id, Incident: s.crash.rec.report.ID})
	}
	if rec := p.gone; rec != nil {
		f.repaired(rec, f.Now())
	}
	p.vacate()
	f.events.Publish(f.Now(), Event{Kind: EventProcessLeft, Switch: s.name, Detail: who})
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
	g := f.guestOf(s)
	rec := f.begin(fault.Report{Kind: KindHandover, Target: s.name, What: what}, g.border, s, g.neighbours(0))
	s.crash = &active{spec: fault.Spec{Do: fault.VerbCrash, A: s.name}, rec: rec, sw: s}
	b := batch{f: f, crash: []*liveSwitch{s}, touched: g.border}
	err := b.act()
	f.refresh(rec)
	f.events.Publish(f.Now(), Event{Kind: KindHandover, Switch: s.name, Fault: new(rec.report.Clone())})
	return err
}

// awaitAttach takes a switch back whose process does not attach in time.
func (f *Fabric) awaitAttach(s *liveSwitch, h *holder) {
	timer := time.NewTimer(joinTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.attached:
		return
	case <-h.over.Done():
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.joining == h && !f.stopped {
		f.opts.Log.Warn("switch process does not attach", "switch", s.name, "process", h.String())
		if err := f.revive(f.ctx, s); err != nil {
			f.opts.Log.Error("take a switch back", "switch", s.name, "err", err)
		}
	}
}

// takeBack makes the fabric emulate s itself again, unless a process is the switch. The caller holds mu.
func (f *Fabric) takeBack(s *liveSwitch) {
	if s.process() != nil || !s.away {
		return
	}
	if h := s.joining; h != nil {
		s.joining = nil
		f.release(h)
	}
	s.away = false
	for _, l := range f.linksOf(s.id) {
		for i, e := range l.ends() {
			if e.Node != s.id.Node() {
				continue
			}
			if err := f.opts.Transport.Listen(l.dirs[1-i], f.live.Machine.Inbox(e)); err != nil {
				f.opts.Log.Error("take a switch back", "switch", s.name, "err", err)
			}
		}
	}
}
