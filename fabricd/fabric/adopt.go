package fabric

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// A leader that takes the place of another finds hosts that run. What they have counted, and what
// was done to them, they say themselves; the faults in force, their reports and what was counted
// before are in the State that was kept. What is in force at a host and not in the State was
// ordered in the last moment of the leader before, and is undone, but for newer tables.

// adopt takes over the hosts that run, and has those made anew that do not answer.
func (f *Fabric) adopt(ctx context.Context, s *State) error {
	var err error
	f.inLoop(func(l loop) { err = f.restoreState(l, s) })
	if err != nil {
		return fmt.Errorf("fabric: what was kept of the fabric: %w", err)
	}
	hosts := f.remoteHosts()
	applied := make(map[*hostState]*host.Applied, len(hosts))
	counters := make([]host.Counters, len(hosts))
	errs := make([]error, len(hosts))
	index := map[*hostState]int{}
	for i, h := range hosts {
		index[h] = i
	}
	began := time.Now()
	_ = each(ctx, hosts, func(ctx context.Context, h *hostState) error {
		i := index[h]
		counters[i], errs[i] = h.askApplied(ctx)
		return nil
	})
	// The clock goes on where that of the host is that is furthest: time was never less.
	for i := range counters {
		if errs[i] == nil {
			passed := float64(weft.FromDuration(time.Since(began))) * cmp.Or(f.Tempo().Factor, 1)
			f.live.forward(counters[i].Now + weft.Time(passed))
		}
	}
	first := host.Order{Generation: new(f.generation()), Hold: new(f.Held()), TimeFactor: f.Tempo().Factor}
	if _, err := f.local.order(first); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	if err := f.local.reload(nil); err != nil {
		return fmt.Errorf("fabric: %w", err)
	}
	for i, h := range hosts {
		switch err := errs[i]; {
		case err == nil:
			h.takeFirst(counters[i])
			applied[h] = counters[i].Applied
			f.note(leader.Reached{Generation: counters[i].Applied.Generation})
		case noAnswer(err) || errors.Is(err, reply.ErrRefused):
			h.markSuspect() // its attendant finds out what has become of it
		default:
			return fmt.Errorf("fabric: %v: %w", h, err)
		}
	}
	f.step(leader.Adopted{})
	return f.attendance.resyncAdopted(ctx, applied)
}

// resyncAdopted tells hosts that have answered all that they should know.
func (at *attendance) resyncAdopted(ctx context.Context, applied map[*hostState]*host.Applied) error {
	hosts := slices.SortedFunc(maps.Keys(applied), func(a, b *hostState) int { return cmp.Compare(a.id, b.id) })
	return each(ctx, hosts, func(_ context.Context, h *hostState) error { return at.resyncOrSuspect(h, applied[h]) })
}

// resyncOrSuspect is resync for a leader that takes over. It waits for no host that has got stuck
// since its first answer: that one is suspect, and is told all again when it answers.
func (at *attendance) resyncOrSuspect(h *hostState, applied *host.Applied) error {
	done := make(chan error, 1)
	if !at.spawn(func() { done <- at.resync(h, applied) }) {
		return errStopped
	}
	timer := time.NewTimer(h.patience() + time.Duration(len(h.ends))*signalTime)
	defer timer.Stop()
	select {
	case err := <-done:
		if h.suspect.Load() || noAnswer(err) || errors.Is(err, host.ErrOvertaken) {
			return nil
		}
		return err
	case <-timer.C:
		h.stale.Store(true)
		h.markSuspect()
		return nil
	}
}

// askApplied asks a host that another leader has left.
func (h *hostState) askApplied(ctx context.Context) (host.Counters, error) {
	ctx, cancel := context.WithTimeout(ctx, h.patience()) // one that is frozen is looked after later
	defer cancel()
	h.mu.Lock()
	number := h.number
	h.mu.Unlock()
	asked := h.site.Now() // the answer counts for all neighbours that there were by then
	s, err := h.host.Counters(ctx, host.CountersRequest{
		Number: number, Term: h.site.opts.Term, Ends: true,
		Peers: h.peers(), Generations: true, Latency: true, Applied: true,
	})
	if s.Asked = asked; err == nil && s.Applied == nil {
		err = errors.New("it does not say what was done to it")
	}
	return s, err
}

// takeFirst makes s the first that is known of p.
func (h *hostState) takeFirst(s host.Counters) {
	h.mu.Lock()
	// for a moment; it is measured with every look
	h.clock = skew{behind: h.site.Now() - s.Now, trip: weft.Second, known: true}
	h.mu.Unlock()
	_ = h.storeCounters(s) // its number is the one that was asked for
}

