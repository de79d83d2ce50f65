package fabric

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/deflate"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/tables"
)

// A leader that takes the place of another finds parts that run. What they have counted, and what was done to them, they say
// themselves; the faults in force, their reports and what was counted before are in the State that was kept. What is in force at
// a part and not in the State was ordered in the last moment of the leader before, and is undone, but for newer tables.

// adopt takes over the parts that run, and has those made anew that do not answer.
func (f *Fabric) adopt(ctx context.Context, s *State) error {
	f.mu.Lock()
	err := f.recall(s)
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("fabric: what was kept of the fabric: %w", err)
	}
	standing := make(map[*outpost]*host.Standing, len(f.parts))
	sums := make([]host.Sum, len(f.parts))
	errs := make([]error, len(f.parts))
	index := map[*outpost]int{}
	for i, p := range f.parts {
		index[p] = i
	}
	began := time.Now()
	_ = each(ctx, f.parts, func(ctx context.Context, p *outpost) error {
		i := index[p]
		sums[i], errs[i] = p.found(ctx)
		return nil
	})
	// The clock goes on where that of the part is that is furthest: time was never less.
	for i := range sums {
		if errs[i] == nil {
			f.live.forward(sums[i].Now + weft.FromDuration(time.Since(began)))
		}
	}
	if _, err := f.local.order(host.Order{Era: new(f.era), Hold: new(f.Held())}); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	if err := f.local.reload(nil); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	for i, p := range f.parts {
		switch err := errs[i]; {
		case err == nil:
			p.inherit(sums[i])
			standing[p] = sums[i].Standing
			f.era = max(f.era, sums[i].Standing.Era)
		case errors.Is(err, reply.ErrNobody) || errors.Is(err, reply.ErrRefused) || errors.Is(err, context.DeadlineExceeded):
			p.hush() // its attendant finds out what has become of it
		default:
			return fmt.Errorf("fabric: %v: %w", p, err)
		}
	}
	return each(ctx, f.parts, func(_ context.Context, p *outpost) error {
		if standing[p] == nil {
			return nil
		}
		return p.brief(standing[p])
	})
}

// found asks a part that another leader has left.
func (p *outpost) found(ctx context.Context) (host.Sum, error) {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	p.mu.Lock()
	number := p.number
	p.mu.Unlock()
	asked := p.fabric.Now()
	s, err := p.host.Sum(ctx, host.SumRequest{Number: number, Term: p.fabric.opts.Term, Ends: true, Peers: p.peers(), Eras: true, Latency: true, Standing: true})
	if s.Asked = asked; err == nil && s.Standing == nil {
		err = errors.New("it does not say what was done to it")
	}
	return s, err
}

// inherit makes s the first that is known of p.
func (p *outpost) inherit(s host.Sum) {
	p.mu.Lock()
	p.clock = skew{behind: p.fabric.Now() - s.Now, trip: weft.Second, known: true} // for a moment; it is measured with every look
	p.mu.Unlock()
	_ = p.keep(s) // its number is the one that was asked for
}

// recall puts the fabric into the state that was kept. The caller holds mu.
func (f *Fabric) recall(s *State) error {
	f.era, f.incarnations, f.rounds = s.Era, s.Incarnations, s.Rounds
	if err := f.restoreAccounts(s); err != nil {
		return err
	}
	f.events.resume(s.Events)
	f.holding.until.Store(int64(s.HeldUntil))
	if len(s.Chance) > 0 {
		if err := f.chance.UnmarshalBinary(s.Chance); err != nil {
			return err
		}
		f.pattern = rand.New(f.chance)
	}
	var err error
	if f.traffic, err = trafficOf(s.Traffic); err != nil {
		return err
	}
	f.draws = s.Traffic.Draws
	if err := f.recallTables(s.Tables); err != nil {
		return err
	}
	byID := map[int]*record{}
	for _, k := range s.Reports {
		r, err := f.recallReport(k)
		if err != nil {
			return fmt.Errorf("report %d: %w", k.Report.ID, err)
		}
		byID[r.report.ID] = r
	}
	for _, k := range s.Parts {
		if p := f.outpostNamed(k.Name); p != nil {
			p.recall(k, byID[k.Report])
		}
	}
	for _, k := range s.Faults {
		if err := f.recallFault(k, byID[k.Report]); err != nil {
			return fmt.Errorf("fault %s: %w", k.Spec, err)
		}
	}
	return nil
}

// Restore is the ledger of a state.
func (s *State) Restore(g *topology.Graph) (*ledger.Ledger, error) {
	data, err := deflate.Decompress(s.Ledger)
	if err != nil {
		return nil, fmt.Errorf("the ledger as it was written down: %w", err)
	}
	return ledger.Restore(data, linksOf(g))
}

// restoreAccounts goes on with the ledger of the leader before. Hosts that went with its process are gone.
func (f *Fabric) restoreAccounts(s *State) error {
	l, err := s.Restore(f.graph)
	if err != nil {
		return err
	}
	f.accounts.read(func(*ledger.Ledger) { f.accounts.l = l })
	now := f.Now()
	f.accounts.step(now, ledger.LeaderChanged{})
	for _, h := range l.Hosts() {
		if h.Host != 0 && !slices.ContainsFunc(f.parts, func(p *outpost) bool { return p.id == h.Host }) {
			f.accounts.step(now, ledger.HostEnded{Host: h.Host})
		}
	}
	f.incarnations = max(f.incarnations, f.opts.Term<<termShift, ownNumber) + 1
	f.beginLocal(f.incarnations)
	return nil
}

