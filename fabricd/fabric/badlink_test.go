package fabric_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/wire"
)

// badLinks is a transport that does to the next frame with packets on one direction what mischief
// says.
type badLinks struct {
	wire.Transport
	from     string // the direction: from this node to that
	to       string
	mischief atomic.Pointer[func(send func([]byte) error, frame []byte) error]
}

func (b *badLinks) Sender(d wire.Direction) (wire.Sender, error) {
	s, err := b.Transport.Sender(d)
	if err != nil || d.From != b.from || d.To != b.to {
		return s, err
	}
	return badSender{b, s, d.Sum()}, nil
}

func (b *badLinks) next(mischief func(send func([]byte) error, frame []byte) error) {
	b.mischief.Store(&mischief)
}

type badSender struct {
	links *badLinks
	wire.Sender
	sum wire.LinkSum
}

func (s badSender) Send(frame []byte) error {
	var f weft.Frame
	if err := wire.DecodeFrame(&f, s.sum, frame); err == nil && len(f.Packets) > 0 {
		if m := s.links.mischief.Swap(nil); m != nil {
			return (*m)(s.Sender.Send, frame)
		}
	}
	return s.Sender.Send(frame)
}

// badRing starts a ring of three switches whose link from s0 to s1 can be made to misbehave.
func badRing(t *testing.T) (*fabric.Fabric, *badLinks) {
	t.Helper()
	g := topologytest.Parse(t, "ring:3")
	m := wire.NewMemory()
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	links := &badLinks{Transport: m, from: "s0", to: "s1"}
	f,
		err := fabric.New(fabric.Options{
		Topology: g, Firmware: switching.Firmware{Name: "clockwise", Route: clockwise},
		Transport: links, Liveness: settings.Liveness{Interval: "off"},
	})
	require.NoError(t, err)
	require.NoError(t, f.Start(t.Context()))
	t.Cleanup(f.Stop)
	return f, links
}

func send(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	_, err := f.Send(0, 1, false)
	require.NoError(t, err)
}

func TestAFrameThatTheLinkLosesIsOnTheWireUntilTheNextOneShowsTheGap(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, links := badRing(t)
	links.next(func(func([]byte) error, []byte) error { return nil })
	send(t, f)
	l, err := f.Quiesce(t.Context())
	var stuck *fabric.StuckError
	require.ErrorAs(t, err, &stuck)
	assert.Equal(t, fabric.InFlight{Wires: 1}, l.Waiting)
	assert.True(t, l.Balanced)
	require.ErrorContains(t, f.CreditsHome(), "link s0-s1, s0 to s1, vc0: credits are missing: 1 packets sent, 0 received")

	send(t, f)
	l, err = f.Quiesce(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]fabric.LinkLoss{"s0-s1": {Wire: 1}}, l.LostOn)
	assert.EqualValues(t, 1, l.Delivered)
	require.NoError(t, f.CreditsHome())
	require.ErrorContains(t, f.LossesExplained(), "the fabric lost 1 packet, the faults account for 0")

	_, _, err = f.Cut(0) // a loss that is known already is no loss of this fault
	require.NoError(t, err)
	assert.Zero(t, f.Faults()[0].Lost())
	assert.EqualValues(t, 1, f.Ledger().Lost)
}

func TestAFrameThatComesTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	f, links := badRing(t)
	links.next(func(send func([]byte) error, frame []byte) error {
		if err := send(frame); err != nil {
			return err
		}
		return send(frame)
	})
	send(t, f)
	send(t, f)
	l, err := f.Quiesce(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 2, l.Delivered)
	assert.Zero(t, l.Lost)
	assert.Zero(t, f.Totals().Duplicated)
	require.NoError(t, f.CreditsHome())
}

func TestAGarbledFrameIsNamedAndNothingElseIsLost(t *testing.T) {
	t.Parallel()
	f, links := badRing(t)
	seq := f.Events().Last()
	links.next(func(send func([]byte) error, frame []byte) error {
		if err := send([]byte("no frame")); err != nil {
			return err
		}
		return send(frame)
	})
	send(t, f)
	l, err := f.Quiesce(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, l.Delivered)
	for {
		e, err := f.Events().After(t.Context(), seq)
		require.NoError(t, err)
		if seq = e.Seq; e.Kind == fabric.EventDamaged {
			assert.Equal(t, "s1", e.Node)
			assert.Equal(t, "s0-s1", e.Link)
			assert.NotEmpty(t, e.Detail)
			return
		}
	}
}

func TestAFabricThatDoesNotComeUpSaysWhichLinkAndLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:3")
	m := wire.NewMemory()
	defer m.Close()
	f,
		err := fabric.New(fabric.Options{
		Topology: g, Firmware: switching.Firmware{Name: "clockwise", Route: clockwise},
		Transport: dead{m},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = f.Start(ctx)
	require.ErrorContains(t, err, "links do not come up: link s0-s1 is not up at both ends")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// dead is a transport that carries nothing.
type dead struct{ wire.Transport }

func (dead) Sender(wire.Direction) (wire.Sender, error) { return dead{}, nil }
func (dead) Send([]byte) error                          { return nil }
