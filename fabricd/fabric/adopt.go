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

// A leader that takes the place of another finds hosts that run. What they have counted, and what was done to them, they say
// themselves; the faults in force, their reports and what was counted before are in the State that was kept. What is in force at
// a host and not in the State was ordered in the last moment of the leader before, and is undone, but for newer tables.

// adopt takes over the hosts that run, and has those made anew that do not answer.
func (f *Fabric) adopt(ctx context.Context, s *State) error {
	f.mu.Lock()
	err := f.restoreState(s)
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("fabric: what was kept of the fabric: %w", err)
	}
	applied := make(map[*hostState]*host.Applied, len(f.remote))
	sums := make([]host.Sum, len(f.remote))
	errs := make([]error, len(f.remote))
	index := map[*hostState]int{}
	for i, h := range f.remote {
		index[h] = i
	}
	began := time.Now()
	_ = each(ctx, f.remote, func(ctx context.Context, h *hostState) error {
		i := index[h]
		sums[i], errs[i] = h.askApplied(ctx)
		return nil
	})
	// The clock goes on where that of the host is that is furthest: time was never less.
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
	for i, h := range f.remote {
		switch err := errs[i]; {
		case err == nil:
			h.takeFirst(sums[i])
			applied[h] = sums[i].Applied
			f.era = max(f.era, sums[i].Applied.Era)
		case errors.Is(err, reply.ErrNobody) || errors.Is(err, reply.ErrRefused) || errors.Is(err, context.DeadlineExceeded):
			h.markSuspect() // its attendant finds out what has become of it
		default:
			return fmt.Errorf("fabric: %v: %w", h, err)
		}
	}
	f.suspectSilences()
	return each(ctx, f.remote, func(_ context.Context, h *hostState) error {
		if applied[h] == nil {
			return nil
		}
		return h.resync(applied[h])
	})
}

// askApplied asks a host that another leader has left.
func (h *hostState) askApplied(ctx context.Context) (host.Sum, error) {
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	h.mu.Lock()
	number := h.number
	h.mu.Unlock()
	asked := h.fabric.Now()
	s, err := h.host.Sum(ctx, host.SumRequest{Number: number, Term: h.fabric.opts.Term, Ends: true, Peers: h.peers(), Eras: true, Latency: true, Applied: true})
	if s.Asked = asked; err == nil && s.Applied == nil {
		err = errors.New("it does not say what was done to it")
	}
	return s, err
}

// takeFirst makes s the first that is known of p.
func (h *hostState) takeFirst(s host.Sum) {
	h.mu.Lock()
	h.clock = skew{behind: h.fabric.Now() - s.Now, trip: weft.Second, known: true} // for a moment; it is measured with every look
	h.mu.Unlock()
	_ = h.keep(s) // its number is the one that was asked for
}

