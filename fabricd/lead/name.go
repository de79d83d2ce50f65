package lead

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/lease"
)

// named is the claim of a fabric to its name at a server that is not ours. A presence answers
// whoever asks, and ends with this process; where the server keeps something for us there is the
// lease of a leader besides, so that of two that ask at once, at servers that do not hear each
// other, one has it.
type named struct {
	presence *bus.Name
	lost     chan struct{} // closed when another has the lease; nil: there is none

	end     context.CancelFunc
	running sync.WaitGroup
	store   *bus.Store // nil: the server keeps nothing for us
}

// nameTime is how long up waits for the lease of a process that has ended, on a machine that has
// much else to do.
const nameTime = 10 * lease.Default

// takeName claims the name. Leads says that this process leads a fabric on agents, and so has the
// lease.
func (p *process) takeName(ctx context.Context, leads bool) (n *named, err error) {
	me, err := cluster.ThisLeader()
	if err != nil {
		return nil, err
	}
	n = &named{end: func() {}}
	n.presence, err = bus.TakeName(ctx, bus.NameConfig{
		Fabric: p.Name, URL: p.Server.URL, Credentials: p.Server.Credentials, Host: me.Host, PID: me.PID, Leads: leads,
	})
	if err != nil {
		return nil, err
	}
	if leads {
		return n, nil
	}
	if err := n.lease(ctx, p, me); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// lease takes the lease of a leader, if the server keeps something for us.
func (n *named) lease(ctx context.Context, p *process, me cluster.Leader) error {
	try, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	store, err := cluster.OpenStore(try, p.Name, p.Server, false)
	if err != nil {
		p.Log.Info("the name of the fabric is claimed by a presence alone", "fabric", p.Name, "why", err)
		return ctx.Err()
	}
	n.store = store.Store
	var who cluster.Leader
	held, err := cluster.Campaign(try,
		cluster.CampaignConfig{Store: n.store, Me: me, Once: true, Standby: func(l cluster.Leader, _ uint64) {
			who = l
			p.notef("%v had the name %s and does not answer: its claim ends in %v", l, p.Name, lease.Default)
		}})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case who.ID != "":
		return fmt.Errorf("%w: %v renews its claim and does not answer: end it there, or choose another name",
			bus.ErrNameTaken, who)
	default:
		p.Log.Info("the name of the fabric is claimed by a presence alone", "fabric", p.Name, "why", err)
		return nil
	}
	n.lost = make(chan struct{})
	keep, end := context.WithCancel(context.WithoutCancel(ctx))
	n.end = end
	n.running.Go(func() { n.keep(keep, held, me) })
	return nil
}

// keep renews the lease until ctx ends. A store that is back without the lease is no reason to end
// the fabric; another process that has taken the name meanwhile is.
func (n *named) keep(ctx context.Context, held *lease.Lease, me cluster.Leader) {
	try, stop := context.WithCancel(ctx)
	defer stop()
	for {
		_ = held.Keep(ctx) // it was lost, or is over
		var err error
		held, err = cluster.Campaign(try,
			cluster.CampaignConfig{Store: n.store, Me: me, Standby: func(cluster.Leader, uint64) {
				close(n.lost)
				stop()
			}})
		if err != nil {
			return
		}
	}
}

// close gives the name back.
func (n *named) close() {
	n.end()
	n.running.Wait()
	if n.store != nil {
		n.store.Close()
	}
	n.presence.Close()
}
