package fabric

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/deflate"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/nic"
	linkend "github.com/weft-fabric/weft/switch/link"
)

// Chosen by us: how long a part may take from its charter to its first answer, which for thousands of nodes on a loaded machine is
// seconds; how often it is asked by then; and how many questions measure its clock.
const (
	hostTime   = 60 * time.Second
	readyEvery = 20 * time.Millisecond
	clockLooks = 5
)

// hostParts has all parts made, at once, and gives their links signal.
func (f *Fabric) hostParts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	charters, err := f.chartersOf(f.parts)
	if err != nil {
		return err
	}
	if err := each(ctx, f.parts, func(ctx context.Context, p *outpost) error { return f.host(ctx, p, charters[p]) }); err != nil {
		return fmt.Errorf("fabric: parts do not come up: %w", err)
	}
	f.mu.Lock()
	for _, p := range f.parts {
		f.admitted(p)
	}
	f.mu.Unlock()
	return each(ctx, f.parts, func(_ context.Context, p *outpost) error { return p.brief(nil) })
}

// chartersOf are what hosts need to be these parts.
func (f *Fabric) chartersOf(list []*outpost) (map[*outpost]host.Charter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	charters := make(map[*outpost]host.Charter, len(list))
	for _, p := range list {
		c, err := f.charterOf(p)
		if err != nil {
			return nil, err
		}
		charters[p] = c
	}
	return charters, nil
}

// host has a part made, and returns when it answers. Nobody else acts on p meanwhile.
func (f *Fabric) host(ctx context.Context, p *outpost, c host.Charter) error {
	if err := f.opts.Host(ctx, p.name, c); err != nil {
		return fmt.Errorf("%v is not hosted: %w", p, err)
	}
	p.begin(lifeOf(&c))
	return f.ready(ctx, p)
}

// ready returns when p answers, and what its clock says is known.
func (f *Fabric) ready(ctx context.Context, p *outpost) error {
	for looks := 0; looks < clockLooks; {
		err := p.read(host.SumRequest{})
		switch {
		case err == nil:
			looks++
			continue
		case ctx.Err() != nil:
			return fmt.Errorf("%v was hosted and does not answer: %w", p, errors.Join(context.Cause(ctx), err))
		case errors.Is(err, errNumber):
			return err
		}
		if err := f.world.Pause(ctx, f.Now()+weft.FromDuration(readyEvery), nil); err != nil {
			return fmt.Errorf("%v was hosted and does not answer: %w", p, err)
		}
	}
	return nil
}

// begin makes p a new incarnation, of which nothing is known yet.
func (p *outpost) begin(life linkend.Incarnation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addLife(life)
	number := life.Number
	p.number, p.fresh, p.heard, p.mended, p.clock = number, true, 0, nil, skew{}
	p.known.Store(newAccount(0, host.Sum{Number: number}, &p.past))
	if number == 0 {
		return
	}
	e := ledger.HostStarted{Host: p.id, Incarnation: ledger.Incarnation(number)}
	if p.sw == nil {
		e.Nodes = nodesOf(p.place)
	}
	p.fabric.accounts.step(p.fabric.Now(), e)
}

// brief tells a part all that it should know, and returns when it has acted on that. Standing is what it has heard before, nil: nothing,
// it has just been made. The caller does not hold Fabric.mu.
func (p *outpost) brief(standing *host.Standing) error {
	f := p.fabric
	p.stale.Store(false)
	if p.sw != nil { // it joins while the fabric runs, and so may new tables come
		p.sw.Loading.Lock()
		defer p.sw.Loading.Unlock()
	}
	var versions []uint64
	if standing != nil {
		versions = standing.Versions
	}
	if err := p.reload(versions); err != nil { // before its links carry anything
		return err
	}
	f.mu.Lock()
	o := p.briefing(standing)
	sent := p.send(o) // before any order that says more
	f.mu.Unlock()
	_, err := sent.wait()
	if err == nil && o.Clock > 0 {
		p.mu.Lock()
		p.clock = skew{}
		p.mu.Unlock()
	}
	return err
}

// briefing is the order that tells a part all that it should know. The caller holds Fabric.mu.
func (p *outpost) briefing(standing *host.Standing) host.Order {
	f := p.fabric
	o := host.Order{Era: new(f.era), Hold: new(f.Held()), Light: true}
	if standing == nil {
		p.mu.Lock()
		o.Clock = max(0, p.clock.behind)
		p.mu.Unlock()
		standing = &host.Standing{}
	}
	cut, impaired := map[host.Way]bool{}, map[host.End]bool{}
	for _, l := range [][]*link{p.inside, p.border} {
		for _, l := range l {
			p.briefLink(&o, l, cut, impaired)
		}
	}
	for _, w := range standing.Cut {
		if !cut[w] {
			o.Restored = append(o.Restored, w)
		}
	}
	for _, i := range standing.Impaired {
		if !impaired[i.End] {
			o.Impair = append(o.Impair, host.ImpairOrder{End: i.End})
		}
	}
	for _, id := range p.place.SwitchIDs() {
		if f.switches[id].crash != nil {
			o.Crash = append(o.Crash, id)
		}
	}
	if t := f.trafficOrder(); p.sw == nil && (t.Spec != standing.Traffic.Spec || string(t.Draws) != string(standing.Traffic.Draws)) {
		o.Traffic = t
	}
	return o
}

