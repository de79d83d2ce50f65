package sweep

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/subnet/reroute"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/work"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/verify"
)

// physical is the manager that stands for no method: whether live links join all pairs, so that
// some routing could.
const physical = "physical"

// newReroute is the [Runner] of experiments that measure reconfiguration: the faults of a run come
// one after another, each is reconfigured around, and its old packets are gone before the next.
// Connected is whether every flow had a path and nothing could deadlock after this fault and after
// each before it; Tolerated is the same of those flows that live links join. Share, turns and
// unroutable pairs are those of the last fault, 0 where a fault before it was not tolerated. There
// is no traffic.
func newReroute() Runner {
	r := &rerouting{}
	r.ready.most, r.chains.most = rememberedChains, rememberedChains
	return r.run
}

// rememberedChains is how many routings in force are kept, and how many runs that go on, chosen by
// us: those of one sample of the experiments that are shipped. One of 400 switches takes tens of
// megabytes.
const rememberedChains = 24

// rerouting remembers what runs have in common. Shared by all workers.
type rerouting struct {
	ready  recent[*reroute.Reroute] // before the first fault; read by Clone only
	chains recent[*chain]
}

// chain is a run that goes on: faults one after another. A run of so many faults is the beginning
// of one of more.
type chain struct {
	mu      sync.Mutex
	faults  [][]weft.LinkID  // guarded by mu: of the run, in their order
	routes  *reroute.Reroute // guarded by mu; nil: nothing more is to be computed
	joined  *subnet.Components
	dead    subnet.Dead      // guarded by mu, for joined
	results []measure.Result // guarded by mu: by the number of faults
}

func (r *rerouting) run(ctx context.Context, c measure.Config) (measure.Result, error) {
	if err := ctx.Err(); err != nil {
		return measure.Result{}, err
	}
	if c.EverySet {
		return eachLink(ctx, &c)
	}
	same := fmt.Sprintf("%s\n%s\n%s\n%v", c.Topology.Spec, c.Routing, c.Manager, c.SwitchFlows)
	ch, err := r.chains.get(fmt.Sprintf("%s\n%s\n%d", same, c.FaultKind, c.Seed), func() (*chain, error) {
		drawn, err := c.Faultable()
		if err != nil {
			return nil, err
		}
		return r.begin(ctx, c, same, drawn)
	})
	if err != nil {
		return measure.Result{}, err
	}
	return ch.result(ctx, c.FaultCount)
}

// eachLink is a run in which each link between switches dies alone, or, with no fault, none. Share
// is the mean of the faults that are reconfigured around.
func eachLink(ctx context.Context, c *measure.Config) (measure.Result, error) {
	r := measure.Result{Faults: c.FaultCount, Stable: true, DeadlockAt: -1}
	m, err := managerOf(c.Manager)
	if err != nil {
		return r, err
	}
	o := reroute.Options{SwitchFlows: c.SwitchFlows}
	if c.FaultCount == 0 {
		routes, err := reroute.New(ctx, c.Topology, c.Routing, m, o)
		if err != nil {
			return r, err
		}
		s, err := routes.Try(ctx)
		if err != nil {
			return r, err
		}
		r.Acyclic = s.Acyclic
		judged(&r, 1, uint64(b2i(!s.Tolerated())))
		return r, nil
	}
	q, err := reroute.NewQuery(ctx, c.Topology, c.Routing, m, o)
	if err != nil {
		return r, err
	}
	all, err := q.Each(ctx, work.Local{Workers: max(1, c.Workers)}, func(int, int) {})
	if err != nil {
		return r, err
	}
	each := all.ByFaults[0]
	r.Acyclic, r.RerouteShare = all.Acyclic, each.Moved
	judged(&r, uint64(all.Runs), uint64(all.Runs-each.Tolerated))
	return r, nil
}

