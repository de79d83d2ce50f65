package part_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/part"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/nic"
	"github.com/weft-fabric/weft/switch/link"
	"github.com/weft-fabric/weft/switch/switchd"
	"github.com/weft-fabric/weft/switch/wire"
)

// A host of calls needs no broker: it is ordered, counted and read by calls, and what NICs refuse is the error that they gave.
func TestALocalHost(t *testing.T) {
	t.Parallel()
	g, err := topology.Generate("kary-ntree:2,2")
	require.NoError(t, err)
	fw, _, err := subnet.Firmware("adaptive-link", g)
	require.NoError(t, err)
	memory := wire.NewMemory()
	start := time.Now()
	live := &part.Live{Transport: memory, Clock: func() weft.Time { return weft.FromDuration(time.Since(start)) }}
	l, err := part.NewLocal(part.LocalConfig{
		Graph: g, Firmware: fw, Runtime: live, Watch: func(weft.Node) switchd.Observer { return nil },
		Spec: part.Charter{
			Place:  part.Place{Switches: []part.Span{{N: 4}}, NICs: []part.Span{{N: 4}}, Shards: 1},
			Switch: part.SwitchOptions{VCs: 1, InputBuffer: 2, OutputBuffer: 2},
			NIC:    part.NICOptions{PacketBytes: 256, QueueBytes: 1024}, Link: part.LinkOptions{Rate: 256_000, Inbox: 64}, Seed: 7,
		},
	})
	require.NoError(t, err)
	ctx, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); live.Machine.Run(ctx) }()
	t.Cleanup(func() { end(); <-over; require.NoError(t, memory.Close()) })

	var host part.Host = l
	order := func(o part.Order) part.OrderAnswer {
		t.Helper()
		a, err := host.Order(t.Context(), o)
		require.NoError(t, err)
		return a
	}
	ends := func() (up int) {
		s, err := host.Sum(t.Context(), part.SumRequest{Ends: true})
		require.NoError(t, err)
		for i := range (part.Place{Switches: []part.Span{{N: 4}}, NICs: []part.Span{{N: 4}}}).Ends(g) {
			if part.Bit(s.Up, i) {
				up++
			}
		}
		return up
	}
	order(part.Order{Hold: new(true)})
	a := order(part.Order{Light: true, Send: []part.SendOrder{
		{Src: 0, Dst: 3, Bytes: 256}, {Src: 0, Dst: 99, Bytes: 256}, {Src: 1, Dst: 2, Bytes: 512}, {Src: 1, Dst: 2, Bytes: 768},
	}})
	require.NoError(t, a.Sent[0].Reason())
	require.ErrorIs(t, a.Sent[1].Reason(), nic.ErrNoSuchNIC)
	require.ErrorIs(t, a.Sent[3].Reason(), nic.ErrQueueFull)
	require.Nil(t, errors.Unwrap(part.Refusal{Err: "as it travels"}.Reason()))
	require.Eventually(t, func() bool { return ends() == 2*len(g.Links) }, rig.Patience, time.Millisecond)
	require.EqualValues(t, 2, l.Count(part.CountNICs).Counters.NICs.Injected)
	order(part.Order{Hold: new(false)})
	require.Eventually(t, func() bool { return l.Count(part.CountNICs|part.CountEras).Counters.NICs.Delivered == 2 }, rig.Patience, time.Millisecond)

	// Sums, counts and readings say the same. Links that somebody else may have an end of are told by their ends.
	s, err := host.Sum(t.Context(), part.SumRequest{Eras: true, Ends: true})
	require.NoError(t, err)
	require.Empty(t, s.Flows)
	c := l.Count(part.CountSwitches | part.CountNICs | part.CountEras)
	require.Equal(t, s.Counters.Switches, c.Counters.Switches)
	require.Equal(t, s.Counters.NICs, c.Counters.NICs)
	require.Equal(t, s.Eras, c.Eras)
	l.Share(0)
	var peers []part.Peer // what passes within the host stays inside
	for _, e := range (part.Place{Switches: part.Spans([]weft.SwitchID{0, 1, 2, 3}), NICs: part.Spans([]weft.NICID{0, 1, 2, 3})}).Ends(g) {
		peers = append(peers, part.Peer{Part: g.Name(e.Node), Incarnation: link.Incarnation{Number: 7}})
	}
	was := s
	s, err = host.Sum(t.Context(), part.SumRequest{Number: 7, Ends: true, Peers: peers})
	require.NoError(t, err)
	require.Empty(t, s.Flows)
	require.Equal(t, []uint64{0, 0, was.Wires}, []uint64{s.Sent, s.Received, s.Wires})
	for i := range peers {
		peers[i].Number = 8
	}
	s, err = host.Sum(t.Context(), part.SumRequest{Number: 7, Ends: true, Peers: peers})
	require.NoError(t, err)
	require.NotEmpty(t, s.Flows)
	for _, e := range s.Flows {
		require.Equal(t, e.Flow, l.ReadEnd(e.End).Flow)
	}

	// A cut and a crash; the switch returns in one step.
	l0 := g.Links[0]
	order(part.Order{Cut: []part.Way{{Link: l0.ID}, {Link: l0.ID, Back: true}}, Signals: []part.SignalOrder{
		{End: part.EndOf(l0.A)}, {End: part.EndOf(l0.B)},
	}})
	require.Equal(t, 2*len(g.Links)-2, ends())
	order(part.Order{Restored: []part.Way{{Link: l0.ID}, {Link: l0.ID, Back: true}}, Light: true})
	require.Eventually(t, func() bool { return ends() == 2*len(g.Links) }, rig.Patience, time.Millisecond)
	_, err = host.Order(t.Context(), part.Order{Restart: []weft.SwitchID{9}})
	require.ErrorContains(t, err, "switch 9: not in this part")
}
