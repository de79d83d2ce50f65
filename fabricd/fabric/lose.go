package fabric

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/linkmon/fault"
	"github.com/weft-fabric/weft/nic"
)

// KindPart is the kind of report of a part that ended, or did not answer.
const KindPart = fault.KindPart

// Kinds of event about parts.
const (
	EventPartLost   = "part_lost"   // nobody answers for it: its host or its process is gone
	EventPartSilent = "part_silent" // it is there, but does not answer
	EventPartBack   = "part_back"   // it answers again, or was made anew
)

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
		want := part.SumRequest{Standing: p.quiet.Load() || p.stale.Load()}
		s, err := p.look(ctx, want)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if want.Standing {
				f.partSpeaks(ctx, p, s)
			}
			p.putRight()
		case errors.Is(err, bus.ErrNoProcess) || errors.Is(err, errNumber) || errors.Is(err, bus.ErrSwitchRefused):
			if time.Since(troubled) < afterBroker {
				p.hush()
				continue
			}
			f.losePart(p)
			if n := p.other(ctx); n > 0 {
				f.takeAnew(ctx, p, n)
				continue
			}
			if time.Since(hosted) > hostEvery {
				hosted = time.Now()
				f.hostAnew(ctx, p)
			}
		case errors.Is(err, context.DeadlineExceeded):
			f.partSilent(p)
		default:
			troubled = time.Now()
			p.hush()
		}
	}
}

// look is read by whoever attends to the part, who needs the sum as it came.
func (p *outpost) look(ctx context.Context, want part.SumRequest) (part.Sum, error) {
	ctx, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	p.mu.Lock()
	want.Number, want.Ends = p.number, true
	p.mu.Unlock()
	asked := p.fabric.Now()
	s, err := p.client.Sum(ctx, want)
	if err != nil {
		return s, err
	}
	p.mu.Lock()
	p.clock.measure(asked, p.fabric.Now(), s.Now)
	p.mu.Unlock()
	return s, p.keep(s)
}

// partSilent notes that p does not answer. Its neighbours find out by themselves.
func (f *Fabric) partSilent(p *outpost) {
	p.hush()
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.gone != nil || f.stopped {
		return
	}
	p.gone = f.beginPart(p, p.name+" does not answer", "")
	f.events.Publish(f.Now(), Event{Kind: EventPartSilent, Node: p.name, Fault: new(p.gone.report.Clone())})
}

// beginPart opens the report about a part, from when it was last heard. The caller holds mu.
func (f *Fabric) beginPart(p *outpost, what, note string) *record {
	at := p.known.Load().at
	var expect []weft.End
	for _, l := range p.border {
		for i, e := range l.ends() {
			if f.outpostOf(e.Node) != p && (l.up[i].Load() || f.monitor.lostSince(e, at)) {
				expect = append(expect, e)
			}
		}
	}
	rec := f.beginAt(at, fault.Report{Kind: KindPart, Target: p.name, What: what, Note: note}, slices.Concat(p.border, p.inside), nil, expect)
	f.refresh(rec)
	return rec
}

// losePart notes that nobody answers for p: its neighbours lose signal, and its switches and NICs count as crashed until it
// answers again or is made anew.
func (f *Fabric) losePart(p *outpost) {
	if p.lost.Load() {
		return
	}
	p.hush()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	const note = "what it received, injected or discarded after it was last heard is made up from what its neighbours have sent and received"
	what := fmt.Sprintf("%s is gone: nobody answers for it", p.name)
	if p.gone == nil {
		p.gone = f.beginPart(p, what, note)
	} else {
		p.gone.report.What, p.gone.report.Note = what, note
	}
	p.mu.Lock()
	p.lost.Store(true) // keep keeps nothing from here on
	p.mu.Unlock()
	f.give(func(o *orders) {
		for _, l := range p.border {
			o.align(l)
		}
	})
	for _, l := range slices.Concat(p.border, p.inside) {
		for i, e := range l.ends() {
			if f.outpostOf(e.Node) == p {
				l.up[i].Store(false)
				l.lit[i] = false
			}
		}
	}
	f.refreshParts(part.SumRequest{}) // neighbours have no signal from it, so their counters stand
	f.buryPart(p)
	f.noteSeen()
	f.refresh(p.gone)
	f.noteStanding()
	f.keepSoon()
	f.events.Publish(f.Now(), Event{Kind: EventPartLost, Node: p.name, Fault: new(p.gone.report.Clone())})
	f.changed.notify()
	f.ports.poke()
}

