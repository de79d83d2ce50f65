package remote

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
)

// A flood of discards is told as one notice a flow until that has gone, and never holds more than
// its bound.
func TestANoticeThatWaitsIsNotToldAgain(t *testing.T) {
	t.Parallel()
	publisher := newPublisher(&host.Spec{}, func(weft.Notice) bool { return false }, nil)
	w := watch{publisher, weft.SwitchID(1).Node()}
	for range 2 {
		for i := range weft.Time(1000) {
			w.Observe(i, &weft.Actions{Notices: []weft.Notice{{Src: 1, Dst: 2}, {Src: 1, Dst: weft.NICID(3 + i%2)}}})
		}
		require.LessOrEqual(t, len(publisher.waiting), 5)
		n := 0
		for s, ok := publisher.take(); ok; s, ok = publisher.take() {
			for _, o := range s.Events {
				n += len(o.Notices)
				require.Equal(t, o.Notices, o.Actions().Notices)
			}
		}
		require.Equal(t, 3, n)
	}
	require.Empty(t, publisher.notices)

	for i := range weft.NICID(2 * maxWaiting) {
		w.Observe(0, &weft.Actions{Notices: []weft.Notice{{Src: 1, Dst: i}}})
	}
	require.Len(t, publisher.waiting, maxWaiting)
	require.Len(t, publisher.notices, maxWaiting)
}

func TestOnlyDropsOfTracedPacketsAreToldUnlessSomebodyWantsAll(t *testing.T) {
	t.Parallel()
	drops := []weft.Drop{{Rule: "a"}, {Rule: "b", Header: weft.Header{Traced: true}}}
	ways := []weft.Candidate{{Port: 1}}
	a := &weft.Actions{Drops: drops, Hops: []weft.Hop{{Rule: "c", Candidates: ways}}, Egress: []weft.Egress{{Port: 2}}}
	for want, c := range map[int]*host.Spec{1: {}, 2: {Packets: true}} {
		publisher := newPublisher(c, nil, nil)
		w := watch{publisher, weft.SwitchID(1).Node()}
		w.Observe(0, a)
		s, ok := publisher.take()
		require.True(t, ok)
		actions := s.Events[0].Actions()
		require.Equal(t, drops[2-want:], actions.Drops)
		require.Equal(t, a.Hops, actions.Hops)
		require.Equal(t, a.Egress, actions.Egress)
		actions.Hops[0].Candidates[0].Port = 9
		require.EqualValues(t, 1, ways[0].Port, "they are its own")
	}
}

// A firmware that fails on every packet is told once until that has gone.
func TestAFailureThatWaitsIsNotToldAgain(t *testing.T) {
	t.Parallel()
	p := newPublisher(&host.Spec{}, nil, nil)
	for range 2 {
		for range 100 {
			p.failed(3, 5, "why")
			p.failed(4, 5, "why")
		}
		s, ok := p.take()
		require.True(t, ok)
		require.Equal(t, []host.Observation{{Node: 3, At: 5, Failed: "why"}, {Node: 4, At: 5, Failed: "why"}}, s.Events)
		all, _ := p.counts()
		require.Equal(t, all, s.Upto)
	}
}
