package nic

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

func TestAPacketEntersTheFabricWithCleanFields(t *testing.T) {
	r := newRig(t, Config{ID: 3})
	r.now = 7
	require.Equal(t, uint64(0), r.send(5))
	require.Equal(t, []weft.PortID{0}, r.out.Ready)
	r.SetGeneration(4)
	r.now = 8
	seq, err := r.Send(r.now, 5, 99, true, &r.out)
	require.NoError(t, err)
	require.Equal(t, uint64(1), seq, "numbered per flow")
	require.Equal(t, uint64(0), r.send(6))
	require.Equal(t, []weft.Header{
		{Src: 3, Dst: 5, Seq: 0, Injected: 7, Size: 256, Fields: weft.NewFields()},
		{Src: 3, Dst: 5, Seq: 1, Injected: 8, Size: 99, Generation: 4, Traced: true, Fields: weft.NewFields()},
	}, r.take(9), "as many as there are credits")
	require.Empty(t, r.take(9))
	r.neighbour.Free(0)
	r.hand()
	require.Equal(t, []weft.PortID{0}, r.out.Ready)
	require.Len(t, r.take(9), 1)
}

func TestAFrameIsNoLongerThanItsLimit(t *testing.T) {
	r := newRig(t, Config{})
	r.send(1)
	r.send(1)
	require.Len(t, r.take(1), 1)
	require.Len(t, r.take(1), 1)
}

func TestSendRefusesByName(t *testing.T) {
	r := newDarkRig(t, Config{NICs: 4, QueueBytes: 1000})
	for _, c := range []struct {
		dst  weft.NICID
		size int
		want error
	}{{4, 1, ErrNoSuchNIC}, {1, 0, ErrSize}, {1, -1, ErrSize}, {1, weft.MaxPacket + 1, ErrSize}, {1, 1001, ErrQueueFull}} {
		_, err := r.Send(0, c.dst, c.size, false, &r.out)
		require.ErrorIs(t, err, c.want)
	}
	require.Zero(t, r.Stats().Injected)
}

func TestTheSendQueueIsBoundedInBytesAndRefusesBeyond(t *testing.T) {
	r := newRig(t, Config{QueueBytes: 3*256 + 255})
	for range 3 {
		r.send(1)
	}
	_, err := r.Send(0, 1, 256, false, &r.out)
	require.ErrorIs(t, err, ErrQueueFull)
	_, err = r.Send(0, 1, 255, false, &r.out)
	require.NoError(t, err, "what still fits is taken")
	s := r.Snapshot()
	require.Equal(t, 4, s.Queued)
	require.Equal(t, 3*256+255, s.QueuedBytes)
	require.Equal(t, Stats{Injected: 4, Refused: 1}, s.Stats)
	require.Len(t, r.take(1), 1)
	require.Equal(t, uint64(4), r.send(1), "a refused packet takes no number")
	require.Equal(t, 3*256+255, r.Snapshot().QueuedBytes)
}

func TestWhileTheLinkIsDownTheQueueFillsAndThenRefuses(t *testing.T) {
	r := newDarkRig(t, Config{QueueBytes: 10 * 256})
	require.NoError(t, r.SetSource(0, Source{To: only(1), Mean: 10}, &r.out))
	r.Tick(1000, &r.out)
	s := r.Snapshot()
	require.Equal(t, uint64(10), s.Stats.Injected)
	require.Positive(t, s.Stats.Refused)
	require.Empty(t, r.out.Ready, "nothing to transmit without a link")
	require.Equal(t, link.Down, s.State)
	var f weft.Frame
	require.False(t, r.Transmit(0, 0, 64, &f, &r.out))
	require.NoError(t, r.SetSource(1000, Source{}, &r.out))

	r.connect()
	var seqs []uint64
	for packets := r.take(64); len(packets) > 0; packets = r.take(64) {
		for _, h := range packets {
			seqs = append(seqs, h.Seq)
			r.neighbour.Free(0)
		}
		r.hand()
	}
	require.Equal(t, []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, seqs, "what was queued goes, in order")
}

func TestChangesOfTheLinkAreReported(t *testing.T) {
	r := newDarkRig(t, Config{})
	r.Signal(0, 0, true, &r.out)
	require.Empty(t, r.out.Changes)
	r.neighbour.Signal(r.now, true)
	r.hand()  // hello
	r.take(0) // ours, to its epoch
	r.hand()  // to ours
	require.Equal(t, []weft.PortChange{{Up: true}}, r.out.Changes)
	r.take(0)
	r.neighbour.Signal(r.now, false)
	r.neighbour.Signal(r.now, true)
	r.hand()
	require.Equal(t, []weft.PortChange{{Why: weft.ByNeighbour}}, r.out.Changes, "a neighbour that restarts")
	require.Equal(t, []weft.PortID{0}, r.out.Ready, "is answered")
	r.connect()
	r.out.Reset()
	r.Signal(0, 0, false, &r.out)
	require.Equal(t, []weft.PortChange{{Why: weft.BySignal}}, r.out.Changes)
}

