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

// beginB starts what runs B again, above an epoch.
func (l *creditLink) beginB(first weft.Epoch) {
	l.run("A-")
	l.b.End = New(Config{VCs: 1, Buffer: 4, Eager: true, First: first})
	l.b.in, l.a.in = nil, nil
	l.run("A+ B+ ..")
}

func TestAnEndCountsPerIncarnationOfItsNeighbour(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	one, two, three := Incarnation{1, 0}, Incarnation{2, 1000}, Incarnation{3, 2000}
	l.run("A2> >B B1> >A .. A- A+ .. A1> >B ..")
	require.Equal(t, map[uint64]Flow{
		1: {State: Up, Mine: 2, Peer: 2, Sent: 3, Received: 1, LastFrom: 2, LastTo: 2, LastSent: 1},
	}, sessions(&l.a.End, one))
	l.beginB(two.First)
	l.run("B2> >A .. A-")
	got := sessions(&l.a.End, one, two, three)
	require.Equal(t, Flow{Mine: 3, Sent: 3, Received: 1, LastFrom: 2, LastTo: 2, LastSent: 1}, got[1])
	require.Equal(t, Flow{Mine: 3, Received: 2}, got[2])
	require.Equal(t, Flow{Mine: 3}, got[3], "it has not met that one")
	l.run("A+")
	for n, f := range sessions(&l.a.End, one, two, three) {
		require.Equal(t, Init, f.State, "it may come up with %d", n)
	}
	l.beginB(three.First)
	l.run("A1> >B ..")
	got = sessions(&l.a.End, one, two, three)
	require.Equal(t, []State{Down, Down, Up}, []State{got[1].State, got[2].State, got[3].State})
	require.Equal(t, []uint64{3, 0, 1}, []uint64{got[1].Sent, got[2].Sent, got[3].Sent})
	require.Len(t, sessions(&l.a.End, two, three), 2)
	require.Zero(t, sessions(&l.a.End, one, two, three)[1].Sent, "what nobody asked for is left out from then on")
	require.Zero(t, sessions(&l.a.End, Incarnation{7, 1000})[7].Sent, "whom a period was with is said once")
}

// An incarnation may have several ranges of epochs.
func TestAnIncarnationComesBack(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	peers := []Incarnation{{1, 0}, {2, 1000}, {1, 2000}, {3, 3000}}
	for i, k := range peers {
		if i > 0 {
			l.beginB(k.First)
		}
		l.run("A1> >B ..")
	}
	got := sessions(&l.a.End, peers...)
	require.Equal(t, []uint64{2, 1, 1}, []uint64{got[1].Sent, got[2].Sent, got[3].Sent})
	got = sessions(&l.a.End, Incarnation{1, 0}, Incarnation{3, 3000})
	require.Equal(t, []uint64{2, 1}, []uint64{got[1].Sent, got[3].Sent},
		"what passed with 2 is not taken for what passed with 1")
}

// A list may be older than what has passed: that it is not known who was met after it is no reason
// to take it for whom was met before, nor to forget it.
func TestAListThatIsOvertakenSaysNothingOfLaterIncarnations(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	old := []Incarnation{{1, 0}, {0, 900}}
	now := []Incarnation{{1, 0}, {2, 1000}, {0, 1900}}
	l.run("A1> >B ..")
	for _, first := range []weft.Epoch{1000, 1500} {
		l.beginB(first)
		l.run("A1> >B ..")
		got := sessions(&l.a.End, old...)
		require.EqualValues(t, 1, got[1].Sent)
		require.Equal(t, []State{Init, Init}, []State{got[0].State, got[1].State}, "it may be up with any of them")
	}
	require.EqualValues(t, 2, sessions(&l.a.End, old...)[0].Sent, "not known yet")
	got := sessions(&l.a.End, now...)
	require.Equal(t, []uint64{0, 1, 2}, []uint64{got[0].Sent, got[1].Sent, got[2].Sent})
	got = sessions(&l.a.End, old...)
	require.Equal(t, []uint64{2, 1}, []uint64{got[0].Sent, got[1].Sent})
	got = sessions(&l.a.End, now...)
	require.Equal(t, []uint64{0, 1, 2}, []uint64{got[0].Sent, got[1].Sent, got[2].Sent}, "nothing was forgotten")
}

// However often a link comes up while nobody asks, little is kept, and the numbers are right.
func TestPeriodsThatNobodyAsksForAreJoined(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	const anew = 5
	for i := range weft.Epoch(anew) {
		for range 400 {
			l.run("A1> >B Bf .. B- B+ ..")
		}
		l.beginB(1000 * (i + 1))
	}
	require.LessOrEqual(t, len(l.a.rare.before.list), maxPeriods)
	var peers []Incarnation
	for i := range weft.Epoch(anew + 1) {
		peers = append(peers, Incarnation{uint64(i + 1), 1000 * i})
	}
	got := sessions(&l.a.End, peers...)
	for i := range uint64(anew) {
		require.EqualValues(t, 400, got[i+1].Sent, "incarnation %d", i+1)
	}
	require.LessOrEqual(t, len(l.a.rare.before.list), anew)
}

// As many incarnations as a leader tells of, and those beside them, are told apart.
func TestManyIncarnationsAreToldApart(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	const many = 20
	var peers []Incarnation
	for i := range uint64(many) {
		peers = append(peers, Incarnation{i + 1, weft.Epoch(1000 * i)})
		if i > 0 {
			l.beginB(peers[i].First)
		}
		l.run("A1> >B ..")
	}
	for n, f := range sessions(&l.a.End, peers...) {
		require.EqualValues(t, 1, f.Sent, "incarnation %d", n)
	}
}