// restoreState puts the fabric into the state that was kept. The caller holds mu.
func (f *Fabric) restoreState(s *State) error {
	f.era, f.incarnations, f.rounds = s.Era, s.Incarnations, s.Rounds
	if err := f.restoreLedger(s); err != nil {
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
	if err := f.restoreTables(s.Tables); err != nil {
		return err
	}
	byID := map[int]*incident{}
	for _, k := range s.Incidents {
		r, err := f.restoreIncident(k)
		if err != nil {
			return fmt.Errorf("report %d: %w", k.Report.ID, err)
		}
		byID[r.report.ID] = r
	}
	for _, k := range s.Hosts {
		if h := f.hostNamed(k.Name); h != nil {
			h.restore(k, byID[k.Incident])
		}
	}
	for _, k := range s.Faults {
		if err := f.restoreFault(k, byID[k.Incident]); err != nil {
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

// restoreLedger goes on with the ledger of the leader before. Hosts that went with its process are gone.
func (f *Fabric) restoreLedger(s *State) error {
	l, err := s.Restore(f.graph)
	if err != nil {
		return err
	}
	f.ledger.read(func(*ledger.Ledger) { f.ledger.ledger = l })
	now := f.Now()
	f.ledger.step(now, ledger.LeaderChanged{})
	for _, hosted := range l.Hosts() {
		if hosted.Host != 0 && !slices.ContainsFunc(f.remote, func(h *hostState) bool { return h.id == hosted.Host }) {
			f.ledger.step(now, ledger.HostEnded{Host: hosted.Host})
		}
	}
	f.incarnations = max(f.incarnations, f.opts.Term<<termShift, ownNumber) + 1
	f.beginLocal(f.incarnations)
	return nil
}

func (f *Fabric) hostNamed(name string) *hostState {
	for _, h := range f.remote {
		if h.name == name {
			return h
		}
	}
	return nil
}

// restore puts h into the state that was kept.
func (h *hostState) restore(k HostCheckpoint, gone *incident) {
	h.user, h.again, h.absence = k.User, k.Again, gone
	h.mu.Lock()
	h.retired = k.Retired
	h.mu.Unlock()
	h.incarnations.Store(&k.Incarnations)
	h.begin(incarnationIn(k.Incarnations, k.Number))
	if k.Failed {
		h.markSuspect()
		h.failed.Store(true)
	}
}

// restoreIncident goes on with a report.
func (f *Fabric) restoreIncident(k IncidentCheckpoint) (*incident, error) {
	r := &incident{began: k.Began, closes: k.Closes, dipMeasured: true, detectedByAll: k.DetectedByAll, firstEra: k.Era, report: k.Report}
	if !k.DipMeasured {
		r.report.Dip = fault.Dip{} // of a throughput that nobody sampled while there was no leader
	}
	var links []*link
	if h := f.hostNamed(k.Report.Target); h != nil && k.Report.Kind == KindHost {
		links = append(append(links, h.border...), h.inside...)
	}
	for _, id := range k.Links {
		l, err := f.link(id)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	f.incidents = append(f.incidents, r)
	r.detection.turned = weft.Never
	if !k.Report.Open {
		r.linksOnce = links
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
	f.openIncidents = append(f.openIncidents, r)
	f.monitor.resume(r)
	return r, nil
}

// resume watches a report that was begun under another leader: who has found out is in it, and nobody else is waited for.
func (m *monitor) resume(r *incident) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &r.detection
	w.ends, w.detected = map[weft.End]bool{}, r.report.Detected
	w.seen = r.began + weft.Time(r.report.SeenAfter*float64(weft.Millisecond))
	if r.report.FirstReroute != nil {
		w.turned = r.began + weft.Time(*r.report.FirstReroute*float64(weft.Millisecond))
	}
	m.open = append(m.open, r)
}

// restoreFault puts a fault in force again, which its links are told of with all else.
func (f *Fabric) restoreFault(k FaultCheckpoint, rec *incident) error {
	if rec == nil {
		return errors.New("its report was not kept")
	}
	a := &activeFault{spec: k.Spec, incident: rec, flapUp: k.FlapUp}
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
	f.restored = append(f.restored, a)
	return nil
}

// resumeFaults has faults change and end by themselves as they should have. The caller holds mu; the world has started.
func (f *Fabric) resumeFaults() {
	for _, a := range f.restored {
		switch {
		case a.spec.Do == fault.VerbFlap:
			draws := weft.Stream(f.opts.Seed, weft.StreamFlap, uint64(a.incident.report.ID), 0)
			f.finishSoon(f.flap(a, a.incident.began, f.changesLeft(a, a.spec.Flap.Changes(draws.Uint64))))
		case a.spec.For > 0:
			f.when(a, max(f.Now(), a.incident.began+weft.FromDuration(time.Duration(a.spec.For))), func() *batch { return f.end(a) })
		}
	}
	f.restored = nil
}

// changesLeft leaves out the changes of a flap that are past, but for the last.
func (f *Fabric) changesLeft(a *activeFault, changes func() (fault.Edge, bool)) func() (fault.Edge, bool) {
	last, more := changes()
	next, after := changes()
	for more && after && a.incident.began+weft.FromDuration(next.At) <= f.Now() {
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

// restoreTables has switches count as forwarding by the tables that were in force.
func (f *Fabric) restoreTables(data []byte) error {
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
	f.checkpoints.tables.Store(&packedTables{data, true})
	return nil
}

// Detach stops leading, as Stop does, but leaves the hosts as they are: they go on, for another leader to adopt.
func (f *Fabric) Detach() {
	f.mu.Lock()
	f.detached = true
	f.mu.Unlock()
	f.Stop()
}
