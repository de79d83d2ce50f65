package fabric_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/harness/testenv"
)

// delayed reaches hosts of which one gets an order that cuts a link late: the leader waits for it
// no more, and it arrives when the host has just said what was done to it.
type delayed struct {
	fabric.Hosts
	order  atomic.Pointer[host.Order]
	healed chan struct{} // closed when the leader has undone the cut
}

func (d *delayed) Reach(name string) host.Host { return delayedHost{d.Hosts.Reach(name), d} }

type delayedHost struct {
	host.Host
	d *delayed
}

func (h delayedHost) Order(ctx context.Context, o host.Order) (host.OrderAnswer, error) {
	if len(o.Cut) > 0 && h.d.order.CompareAndSwap(nil, &o) {
		return host.OrderAnswer{}, context.DeadlineExceeded
	}
	if late := h.d.order.Load(); late != nil && len(late.Cut) > 0 && o.SignalAll {
		late.Counters = nil
		if _, err := h.Host.Order(ctx, *late); err != nil {
			return host.OrderAnswer{}, err
		}
		h.d.order.Store(new(host.Order))
	}
	return h.Host.Order(ctx, o)
}

func (h delayedHost) Counters(ctx context.Context, r host.CountersRequest) (host.Counters, error) {
	if late := h.d.order.Load(); late != nil && len(late.Cut) > 0 {
		select {
		case <-h.d.healed:
		case <-ctx.Done():
			return host.Counters{}, context.Cause(ctx)
		}
	}
	return h.Host.Counters(ctx, r)
}

// An order that comes late to a host, after the leader has asked what was done to it, is undone.
func TestAnOrderThatComesLateIsUndone(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Raced(t)
	d := &delayed{healed: make(chan struct{})}
	l := startHosts(t, 3, orderly(t), func(o *fabric.Options) {
		d.Hosts = o.Processes.Hosts
		o.Processes.Hosts = d
	})
	_, err := l.Fabric.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s1.00", B: "s2.00", Silent: true})
	require.NoError(t, err)
	_, err = l.Fabric.Heal(t.Context())
	require.NoError(t, err)
	close(d.healed)
	l.until("the host has heard all", func() bool { return d.order.Load() != nil && len(d.order.Load().Cut) == 0 })
	l.until("nothing is cut", func() bool {
		for _, name := range []string{"host0", "host1", "host2"} {
			s, err := l.options.Processes.Hosts.Reach(name).Counters(l.Context(), host.CountersRequest{Applied: true})
			if err != nil || len(s.Applied.Cut) > 0 {
				return false
			}
		}
		return true
	})
	l.sound()
}
