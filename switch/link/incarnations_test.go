package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// sessions are those of an end, by incarnation.
func sessions(e *End, peers ...Incarnation) map[uint64]Flow {
	all := map[uint64]Flow{}
	e.Sessions(peers, func(s Session) { all[s.Peer] = s.Flow })
	return all
}

func TestAnEndCountsPerIncarnationOfItsNeighbour(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	anew := func(first weft.Epoch) { // whatever runs B is started again
		l.run("A-")
		l.b.End = New(Config{VCs: 1, Buffer: 4, Eager: true, First: first})
		l.b.in, l.a.in = nil, nil
		l.run("A+ B+ ..")
	}
	one, two, three := Incarnation{1, 0}, Incarnation{2, 1000}, Incarnation{3, 2000}
	l.run("A2> >B B1> >A .. A- A+ .. A1> >B ..")
	require.Equal(t, map[uint64]Flow{
		1: {State: Up, Mine: 2, Peer: 2, Sent: 3, Received: 1, LastFrom: 2, LastTo: 2, LastSent: 1},
	}, sessions(&l.a.End, one))
	anew(two.First)
	l.run("B2> >A .. A-")
	got := sessions(&l.a.End, one, two, three)
	require.Equal(t, Flow{Mine: 3, Sent: 3, Received: 1, LastFrom: 2, LastTo: 2, LastSent: 1}, got[1])
	require.Equal(t, Flow{Mine: 3, Received: 2}, got[2])
	require.Equal(t, Flow{Mine: 3}, got[3], "it has not met that one")
	l.run("A+")
	for n, f := range sessions(&l.a.End, one, two, three) {
		require.Equal(t, Init, f.State, "it may come up with %d", n)
	}
	anew(three.First)
	l.run("A1> >B ..")
	got = sessions(&l.a.End, one, two, three)
	require.Equal(t, []State{Down, Down, Up}, []State{got[1].State, got[2].State, got[3].State})
	require.Equal(t, []uint64{3, 0, 1}, []uint64{got[1].Sent, got[2].Sent, got[3].Sent})
	require.Len(t, sessions(&l.a.End, two, three), 2)
	require.Zero(t, sessions(&l.a.End, one, two, three)[1].Sent, "what nobody asked for is left out from then on")
	require.Equal(t, Flow{
		State: Up, Mine: l.a.mine, Peer: 2001, Sent: 1, Received: 2, LastFrom: l.a.mine, LastTo: 2001, LastSent: 1,
	}, sessions(&l.a.End, Incarnation{7, 1000})[7], "one that has both ranges")
}

// However often a link comes up while nobody asks, little is kept, and the numbers are right.
func TestPeriodsThatNobodyAsksForAreJoined(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	const anew = 5
	for i := range weft.Epoch(anew) {
		for range 40 {
			l.run("A1> >B Bf .. B- B+ ..")
		}
		l.run("A-")
		l.b.End = New(Config{VCs: 1, Buffer: 4, Eager: true, First: 1000 * (i + 1)})
		l.b.in, l.a.in = nil, nil
		l.run("A+ B+ ..")
	}
	require.LessOrEqual(t, len(l.a.before.list), maxPeriods)
	var peers []Incarnation
	for i := range weft.Epoch(anew + 1) {
		peers = append(peers, Incarnation{uint64(i + 1), 1000 * i})
	}
	got := sessions(&l.a.End, peers...)
	for i := range uint64(anew) {
		require.EqualValues(t, 40, got[i+1].Sent, "incarnation %d", i+1)
	}
	require.LessOrEqual(t, len(l.a.before.list), anew)
}

// As many incarnations as a leader tells of, and those beside them, are told apart.
func TestManyIncarnationsAreToldApart(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	const many = 20
	var peers []Incarnation
	for i := range uint64(many) {
		peers = append(peers, Incarnation{i + 1, weft.Epoch(1000 * i)})
		if i > 0 {
			l.run("A-")
			l.b.End = New(Config{VCs: 1, Buffer: 4, Eager: true, First: peers[i].First})
			l.b.in, l.a.in = nil, nil
			l.run("A+ B+ ..")
		}
		l.run("A1> >B ..")
	}
	for n, f := range sessions(&l.a.End, peers...) {
		require.EqualValues(t, 1, f.Sent, "incarnation %d", n)
	}
}