// begin is a run before its first fault.
func (r *rerouting) begin(ctx context.Context, c measure.Config, same string, drawn []verify.Element) (*chain, error) {
	ch := &chain{}
	for _, e := range drawn {
		ch.faults = append(ch.faults, linksOf(c.Topology, e))
	}
	if c.Manager == physical {
		ch.joined = subnet.NewComponents(c.Topology)
		return ch, nil
	}
	ready, err := r.ready.get(same, func() (*reroute.Reroute, error) {
		m, err := managerOf(c.Manager)
		if err != nil {
			return nil, err
		}
		return reroute.New(ctx, c.Topology, c.Routing, m, reroute.Options{SwitchFlows: c.SwitchFlows})
	})
	if err != nil {
		return nil, fmt.Errorf("%s by %s: %w", c.Topology.Spec, c.Routing, err)
	}
	ch.routes, err = ready.Clone(ctx)
	return ch, err
}

// linksOf are the links that die with an element.
func linksOf(g *topology.Graph, e verify.Element) (list []weft.LinkID) {
	if !e.Switch {
		return []weft.LinkID{weft.LinkID(e.ID)}
	}
	s := weft.SwitchID(e.ID).Node()
	for _, l := range g.Links {
		if l.A.Node == s || l.B.Node == s {
			list = append(list, l.ID)
		}
	}
	return list
}

// result is what is after so many faults.
func (ch *chain) result(ctx context.Context, faults int) (measure.Result, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	for len(ch.results) <= faults {
		next, err := ch.next(ctx)
		if err != nil {
			return measure.Result{}, err
		}
		ch.results = append(ch.results, next)
	}
	return ch.results[faults], nil
}

// next is what is after one fault more.
func (ch *chain) next(ctx context.Context) (measure.Result, error) {
	k := len(ch.results)
	r := measure.Result{Faults: k, Stable: true, DeadlockAt: -1}
	var links []weft.LinkID
	if k > 0 {
		links = ch.faults[k-1]
	}
	if ch.joined != nil {
		for _, l := range links {
			ch.dead.AddLink(l)
		}
		r.Unroutable = ch.joined.Compute(&ch.dead)
		r.Connected, r.Tolerated, r.Acyclic = r.Unroutable == 0, true, true
		return r, nil
	}
	if ch.routes == nil {
		return r, nil // a fault before it was not tolerated
	}
	var s *reroute.Step
	var err error
	if k == 0 {
		s, err = ch.routes.Try(ctx)
	} else {
		s, err = ch.routes.Fail(ctx, links...)
	}
	if err != nil {
		return r, err
	}
	r.Tolerated, r.Acyclic, r.Unroutable = s.Tolerated(), s.Acyclic, s.Unroutable
	r.Connected = s.Connected() // and before too, for nothing is repaired
	r.RerouteShare, r.NewTurns = s.Share(), s.NewTurns
	if !r.Tolerated {
		ch.routes = nil
	}
	return r, nil
}

// managerOf is a method of reconfiguration that does something.
func managerOf(text string) (manage.Method, error) {
	m, err := manage.Parse(text)
	if err == nil && m.Kind == manage.Direct {
		return m,
			fmt.Errorf("%s has no tables to repair: take a routing with mechanisms, whose ways go around the faults of a point",
				text)
	}
	if err == nil && !m.On() {
		err = document.Unknown("manager that repairs tables", text,
			[]string{manage.DDRC, manage.DQR, manage.Engine, physical})
	}
	return m, err
}

// manager checks how tables are repaired.
func (s *settled) manager(kind string, c *measure.Config, bad func(string, error)) {
	c.Manager, c.SwitchFlows = get(s.Manager), get(s.SwitchFlows)
	switch {
	case kind != ofReroute:
		for _, name := range []string{"manager", "switch_flows"} {
			if s.has(name) {
				bad(name, fmt.Errorf("%s is for measure: %s", name, ofReroute))
			}
		}
	case s.Manager == nil:
		bad("manager",
			fmt.Errorf("there is no manager: give it in base, or by an axis, as dqr, or %s for what live links join", physical))
	case c.Manager != physical:
		_, err := managerOf(c.Manager)
		bad("manager", err)
	}
}
