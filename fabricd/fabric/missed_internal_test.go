package fabric

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/nic"
)

// absent is a host that hears all that it should know when it has been made, and nothing after that
// until it is back.
type absent struct {
	willing
	briefed atomic.Bool
	back    chan struct{} // closed when it answers again
	orders  chan host.Order
}

func (a *absent) away() bool {
	select {
	case <-a.back:
		return false
	default:
		return a.briefed.Load()
	}
}

func (a *absent) Order(ctx context.Context, o host.Order) (host.OrderAnswer, error) {
	if a.away() {
		return host.OrderAnswer{}, context.DeadlineExceeded
	}
	if a.briefed.Swap(true) {
		select {
		case a.orders <- o:
		default: // the test looks at the first
		}
	}
	return a.willing.Order(ctx, o)
}

func (a *absent) Counters(ctx context.Context, r host.CountersRequest) (host.Counters, error) {
	if a.away() {
		return host.Counters{}, context.DeadlineExceeded
	}
	c, err := a.willing.Counters(ctx, r)
	c.Applied = &host.Applied{}
	return c, err
}

// A host that misses the orders with which a fabric starts, and later ones, is told all when it
// answers: what its links should have, whether its NICs are held, and what they inject.
func TestAHostThatMissesTheFirstOrdersIsToldAllWhenItAnswers(t *testing.T) {
	t.Parallel()
	a := &absent{back: make(chan struct{}), orders: make(chan host.Order, 1)}
	load := nic.Traffic{Pattern: "uniform", Load: 0.1}
	f := startRing(t, withProcesses(reaches{host: a}), func(o *Options) { // it waits for no host that does not answer
		first := HostOptions{Name: "away", Switches: []weft.SwitchID{0}}
		for _, n := range o.Topology.NICs {
			if sw, _ := o.Topology.SwitchOf(n.ID); sw == 0 {
				first.NICs = append(first.NICs, n.ID)
			}
		}
		o.Hosts, o.Traffic = []HostOptions{first}, load
		o.Host = func(context.Context, string, host.Spec) error { return nil }
	})
	f.HoldNICs()
	cut, err := f.Topology().LinkBetween("s0", "s1")
	require.NoError(t, err)
	_, err = f.begin(leader.Apply{Specs: []fault.Spec{{Do: fault.VerbCut, A: cut.Name}}})
	require.NoError(t, err)
	require.Empty(t, a.orders)

	close(a.back)
	o := <-a.orders
	require.True(t, o.SignalAll)
	require.Equal(t, new(true), o.Hold)
	require.NotNil(t, o.Traffic)
	require.Equal(t, load.String(), o.Traffic.Spec)
	require.Len(t, o.Cut, 2)
}
