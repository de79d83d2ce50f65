package layered

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// everyTurn lets each of n channels be followed by each other and itself.
func everyTurn(t testing.TB, n int) *Turns {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	turns, err := NewTurns(n, func(int32) []int32 { return all })
	require.NoError(t, err)
	return turns
}

// plain is the same done naively: a search of the whole graph for each turn.
type plain struct {
	t    *Turns
	uses []int
}

func (p *plain) leads(from, to int32) bool {
	seen := make([]bool, p.t.Channels())
	var search func(c int32) bool
	search = func(c int32) bool {
		if c == to {
			return true
		}
		if seen[c] {
			return false
		}
		seen[c] = true
		for i, end := p.t.Of(c); i < end; i++ {
			if _, next := p.t.Ends(i); p.uses[i] > 0 && search(next) {
				return true
			}
		}
		return false
	}
	return search(from)
}

func (p *plain) add(path []int32) bool {
	for i, turn := range path {
		from, to := p.t.Ends(turn)
		if p.uses[turn] == 0 && p.leads(to, from) {
			for _, u := range path[:i] {
				p.uses[u]--
			}
			return false
		}
		p.uses[turn]++
	}
	return true
}

// sound checks that the layer holds what the naive one does, that labels grow along the list, and
// turns along the labels.
func sound(t require.TestingT, l *Layer, want *plain) {
	end := int32(l.t.Channels())
	n, last := 0, int64(0)
	for c := l.next[end]; c != end; c = l.next[c] {
		require.Greater(t, l.label[c], last)
		require.Equal(t, c, l.next[l.prev[c]])
		last = l.label[c]
		n++
	}
	require.Equal(t, int(end), n, "the list has each channel once")
	for i := range int32(l.t.Len()) {
		require.Equal(t, want.uses[i], l.Uses(i))
		require.Equal(t, want.uses[i] > 0, l.Has(i))
		if from, to := l.t.Ends(i); l.Has(i) {
			require.Less(t, l.Label(from), l.Label(to), "turn %d from channel %d to %d", i, from, to)
		} else if l.Refused(i) {
			require.True(t, want.leads(to, from), "turn %d is remembered as refused and closes no cycle", i)
		}
	}
}

// play adds and drops paths as the bytes say, in the layer and naively.
func play(t require.TestingT, turns *Turns, moves []byte) {
	l, want := NewLayer(turns), &plain{turns, make([]int, turns.Len())}
	var in [][]int32
	for len(moves) > 3 {
		kind, n := moves[0]%8, int(moves[1]%4)+1
		moves = moves[2:]
		if kind == 0 && len(in) > 0 {
			i := int(moves[0]) % len(in)
			l.DropPath(in[i])
			for _, turn := range in[i] {
				want.uses[turn]--
			}
			in[i] = in[len(in)-1]
			in = in[:len(in)-1]
			moves = moves[1:]
			sound(t, l, want)
			continue
		}
		var path []int32
		for ; len(path) < n && len(moves) > 1; moves = moves[2:] {
			path = append(path, int32((int(moves[0])<<8|int(moves[1]))%turns.Len()))
		}
		took := want.add(path)
		if kind == 1 { // only asked
			require.Equal(t, took, l.FitsPath(path))
			if len(path) == 1 {
				require.Equal(t, took, l.Fits(path[0]))
			}
			if took {
				for _, turn := range path {
					want.uses[turn]--
				}
			}
		} else {
			require.Equal(t, took, l.AddPath(path))
			if took {
				in = append(in, path)
			}
		}
		sound(t, l, want)
	}
}

func TestALayerTakesWhatClosesNoCycleOfTheWholeGraph(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		moves := make([]byte, 400)
		for i := range moves {
			moves[i] = byte(rng.Uint32())
		}
		play(t, everyTurn(t, 2+int(seed%11)), moves)
	}
}

// A search tries turn after turn, takes the last ones back and goes on, before it keeps what it
// has.
func TestWhatIsTriedAndTakenBackLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for seed := range uint64(18) {
		rng := rand.New(rand.NewPCG(seed, 2))
		turns := everyTurn(t, 2+int(seed%9))
		l, want := NewLayer(turns), &plain{turns, make([]int, turns.Len())}
		var kept, tried []int32
		for range 150 {
			switch turn := rng.Int32N(int32(turns.Len())); rng.IntN(8) {
			case 0:
				l.Keep()
				kept, tried = append(kept, tried...), nil
			case 1, 2, 3:
				for n := rng.IntN(len(tried) + 1); n > 0; n-- {
					last := tried[len(tried)-1]
					tried = tried[:len(tried)-1]
					l.Back(last)
					want.uses[last]--
				}
			case 4:
				if len(tried) == 0 && len(kept) > 0 {
					i := rng.IntN(len(kept))
					l.Drop(kept[i])
					want.uses[kept[i]]--
					kept = append(kept[:i], kept[i+1:]...)
				}
			default:
				took := want.add([]int32{turn})
				require.Equal(t, took, l.Try(turn))
				if took {
					tried = append(tried, turn)
				}
			}
			sound(t, l, want)
		}
	}
}

