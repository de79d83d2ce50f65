package fabric

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	linkend "github.com/weft-fabric/weft/switch/link"
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
func (f *Fabric) Join(req host.JoinRequest) (host.Charter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.canJoin(req)
	if err != nil {
		return host.Charter{}, err
	}
	g := f.guestOf(s)
	c, err := f.charterOf(g)
	if err != nil {
		return c, err
	}
	h := &holder{number: c.Number, first: c.Epoch, pid: req.PID, host: req.Host, attached: make(chan struct{})}
	if g.next != nil {
		h.user, g.next = g.next.user, nil // another process gets others
	}
	h.over, h.end = context.WithCancel(f.ctx)
	if err := f.handOver(s, fmt.Sprintf("%s is handed over to %v", s.name, h)); err != nil {
		f.release(h)
		return c, err
	}
	s.joining, s.away = h, true
	for _, l := range f.linksOf(s.id) {
		for _, d := range l.dirs {
			if d.To == s.name {
				if err := f.opts.Transport.Unlisten(d); err != nil {
					return c, errors.Join(err, f.revive(f.ctx, s))
				}
			}
		}
	}
	f.running.Go(func() { f.awaitAttach(s, h) })
	return c, nil
}

// canJoin says whether a process may become the switch it names. The caller holds mu.
func (f *Fabric) canJoin(req host.JoinRequest) (*liveSwitch, error) {
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
	if s.part.late() {
		return nil, fmt.Errorf("switch %s is run by %v: it can be no process of its own besides", s.name, s.part)
	}
	if _, err := subnet.ByName(o.Firmware); err != nil {
		return nil, fmt.Errorf("the firmware of this fabric has no name by which a process could make it, so all switches stay in one process: %w", err)
	}
	if h := s.joining; h != nil {
		return nil, fmt.Errorf("switch %s: %w: %v is about to join", s.name, ErrHeld, h)
	}
	if p := s.process(); p != nil {
		if err := p.read(host.SumRequest{}); !errors.Is(err, reply.ErrNobody) {
			how := ""
			if err != nil {
				how = ", which does not answer just now"
			}
			return nil, fmt.Errorf("switch %s: %w: %v%s: end that first", s.name, ErrHeld, p, how)
		}
		f.partLost(p)
	}
	return s, nil
}

// Attach gives the links of a switch signal whose process is ready, and returns when they are up. After an error that
// wraps [host.ErrUnreached] the process may try again.
func (f *Fabric) Attach(ctx context.Context, req host.AttachRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.switchByName(req.Switch)
	if err != nil {
		return err
	}
	h := s.joining
	if h == nil || h.number != req.Number || f.stopped {
		return fmt.Errorf("switch %s was taken back or given to another process meanwhile: join again", s.name)
	}
	p := s.guest.Load()
	p.begin(linkend.Incarnation{Number: h.number, First: h.first})
	for range clockLooks {
		if err := p.read(host.SumRequest{}); err != nil {
			p.begin(linkend.Incarnation{})
			f.accounts.step(f.Now(), ledger.HostEnded{Host: p.id, Incident: s.crash.rec.report.ID})
			if errors.Is(err, reply.ErrSilent) {
				return fmt.Errorf("%w: %w", host.ErrUnreached, err)
			}
			return fmt.Errorf("the fabric cannot reach the process: %w", err)
		}
	}
	s.joining = nil
	close(h.attached)
	p.holder.Store(h)
	p.speak()
	f.accounts.step(f.Now(), ledger.NodeMoved{Node: s.id.Node(), To: p.id})
	if err := p.brief(nil); err != nil {
		f.opts.Log.Warn("switch process", "switch", s.name, "err", err) // it is briefed again when it answers
	}
	f.running.Go(func() { f.attendPart(h.over, p) })
	f.running.Go(func() { f.watchPart(h.over, p) })
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
