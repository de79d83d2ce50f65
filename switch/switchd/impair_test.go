package switchd

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/wire"
)

// frame receives the next frame.
func (r *driven) frame() (f weft.Frame) {
	r.t.Helper()
	m := rig.Next(r.t, r.far, "a frame arrives")
	require.NoError(r.t, wire.DecodeFrame(&f, rigged.Sum(), m.Data))
	m.Release()
	return f
}

func TestALossyLinkLosesFramesAndNamesThem(t *testing.T) {
	t.Parallel()
	const packets, loss = 4000, 0.1
	arrive := func(seed uint64) (seqs []uint64) {
		r := newRig(t, link.Pace{}, Config{Batch: 1, Draws: drawing(seed)})
		r.d.Impair(0, link.Impairment{Loss: loss})
		r.give(packets)
		r.eventually(func(c *fake) bool { return len(c.queue) == 0 && r.d.framesOut.Load()+r.d.framesLost.Load() == packets })
		s := r.d.Stats()
		require.EqualValues(t, packets, s.FramesOut+s.FramesLost)
		require.True(t, within(int(s.FramesLost), packets, loss), "%d of %d", s.FramesLost, packets)
		require.Equal(t, 2*s.FramesLost, s.Add(s).FramesLost)
		r.take(int(s.FramesOut), func(_ int, _ weft.Time, h weft.Header) { seqs = append(seqs, h.Seq) })
		r.stop()
		require.Empty(t, r.far)
		return seqs
	}
	first := arrive(1)
	require.IsIncreasing(t, first)
	require.Equal(t, first, arrive(1), "the same seed loses the same frames")
	require.NotEqual(t, first, arrive(2))
}

func TestALinkThatLosesEverythingHealsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	r.d.Impair(0, link.Impairment{Loss: 1})
	r.look(func(c *fake) { c.owes = 5 }) // before what wakes the sender
	r.give(100)
	r.eventually(func(c *fake) bool { return len(c.queue)+c.owes == 0 })
	r.d.Impair(0, link.Impairment{})
	r.give(3)
	r.take(3, func(i int, _ weft.Time, h weft.Header) { require.EqualValues(t, i, h.Seq) })
	require.Empty(t, r.far, "and nothing comes after all")
	s := r.d.Stats()
	require.Positive(t, s.FramesLost)
	require.Zero(t, s.CreditFrames, "those lost count as lost only")
}

func TestDelayAndJitterKeepOrderAndBounds(t *testing.T) {
	t.Parallel()
	const delay, jitter = 20 * time.Millisecond, 15 * time.Millisecond
	for _, of := range []link.Pace{{}, {Delay: 5 * time.Millisecond}, {Rate: 2_560_000}} {
		r := newRig(t, of, Config{Batch: 1})
		r.d.Impair(0, link.Impairment{Delay: delay, Jitter: jitter})
		r.give(200)
		r.take(200, func(i int, at weft.Time, h weft.Header) {
			require.EqualValues(t, i, h.Seq)
			require.GreaterOrEqual(t, at, h.Injected+weft.FromDuration(of.Delay+delay-jitter), "packet %d", i)
		})
		r.stop()
	}
}

// A packet that would take minutes is on the link when the rate changes: it goes on at the new one,
// with all behind it.
func TestRatesChangeAtOnce(t *testing.T) {
	t.Parallel()
	const crawl = 1 // byte a second
	for claim, c := range map[string]struct {
		of   link.Pace
		then link.Impairment
		took time.Duration // least
	}{
		"healed, of an unpaced link": {link.Pace{}, link.Impairment{}, 0},
		"healed, of a paced link":    {link.Pace{Rate: 256_000}, link.Impairment{}, 40 * time.Millisecond},
		"to another rate":            {link.Pace{}, link.Impairment{Rate: 256_000}, 40 * time.Millisecond},
		"healed, with a delay":       {link.Pace{Delay: 10 * time.Millisecond}, link.Impairment{}, 0},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.of, Config{})
			r.d.Impair(0, link.Impairment{Rate: crawl})
			r.give(50)
			r.eventually(func(f *fake) bool { return len(f.batches) == 1 })
			require.Empty(t, r.far)
			began := r.now()
			r.d.Impair(0, c.then)
			var last weft.Time
			r.take(50, func(i int, at weft.Time, h weft.Header) {
				require.EqualValues(t, i, h.Seq)
				last = at
			})
			require.Greater(t, (last - began).Duration(), c.took)

			r.give(5) // and it stays healed
			r.take(5, nil)
			r.look(func(f *fake) { f.owes = 1 })
			r.d.Do(func(_ weft.Time, out *weft.Actions) { out.Ready = append(out.Ready, 0) })
			require.Empty(t, r.frame().Packets)
		})
	}
}

func TestALinkCanBeSlowedDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	r.give(64)
	r.take(64, nil)
	r.d.Impair(0, link.Impairment{Rate: 256_000})
	r.give(100)
	began := r.now()
	var last weft.Time
	r.take(100, func(_ int, at weft.Time, _ weft.Header) { last = at })
	require.Greater(t, (last - began).Duration(), 50*time.Millisecond, "a packet a millisecond")
}

// What a core owes goes past packets that wait for their turn on a slow link, but not past the one
// that is on it.
func TestHellosPassPacketsThatWaitToBePaced(t *testing.T) {
	t.Parallel()
	const crawl = 1 // byte a second: a packet takes minutes
	for claim, of := range map[string]link.Pace{"paced": {Rate: crawl}, "impaired": {}} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, of, Config{})
			if claim == "impaired" {
				r.d.Impair(0, link.Impairment{Rate: crawl})
			}
			r.give(1000)
			// The driver may have begun a frame before it was impaired. The one behind it has one
			// packet.
			r.eventually(func(c *fake) bool { return len(c.batches) > 0 && c.batches[len(c.batches)-1] == 1 })
			var sent int
			r.look(func(c *fake) { sent = len(c.batches) })
			for range 3 {
				r.owe()
				r.eventually(func(c *fake) bool { return c.owes == 0 })
			}
			rig.Until(t, func() bool { return r.d.Stats().CreditFrames == 3 })
			r.look(func(c *fake) { require.Len(t, c.batches, sent, "the link is busy") })
			for len(r.far) > 0 {
				require.NotEmpty(t, r.frame().Packets, "the hello stays behind the packet that is on the link")
			}
		})
	}
}

// A link that is free takes packets and the hello in one frame.
func TestAHelloGoesAlongWithPackets(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	r.d.Do(func(now weft.Time, out *weft.Actions) {
		r.core.queue = append(r.core.queue, weft.Header{Size: 256, Fields: weft.NewFields()},
			weft.Header{Size: 256, Fields: weft.NewFields()})
		r.core.owes++
		out.WakeAt = now
	})
	require.Len(t, r.frame().Packets, 2)
	r.look(func(c *fake) { require.Zero(t, c.owes) })
	require.Zero(t, r.d.Stats().CreditFrames)
}

func TestImpairingUnderTrafficLosesNothingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, link.Pace{}, Config{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			draw := rand.New(rand.NewPCG(uint64(g), 1))
			for range 100 {
				r.d.Impair(0, link.Impairment{
					Rate: float64(draw.IntN(2)) * 25_600_000, Jitter: time.Duration(draw.IntN(2)) * time.Millisecond,
					Delay: time.Duration(draw.IntN(1000)) * time.Microsecond,
				})
				r.give(10)
			}
		})
	}
	wg.Wait()
	r.d.Impair(0, link.Impairment{})
	seen := map[uint64]int{}
	r.take(4000, func(_ int, _ weft.Time, h weft.Header) { seen[h.Seq]++ })
	for seq := range uint64(10) {
		require.Equal(t, 400, seen[seq])
	}
}

// within reports whether n of so many events are what their probability makes of them, to four
// standard deviations.
func within(n, of int, p float64) bool {
	return math.Abs(float64(n)-float64(of)*p) <= 4*math.Sqrt(float64(of)*p*(1-p))
}