func (f *Fabric) outpostNamed(name string) *outpost {
	for _, p := range f.parts {
		if p.name == name {
			return p
		}
	}
	return nil
}

// recall puts p into the state that was kept.
func (p *outpost) recall(k KeptPart, gone *record) {
	p.user, p.again, p.gone = k.User, k.Again, gone
	p.mu.Lock()
	p.past = k.Past
	p.mu.Unlock()
	p.lives.Store(&k.Lives)
	p.begin(lifeIn(k.Lives, k.Number))
	if k.Lost {
		p.hush()
		p.lost.Store(true)
	}
}

// recallReport goes on with a report.
func (f *Fabric) recallReport(k KeptReport) (*record, error) {
	r := &record{began: k.Began, closes: k.Closes, dipped: true, seen: k.Seen, firstEra: k.Era, report: k.Report}
	if !k.Dipped {
		r.report.Dip = fault.Dip{} // of a throughput that nobody sampled while there was no leader
	}
	var links []*link
	if p := f.outpostNamed(k.Report.Target); p != nil && k.Report.Kind == KindPart {
		links = append(append(links, p.border...), p.inside...)
	}
	for _, id := range k.Links {
		l, err := f.link(id)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	f.records = append(f.records, r)
	r.watch.turned = weft.Never
	if !k.Report.Open {
		r.over = links
		return r, nil
	}
	r.links = links
	if k.Switch != "" {
		sw, err := f.switchByName(k.Switch)
		if err != nil {
			return nil, err
		}
		r.sw = sw
	}
	f.open = append(f.open, r)
	f.monitor.resume(r)
	return r, nil
}

// resume watches a report that was begun under another leader: who has found out is in it, and nobody else is waited for.
func (m *monitor) resume(r *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &r.watch
	w.ends, w.detected = map[weft.End]bool{}, r.report.Detected
	w.seen = r.began + weft.Time(r.report.SeenAfter*float64(weft.Millisecond))
	if r.report.FirstReroute != nil {
		w.turned = r.began + weft.Time(*r.report.FirstReroute*float64(weft.Millisecond))
	}
	m.open = append(m.open, r)
}

// recallFault puts a fault in force again, which its links are told of with all else.
func (f *Fabric) recallFault(k KeptFault, rec *record) error {
	if rec == nil {
		return errors.New("its report was not kept")
	}
	a := &active{spec: k.Spec, rec: rec, resting: k.Rest}
	if k.Switch != "" {
		sw, err := f.switchByName(k.Switch)
		if err != nil {
			return err
		}
		a.sw, sw.crash = sw, a
	} else {
		l, err := f.graph.LinkByName(k.Link)
		if err != nil {
			return err
		}
		a.link = f.links[l.ID]
		for d := range both {
			if k.Cuts[d] {
				a.link.cut[d] = a
			}
			if k.Impair[d] {
				a.link.impaired[d], a.link.suffers[d] = a, k.Suffer[d]
			}
		}
	}
	f.recalled = append(f.recalled, a)
	return nil
}

// goOn has faults change and end by themselves as they should have. The caller holds mu; the world has started.
func (f *Fabric) goOn() {
	for _, a := range f.recalled {
		switch {
		case a.spec.Do == fault.VerbFlap:
			draws := weft.Stream(f.opts.Seed, weft.StreamFlap, uint64(a.rec.report.ID), 0)
			f.finishSoon(f.flap(a, a.rec.began, f.after(a, a.spec.Flap.Changes(draws.Uint64))))
		case a.spec.For > 0:
			f.when(a, max(f.Now(), a.rec.began+weft.FromDuration(time.Duration(a.spec.For))), func() *batch { return f.end(a) })
		}
	}
	f.recalled = nil
}

// after leaves out the changes of a flap that are past, but for the last.
func (f *Fabric) after(a *active, changes func() (fault.Edge, bool)) func() (fault.Edge, bool) {
	last, more := changes()
	next, after := changes()
	for more && after && a.rec.began+weft.FromDuration(next.At) <= f.Now() {
		last = next
		next, after = changes()
	}
	given := 0
	return func() (fault.Edge, bool) {
		switch given++; given {
		case 1:
			return last, more
		case 2:
			return next, after
		}
		return changes()
	}
}

// recallTables has switches count as forwarding by the tables that were in force.
func (f *Fabric) recallTables(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	text, err := deflate.Decompress(data)
	if err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	var list []*tables.Patch
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	for _, p := range list {
		if int(p.Switch) >= len(f.switches) {
			return fmt.Errorf("tables of switch %d: %w: there are %d", p.Switch, ErrUnknown, len(f.switches))
		}
		s := f.switches[p.Switch]
		was := s.Now()
		fw, err := tables.Apply(was.Firmware, was.Version, f.graph.Place(s.id), f.opts.Switch.VCs, p)
		if err != nil {
			return fmt.Errorf("tables of switch %s: %w", s.name, err)
		}
		s.Set(&host.Loaded{Firmware: fw, Version: p.To})
	}
	f.keeper.tables.Store(&keptTables{data, true})
	return nil
}

// Detach stops leading, as Stop does, but leaves the parts as they are: they go on, for another leader to adopt.
func (f *Fabric) Detach() {
	f.mu.Lock()
	f.detached = true
	f.mu.Unlock()
	f.Stop()
}