func TestCreditsOfWhatIsDeliveredGoHome(t *testing.T) {
	for _, eager := range []bool{false, true} {
		r := newRig(t, Config{VCs: 2, Buffer: 3, EagerCredits: eager})
		for seq := range uint64(30) {
			vc := weft.VC(seq % 2)
			require.Positive(t, r.neighbour.Credits(vc))
			r.hand(weft.Header{VC: vc, Src: 1, Seq: seq})
			if r.end.Owes() {
				require.Nil(t, r.take(1))
			}
		}
		require.Equal(t, uint64(30), r.Stats().Delivered)
		r.send(1)
		r.take(1) // carries what was held back
		require.Equal(t, 3, r.neighbour.Credits(0))
		require.Equal(t, 3, r.neighbour.Credits(1))
		require.Zero(t, r.Snapshot().VCs[0].Held+r.Snapshot().VCs[1].Held)
	}
}

func TestBadFramesAreFaultsAndTheRestIsDelivered(t *testing.T) {
	r := newRig(t, Config{})
	var f weft.Frame
	r.neighbour.Stamp(r.now, &f)
	f.Packets = []weft.Header{{VC: 1, Src: 1}, {VC: 255, Src: 1}, {Src: 1}}
	r.out.Reset()
	r.Receive(0, 0, &f, &r.out)
	require.Len(t, r.out.Faults, 2)
	require.ErrorIs(t, r.out.Faults[1].Err, link.ErrBadVC)
	require.Equal(t, uint64(1), r.Stats().Delivered)
	require.Equal(t, uint64(2), r.Snapshot().Counters.Violations)

	f.VCs = 2
	r.out.Reset()
	r.Receive(0, 0, &f, &r.out)
	require.ErrorIs(t, r.out.Faults[0].Err, link.ErrVCs)
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	good := Config{ID: 1, NICs: 2, Rand: rand.NewPCG(1, 1)}
	n, err := New(good)
	require.NoError(t, err)
	require.Equal(t, 1, n.Ports())
	for claim, spoil := range map[string]func(c *Config){
		"too many VCs":       func(c *Config) { c.VCs = weft.MaxVCs + 1 },
		"negative VCs":       func(c *Config) { c.VCs = -1 },
		"too large a buffer": func(c *Config) { c.Buffer = weft.MaxBuffer + 1 },
		"negative buffer":    func(c *Config) { c.Buffer = -1 },
		"not in the fabric":  func(c *Config) { c.ID = 2 },
		"too many NICs":      func(c *Config) { c.NICs = weft.MaxNIC + 1 },
		"no queue":           func(c *Config) { c.QueueBytes = -1 },
		"no random source":   func(c *Config) { c.Rand = nil },
	} {
		c := good
		spoil(&c)
		_, err := New(c)
		require.Error(t, err, claim)
		require.Equal(t, claim == "not in the fabric" || claim == "too many NICs", errors.Is(err, ErrNoSuchNIC), claim)
	}
}

func TestReceivingAndTransmittingAllocateNothing(t *testing.T) {
	r := newDarkRig(t, Config{NICs: 4, Distance: func(weft.NICID) int { return 1 }, EagerCredits: true})
	var in, sent weft.Frame
	r.Signal(0, 0, true, &r.out)
	mine, _ := r.end.Epochs()
	in = weft.Frame{From: 1, To: mine, VCs: 1, Packets: make([]weft.Header, 2)}
	seq := uint64(0)
	round := func() {
		r.out.Reset()
		r.now++
		in.Sent[0], in.Limit[0] = seq, seq+4
		for i := range in.Packets {
			in.Packets[i] = weft.Header{Src: 1, Seq: seq, Traced: true}
			seq++
		}
		r.Receive(r.now, 0, &in, &r.out)
		for range 2 {
			if _, err := r.Send(r.now, 2, 256, false, &r.out); err != nil {
				t.Fatal(err)
			}
		}
		for r.Transmit(r.now, 0, 2, &sent, &r.out) {
		}
	}
	for range 100 {
		round()
	}
	require.Zero(t, testing.AllocsPerRun(1000, round))
	require.Equal(t, seq, r.Stats().Delivered)
	require.Equal(t, r.Stats().Injected, r.Snapshot().Counters.Sent)
	require.Empty(t, r.out.Faults)
}

// A packet has arrived when its frame says so, however late the frame is received; one that the NIC
// sends could leave since it was generated.
func TestLatencyIsThatOfTheNetwork(t *testing.T) {
	r := newRig(t, Config{})
	r.now = weft.Second
	f := weft.Frame{At: weft.Second - 4*weft.Millisecond}
	r.neighbour.Stamp(r.now, &f)
	r.neighbour.Spend(0)
	f.Packets = []weft.Header{{Src: 5, Injected: weft.Second - 9*weft.Millisecond, Fields: weft.NewFields()}}
	r.Receive(r.now, 0, &f, &r.out)
	latency := NewLatency()
	r.MergeLatency(latency)
	require.InEpsilon(t, (5 * time.Millisecond).Nanoseconds(), latency.Max(), 0.01)

	r.send(1)
	r.now += weft.Second
	require.Len(t, r.take(1), 1)
	require.Equal(t, weft.Second, r.out.Since)
}
