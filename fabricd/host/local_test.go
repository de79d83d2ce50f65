package host_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/nic"
	switching "github.com/weft-fabric/weft/switch"
	"github.com/weft-fabric/weft/switch/link"
)

// A host of calls needs no broker: it is ordered, counted and read by calls, and what NICs refuse
// is the error that they gave.
func TestALocalHost(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	l.Run()
	h, g := l.Host, l.Graph
	ends := func() int {
		s, err := h.Counters(t.Context(), host.CountersRequest{Ends: true})
		require.NoError(t, err)
		return h.Up(&s)
	}
	l.Do(host.Order{Hold: new(true)})
	a := l.Do(host.Order{SignalAll: true, Send: []host.SendOrder{
		{Src: 0, Dst: 3, Bytes: 256},
		{Src: 0, Dst: 99, Bytes: 256},
		{Src: 1, Dst: 2, Bytes: 512},
		{Src: 1, Dst: 2, Bytes: 768},
	}})
	require.NoError(t, a.Sent[0].Reason())
	require.ErrorIs(t, a.Sent[1].Reason(), nic.ErrNoSuchNIC)
	require.ErrorIs(t, a.Sent[3].Reason(), nic.ErrQueueFull)
	require.Nil(t, errors.Unwrap(host.Refusal{Err: "as it travels"}.Reason()))
	rig.Until(t, func() bool { return ends() == 2*len(g.Links) })
	now, err := h.Counters(t.Context(), host.CountersRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 2, now.Counters.NICs.Injected)
	l.Do(host.Order{Hold: new(false)})
	rig.Until(t, func() bool { return l.Delivered() == 2 && !l.HoldsPackets() })

	// Counters, counts and readings say the same. Links that somebody else may have an end of are
	// told by their ends.
	s, err := h.Counters(t.Context(), host.CountersRequest{Generations: true, Ends: true})
	require.NoError(t, err)
	require.Empty(t, s.Flows)
	c := l.Look(host.CountersRequest{Generations: true}, make([]switching.Reading, 4), make([]nic.Reading, 4))
	require.Equal(t, s.Counters.Switches, c.Counters.Switches)
	require.Equal(t, s.Counters.NICs, c.Counters.NICs)
	require.Equal(t, s.Generations, c.Generations)
	l.Share(0)
	var peers []host.Peer // what passes within the host stays inside
	for _, e := range h.Ends() {
		peers = append(peers, host.Peer{Host: g.Name(e.Node), Incarnation: link.Incarnation{Number: 7}})
	}
	was := s
	s, err = h.Counters(t.Context(), host.CountersRequest{Number: 7, Ends: true, Peers: peers})
	require.NoError(t, err)
	require.Empty(t, s.Flows)
	require.Equal(t, []uint64{0, 0, was.Wires}, []uint64{s.Sent, s.Received, s.Wires})
	known := func(epoch weft.Epoch, list ...host.Peer) []host.Peer {
		for _, e := range h.Ends() {
			list = append(list, host.Peer{Host: g.Name(e.Node), Incarnation: link.Incarnation{First: epoch}})
		}
		return list
	}
	for _, overtaken := range [][]host.Peer{known(100, peers...), known(50)} {
		again, err := h.Counters(t.Context(), host.CountersRequest{Number: 7, Ends: true, Peers: overtaken})
		require.NoError(t, err)
		require.Equal(t, []uint64{0, 0, was.Wires}, []uint64{again.Sent, again.Received, again.Wires},
			"a later question knew more")
	}
	s, err = h.Counters(t.Context(), host.CountersRequest{Number: 8, Ends: true}) // as another host would
	require.NoError(t, err)
	require.NotEmpty(t, s.Flows)
	for _, e := range s.Flows {
		require.Equal(t, e.Flow, l.ReadEnd(e.End).Flow)
	}

	// A cut and a crash; the switch returns in one step.
	l0 := g.Links[0]
	l.Do(host.Order{Cut: []host.LinkDirection{{Link: l0.ID}, {Link: l0.ID, Back: true}}, Signals: []host.SignalOrder{
		{End: host.EndOf(l0.A)}, {End: host.EndOf(l0.B)},
	}})
	require.Equal(t, 2*len(g.Links)-2, ends())
	l.Do(host.Order{Restored: []host.LinkDirection{{Link: l0.ID}, {Link: l0.ID, Back: true}}, SignalAll: true})
	rig.Until(t, func() bool { return ends() == 2*len(g.Links) })
	_, err = h.Order(t.Context(), host.Order{Restart: []weft.SwitchID{9}})
	require.ErrorContains(t, err, "switch 9: not in this host")
}

// brokenCuts is a runtime whose transport fails whenever it is to look at its cuts.
type brokenCuts struct{ *host.Live }

var errCuts = errors.New("the transport looked at its cuts")

func (brokenCuts) Cut([]weft.End) error     { return errCuts }
func (brokenCuts) Restore([]weft.End) error { return errCuts }

