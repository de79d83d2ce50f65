package bus_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/outside"
	"github.com/weft-fabric/weft/harness/attack"
)

// Every transport keeps the contract of bus.Transport.
func TestTransportContract(t *testing.T) {
	t.Parallel()
	transports := map[string]func(t *testing.T) bus.Transport{
		"memory": func(*testing.T) bus.Transport { return bus.NewMemory() },
		"nats=in-process": func(t *testing.T) bus.Transport {
			return openNATS(t, bus.NATSConfig{Broker: startBroker(t, bus.BrokerConfig{NoListen: true})})
		},
		"nats=one-shard": func(t *testing.T) bus.Transport {
			return openNATS(t, bus.NATSConfig{Broker: startBroker(t, bus.BrokerConfig{NoListen: true}), Shards: 1})
		},
		"nats=external/per-direction": func(t *testing.T) bus.Transport {
			b := startBroker(t, bus.BrokerConfig{})
			return openNATS(t, bus.NATSConfig{
				URL: b.ClientURL(), Credentials: b.Credentials(bus.RoleFabric), Shards: 4, Subscription: bus.PerDirection,
			})
		},
	}
	for _, release := range outside.Releases {
		transports["nats=outside/"+string(release)] = func(t *testing.T) bus.Transport {
			return openNATS(t, bus.NATSConfig{URL: outside.Start(t, release).URL, Shards: 2})
		}
	}
	claims := map[string]func(*testing.T, bus.Transport){
		"order and no loss": contractOrder, "cut and restore": contractCut, "cut is exact": contractCutExact,
		"close": contractClose, "names": contractNames, "send keeps nothing": contractSendKeepsNothing,
		"unlisten": contractUnlisten, "shards": contractShards,
	}
	for name, open := range transports {
		for claim, check := range claims {
			t.Run(name+"/"+claim, func(t *testing.T) {
				t.Parallel()
				check(t, open(t))
			})
		}
	}
}

