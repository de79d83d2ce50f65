package fabric

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/member"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// ErrHeld means that another process is the switch.
var ErrHeld = errors.New("another process is this switch")

// joinTime bounds how long a process may take from its charter to being attached; then the fabric takes the switch back.
// Chosen by us: a process needs less than a second for that.
const joinTime = 20 * time.Second

// Join ends the fabric's own emulation of a switch for a process that is to be it, and answers with all that the process
// needs. What the switch holds is lost, in a report of kind [KindHandover]; it has no links before [Fabric.Attach]. The
// error wraps ErrHeld when there is a process already, which comes to no harm.
func (f *Fabric) Join(req member.JoinRequest) (member.Charter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.canJoin(req)
	if err != nil {
		return member.Charter{}, err
	}
	f.incarnations++
	p := &process{
		fabric: f, sw: s, number: f.incarnations, pid: req.PID, host: req.Host,
		attached: make(chan struct{}), over: make(chan struct{}), lostOut: make([]uint64, s.core.Ports()),
	}
	p.told.init()
	c, err := f.charter(p)
	if err != nil {
		return c, err
	}
	if err := f.handOver(s, fmt.Sprintf("%s is handed over to %v", s.name, p)); err != nil {
		f.release(p)
		return c, err
	}
	s.joining, s.away = p, true
	for _, l := range f.linksOf(s.id) {
		for _, d := range l.dirs {
			if d.To == s.name {
				if err := f.opts.Transport.Unlisten(d); err != nil {
					return c, errors.Join(err, f.revive(f.ctx, s))
				}
			}
		}
	}
	f.running.Go(func() { f.awaitAttach(p) })
	return c, nil
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

// canJoin says whether a process may become the switch it names. The caller holds mu.
func (f *Fabric) canJoin(req member.JoinRequest) (*liveSwitch, error) {
	o := f.opts.Processes
	switch {
	case f.stopped:
		return nil, errStopped
	case o == nil:
		return nil, errors.New("this fabric takes no switch processes: its links are in memory")
	}
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return nil, err
	}
	if _, err := member.Firmware(o.Firmware); err != nil {
		return nil, fmt.Errorf("the firmware of this fabric has no name by which a process could make it, so all switches stay in one process: %w", err)
	}
	if p := s.joining; p != nil {
		return nil, fmt.Errorf("switch %s: %w: %v is about to join", s.name, ErrHeld, p)
	}
	if p := s.process(); p != nil {
		if _, err := p.request(member.AskState, nil); !errors.Is(err, bus.ErrNoProcess) {
			how := ""
			if err != nil {
				how = ", which does not answer just now"
			}
			return nil, fmt.Errorf("switch %s: %w: %v%s: end that first", s.name, ErrHeld, p, how)
		}
		f.lose(p)
	}
	return s, nil
}

// charter makes what p needs, and its credentials.
func (f *Fabric) charter(p *process) (c member.Charter, err error) {
	o, s := f.opts, p.sw
	var topology bytes.Buffer
	if err := f.graph.WriteYAML(&topology); err != nil {
		return c, err
	}
	host, err := os.Hostname()
	if err != nil {
		return c, fmt.Errorf("name of this host: %w", err)
	}
	c = member.Charter{
		Fabric: o.Processes.Fabric, Number: p.number, Topology: topology.String(), Firmware: o.Processes.Firmware,
		VCs: o.Switch.VCs, InputBuffer: o.Switch.InputBuffer, OutputBuffer: o.Switch.OutputBuffer,
		Queueing: o.Switch.Queueing, Selection: o.Switch.Selection, EagerCredits: o.Switch.EagerCredits,
		Requeue: o.Switch.Requeue, Batch: o.Switch.Batch, Liveness: o.Link.Liveness, Pace: o.Link.pace(),
		Inbox: f.inboxSize(), Seed: o.Seed, Packets: o.Record != nil, Shards: o.Transport.Shards(), Host: host,
	}
	if b := o.Processes.Broker; b != nil {
		a := bus.NodeAccess{Node: s.name, Shards: c.Shards}
		for _, l := range f.linksOf(s.id) {
			for i, e := range l.ends() {
				if e.Node == s.id.Node() {
					a.Ports, a.Hears = append(a.Ports, e.Port), append(a.Hears, l.dirs[1-i])
				}
			}
		}
		if c.Credentials, err = b.Admit(a); err != nil {
			return c, err
		}
		p.user = c.Credentials.User
	}
	// Epochs count a thousand a second, faster than any link can come up, so that they are above all of before.
	c.Now = f.Now()
	c.Epoch = weft.Epoch(c.Now/weft.Millisecond) + 1
	c.Started = time.Now().Round(0).Add(-c.Now.Duration())
	return c, nil
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
	s.crash = &active{spec: fault.Spec{Do: fault.VerbCrash, A: s.name}, rec: rec, sw: s, over: make(chan struct{})}
	return rec
}

// lostSince reports whether an end has lost its link at or after at, unless at is 0.
func (m *monitor) lostSince(e weft.End, at weft.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.last[e]
	return ok && at > 0 && d.at >= at
}

// Attach gives the links of a switch signal whose process is ready, and returns when they are up.
func (f *Fabric) Attach(ctx context.Context, req member.AttachRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return err
	}
	p := s.joining
	if p == nil || p.number != req.Number || f.stopped {
		return fmt.Errorf("switch %s was taken back or given to another process meanwhile: join again", s.name)
	}
	if _, err := p.request(member.AskState, nil); err != nil {
		return fmt.Errorf("the fabric cannot reach the process: %w", err)
	}
	s.joining = nil
	close(p.attached)
	s.who.Store(&holding{process: p, past: s.past()})
	f.brief(p)
	f.running.Go(func() { f.attend(p) })
	if err := f.revive(ctx, s); err != nil {
		return err
	}
	f.events.Publish(f.Now(), Event{Kind: EventProcessJoined, Switch: s.name, Detail: p.String()})
	return nil
}

// revive gives the links of s signal again and waits for them. The caller holds mu.
func (f *Fabric) revive(ctx context.Context, s *liveSwitch) error {
	b := batch{f: f, steps: []step{{spec: fault.Spec{Do: fault.VerbRestart}, sw: s, dirs: both}}}
	b.mendCrash(&b.steps[0])
	if err := b.act(); err != nil {
		return err
	}
	return b.wait(ctx)
}

// brief tells a process all that it should know of its links. The caller holds mu.
func (f *Fabric) brief(p *process) {
	p.stale.Store(false)
	var o member.CutOrder
	for _, l := range f.linksOf(p.sw.id) {
		for d := range l.dirs {
			if l.isCut(d) {
				o.Cut = append(o.Cut, l.dirs[d])
			} else {
				o.Restored = append(o.Restored, l.dirs[d])
			}
		}
	}
	_ = p.ask(member.AskCut, o)
	if p.sw.crash != nil {
		_ = p.ask(member.AskCrash, nil)
	}
	for _, l := range f.linksOf(p.sw.id) {
		for i, e := range l.ends() {
			if e.Node != p.sw.id.Node() {
				continue
			}
			f.impair(l, i)
			if p.sw.crash == nil {
				f.signal(e, l.lit[i])
			}
		}
	}
}

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

// release ends what p may do on the broker.
func (f *Fabric) release(p *process) {
	select {
	case <-p.over:
	default:
		close(p.over)
	}
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
			if err := f.opts.Transport.Listen(l.dirs[1-i], s.wires[e.Port].Inbox); err != nil {
				f.opts.Log.Error("take a switch back", "switch", s.name, "err", err)
			}
		}
	}
}