// A transport goes through all its cuts when it is given one; a packet that is to be sent is no
// reason for that.
func TestAnOrderThatCutsNothingLeavesTheTransportAlone(t *testing.T) {
	t.Parallel()
	l := newLocal(t, func(c *host.LocalConfig) { c.Runtime = brokenCuts{c.Runtime.(*host.Live)} })
	a, err := l.Order(t.Context(), host.Order{Send: []host.SendOrder{{Src: 0, Dst: 3, Bytes: 256}}, SignalAll: true})
	require.NoError(t, err)
	require.NoError(t, a.Sent[0].Reason())
	for _, o := range []host.Order{{Cut: []host.LinkDirection{{}}}, {Restored: []host.LinkDirection{{}}}} {
		_, err = l.Order(t.Context(), o)
		require.ErrorIs(t, err, errCuts)
	}
}

// A look uses the storage of the one before: what it allocates does not depend on how many links
// there are. It is not parallel, for it counts what the whole process allocates.
func TestALookUsesStorageAnew(t *testing.T) {
	l := newLocal(t)
	switches, nics := make([]switching.Reading, len(l.Graph.Switches)), make([]nic.Reading, len(l.Graph.NICs))
	nodes := float64(len(switches) + len(nics))
	n := testing.AllocsPerRun(100, func() { l.Look(host.CountersRequest{Ends: true}, switches, nics) })
	require.LessOrEqual(t, n, nodes+4, "one for each node")
}

// What a link that is shared has lost within the host is told, whatever has passed there since with
// another incarnation of a neighbour.
func TestLossesOfALinkThatIsShared(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	l.Run()
	g := l.Graph
	leaf, port := g.SwitchOf(0)
	a, b := weft.End{Node: weft.NICID(0).Node()}, weft.End{Node: leaf.Node(), Port: port}
	up := func() bool { return l.ReadEnd(a).Flow.State == link.Up && l.ReadEnd(b).Flow.State == link.Up }
	send := func() { l.Do(host.Order{Send: []host.SendOrder{{Src: 0, Dst: 1, Bytes: 256}}}) }
	l.Do(host.Order{SignalAll: true})
	rig.Until(t, up)
	l.Share(leaf)
	l.Do(host.Order{Impair: []host.ImpairOrder{{End: host.EndOf(a), Impair: link.Impairment{Loss: 1}}}})
	send()
	rig.Until(t, func() bool { return l.ReadEnd(a).Flow.Sent == 1 }, "it is sent, and lost")
	l.Do(host.Order{
		Impair:  []host.ImpairOrder{{End: host.EndOf(a)}},
		Signals: []host.SignalOrder{{End: host.EndOf(a)}, {End: host.EndOf(b)}},
	})
	l.Do(host.Order{SignalAll: true})
	rig.Until(t, up)
	for n := range uint64(3) {
		send()
		rig.Until(t, func() bool { return l.Delivered() == n+1 })
	}
	var peers []host.Peer // the first time that the ends were up is of this host, the second of another
	for _, name := range []string{g.Name(a.Node), g.Name(b.Node)} {
		peers = append(peers, host.Peer{Host: name, Incarnation: link.Incarnation{Number: 7}},
			host.Peer{Host: name, Incarnation: link.Incarnation{Number: 8, First: 1}})
	}
	s, err := l.Counters(t.Context(), host.CountersRequest{Number: 7, Ends: true, Peers: peers})
	require.NoError(t, err)
	require.Len(t, s.Wire, 1)
	require.EqualValues(t, 1, s.Wire[0].Wire[0]+s.Wire[0].Wire[1])
}

// A question may have been put before the link was shared, and answered after: whose packets those
// on the link are is not known then, nor is it after a question with names that it overtakes.
func TestAQuestionFromBeforeALinkIsSharedNamesNobody(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	l.Run()
	g := l.Graph
	leaf, port := g.SwitchOf(0)
	a, b := weft.End{Node: weft.NICID(0).Node()}, weft.End{Node: leaf.Node(), Port: port}
	l.Do(host.Order{SignalAll: true})
	for _, e := range l.Ends() {
		rig.Until(t, func() bool { return l.ReadEnd(e).Flow.State == link.Up })
	}
	l.Do(host.Order{Send: []host.SendOrder{{Src: 0, Dst: 1, Bytes: 256}}})
	rig.Until(t, func() bool { return l.Delivered() == 1 })
	l.Share(leaf)
	ask := func(peers ...host.Peer) host.Counters {
		s, err := l.Counters(t.Context(), host.CountersRequest{Number: 7, Ends: true, Peers: peers})
		require.NoError(t, err)
		return s
	}
	s := ask()
	require.Empty(t, s.Flows)
	require.Zero(t, s.Sent+s.Received)
	var peers []host.Peer
	for _, name := range []string{g.Name(a.Node), g.Name(b.Node)} {
		peers = append(peers, host.Peer{Host: name, Incarnation: link.Incarnation{Number: 8}})
	}
	s = ask(peers...)
	require.NotEmpty(t, s.Flows)
	require.NotZero(t, s.Sent+s.Received)
	require.Equal(t, s.Flows, ask().Flows, "overtaken")
	require.Equal(t, s.Flows, ask(host.Peer{Host: "another", Incarnation: link.Incarnation{Number: 9}}).Flows, "overtaken")
}
