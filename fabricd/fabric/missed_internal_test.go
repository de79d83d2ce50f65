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
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology"
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

// firstSwitchOn puts switch 0 and its NICs on a host of this name.
func firstSwitchOn(g *topology.Graph, name string) []HostOptions {
	h := HostOptions{Name: name, Switches: []weft.SwitchID{0}}
	for _, n := range g.NICs {
		if sw, _ := g.SwitchOf(n.ID); sw == 0 {
			h.NICs = append(h.NICs, n.ID)
		}
	}
	return []HostOptions{h}
}

// A host that misses the orders with which a fabric starts, and later ones, is told all when it
// answers: what its links should have, whether its NICs are held, and what they inject.
func TestAHostThatMissesTheFirstOrdersIsToldAllWhenItAnswers(t *testing.T) {
	t.Parallel()
	a := &absent{back: make(chan struct{}), orders: make(chan host.Order, 1)}
	load := nic.Traffic{Pattern: "uniform", Load: 0.1}
	f := startRing(t, withProcesses(reaches{host: a}), func(o *Options) { // it waits for no host that does not answer
		o.Hosts, o.Traffic = firstSwitchOn(o.Topology, "away"), load
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

// unborn is a host that answers nobody until it has been made.
type unborn struct {
	willing
	made    atomic.Bool
	ordered func()
}

func (u *unborn) Counters(ctx context.Context, r host.CountersRequest) (host.Counters, error) {
	if !u.made.Load() {
		return host.Counters{}, reply.ErrNobody
	}
	return u.willing.Counters(ctx, r)
}

func (u *unborn) Order(ctx context.Context, o host.Order) (host.OrderAnswer, error) {
	u.ordered() // its links never come up: the test is over
	return u.willing.Order(ctx, o)
}

// Whoever looks at a fabric that is starting does not take a host that is being made for gone: it
// is told what its links should have.
func TestAHostThatIsBeingMadeIsNotGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	u := &unborn{ordered: cancel}
	var f *Fabric
	f = newRing(t, withProcesses(reaches{host: u}), func(o *Options) {
		o.Hosts = firstSwitchOn(o.Topology, "late")
		o.Host = func(context.Context, string, host.Spec) error {
			f.Ledger()
			u.made.Store(true)
			return nil
		}
	})
	t.Cleanup(f.Stop)
	require.ErrorIs(t, f.Start(ctx), context.Canceled)
}