func FuzzLayer(f *testing.F) {
	f.Add([]byte{5, 2, 0, 0, 1, 0, 0, 2, 1, 0, 5, 0, 0, 3})
	f.Add([]byte{9, 2, 3, 0, 1, 0, 12, 0, 0, 1, 1, 0, 9, 9, 9, 9})
	f.Fuzz(func(t *testing.T, moves []byte) {
		if len(moves) < 1 || len(moves) > 600 {
			return
		}
		play(t, everyTurn(t, 1+int(moves[0]%12)), moves[1:])
	})
}

func TestLabelsAreSpreadAgainWhenThereIsNoRoomBetweenTwo(t *testing.T) {
	t.Parallel()
	const n = 200
	turns := everyTurn(t, n)
	l, want := NewLayer(turns), &plain{turns, make([]int, turns.Len())}
	for c := int32(n - 1); c > 0; c-- { // each goes right before the one in front of it, halving the room there
		turn := turns.Find(c, 0)
		require.True(t, l.Add(turn))
		want.uses[turn]++
	}
	sound(t, l, want)
}

func TestWhatWasRefusedIsRememberedUntilSomethingIsTakenOut(t *testing.T) {
	t.Parallel()
	turns := everyTurn(t, 3)
	there, back := turns.Find(0, 1), turns.Find(1, 0)
	l := NewLayer(turns)
	require.True(t, l.Add(there))
	require.True(t, l.Add(there))
	require.False(t, l.Add(back))
	require.True(t, l.Refused(back))
	require.False(t, l.AddPath([]int32{turns.Find(1, 2), back}))
	require.False(t, l.Has(turns.Find(1, 2)), "of a path that is refused nothing stays")
	l.Drop(there)
	require.True(t, l.Refused(back), "another path still uses it")
	l.Drop(there)
	require.False(t, l.Refused(back))
	require.True(t, l.Add(back))
	require.False(t, l.Add(turns.Find(2, 2)), "a channel that waits for itself")
}

func TestAPathThatClosesACycleByItselfLeavesItsTurnsFree(t *testing.T) {
	t.Parallel()
	turns := everyTurn(t, 2)
	l := NewLayer(turns)
	require.False(t, l.AddPath([]int32{turns.Find(0, 1), turns.Find(1, 0)}))
	require.False(t, l.Refused(turns.Find(1, 0)), "alone it closes no cycle")
	require.True(t, l.Add(turns.Find(1, 0)))
}

func TestTurnsAreNumberedByChannel(t *testing.T) {
	t.Parallel()
	after := [][]int32{{1, 2}, {}, {0}}
	turns, err := NewTurns(3, func(c int32) []int32 { return after[c] })
	require.NoError(t, err)
	require.Equal(t, 3, turns.Len())
	require.Equal(t, 3, turns.Channels())
	require.EqualValues(t, 2, turns.Find(2, 0))
	require.EqualValues(t, -1, turns.Find(1, 0))
	first, end := turns.Of(0)
	require.Equal(t, []int32{0, 2}, []int32{first, end})
	from, to := turns.Ends(1)
	require.Equal(t, []int32{0, 2}, []int32{from, to})
}

func TestAskingWhetherATurnClosesACycleChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		turns := everyTurn(t, 2+int(seed%9))
		l, other := NewLayer(turns), NewLayer(turns)
		for range 60 {
			turn := rng.Int32N(int32(turns.Len()))
			labels := append([]int64{}, l.label...)
			closes := l.Closes(turn)
			require.Equal(t, labels, l.label)
			other.Copy(l)
			require.Equal(t, !closes, other.Add(turn), "a copy answers alike")
			require.Equal(t, labels, l.label, "and is another layer")
			if rng.IntN(3) > 0 {
				require.Equal(t, !closes, l.Add(turn))
			}
		}
	}
}

// Refused reports whether the turn would close a cycle and the layer remembers it. What it does not
// remember it may still refuse.
func (l *Layer) Refused(turn int32) bool { return l.refused[turn] == l.era }