// buryPart makes up what p has counted since it was last heard, when it cannot be asked any more. What it has received is what its
// neighbours have sent but for what is known to have been lost on the way, and what it has sent is what they have received. What
// came in or was injected, and neither left it nor is known to have ended, has died with it; if more has left than that, it was
// injected since. The caller holds mu.
func (f *Fabric) buryPart(p *outpost) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(0, p.known.Load().own, tenure{})
	s := a.own
	through, flows := make([]passage, len(p.cross)), make(map[weft.End]passed, len(p.cross))
	for i, e := range p.cross {
		peer, _, _ := f.graph.Peer(e)
		before, t := p.past.flows[e], &through[i]
		mine, theirs := p.known.Load().ends[e], f.endState(peer)
		_, t.doubtful = onWire(theirs, mine)
		t.received = mine.flow.Received + theirs.flow.Sent - min(theirs.flow.Sent, t.doubtful+mine.flow.Received)
		t.sent = max(theirs.flow.Received+p.lostOut[e], mine.flow.Sent)
		t.received, t.sent = t.received-before.received, t.sent-before.sent
	}
	ended := s.NICs.Delivered + s.NICs.Wrong + s.Switches.Discarded + s.Switches.LostQueue + s.Switches.LostCrash
	for _, l := range s.Lost {
		ended += l.Wire[0] + l.Wire[1]
	}
	dead, more := perished(through, s.NICs.Injected, ended)
	s.NICs.Injected += more
	s.Switches.LostCrash += dead
	p.gone.report.LostCrash += dead
	p.buried = dead
	for i, e := range p.cross {
		flows[e] = passed{through[i].sent, through[i].received}
	}
	s.Held, s.Queued, s.Wires, s.Blocked, s.Timers = 0, 0, 0, 0, 0
	s.HeldDown, s.Up, s.Ends = nil, nil, nil
	was := p.past
	p.known.Store(p.account(p.known.Load().at, s, tenure{sum: was.sum, flows: addPassed(was.flows, flows)}))
}

// perished is died, for nodes that inject packets too: how many packets have died with them, or how many more than is known they
// have injected. One of the two is 0.
func perished(through []passage, injected, ended uint64) (dead, more uint64) {
	all := append([]passage{{received: injected}}, through...)
	dead = died(all, ended)
	copy(through, all[1:]) // of doubtful packets some had come
	in, out := injected, ended
	for _, t := range through {
		in, out = in+t.received, out+t.sent
	}
	return dead, out - min(out, in)
}

func addPassed(a, b map[weft.End]passed) map[weft.End]passed {
	sum := maps.Clone(b)
	for e, n := range a {
		sum[e] = passed{sum[e].sent + n.sent, sum[e].received + n.received}
	}
	return sum
}

// partSpeaks notes that p answers again and is who it was, and tells it what it has missed.
func (f *Fabric) partSpeaks(ctx context.Context, p *outpost, s part.Sum) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	how := "it answers again"
	if p.lost.Load() {
		how = "it was out of reach, and has gone on meanwhile"
		p.mu.Lock()
		p.lost.Store(false)
		if p.gone != nil { // it has not died after all: what was made up is not so
			p.gone.report.LostCrash -= min(p.gone.report.LostCrash, p.buried)
		}
		p.buried = 0
		p.mu.Unlock()
		if err := p.keep(s); err != nil {
			return
		}
		f.unbook(p)
	}
	f.partIsBack(ctx, p, s.Standing, how)
}

// unbook counts anew what links at the edge of p have lost, of which some was made up. The caller holds mu.
func (f *Fabric) unbook(p *outpost) {
	for _, l := range p.border {
		lost, _ := f.linkLoss(l)
		if o := l.owner; o != nil && lost.Wire < l.booked.Wire {
			o.report.LostWire -= min(o.report.LostWire, l.booked.Wire-lost.Wire)
			l.booked.Wire = lost.Wire
		}
	}
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
	f.takeAnew(ctx, p, c.Number)
}

// takeAnew takes a new incarnation for p, which was lost.
func (f *Fabric) takeAnew(ctx context.Context, p *outpost, number uint64) {
	try, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	p.close()
	p.begin(number)
	if err := f.ready(try, p); err != nil {
		f.opts.Log.Warn("a part was hosted anew", "part", p.name, "err", err)
		return // it is lost again, as its next look tells
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stopped {
		p.again++
		f.admitted(p)
		f.partIsBack(ctx, p, nil, "it was made anew")
	}
}

// close makes what p has counted final.
func (p *outpost) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.known.Load()
	flows := make(map[weft.End]passed, len(a.ends))
	for e, s := range a.ends {
		flows[e] = passed{s.flow.Sent, s.flow.Received}
	}
	sum := a.all
	sum.Number, sum.Latency = 0, nil
	if a.own.Latency != nil {
		if l, err := part.DecodeLatency(a.own.Latency); err == nil {
			if p.pastLatency == nil {
				p.pastLatency = nic.NewLatency()
			}
			p.pastLatency.Merge(l)
		}
	}
	p.past = tenure{sum: sum, flows: flows}
	p.lost.Store(false)
}

// partIsBack tells p what it should know, brings its links up again, and closes the report of its absence. The caller holds mu.
func (f *Fabric) partIsBack(ctx context.Context, p *outpost, standing *part.Standing, how string) {
	p.speak()
	if err := p.brief(standing); err != nil {
		f.opts.Log.Warn("a part is told what it has missed", "part", p.name, "err", err)
		return
	}
	rec := p.gone
	if rec == nil {
		return
	}
	p.gone = nil
	defer f.keepSoon()
	b := batch{f: f, touched: p.border, back: slices.Concat(p.border, p.inside), steps: []step{{ended: []*record{rec}}}}
	err := b.act()
	if err == nil {
		err = b.wait(ctx)
	}
	if err != nil {
		how += ": " + err.Error()
	}
	f.refresh(rec)
	f.events.Publish(f.Now(), Event{Kind: EventPartBack, Node: p.name, Detail: how, Fault: new(rec.report.Clone())})
}

// other is the number of a later incarnation of p that answers, 0 when there is none: its agent has made one, and that was not heard.
func (p *outpost) other(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, partTime)
	defer cancel()
	s, err := p.client.Sum(ctx, part.SumRequest{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || s.Number <= p.number {
		return 0
	}
	return s.Number
}
