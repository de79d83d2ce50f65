package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Hosts is the leader's side of the agents that a fabric is placed on.
type Hosts struct {
	Agents *bus.Client
	Fabric string
	Term   uint64
	Needs  map[string]Room // per agent
}

// Host has an agent run a host, of which it is the name, and returns when that answers. The error
// wraps [host.ErrRuns] when the agent runs one of this fabric already, [reply.ErrNobody] when it is
// not there.
func (h Hosts) Host(ctx context.Context, name string, c host.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, makeTime)
	defer cancel()
	request := hostRequest{Needs: h.Needs[name], Spec: c}
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

// Drop has agents end their hosts of the fabric, all at once. It says which of them had one, and
// what went wrong with others.
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

// Stale are those of the agents that run a host of the fabric, by name.
func (h Hosts) Stale(of []Status) (names []string) {
	for _, s := range of {
		if slices.ContainsFunc(s.Hosts, func(p HostedSpec) bool { return p.Fabric == h.Fabric }) {
			names = append(names, s.Name)
		}
	}
	return names
}
