package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestAFabricEndsWellOnlyWithALedgerThatIsExactAndBalances(t *testing.T) {
	t.Parallel()
	balanced, unbalanced := fabric.Ledger{Balanced: true}, fabric.Ledger{}
	late := &fabric.NotDrainedError{Ledger: balanced, Err: context.DeadlineExceeded}
	for _, c := range []struct {
		what    string
		ledger  fabric.Ledger
		drained error
		want    error
	}{
		{"balanced", balanced, nil, nil},
		{"balanced with packets that wait for good", balanced, &fabric.StuckError{Ledger: balanced}, nil},
		{"balanced by chance while packets still moved", balanced, late, cli.ErrFailed},
		{"balanced, but the traffic could not be stopped", balanced, errors.New("traffic"), cli.ErrFailed},
		{"unbalanced", unbalanced, nil, cli.ErrFailed},
		{"unbalanced with packets that wait for good", unbalanced, &fabric.StuckError{Ledger: unbalanced}, cli.ErrFailed},
		{"unbalanced while packets still moved", unbalanced, late, cli.ErrFailed},
	} {
		require.ErrorIs(t, judged(c.ledger, c.drained), c.want, c.what)
	}
}

// goesOn is a fabric whose traffic cannot be stopped.
type goesOn struct{ *fabric.Fabric }

var errGoesOn = errors.New("a host does not answer")

func (goesOn) StopTraffic() error { return errGoesOn }

func (goesOn) Ledger() fabric.Ledger { return fabric.Ledger{Balanced: true} }

func TestALedgerIsNotCheckedWhileTheTrafficGoesOn(t *testing.T) {
	t.Parallel()
	l, err := drain(goesOn{}, time.Second)
	require.ErrorIs(t, err, errGoesOn)
	require.False(t, l.Balanced)
	require.Equal(t, "the traffic goes on, so the ledger was not checked", l.NotChecked)
	require.ErrorIs(t, judged(l, err), cli.ErrFailed)
}

func TestALeaderOnAgentsThatFindsAnUnbalancedLedgerSaysSoHoweverItWasEnded(t *testing.T) {
	t.Parallel()
	other := errors.New("links do not come up")
	for _, c := range []struct {
		err                error
		fresh, interrupted bool
		over               bool
		want               error
	}{
		{nil, true, true, true, nil},
		{nil, false, true, true, nil},
		{cli.ErrFailed, true, true, true, cli.ErrFailed},
		{cli.ErrFailed, false, true, true, cli.ErrFailed}, // led on from another, and interrupted
		{cli.ErrFailed, false, false, true, cli.ErrFailed},
		{other, true, true, true, other},
		{other, false, true, false, errLeft},
		{other, false, false, false, other},
		{errOtherLeader, false, false, false, errOtherLeader},
		{errLeft, true, true, false, errLeft},
		{reply.ErrNoAccess, true, false, false, reply.ErrNoAccess},
	} {
		over, err := outcome(c.err, c.fresh, c.interrupted)
		require.Equal(t, c.over, over, "%+v", c)
		require.ErrorIs(t, err, c.want, "%+v", c)
	}
}

// A packet that nobody has injected is delivered once more than the ledger can explain. Whoever has
// full rights at a broker that is not ours can forge one.
func TestUpDoesNotExitWithZeroWhenTheLedgerDoesNotBalance(t *testing.T) {
	ownRegistry(t)
	url := natstest.Start(t, natstest.Newest).URL
	u := launch(t, "--server", url, "--traffic", "none")
	g := topologytest.Parse(t, "kary-ntree:2,2")
	l, err := g.LinkByName("s1.0-n00")
	require.NoError(t, err)
	from, to := l.A, l.B
	d := wire.Direction{From: g.Name(from.Node), FromPort: from.Port, To: g.Name(to.Node), ToPort: to.Port}

	ear := bustest.Client(t, bus.ClientConfig{Fabric: "weft", URL: url})
	tap, err := ear.Tap([]bus.TapEnd{{Node: d.From, Port: d.FromPort}}, 64)
	require.NoError(t, err)
	heard, err := tap.Next(t.Context()) // a hello
	require.NoError(t, err)
	var f weft.Frame
	require.NoError(t, wire.DecodeFrame(&f, d.Sum(), heard.Data))
	f.Packets = []weft.Header{{Dst: weft.NICID(to.Node.Index), Size: 256, Fields: weft.NewFields()}}

	forger := bustest.Links(t, bus.NATSConfig{Fabric: "weft", URL: url, Subscription: bus.PerDirection})
	s, err := forger.Sender(d)
	require.NoError(t, err)
	require.NoError(t, s.Send(wire.AppendFrame(nil, d.Sum(), &f)))
	c := u.operator(t)
	rig.Until(t, func() bool {
		s, err := c.Status(t.Context())
		return err == nil && s.Totals.Delivered == 1
	})

	require.Contains(t, u.endsWith(t, cli.ExitFailed),
		"ledger: 0 injected = 1 delivered + 0 lost + 0 discarded + 0 in flight: DOES NOT BALANCE\n")
}
