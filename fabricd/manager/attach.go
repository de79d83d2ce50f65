package manager

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/switch/tables"
)

// Delays are how long a manager takes in virtual time, where computing takes none.
type Delays struct {
	Detect     time.Duration // from a port's change to computing; 10 ms
	Compute    time.Duration // 10 ms
	Distribute time.Duration // until all switches have their tables, at one instant; 10 ms
}

// The defaults make 30 ms in all, the time that Sem-Jacobsen, Skeie, Lysne, Duato: Dynamic Fault
// Tolerance in Fat Trees, section IX, has for a reconfiguration; its other figure is 500 ms.
const defaultDelay = 10 * time.Millisecond

// Attach manages a fabric of this process that has been started, over no broker and with no state
// that outlives it: live by a goroutine, in virtual time by delays. stop ends it.
func Attach(f *fabric.Fabric, routing string, m manage.Method, vcs int, d Delays) (stop func(), err error) {
	if !f.Virtual() {
		ctx, cancel := context.WithCancel(context.Background())
		managing := New(Config{Fabric: Local{Fabric: f, Routing: routing, VCs: vcs}, State: &Memory{}, Method: m.String()})
		ready := make(chan error, 1) // capacity 1: of two answers the first counts
		managing.cfg.Tell = func(n Note) {
			if n.Kind == NoteManages {
				select {
				case ready <- nil:
				default:
				}
			}
		}
		var running sync.WaitGroup
		running.Go(func() {
			err := managing.Run(ctx)
			select {
			case ready <- err:
			default:
			}
		})
		stop = func() { cancel(); running.Wait() }
		if err := <-ready; err != nil {
			stop()
			return nil, err
		}
		return stop, nil
	}
	p, err := manage.New(context.Background(), f.Topology(), routing, m, vcs)
	if err != nil {
		return nil, err
	}
	p.InParallel(inParallel)
	for _, x := range []*time.Duration{&d.Detect, &d.Compute, &d.Distribute} {
		*x = cmp.Or(*x, defaultDelay)
	}
	v := &virtual{
		f: f, planner: p, delays: d, version: tables.FirstVersion,
		has: make([]uint64, len(f.Topology().Switches)),
	}
	for s := range v.has {
		v.has[s] = tables.FirstVersion
	}
	p.Settled()
	f.OnPorts(v.heard)
	return func() { v.over = true }, nil
}

// virtual is a manager in virtual time. All of it happens on the fabric's goroutine, and nothing
// interrupts what it computes.
type virtual struct {
	f       *fabric.Fabric
	planner *manage.Planner
	delays  Delays
	version uint64
	has     []uint64

	busy  bool // a round is under way
	again bool // something was heard meanwhile
	more  bool // flows may return now that older packets are gone
	over  bool
	round uint64
}

func (v *virtual) after(d time.Duration, do func()) {
	v.f.At(v.f.Now()+weft.FromDuration(d), func() {
		if !v.over {
			do()
		}
	})
}

func (v *virtual) heard() {
	if v.busy || v.over {
		v.again = true
		return
	}
	v.busy, v.again = true, false
	v.after(v.delays.Detect, v.compute)
}

// idle ends a round.
func (v *virtual) idle() {
	if v.busy = false; v.again {
		v.heard()
	}
}

func (v *virtual) compute() {
	v.again = false // it is looked at now
	ports := v.f.Ports()
	dead := ports.Set()
	further := v.more && dead.Equal(&v.planner.Now().Dead)
	v.more = false
	if dead.Equal(&v.planner.Now().Dead) && !further {
		v.idle()
		return
	}
	r := fabric.Round{Began: v.f.Now(), Died: died(ports.Dead, &v.planner.Now().Dead)}
	r.Method = v.planner.Method().String()
	if v.planner.Empties(dead) {
		v.f.HoldNICs()
	}
	plan, err := v.planner.Plan(context.Background(), dead)
	if further && err == nil && len(plan.Patches()) == 0 {
		v.idle()
		return
	}
	v.after(v.delays.Compute, func() {
		r.Computed = v.f.Now()
		if err != nil {
			r.Version, r.Error = v.version, err.Error()
			v.f.ResumeNICs()
			v.f.Reconfigured(r)
			v.idle()
			return
		}
		v.planner.Adopt(plan)
		if !plan.Static {
			v.f.ResumeNICs()
			v.after(v.delays.Distribute, func() { v.done(plan, r) })
			return
		}
		v.f.HoldNICs()
		v.drain(plan, r, v.f.Now()+weft.FromDuration(Config{}.withDefaults().Drain))
	})
}

// drainEvery is how often it is looked whether a fabric is empty.
const drainEvery = 100 * time.Microsecond

// drain waits for the last packet of a fabric whose NICs are held, until some time: packets that
// stand still may need the tables to go on.
func (v *virtual) drain(plan *manage.Plan, r fabric.Round, until weft.Time) {
	switch {
	case v.f.Empty():
	case v.f.Now() < until:
		v.after(drainEvery, func() { v.drain(plan, r, until) })
		return
	default:
		r.Error = "tables are replaced though packets are on their way"
	}
	r.Drain = v.f.Now() - r.Computed
	v.after(v.delays.Distribute, func() {
		v.done(plan, r)
		v.f.ResumeNICs()
	})
}

// tell has the switches forward by a plan.
func (v *virtual) tell(plan *manage.Plan) (entries int, err error) {
	v.version++
	for _, p := range plan.Patches() {
		q := *p
		q.To = v.version
		if q.From != 0 {
			q.From = v.has[p.Switch]
		}
		if err = v.f.Load(context.Background(), &q); err != nil {
			return entries, err
		}
		v.has[p.Switch] = v.version
		entries += manage.Changes(p)
	}
	return entries, nil
}

func (v *virtual) done(plan *manage.Plan, r fabric.Round) {
	entries, err := v.tell(plan)
	problem := r.Error
	r.Reconfiguration = summary(plan, r.Method)
	r.Version, r.Entries, r.Static, r.Error = v.version, entries, plan.Static, problem
	if r.InForce = v.f.Now(); err != nil {
		r.Error = err.Error()
	}
	if err == nil {
		v.planner.Acknowledged()
	}
	v.f.Reconfigured(r)
	v.round++
	v.settle(v.round, v.f.Settling())
	v.idle()
}

// settle waits until the older packets are gone, unless there is another round before.
func (v *virtual) settle(round uint64, gone func() bool) {
	v.after(fabric.SettleEvery, func() {
		switch {
		case v.round != round || v.busy:
		case gone():
			v.planner.Settled()
			v.f.Settled(v.version)
			if v.more = v.planner.More(); v.more {
				v.heard()
			}
		default:
			v.settle(round, gone)
		}
	})
}
