package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Hosts is the leader's side of the agents that a fabric is placed on.
type Hosts struct {
	Agents *bus.Client
	Fabric string
	Term   uint64
	Needs  map[string]Room // of the agents' own hosts, per agent
	Graph  *topology.Graph // of the fabric; it says what room a moved switch takes, and nil allows none
}

// Host has an agent run its own host of the fabric, or a moved switch, and returns when that
// answers. A moved switch of a lower number is ended first: it was written off, or nobody would ask
// for another. The error wraps [host.ErrRuns] when the agent runs its own host already, or that
// switch with this number or a higher one, and [reply.ErrNobody] when the agent is not there.
func (h Hosts) Host(ctx context.Context, name string, c host.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, makeTime)
	defer cancel()
	needs, err := h.needs(name, &c)
	if err != nil {
		return err
	}
	request := hostRequest{Needs: needs, Spec: c}
	a, err := ask[hostAnswer](ctx, h.Agents, name, verbHost, request)
	for errors.Is(err, reply.ErrNobody) && h.begins(ctx, name) {
		a, err = ask[hostAnswer](ctx, h.Agents, name, verbHost, request)
	}
	switch {
	case err != nil:
		return fmt.Errorf("cluster: %w", err)
	case a.Runs != 0:
		return fmt.Errorf("cluster: agent %s: number %d: %w", name, a.Runs, host.ErrRuns)
	}
	return nil
}

// needs is the room that a host takes on an agent.
func (h Hosts) needs(name string, c *host.Spec) (Room, error) {
	p := c.Placement
	if !p.Shared {
		return h.Needs[name], nil
	}
	ids := p.SwitchIDs()
	if h.Graph == nil || len(ids) != 1 || int(ids[0]) >= len(h.Graph.Switches) {
		return Room{}, fmt.Errorf("cluster: switch %s of agent %s: %w", c.Host, name, errNoSwitch)
	}
	r := Room{Switches: 1}
	for port := range weft.PortID(h.Graph.Switches[ids[0]].Ports) {
		if _, _, linked := h.Graph.Peer(weft.End{Node: ids[0].Node(), Port: port}); linked {
			r.Ports++
		}
	}
	return r, nil
}

// errNoSwitch means that a moved switch is not one switch of the topology.
var errNoSwitch = errors.New("it is not one switch of this fabric")

// beginsEvery is how often an agent that begins is asked, chosen by us.
const beginsEvery = 20 * time.Millisecond

// begins waits a little when an agent is there and hosts nothing yet, for it looks first whether
// another has its name. It reports false when there is no such agent.
func (h Hosts) begins(ctx context.Context, name string) bool {
	if _, err := ask[Status](ctx, h.Agents, name, verbStatus, nil); err != nil {
		return false
	}
	select {
	case <-time.After(beginsEvery):
		return true
	case <-ctx.Done():
		return false
	}
}

// Drop has agents end their hosts of the fabric and their moved switches, all at once. It says
// which of them had any, and what went wrong with others.
func (h Hosts) Drop(ctx context.Context, names []string, why string) (dropped []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, dropTime)
	defer cancel()
	errs := make([]error, len(names))
	had := make([]dropAnswer, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			had[i], errs[i] = ask[dropAnswer](ctx, h.Agents, name, verbDrop,
				dropRequest{Fabric: h.Fabric, Term: h.Term, Why: why})
		})
	}
	wg.Wait()
	for i, name := range names {
		if had[i].Dropped {
			dropped = append(dropped, name)
		}
	}
	return dropped, errors.Join(errs...)
}

// dropTime is far more than a host takes to end.
const dropTime = 10 * time.Second

// Stale are those of the agents that run a host of the fabric or a moved switch, by name.
func (h Hosts) Stale(of []Status) (names []string) {
	for _, s := range of {
		if slices.ContainsFunc(s.Hosts, func(p HostedSpec) bool { return p.Fabric == h.Fabric }) {
			names = append(names, s.Name)
		}
	}
	return names
}
