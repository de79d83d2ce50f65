package manager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
)

// coalesce waits until nothing more is heard.
func (m *Manager) coalesce(ctx context.Context) error {
	most := time.NewTimer(m.cfg.Most)
	defer most.Stop()
	for {
		window := m.cfg.Window
		if ports, err := m.cfg.Fabric.Ports(ctx); err != nil {
			return err
		} else if ports.Uncertain == 0 {
			window = m.cfg.Agreed
		}
		quiet := time.NewTimer(window)
		select {
		case <-m.heard:
			quiet.Stop()
			continue
		case <-quiet.C:
			return nil
		case <-most.C:
			quiet.Stop()
			return nil
		case <-ctx.Done():
			quiet.Stop()
			return ctx.Err()
		}
	}
}

// round plans for what is dead now and tells the switches. It reports false when there was nothing
// to do.
func (m *Manager) round(ctx context.Context) (done bool, err error) {
	ports, err := m.cfg.Fabric.Ports(ctx)
	if err != nil {
		return false, err
	}
	clock := clockAt(ports.At)
	dead := ports.Set()
	further := m.more && dead.Equal(&m.planner.Now().Dead)
	m.more = false
	if dead.Equal(&m.planner.Now().Dead) && !m.failed && !further || m.failed && dead.Equal(&m.down) {
		return false, nil
	}
	r := fabric.Round{Began: clock(), Died: died(ports.Dead, &m.planner.Now().Dead)}
	r.Method = m.planner.Method().String()
	if m.planner.Empties(dead) {
		m.empty(ctx)
		defer func() { err = errors.Join(err, m.refill(ctx)) }()
	}
	plan, err := m.planner.Plan(ctx, dead)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	r.Computed = clock()
	if m.failed = err != nil; err != nil {
		m.down = dead.Clone()
		r.Version, r.Error = m.version, err.Error()
		return false, m.report(ctx, r)
	}
	if further && len(plan.Patches()) == 0 {
		return false, nil
	}
	j := job{
		Version: m.version + 1, Acknowledged: m.allAcknowledged, Settled: m.settled, Dead: ports.Dead, Died: r.Died,
		Static: plan.Static, Began: r.Began, Planned: r.Computed,
	}
	if n := len(plan.Rounds); n > 1 {
		j.Rounds = n
	}
	j.tell(&plan.Rounds[0])
	if _, err := m.cfg.State.Create(ctx, keyOf(j.Version), encode(j)); err != nil {
		return false, fmt.Errorf("version %d cannot be written down: %w", j.Version, err)
	}
	copy(m.before, m.want)
	m.tell(Note{Kind: NotePlanned, Text: fmt.Sprintf("version %d for %s, without %s", j.Version,
		english.Plural(len(j.Tells), "switch", ""), english.Plural(len(j.Dead), "link", ""))})
	return true, m.carryOut(ctx, j, plan, r)
}

// clockAt is a clock that showed a time just now.
func clockAt(at weft.Time) func() weft.Time {
	began := time.Now()
	return func() weft.Time { return at + weft.FromDuration(time.Since(began)) }
}

func died(now []weft.LinkID, before *subnet.Dead) (list []weft.LinkID) {
	for _, id := range now {
		if !before.HasLink(id) {
			list = append(list, id)
		}
	}
	return list
}

// summary is what is known of a reconfiguration before it is carried out.
func summary(plan *manage.Plan, method string) fault.Reconfiguration {
	return fault.Reconfiguration{
		Method: method, Switches: len(plan.Patches()), Acyclic: plan.Acyclic,
		FlowsTotal: plan.FlowsTotal, FlowsRerouted: plan.FlowsRerouted, Unroutable: plan.Unroutable,
		Isolated: plan.Unconnected,
		Without:  plan.Without, NoSpare: plan.NoSpare,
	}
}

