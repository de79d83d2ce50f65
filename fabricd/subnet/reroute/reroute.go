package reroute

import (
	"context"
	"iter"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/dqr"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Step is what one reconfiguration did. Of other methods than dqr no turns are counted.
type Step struct {
	dqr.Result
	paths  iter.Seq[dqr.Rerouted]
	upload func(context.Context) (*manage.Plan, error)
}

// Connected reports whether every flow has a path, and no deadlock can be.
func (s *Step) Connected() bool { return s.Unroutable == 0 && s.Acyclic }

// Share is the share of all flows that have another path.
func (s *Step) Share() float64 {
	if s.FlowsTotal == 0 {
		return 0
	}
	return float64(s.FlowsRerouted) / float64(s.FlowsTotal)
}

// Upload is the plan by which a manager brings the tables of the step into force. It may be asked
// for until the next fault.
func (s *Step) Upload(ctx context.Context) (*manage.Plan, error) { return s.upload(ctx) }

// Stretch is how much longer the paths of flows have become: the links of the new path by those of
// the old one.
type Stretch struct {
	Flows     int // that had a path and have another one
	Mean, Max float64
}

// Stretch is that of the flows that the step has moved, of all of them together. It may be called
// until the next fault.
func (s *Step) Stretch() (x Stretch) {
	for p := range s.Paths() {
		if len(p.Old) == 0 || len(p.New) == 0 {
			continue
		}
		by := float64(len(p.New)) / float64(len(p.Old))
		x.Flows += p.Flows
		x.Mean += by * float64(p.Flows)
		x.Max = max(x.Max, by)
	}
	x.Mean /= float64(max(1, x.Flows))
	return x
}

// Paths are the flows that got another path, or lost theirs. It may be called until the next fault.
func (s *Step) Paths() iter.Seq[dqr.Rerouted] {
	if s.paths == nil {
		return func(func(dqr.Rerouted) bool) {}
	}
	return s.paths
}

// way is a method at work.
type way interface {
	try(ctx context.Context, dead *subnet.Dead) (*Step, error)  // what it would do; nothing stays of it
	fail(ctx context.Context, dead *subnet.Dead) (*Step, error) // what it does; what it did before is settled
	clone(ctx context.Context, dead *subnet.Dead) (way, error)
	routing() *layered.Routing // at the beginning
}

// Reroute is a routing in force, what is dead, and how it is repaired. It belongs to one goroutine.
type Reroute struct {
	g    *topology.Graph
	way  way
	dead subnet.Dead
}

// Options are what is asked beside the method.
type Options struct {
	// SwitchFlows: switches send to switches too, by paths that New finds. Method dqr alone can
	// have that.
	SwitchFlows bool
	// VCs are the virtual channels that there are. 0: as many as a method that computes all tables
	// anew needs, and none for spare layers of dqr.
	VCs int
}

// New is for the tables of an engine, by name, and a method that repairs them; errors are those of
// both. When ctx ends before it, Try, Fail or Clone is done, the error wraps the cause.
func New(ctx context.Context, g *topology.Graph, engine string, m manage.Method, o Options) (*Reroute, error) {
	w, err := newWay(ctx, g, engine, m, o)
	if err != nil {
		return nil, err
	}
	return &Reroute{g: g, way: w}, nil
}

// Routing is what packets are forwarded by before the first fault.
func (r *Reroute) Routing() *layered.Routing { return r.way.routing() }

// Try is what would happen if these links died now, together.
func (r *Reroute) Try(ctx context.Context, links ...weft.LinkID) (*Step, error) {
	var fresh []weft.LinkID
	for _, l := range links {
		if !r.dead.HasLink(l) {
			fresh = append(fresh, l)
			r.dead.AddLink(l)
		}
	}
	s, err := r.way.try(ctx, &r.dead)
	for _, l := range fresh {
		r.dead.RemoveLink(l)
	}
	return s, err
}

// Fail is what happens when these links die, together. They stay dead.
func (r *Reroute) Fail(ctx context.Context, links ...weft.LinkID) (*Step, error) {
	for _, l := range links {
		r.dead.AddLink(l)
	}
	return r.way.fail(ctx, &r.dead)
}

// Clone is an independent copy.
func (r *Reroute) Clone(ctx context.Context) (*Reroute, error) {
	w, err := r.way.clone(ctx, &r.dead)
	if err != nil {
		return nil, err
	}
	return &Reroute{g: r.g, way: w, dead: r.dead.Clone()}, nil
}
