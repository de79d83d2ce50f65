package fabric

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/leader"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// gate holds up whoever comes to it.
type gate struct {
	joined chan struct{} // one for each who has come
	open   chan struct{} // closed when they may go on
}

func newGate() *gate { return &gate{make(chan struct{}, 8), make(chan struct{})} }

func (g *gate) pass() {
	g.joined <- struct{}{}
	<-g.open
}

// slowTransport takes its time over a cut.
type slowTransport struct {
	wire.Transport
	*gate
}

func (s slowTransport) Cut(d ...wire.Direction) error {
	if len(d) > 0 {
		s.pass()
	}
	return s.Transport.Cut(d...)
}

// slowHosts take their time over credentials. All are one that does as it is told.
type slowHosts struct {
	nobody
	*gate
}

func (s slowHosts) Admit(c *host.Spec, _ *topology.Graph) (string, error) {
	s.pass()
	c.Credentials = []byte(`"secret"`)
	return "somebody", nil
}
func (slowHosts) Reach(string) host.Host { return willing{} }

// willing is a host that does as it is told.
type willing struct{ host.Host }

func (willing) Order(_ context.Context, o host.Order) (host.OrderAnswer, error) {
	return host.OrderAnswer{Counters: host.Counters{Number: o.Number}}, nil
}

func (willing) Counters(_ context.Context, r host.CountersRequest) (host.Counters, error) {
	return host.Counters{Number: r.Number}, nil
}

func (willing) Read(context.Context, host.ReadRequest) (host.Readings, error) {
	return host.Readings{}, errSuspect
}

func (willing) Nodes(context.Context, host.NodeRequest) (host.Nodes, error) {
	return host.Nodes{}, nil
}

func (willing) End(_ context.Context, o host.EndOrder) (host.Counters, error) {
	return host.Counters{Number: o.Number}, nil
}

// startSlow starts a ring of which switch 0 is a process, with a transport and a maker of
// credentials that take their time.
func startSlow(t *testing.T) (f *Fabric, transport, credentials *gate) {
	t.Helper()
	transport, credentials = newGate(), newGate()
	f = startRing(t, withProcesses(slowHosts{gate: credentials}), func(o *Options) {
		o.Transport = slowTransport{o.Transport, transport}
	})
	f.ownedBy(f.switches[0], 2, firstEpoch).markAlive()
	return f, transport, credentials
}

// While the transport cuts a link, all who look see what was decided, others decide, and hosts whom
// it does not concern are told. The ends are told when it is cut, and not before.
func TestNoDecisionWaitsForTheTransport(t *testing.T) {
	t.Parallel()
	f, transport, _ := startSlow(t)
	first, err := f.graph.LinkBetween("s1", "s2")
	require.NoError(t, err)
	cut := make(chan error, 1)
	go func() {
		_, err := f.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s1", B: "s2"})
		cut <- err
	}()
	<-transport.joined

	sampler := f.NewSampler()
	require.Equal(t, []string{first.Name}, f.CutLinks())
	require.Len(t, f.Faults(), 1)
	require.Len(t, sampler.Faults(0), 1)
	require.Equal(t, LinkCut, sampler.Read().Links[first.ID].State)
	f.Totals()
	f.Ledger()

	require.NoError(t, f.attendance.resync(f.switches[0].own.Load(), nil),
		"a host whom it does not concern is told what it should know")
	second, err := f.begin(leader.Apply{Specs: []fault.Spec{{Do: fault.VerbCut, A: "s2", B: "s3"}}})
	require.NoError(t, err)
	require.Len(t, f.CutLinks(), 2)
	for _, l := range []string{"s1", "s3"} {
		l, err := f.graph.LinkBetween("s2", l)
		require.NoError(t, err)
		require.Equal(t, [2]bool{true, true}, f.view(f.links[l.ID]).Up, "no end knows of it")
	}
	require.Empty(t, cut)

	close(transport.open)
	require.NoError(t, <-cut)
	require.NoError(t, second.finish(t.Context()))
	require.Equal(t, [2]bool{}, f.view(f.links[first.ID]).Up)
}

// While credentials are made, nobody waits but the process that they are for.
func TestNoDecisionWaitsForCredentials(t *testing.T) {
	t.Parallel()
	f, transport, credentials := startSlow(t)
	close(transport.open)
	joined := make(chan error, 1)
	go func() {
		c, err := f.Join(host.JoinRequest{Switch: "s3", PID: 1, Host: "here"})
		if err == nil && string(c.Credentials) != `"secret"` {
			err = context.Canceled
		}
		joined <- err
	}()
	<-credentials.joined

	out, err := f.Apply(t.Context(), fault.Spec{Do: fault.VerbCut, A: "s1", B: "s2"})
	require.NoError(t, err)
	require.Len(t, out[0].Fault.Detected, 2, "both ends have acted")
	require.Len(t, f.Faults(), 1)
	require.Len(t, f.LinkStates(), len(f.links))
	require.Empty(t, joined)

	close(credentials.open)
	require.NoError(t, <-joined)
}
