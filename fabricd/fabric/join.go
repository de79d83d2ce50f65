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
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// ErrHeld means that another process is the switch.
var ErrHeld = errors.New("another process is this switch")

// joinTime bounds how long a process may take from its charter to being attached; then the fabric takes the switch back.
// Chosen by us: a process needs less than a second for that.
const joinTime = 20 * time.Second

// firstEpoch is above all epochs of the fabric's own emulation; chosen by us. With milliseconds, epochs last for 49 days.
const firstEpoch = 1 << 20

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
	if s.part != nil {
		return nil, fmt.Errorf("switch %s is run by %v: it can be no process of its own besides", s.name, s.part)
	}
	if _, err := subnet.ByName(o.Firmware); err != nil {
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
		Queueing: o.Switch.Queueing, Selection: o.Switch.Selection, Waiting: o.Switch.Waiting, EagerCredits: o.Switch.EagerCredits,
		Requeue: o.Switch.Requeue, Batch: o.Switch.Batch, Liveness: o.Link.Liveness, Pace: o.Link.pace(),
		Inbox: f.inboxSize(), Seed: o.Seed, Packets: o.Record != nil, Notices: o.NIC.Notices > 0,
		Shards: o.Transport.Shards(), Host: host,
	}
	if b := o.Processes.Broker; b != nil {
		a := bus.NodeAccess{Node: s.name, Layout: bus.Hashed(c.Shards)}
		for _, l := range f.linksOf(s.id) {
			for i, e := range l.ends() {
				if e.Node == s.id.Node() {
					a.Sends, a.Hears = append(a.Sends, l.dirs[i]), append(a.Hears, l.dirs[1-i])
				}
			}
		}
		if c.Credentials, err = b.Admit(a); err != nil {
			return c, err
		}
		p.user = c.Credentials.User
	}
	// Epochs count a thousand a second, faster than any link comes up for long, so that they are above all of before.
	c.Now = f.Now()
	c.Epoch = firstEpoch + weft.Epoch(c.Now/weft.Millisecond)
	c.Started = time.Now().Round(0).Add(-c.Now.Duration())
	return c, nil
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
	p.reload() // before its links carry anything
	if p.sw.crash != nil {
		_ = p.ask(member.AskCrash, nil)
	}
	f.give(func(o *orders) {
		for _, l := range f.linksOf(p.sw.id) {
			for i, e := range l.ends() {
				if e.Node != p.sw.id.Node() {
					continue
				}
				o.impair(l, i)
				if p.sw.crash == nil {
					o.signal(e, l.lit[i])
				}
			}
		}
	})
}