// carryOut brings a job that is written down into force, and the rounds of its plan that follow.
func (m *Manager) carryOut(ctx context.Context, j job, plan *manage.Plan, r fabric.Round) error {
	m.planner.Adopt(plan)
	r.Reconfiguration = summary(plan, m.planner.Method().String())
	var problems []string
	busy := ctx
	var at weft.Time
	for held := false; ; {
		m.version, m.allAcknowledged, m.settled = j.Version, false, false
		m.now = &plan.Rounds[j.Round]
		for _, p := range m.now.Patches {
			m.want[p.Switch] = j.Version
			r.Entries += manage.Changes(p)
		}
		if j.Static && !held {
			held = true
			waits := clockAt(0)
			if err := m.emptied(ctx); err != nil {
				problems = append(problems, "tables are replaced though packets are on their way: "+err.Error())
			}
			r.Drain = waits()
			if ctx.Err() != nil { // nothing has changed yet
				return errors.Join(ctx.Err(), m.resume(ctx))
			}
			// who leaves now must not leave the NICs held, and half of the tables would be worse; both are
			// short
			busy = context.WithoutCancel(ctx)
		}
		if at = m.upload(busy); at == 0 && len(j.Tells) > 0 { // the manager before has told them all
			ports, err := m.cfg.Fabric.Ports(busy)
			if err != nil {
				return err
			}
			at = ports.At
		}
		if j.last() {
			break
		}
		if err := busy.Err(); err != nil {
			return err
		}
		var err error
		if j, err = m.follow(busy, j, plan); err != nil {
			return err
		}
	}
	r.Version, r.Static = j.Version, j.Static
	r.InForce = max(at, r.Computed)
	if j.Static {
		if err := m.resume(ctx); err != nil {
			return err
		}
		if len(problems) == 0 && len(m.late) == 0 {
			m.gone() // nothing was on its way
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.acknowledged()
	problems = append(problems, m.lateNames()...)
	r.Error = strings.Join(problems, "; ")
	if err := m.report(ctx, r); err != nil {
		return err
	}
	m.head.Last = j.Version
	return m.cfg.State.Put(ctx, keyHead, encode(m.head))
}

// follow writes down the job for the round after another, which all switches have acknowledged.
// Where one that may forward packets has not, the fabric is emptied for what follows.
func (m *Manager) follow(ctx context.Context, j job, plan *manage.Plan) (job, error) {
	j.Version, j.Round = j.Version+1, j.Round+1
	j.Static = j.Static || m.waits(&plan.Dead)
	j.tell(&plan.Rounds[j.Round])
	if _, err := m.cfg.State.Create(ctx, keyOf(j.Version), encode(j)); err != nil {
		return j, fmt.Errorf("version %d cannot be written down: %w", j.Version, err)
	}
	copy(m.before, m.want)
	return j, nil
}

// emptying is a fabric whose NICs are held while its next plan is computed.
type emptying struct {
	stop context.CancelFunc
	done chan error // capacity 1: it is empty, or why it is not
}

// empty begins to empty the fabric.
func (m *Manager) empty(ctx context.Context) {
	wait, stop := context.WithCancel(ctx)
	e := &emptying{stop, make(chan error, 1)}
	m.emptying = e
	go func() { e.done <- m.hold(wait) }() // emptied or refill waits for it
}

// emptied returns when the fabric is empty.
func (m *Manager) emptied(ctx context.Context) error {
	e := m.emptying
	if e == nil {
		return m.hold(ctx)
	}
	m.emptying = nil
	defer e.stop()
	return <-e.done
}

// refill has the NICs inject again for which nothing came of emptying the fabric.
func (m *Manager) refill(ctx context.Context) error {
	e := m.emptying
	if e == nil {
		return nil
	}
	m.emptying = nil
	e.stop()
	<-e.done
	return m.resume(ctx)
}

func (m *Manager) hold(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, m.cfg.Drain)
	defer cancel()
	return m.cfg.Fabric.Hold(wait)
}

// resume has the NICs inject again, also when ctx has ended.
func (m *Manager) resume(ctx context.Context) error {
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.Lease/2)
	defer cancel()
	return m.cfg.Fabric.Resume(wait)
}

// lateNames says which switches have not taken their tables.
func (m *Manager) lateNames() (list []string) {
	g := m.planner.Graph()
	for _, s := range g.Switches {
		if err := m.late[s.ID]; err != nil {
			list = append(list, fmt.Sprintf("%s has not taken version %d, and is asked again: %v", s.Name, m.want[s.ID], err))
		}
	}
	return list
}

func (m *Manager) report(ctx context.Context, r fabric.Round) error {
	told, err := m.cfg.Fabric.Report(ctx, r)
	r.Reconfiguration = told
	m.tell(Note{Kind: NoteRound, Text: told.String(), Round: r})
	return err
}
