package fabric_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/bustest"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/attack"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/wire"
)

// flipping is a transport that flips a bit in some frames.
type flipping struct {
	wire.Transport
	share atomic.Int64 // of a thousand frames
	flips atomic.Uint64
}

func (f *flipping) Sender(d wire.Direction) (wire.Sender, error) {
	s, err := f.Transport.Sender(d)
	return &flippingSender{links: f, Sender: s, sum: d.Sum(), draws: rand.New(rand.NewPCG(1, uint64(d.Sum())))}, err
}

type flippingSender struct {
	links *flipping
	wire.Sender
	sum   wire.LinkSum
	mu    sync.Mutex
	plain weft.Frame
	draws *rand.Rand
	frame []byte
}

func (s *flippingSender) Send(frame []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// a transport's own probe is none
	if s.draws.Int64N(1000) >= s.links.share.Load() || wire.DecodeFrame(&s.plain, s.sum, frame) != nil {
		return s.Sender.Send(frame)
	}
	s.frame = append(s.frame[:0], frame...)
	bit := s.draws.IntN(8 * len(frame))
	s.frame[bit/8] ^= 1 << (bit % 8)
	s.links.flips.Add(1)
	return s.Sender.Send(s.frame)
}

// One flipped bit in 5% of the frames of all links: each is known, its packets are lost on the
// wire, and nothing is lost without a name.
func TestFlippedBitsAreLossesOnTheWireAndTheLedgerBalances(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Unraced(t)
	for _, over := range []string{"memory", "nats"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			links := &flipping{Transport: wire.NewMemory()}
			if over == "nats" {
				links.Transport = bustest.Links(t,
					bus.NATSConfig{Broker: bustest.Broker(t, bus.BrokerConfig{NoListen: true})})
			}
			t.Cleanup(func() { require.NoError(t, links.Close()) })
			g := topologytest.Parse(t, "kary-ntree:2,3")
			f, err := fabric.New(fabric.Options{
				Topology: g, Firmware: firmware.AdaptiveLink{}.Firmware(), Transport: links, Seed: 1,
				NIC:  settings.NIC{QueueBytes: 16 << 10},
				Link: settings.Link{Rate: 1_000_000, Paced: true}, FixedTime: true,
			})
			require.NoError(t, err)
			require.NoError(t, f.Start(t.Context()))
			t.Cleanup(f.Stop)
			links.share.Store(50)
			traffic, err := nic.ParseTraffic("uniform:0.5")
			require.NoError(t, err)
			require.NoError(t, f.SetTraffic(traffic))
			rig.Until(t, func() bool { return f.Totals().Delivered > 5000 })
			links.share.Store(0)
			require.NoError(t, f.StopTraffic())
			l, err := f.Quiesce(t.Context())
			require.NoError(t, err, "%+v", l)
			require.True(t, l.Balanced, "%+v", l)
			require.Zero(t, l.InFlight)
			assert.NotZero(t, l.LostWire)
			require.NoError(t, f.CreditsHome())
			flips := links.flips.Load()
			rig.Until(t, func() bool { return f.Totals().DamagedFrames == flips },
				"%d frames were damaged, %d are known", flips, f.Totals().DamagedFrames)
			assert.Equal(t, flips, f.Drivers().BadFrames)
			assert.Zero(t, f.Totals().Duplicated)

			events := slices.DeleteFunc(f.Events().Since(0),
				func(e fabric.Event) bool { return e.Kind != fabric.EventDamaged })
			require.NotEmpty(t, events)
			assert.Less(t, len(events), int(flips), "and are not told one by one")
			for _, e := range events {
				assert.NotEmpty(t, e.Link)
				assert.NotEmpty(t, e.Node)
				assert.NotNil(t, e.Port)
			}
			assert.Empty(t, ofKind(f, fabric.EventProtocolFault))
			attack.Seen(t, "frames of a loaded fabric with one bit flipped, over memory and over NATS", int(flips))
		})
	}
}

func ofKind(f *fabric.Fabric, kind string) []fabric.Event {
	return slices.DeleteFunc(f.Events().Since(0), func(e fabric.Event) bool { return e.Kind != kind })
}

// Whoever may speak on links can send any number of frames that break their protocol; the ring of
// events keeps what matters all the same.
func TestAFloodOfBadFramesDoesNotPushOtherEventsOut(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	f, links := badRing(t)
	const garbage = 20_000
	first := f.Events().Last()
	s,
		err := links.Transport.Sender(
		wire.Direction{From: "s0", To: "s1", FromPort: port(t, f, "s0", "s1"), ToPort: port(t, f, "s1", "s0")})
	require.NoError(t, err)
	for range garbage {
		require.NoError(t, s.Send([]byte("no frame")))
	}
	rig.Until(t, func() bool {
		var n uint64
		for _, e := range ofKind(f, fabric.EventDamaged) {
			n += max(1, e.Count)
		}
		return n+links.Stats().Full == garbage
	})
	assert.EqualValues(t, garbage, f.Totals().DamagedFrames+links.Stats().Full)
	assert.Less(t, f.Events().Last()-first, uint64(32))
	attack.Count(t, "bad frames on one link, as fast as they go", garbage)
}

// port is the port of a switch that leads to another.
func port(t *testing.T, f *fabric.Fabric, from, to string) weft.PortID {
	t.Helper()
	l, err := f.Topology().LinkBetween(from, to)
	require.NoError(t, err)
	if f.Topology().Name(l.A.Node) == from {
		return l.A.Port
	}
	return l.B.Port
}