// Concurrent senders on many directions; each direction arrives whole and in order.
func contractOrder(t *testing.T, tr bus.Transport) {
	const links, frames = 8, 2000
	inboxes := make([]chan bus.Message, links)
	for i := range links {
		inboxes[i] = listen(t, tr, hop(i), frames)
	}
	ready(t, tr)
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range links {
		s := sender(t, tr, hop(i))
		wg.Go(func() {
			frame := make([]byte, 8)
			for n := range frames {
				binary.BigEndian.PutUint64(frame, uint64(n))
				if err := s.Send(frame); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range links {
		for n := range frames {
			require.Equal(t, uint64(n), binary.BigEndian.Uint64([]byte(next(t, inboxes[i]))), "on %v", hop(i))
		}
	}
	wg.Wait()
	s := tr.Stats()
	require.Equal(t, bus.Stats{Sent: links * frames, SentBytes: links * frames * 8, Delivered: links * frames}, s)
}

// One direction can be cut alone; cuts do not count.
func contractCut(t *testing.T, tr bus.Transport) {
	there, back := hop(0), hop(0).Reverse()
	inThere, inBack := listen(t, tr, there, 10), listen(t, tr, back, 10)
	sThere, sBack := sender(t, tr, there), sender(t, tr, back)
	ready(t, tr)
	require.NotEqual(t, "by nobody", tr.Enforcement().String())
	require.NoError(t, tr.Restore(there), "restoring what is whole does nothing")
	require.NoError(t, sThere.Send([]byte("before")))
	require.Equal(t, "before", next(t, inThere))

	require.NoError(t, tr.Cut(there))
	require.NoError(t, tr.Cut(there, there))
	require.NoError(t, sThere.Send([]byte("into the cut")))
	require.NoError(t, sBack.Send([]byte("the other way")))
	require.Equal(t, "the other way", next(t, inBack))
	require.NoError(t, tr.Restore(there))
	require.NoError(t, sThere.Send([]byte("after")))
	require.Equal(t, "after", next(t, inThere), "the first to arrive after the cut")
	require.Equal(t, uint64(1), tr.Stats().Cut)
	require.Equal(t, uint64(4), tr.Stats().Sent)

	require.NoError(t, tr.Cut(there, back))
	require.NoError(t, tr.Cut())
	require.NoError(t, tr.Restore(back, there))
	require.NoError(t, sBack.Send([]byte("again")))
	require.Equal(t, "again", next(t, inBack))
}

// When Cut returns, nothing more enters the inbox, however fast somebody sends; when Restore returns, sends get through.
func contractCutExact(t *testing.T, tr bus.Transport) {
	d := hop(0)
	const frames = 200_000 // fewer than NATSConfig.Pending, since no credits hold this sender back
	inbox := listen(t, tr, d, frames)
	s := sender(t, tr, d)
	ready(t, tr)
	stop, sending := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(stop)
	wg.Go(func() {
		for n := range frames {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Send([]byte("x")); err != nil {
				t.Error(err)
				return
			}
			if n == 100 {
				close(sending)
			}
		}
	})
	<-sending
	for range 20 {
		require.NoError(t, tr.Cut(d))
		have := len(inbox)
		require.NoError(t, tr.Cut(hop(1))) // takes a while
		require.Len(t, inbox, have)
		require.NoError(t, tr.Restore(d, hop(1)))
	}
}

func contractClose(t *testing.T, tr bus.Transport) {
	inbox := listen(t, tr, hop(0), 100)
	s := sender(t, tr, hop(0))
	ready(t, tr)
	for range 50 {
		require.NoError(t, s.Send([]byte("x")))
	}
	require.NoError(t, tr.Close())
	have := len(inbox)
	require.NoError(t, tr.Close())
	require.ErrorIs(t, s.Send([]byte("x")), bus.ErrClosed)
	require.ErrorIs(t, tr.Listen(hop(1), inbox), bus.ErrClosed)
	require.ErrorIs(t, tr.Cut(hop(0)), bus.ErrClosed)
	_, err := tr.Sender(hop(1))
	require.ErrorIs(t, err, bus.ErrClosed)
	require.Len(t, inbox, have, "nothing is delivered after Close")
	require.Equal(t, uint64(1), tr.Stats().Errors)
}

func contractNames(t *testing.T, tr bus.Transport) {
	inbox := listen(t, tr, hop(0), 1)
	require.ErrorIs(t, tr.Listen(hop(0), inbox), bus.ErrListening)
	other := hop(0)
	other.To = "elsewhere"
	require.ErrorIs(t, tr.Cut(other), bus.ErrDirection)
	for _, d := range []bus.Direction{
		{},
		{From: "a", To: ""},
		{From: "a.*", To: "b"},
		{From: "a b", To: "c"},
		{From: "a", To: "b", FromPort: weft.MaxPorts},
		{From: "a", To: "b", ToPort: weft.NoPort},
		{From: "a_b", To: "c"},
	} {
		require.ErrorIs(t, tr.Listen(d, inbox), bus.ErrName, "%v", d)
	}
	// Names of real fabrics, some alike but for the dot.
	for _, node := range []string{"s1.03", "s1-03", "s10.3", "n000", "N000"} {
		d := bus.Direction{From: node, To: "x", FromPort: 255, ToPort: 255}
		in := listen(t, tr, d, 1)
		ready(t, tr)
		require.NoError(t, sender(t, tr, d).Send([]byte(node)))
		require.Equal(t, node, next(t, in))
	}
}

// What somebody else listens to is counted where it is heard, enters no inbox, and can be taken back.
func contractUnlisten(t *testing.T, tr bus.Transport) {
	inbox, marker := listen(t, tr, hop(0), 10), listen(t, tr, hop(0).Reverse(), 10)
	s := sender(t, tr, hop(0))
	ready(t, tr)
	require.NoError(t, s.Send([]byte("ours")))
	require.Equal(t, "ours", next(t, inbox))
	require.NoError(t, tr.Unlisten(hop(0)))
	require.NoError(t, tr.Unlisten(hop(0)), "twice is once")
	ready(t, tr)
	require.NoError(t, s.Send([]byte("theirs")))
	other := bus.Direction{From: "s0", To: "x", FromPort: 2} // of the same node, so on the same connection
	behind := listen(t, tr, other, 1)
	ready(t, tr)
	require.NoError(t, sender(t, tr, other).Send([]byte("behind")))
	require.Equal(t, "behind", next(t, behind))
	require.Empty(t, inbox)
	want := uint64(1)
	if strings.Contains(t.Name(), "per-direction") {
		want = 0 // the broker does not send it here
	}
	require.Equal(t, want, tr.Stats().Elsewhere)
	require.Zero(t, tr.Stats().Unknown)
	require.NoError(t, tr.Listen(hop(0), marker), "another inbox, even")
	ready(t, tr)
	require.NoError(t, s.Send([]byte("ours again")))
	require.Equal(t, "ours again", next(t, marker))

	never := bus.Direction{From: "s0", To: "x", FromPort: 3}
	require.NoError(t, tr.Unlisten(never), "of what was never listened to")
	require.ErrorIs(t, tr.Unlisten(bus.Direction{}), bus.ErrName)
}

func contractShards(t *testing.T, tr bus.Transport) {
	used := make(map[int]bool)
	for i := range 100 {
		used[tr.Shard(hop(i).From)] = true
	}
	require.Len(t, used, tr.Shards())
	require.Equal(t, bus.MaxFrame, tr.MaxFrame())
	tr.Watch(nil)
	tr.Watch(func(e bus.Event) { t.Errorf("event: %v", e) })
}

func contractSendKeepsNothing(t *testing.T, tr bus.Transport) {
	inbox := listen(t, tr, hop(0), 100)
	s := sender(t, tr, hop(0))
	ready(t, tr)
	frame := make([]byte, 0, 100)
	for i := range 100 {
		frame = fmt.Appendf(frame[:0], "frame %d", i)
		require.NoError(t, s.Send(frame))
	}
	clear(frame)
	for i := range 100 {
		require.Equal(t, fmt.Sprintf("frame %d", i), next(t, inbox))
	}
}

func TestMemoryDoesNotAllocate(t *testing.T) {
	m := bus.NewMemory()
	inbox := listen(t, m, hop(0), 1)
	s := sender(t, m, hop(0))
	frame := make([]byte, 256)
	require.Less(t, testing.AllocsPerRun(1000, func() {
		if err := s.Send(frame); err != nil {
			t.Error(err)
		}
		(<-inbox).Release()
	}), 1.0)
}

// A receiver that gets no processor is owed hellos without end; packets find room beside them.
func TestHellosLeaveRoomForPackets(t *testing.T) {
	t.Parallel()
	memory := bus.NewMemory()
	events := newRecorder()
	nats := openNATS(t, bus.NATSConfig{Broker: startBroker(t, bus.BrokerConfig{NoListen: true}), Shards: 1})
	nats.Watch(events.record)
	tried := attack.Tally(t, "hellos to a receiver that reads nothing")
	for name, tr := range map[string]bus.Transport{"memory": memory, "nats": nats} {
		t.Run(name, func(t *testing.T) {
			inbox, after := listen(t, tr, hop(0), 8), listen(t, tr, hop(1), 8)
			s := sender(t, tr, hop(0))
			ready(t, tr)
			arrived := func() { // what was sent before: links of a shard share its connection
				t.Helper()
				require.NoError(t, sender(t, tr, hop(1)).Send([]byte("fence")))
				require.Equal(t, "fence", next(t, after))
			}
			hello := bus.AppendFrame(nil, hop(0).Sum(), &weft.Frame{From: 1, VCs: 1})
			for range 20 {
				require.NoError(t, s.Send(hello))
				tried.Add(1)
			}
			arrived()
			require.Len(t, inbox, 4)
			packets := bus.AppendFrame(nil, hop(0).Sum(), &weft.Frame{From: 1, VCs: 1, Packets: make([]weft.Header, 1)})
			for range 4 {
				require.NoError(t, s.Send(packets))
			}
			arrived()
			require.Len(t, inbox, 8)
			require.EqualValues(t, 16, tr.Stats().Full)
			require.Empty(t, events.kinds(0), "nothing is lost that a hello does not make up for")
		})
	}
}

// Only our own code can fill an inbox in memory.
func TestMemoryFullInboxIsABug(t *testing.T) {
	t.Parallel()
	m := bus.NewMemory()
	listen(t, m, hop(0), 1)
	s := sender(t, m, hop(0))
	frame := bus.AppendFrame(nil, hop(0).Sum(), &weft.Frame{From: 1, VCs: 1, Packets: make([]weft.Header, 1)})
	require.NoError(t, s.Send(frame))
	require.PanicsWithValue(t, "bus: BUG: s0:p1>s1:p0: inbox of 1 frames is full; its capacity must cover the credits of the link",
		func() { _ = s.Send(frame) })
	require.NoError(t, s.Send([]byte("garbage")), "of which nobody said that there is room for it")
	require.NoError(t, m.Ready(context.Background()))
	require.NoError(t, sender(t, m, hop(1)).Send([]byte("x")))
	bytes := uint64(2*len(frame) + len("garbage") + 1)
	require.Equal(t, bus.Stats{Sent: 4, SentBytes: bytes, Delivered: 1, Full: 2, Unknown: 1}, m.Stats())
}
