package manager

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/switch/tables"
)

// check says whether the method given is the one by which the fabric is managed already, if it is.
func (m *Manager) check(ctx context.Context) error {
	c, err := m.cfg.Fabric.Spec(ctx)
	if err != nil {
		return err
	}
	var h head
	_, found, err := read(ctx, m.cfg.State, keyHead, &h)
	if err == nil {
		_, err = m.method(h, found && h.Instance == c.Instance)
	}
	return err
}

// recover learns what there is to manage and what was done before, and finishes what was begun.
func (m *Manager) recover(ctx context.Context) error {
	var err error
	if m.spec, err = m.cfg.Fabric.Spec(ctx); err != nil {
		return err
	}
	var h head
	_, found, err := read(ctx, m.cfg.State, keyHead, &h)
	if err != nil {
		return err
	}
	same := found && h.Instance == m.spec.Instance
	method, err := m.method(h, same)
	if err != nil {
		return err
	}
	g, err := readGraph(m.spec)
	if err != nil {
		return err
	}
	if method == nil {
		chosen, why := manage.For(ctx, m.spec.Routing, g)
		if why != nil {
			return why
		}
		if method = &chosen; !chosen.On() {
			return fmt.Errorf("%s: nothing to manage: it has no tables, or goes round what is dead by itself: name a method, "+
				"as %s", m.spec.Routing, manage.Syntax())
		}
	}
	if m.planner, err = manage.New(ctx, g, m.spec.Routing, *method, m.spec.VCs); err != nil {
		return err
	}
	m.planner.InParallel(inParallel)
	if m.has, err = m.cfg.Fabric.Versions(ctx); err != nil {
		return err
	}
	if len(m.has) != len(g.Switches) {
		return fmt.Errorf("the fabric has %d switches, its topology %d", len(m.has), len(g.Switches))
	}
	m.want, m.known, m.before = make([]uint64, len(m.has)), make([]bool, len(m.has)), make([]uint64, len(m.has))
	for s := range m.want {
		m.want[s], m.before[s], m.known[s] = tables.FirstVersion, tables.FirstVersion, true
	}
	clear(m.late)
	if !same {
		return m.begin(ctx, h, found)
	}
	m.head = h
	return m.replay(ctx)
}

// method is the one to manage by, nil when it is to be chosen: that of the manager before, for
// tables of another would be mixed.
func (m *Manager) method(h head, same bool) (*manage.Method, error) {
	given := m.cfg.Method
	if given == manage.Auto {
		given = ""
	}
	switch {
	case same && given != "" && given != h.Method:
		return nil,
			fmt.Errorf("the fabric is managed by %s: give that, or no method, and another when the fabric is started again",
				h.Method)
	case same:
		given = h.Method
	case given == "":
		return nil, nil
	}
	method, err := manage.Parse(given)
	if err == nil && !method.On() {
		err = fmt.Errorf("a manager by method %s would do nothing: choose %s, %s, %s or %s", given, manage.DDRC, manage.DQR,
			manage.Direct, manage.Engine)
	}
	return &method, err
}

// begin takes a fabric that nobody has managed since it was started: its switches have what its
// routing begins with. Versions go on from those of the fabric before it that had its name.
func (m *Manager) begin(ctx context.Context, h head, found bool) error {
	last := max(tables.FirstVersion, slices.Max(m.has))
	if found {
		last = max(last, h.Last)
		for { // jobs that were written down and not done
			var j job
			_, more, err := read(ctx, m.cfg.State, keyOf(last+1), &j)
			if err != nil {
				return err
			}
			if !more {
				break
			}
			last++
		}
		for v := h.First; v <= last; v++ {
			if err := m.cfg.State.Delete(ctx, keyOf(v)); err != nil {
				return err
			}
		}
	}
	m.version = last
	m.head = head{
		Instance: m.spec.Instance, Routing: m.spec.Routing, Method: m.planner.Method().String(), First: last + 1,
		Last: last,
	}
	if err := m.cfg.State.Put(ctx, keyHead, encode(m.head)); err != nil {
		return err
	}
	return m.first(ctx)
}

// first does what there is to do before anything is dead: nothing, where the switches have what the
// routing begins with.
func (m *Manager) first(ctx context.Context) error {
	m.allAcknowledged, m.settled = true, true
	if !slices.ContainsFunc(m.has, func(v uint64) bool { return v != tables.FirstVersion }) {
		return m.cfg.Fabric.Resume(ctx) // the one before may have gone before it told any switch, and its state with it
	}
	// The switches have tables of a manager whose state is lost: to give them those of the routing
	// again is a job of its own.
	ports, err := m.cfg.Fabric.Ports(ctx)
	if err != nil {
		return err
	}
	plan := m.planner.Now()
	j := job{
		Version: m.version + 1, Static: true, Began: ports.At, Planned: ports.At, Acknowledged: true,
		Settled: true,
	}
	for s := range m.want {
		j.Tells, m.want[s], m.known[s] = append(j.Tells, weft.SwitchID(s)), j.Version, false
	}
	if _, err := m.cfg.State.Create(ctx, keyOf(j.Version), encode(j)); err != nil {
		return fmt.Errorf("version %d cannot be written down: %w", j.Version, err)
	}
	return m.carryOut(ctx, j, plan, roundOf(j))
}

func roundOf(j job) fabric.Round {
	return fabric.Round{Began: j.Began, Computed: j.Planned, Died: j.Died}
}

// replay computes again what was planned since the fabric was started, and finishes the last job.
func (m *Manager) replay(ctx context.Context) error {
	first := true
	m.version, m.allAcknowledged, m.settled = m.head.First-1, true, true
	var j job
	plan := m.planner.Now()
	for {
		var next job
		_, found, err := read(ctx, m.cfg.State, keyOf(m.version+1), &next)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		begins := first && len(next.Dead) == 0 && len(next.Tells) > 0
		if !begins && next.Round == 0 {
			if !first {
				m.planner.Adopt(plan)
				if next.Acknowledged {
					m.planner.Acknowledged()
				}
				if next.Settled {
					m.planner.Settled()
				}
			}
			if plan, err = m.planner.Plan(ctx, next.set()); err != nil {
				return fmt.Errorf("version %d, which was planned before: %w", next.Version, err)
			}
		}
		first, j = false, next
		m.version = next.Version
		copy(m.before, m.want)
		for _, s := range next.Tells {
			if int(s) >= len(m.want) {
				return fmt.Errorf("version %d tells switch %d, there are %d", next.Version, s, len(m.want))
			}
			m.want[s] = next.Version
		}
	}
	if first {
		return m.first(ctx) // the one before got no further than to begin
	}
	for s := range m.has {
		m.known[s] = m.has[s] == m.before[s] || m.has[s] == m.want[s]
		if m.has[s] > m.want[s] {
			return fmt.Errorf("switch %s has tables of version %d, and the state knows of none after %d: is another manager "+
				"at work, with a state of its own?",
				m.planner.Graph().Switches[s].Name, m.has[s], m.want[s])
		}
	}
	if j.Round >= len(plan.Rounds) {
		return fmt.Errorf("version %d is round %d of a plan of %d: is the manager before another program?", j.Version,
			j.Round+1, len(plan.Rounds))
	}
	if m.head.Last == j.Version && j.last() && slices.Equal(m.has, m.want) { // it was done
		m.planner.Adopt(plan)
		m.now, m.settled = &plan.Rounds[j.Round], false
		m.acknowledged()
		return m.cfg.Fabric.Resume(ctx)
	}
	return m.carryOut(ctx, j, plan, roundOf(j))
}