// briefLink adds to an order what was done to a link, and notes that it has.
func (p *outpost) briefLink(o *host.Order, l *link, cut map[host.Way]bool, impaired map[host.End]bool) {
	f := p.fabric
	for d := range l.dirs {
		if w := (host.Way{Link: l.ID, Back: d == 1}); l.isCut(d) {
			o.Cut = append(o.Cut, w)
			cut[w] = true
		}
	}
	want := f.signals(l)
	for i, e := range l.ends() {
		if !p.runs(e.Node) {
			continue
		}
		if s := l.suffers[i]; !s.IsZero() {
			o.Impair = append(o.Impair, host.ImpairOrder{End: host.EndOf(e), Impair: impairment(s)})
			impaired[host.EndOf(e)] = true
		}
		if l.lit[i] = want[i]; !want[i] {
			o.Signals = append(o.Signals, host.SignalOrder{End: host.EndOf(e)})
		}
	}
}

// trafficOrder is the traffic of now. The caller holds mu.
func (f *Fabric) trafficOrder() *host.TrafficOrder {
	o := &host.TrafficOrder{Spec: f.traffic.String(), Draws: f.draws}
	if f.traffic.Trace != nil && (len(f.parts) > 0 || f.keeper.keep != nil) {
		var b bytes.Buffer
		if err := f.traffic.Trace.Write(&b); err == nil {
			o.Trace, _ = deflate.Compress(b.Bytes())
		}
	}
	return o
}

// trafficOf undoes trafficOrder.
func trafficOf(o host.TrafficOrder) (nic.Traffic, error) {
	t, err := nic.ParseTraffic(o.Spec)
	if err != nil || o.Trace == nil {
		return t, err
	}
	data, err := deflate.Decompress(o.Trace)
	if err != nil {
		return t, err
	}
	t.Trace, err = nic.ReadTrace(bytes.NewReader(data))
	return t, err
}

// sendPacket puts a packet into the send queue of a NIC of the part.
func (p *outpost) sendPacket(s host.SendOrder) (seq uint64, err error) {
	a, err := p.order(host.Order{Send: []host.SendOrder{s}})
	switch {
	case err != nil:
		return 0, err
	case len(a.Sent) != 1:
		return 0, fmt.Errorf("%v does not say whether it has sent", p)
	case a.Sent[0].Err != "":
		return 0, a.Sent[0].Reason()
	}
	return a.Sent[0].Seq, nil
}

// endParts tells all parts that the fabric has ended, and keeps their last sums. Switches that are processes go with this process, also
// when the parts do not.
func (f *Fabric) endParts() {
	list := f.processes()
	if !f.detached {
		list = append(list, f.parts...)
	}
	_ = each(context.Background(), list, func(ctx context.Context, p *outpost) error {
		p.mu.Lock()
		number := p.number
		p.mu.Unlock()
		if number == 0 || p.sw != nil && p.quiet.Load() {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, p.patience())
		defer cancel()
		asked := f.Now()
		s, err := p.host.End(ctx, host.EndOrder{Number: number, Term: f.opts.Term, Why: "fabric " + f.opts.Processes.Fabric + " has been stopped"})
		if s.Asked = asked; err == nil {
			err = p.keep(s)
		}
		p.hush()
		return err
	})
}

// hear takes what the part tells.
func (p *outpost) hear(seen host.Seen) {
	f := p.fabric
	p.mu.Lock()
	if seen.Number != p.number || p.lost.Load() {
		p.mu.Unlock()
		return
	}
	now := f.Now()
	for i := range seen.Events {
		o := &seen.Events[i]
		n := o.Of()
		if !p.runs(n) {
			continue // it speaks for no other
		}
		for i := range o.Hops {
			o.Hops[i].Switch = weft.SwitchID(n.Index)
			o.Hops[i].Candidates = o.Hops[i].Candidates[:min(len(o.Hops[i].Candidates), weft.MaxPorts*f.opts.Switch.VCs)]
		}
		at := p.clock.here(o.At, now)
		w := watcher{fabric: f, node: n, name: f.graph.Name(n)}
		w.Observe(at, o.Actions())
		if o.Effects {
			f.monitor.touch(at)
		}
	}
	p.heard, p.mended = max(p.heard, seen.Upto), nil
	p.mu.Unlock()
	p.news.notify()
}