// restoreState puts the fabric into the state that was kept.
func (f *Fabric) restoreState(l loop, s *State) error {
	f.incarnations = s.Incarnations
	if err := f.restoreLedger(s); err != nil {
		return err
	}
	f.events.resume(s.Events)
	if len(s.Chance) > 0 {
		if err := f.chance.UnmarshalBinary(s.Chance); err != nil {
			return err
		}
		f.pattern = rand.New(f.chance)
	}
	traffic, err := s.Traffic.Traffic()
	if err != nil {
		return err
	}
	if err := f.restoreTables(s.Tables); err != nil {
		return err
	}
	absent := map[ledger.HostID]int{}
	for _, k := range s.Hosts {
		if h := f.hostNamed(k.Name); h != nil {
			h.restore(k)
			absent[h.id] = k.Incident
		}
	}
	var running []ledger.HostID
	for _, k := range s.Own {
		h, err := f.restoreOwn(l, k)
		if err != nil {
			return err
		}
		if absent[h.id] = k.Incident; k.Runs {
			running = append(running, h.id)
		}
	}
	f.change(func(state *leader.State) {
		err = state.Restore(leader.Restored{
			Generation: s.Generation, Rounds: s.Rounds, Incidents: s.Incidents,
			Faults: s.Faults, Absent: absent, Running: running, Moves: s.Moves, HeldUntil: s.HeldUntil,
			Traffic: leader.Traffic{What: traffic, Draws: s.Traffic.Draws, Trace: s.Traffic.Trace},
			Tempo:   s.Tempo,
		})
	})
	return err
}

// Restore is the ledger of a state.
func (s *State) Restore(g *topology.Graph) (*ledger.Ledger, error) {
	return ledger.Restore(s.Ledger, linksOf(g))
}

// restoreLedger goes on with the ledger of the leader before. Hosts that went with its process are
// gone.
func (f *Fabric) restoreLedger(s *State) error {
	l, err := s.Restore(f.graph)
	if err != nil {
		return err
	}
	f.ledger.change(func(now *ledger.Ledger) { *now = *l })
	now := f.Now()
	f.ledger.step(now, ledger.LeaderChanged{})
	var hosts []ledger.HostBalance
	f.ledger.read(func(l *ledger.Ledger) { hosts = l.Hosts() })
	for _, hosted := range hosts {
		if hosted.Host != 0 && !s.has(f, hosted.Host) {
			f.ledger.step(now, ledger.HostEnded{Host: hosted.Host})
		}
	}
	f.incarnations = max(f.incarnations, f.opts.Term<<termShift, ownNumber) + 1
	f.beginLocal(f.incarnations)
	return nil
}

// has reports whether there is still a host that was there under the leader before.
func (s *State) has(f *Fabric, id ledger.HostID) bool {
	return slices.ContainsFunc(f.remote, func(h *hostState) bool { return h.id == id }) ||
		slices.ContainsFunc(s.Own, func(k OwnCheckpoint) bool {
			sw, err := f.switchByName(k.Name)
			return err == nil && k.Number != 0 && f.hostOfProcess(sw.id) == id
		})
}

// restoreOwn puts a switch that was moved, and its host of its own, into the state that was kept.
func (f *Fabric) restoreOwn(l loop, k OwnCheckpoint) (*hostState, error) {
	s, err := l.switchByName(k.Name)
	if err != nil {
		return nil, err
	}
	h := f.attendance.ownOf(l, s)
	h.restore(k.HostCheckpoint)
	s.lives.Store(&k.Lives)
	if k.Number != 0 {
		c := host.Spec{Number: k.Number, Epoch: incarnationIn(k.Incarnations, k.Number).First}
		o := f.attendance.newOwner(&c, k.User)
		o.agent, o.pid, o.machine = k.Agent, k.PID, k.Machine
		h.owner.Store(o)
		s.moved.Store(k.Runs)
	}
	return h, nil
}

// restore puts h into the state that was kept.
func (h *hostState) restore(k HostCheckpoint) {
	h.user = k.User
	h.again.Store(k.Again)
	h.mu.Lock()
	h.retired = k.Retired
	h.mu.Unlock()
	h.incarnations.Store(&k.Incarnations)
	h.begin(incarnationIn(k.Incarnations, k.Number))
	if k.Failed {
		h.markSuspect()
		h.setFailed(true)
	}
}

// restoreTables has switches count as forwarding by the tables that were in force.
func (d *decisions) restoreTables(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	text, err := wire.Decompress(data)
	if err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	var o host.LoadOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	for _, f := range o.Files {
		if err := subnet.Keep(f.Routing, f.Bytes); err != nil {
			return fmt.Errorf("firmware %s: %w", f.Routing, err)
		}
	}
	for _, p := range o.Patches {
		if int(p.Switch) >= len(d.switches) {
			return fmt.Errorf("tables of switch %d: %w: there are %d", p.Switch, ErrUnknown, len(d.switches))
		}
		s := d.switches[p.Switch]
		next, err := s.Patched(d.graph.Place(s.id), d.opts.Switch.VCs, p, d.make)
		if err != nil {
			return fmt.Errorf("tables of switch %s: %w", s.name, err)
		}
		s.Set(next)
	}
	d.checkpoints.tables.Store(&packedTables{data, true})
	return nil
}

// Detach stops leading, as Stop does, but leaves the hosts as they are: they go on, for another
// leader to adopt.
func (f *Fabric) Detach() {
	f.inLoop(func(loop) { f.attendance.detached = true })
	f.Stop()
}
