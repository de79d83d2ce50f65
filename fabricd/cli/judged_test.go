package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/switch/wire"
)

// A packet that nobody has injected is delivered once more than the ledger can explain. Whoever has
// full rights at a broker that is not ours can forge one.
func TestUpDoesNotExitWithZeroWhenTheLedgerDoesNotBalance(t *testing.T) {
	testenv.Long(t)
	testenv.Raced(t)
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

	require.Regexp(t, `(?m)^ledger: 0 injected = 1 delivered \+ 0 lost \+ 0 discarded \+ 0 in flight: DOES NOT BALANCE$`,
		u.endsWith(t, command.ExitFailed))
}
