package nicd

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair is two NICs linked to each other.
func pair(t *testing.T, p link.Pace) (a, b *NIC) {
	t.Helper()
	m := wire.NewMemory()
	start := time.Now()
	d := wire.Direction{From: "n0", To: "n1"}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	both := make([]*NIC, 2)
	for i, out := range []wire.Direction{d, d.Reverse()} {
		core, err := nic.New(nic.Config{ID: weft.NICID(i), NICs: 2, Rand: rand.NewPCG(1, uint64(i)), Buffer: 4})
		require.NoError(t, err)
		inbox := make(chan wire.Message, 1024)
		require.NoError(t, m.Listen(out.Reverse(), inbox))
		send, err := m.Sender(out)
		require.NoError(t, err)
		now := func() weft.Time { return weft.FromDuration(time.Since(start)) }
		d := switchd.New(switchd.Config{
			Core: core, Wires: []switchd.Wire{{Out: send, Inbox: inbox, Pace: p}}, Clock: now,
		})
		both[i] = New(core, d, now)
		running.Go(func() { d.Run(ctx) })
	}
	for _, n := range both {
		n.Signal(0, true)
	}
	for _, n := range both {
		rig.Until(t, func() bool { return n.Snapshot().State == link.Up })
	}
	return both[0], both[1]
}

func delivered(t *testing.T, n *NIC, want uint64) {
	t.Helper()
	rig.Until(t, func() bool { return n.Stats().Delivered >= want })
}

func TestSendFromManyGoroutinesDeliversEveryPacketInOrder(t *testing.T) {
	t.Parallel()
	a, b := pair(t, link.Pace{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_, err := a.Send(1, 256, false)
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	delivered(t, b, 800)
	s := b.Stats()
	require.Zero(t, s.Reordered+s.Duplicated+s.Wrong)
	require.EqualValues(t, 800, a.Stats().Injected)
	h := nic.NewLatency()
	b.MergeLatency(h)
	require.EqualValues(t, 800, h.TotalCount())
}

func TestNothingArrivesBeforeTheDelayOfTheLink(t *testing.T) {
	t.Parallel()
	const delay = 20 * time.Millisecond
	a, b := pair(t, link.Pace{Delay: delay})
	for range 20 {
		_, err := a.Send(1, 256, false)
		require.NoError(t, err)
	}
	delivered(t, b, 20)
	h := nic.NewLatency()
	b.MergeLatency(h)
	require.GreaterOrEqual(t, h.Min(), delay.Nanoseconds()*98/100, "two digits of a histogram")
}

func TestASourceGeneratesUntilItIsReplacedAndMarksItsGeneration(t *testing.T) {
	t.Parallel()
	a, b := pair(t, link.Pace{})
	a.SetGeneration(2)
	sources, err := nic.Traffic{Pattern: "uniform", Load: 1}.Sources(nic.Over{NICs: 2, Rate: 256_000})
	require.NoError(t, err)
	require.NoError(t, a.SetSource(sources[0]))
	delivered(t, b, 20)
	require.NoError(t, a.SetSource(nic.Source{}))
	injected := a.Stats().Injected
	delivered(t, b, injected)
	require.Equal(t, injected, a.Stats().Injected)
	require.Equal(t, injected, b.Snapshot().Generations[2].Delivered)
}

func TestErrorsOfTheCoreReachTheCaller(t *testing.T) {
	t.Parallel()
	a, _ := pair(t, link.Pace{})
	_, err := a.Send(9, 256, false)
	require.ErrorIs(t, err, nic.ErrNoSuchNIC)
	_, err = a.Send(1, 0, false)
	require.ErrorIs(t, err, nic.ErrSize)
	require.Error(t, a.SetSource(nic.Source{Plan: []nic.Planned{{Dst: 9, Bytes: 1}}}))
}
