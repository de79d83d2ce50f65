package link

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestCreditsAreTheNeighboursBuffer(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 2, Buffer: 2, Eager: true})
	require.Equal(t, 2, l.a.Credits(0))
	l.run("A2>")
	require.Equal(t, 0, l.a.Credits(0), "spent when sent")
	require.Equal(t, 2, l.a.Credits(1), "each VC has its own")
	l.run(">B ..")
	require.Equal(t, 0, l.a.Credits(0), "held in the neighbour")
	l.run("Bf ..")
	require.Equal(t, 1, l.a.Credits(0), "back when a place is free")
	require.Equal(t, Epoch{Sent: 2, Limit: 3}, l.a.Epoch(0))
	require.Equal(t, Epoch{Limit: 2, Received: 2, Held: 1}, l.b.Epoch(0))
}

func TestALinkThatIsNotUpHasNoCredits(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 2})
	l.run("A-")
	require.Zero(t, l.a.Credits(0))
	require.False(t, l.a.Owes())
	l.run("A+")
	require.Zero(t, l.a.Credits(0))
}

func TestALostFrameCostsItsPacketsAndNoCredits(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	l.run("A2> xB")
	require.Equal(t, 2, l.a.Credits(0))
	l.run("A1> >B Bf ..")
	require.Equal(t, Counters{Received: 1, Gaps: 2}, l.b.Counters())
	require.Equal(t, 4, l.a.Credits(0), "the places of the lost packets too")
}

func TestAFrameWithoutPacketsShowsWhatWasLostBeforeIt(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4, Eager: true})
	l.run("A2> xB A0> =B")
	require.Equal(t, uint64(2), l.b.Counters().Gaps)
	l.run(">B ..")
	require.Equal(t, uint64(2), l.b.Counters().Gaps, "counted once")
	require.Equal(t, 4, l.a.Credits(0))
}

func TestARepeatedFrameCostsNothing(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 2, Eager: true})
	l.run("A2> =B")
	l.run(">B")
	require.Equal(t, Counters{Received: 2, Duplicates: 2}, l.b.Counters())
	require.Equal(t, 2, l.b.Held(0))
	l.run("Bf Bf ..")
	require.Equal(t, 2, l.a.Credits(0))
}

func TestAnOldFrameTakesNoCreditsBack(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 2, Eager: true})
	l.run("B1>") // grants 2 in all
	l.run("A2> >B Bf Bf B>")
	l.run("=A")
	old := l.a.in[0]
	l.run(">A >A")
	require.Equal(t, 2, l.a.Credits(0))
	_, err := l.a.Receive(0, &old.Frame)
	require.NoError(t, err)
	require.Equal(t, 2, l.a.Credits(0))
}

func TestAPacketBeyondTheBufferIsRefused(t *testing.T) {
	e := New(Config{VCs: 1, Buffer: 1})
	fresh, err := e.Take(0, 0)
	require.True(t, fresh)
	require.NoError(t, err)
	fresh, err = e.Take(0, 1)
	require.False(t, fresh)
	require.ErrorIs(t, err, ErrOverflow)
	fresh, err = e.Take(1, 0)
	require.False(t, fresh)
	require.ErrorIs(t, err, ErrBadVC)
	require.Equal(t, Counters{Received: 1, Violations: 2}, e.Counters())
	require.Equal(t, 1, e.Held(0))
}

func TestMisuseByTheOwnerPanics(t *testing.T) {
	e := New(Config{VCs: 1, Buffer: 1})
	require.PanicsWithValue(t, "link: BUG: packet sent without a credit", func() { e.Spend(0) })
	require.PanicsWithValue(t, "link: BUG: place freed that was not taken", func() { e.Free(0) })
}

// A frame for credits alone is owed at once when eager, otherwise once less than half are left.
func TestCreditsAreHeldBackOnlyWhileTheNeighbourHasHalfOfThem(t *testing.T) {
	for buffer := 1; buffer <= 8; buffer++ {
		for _, eager := range []bool{false, true} {
			t.Run(fmt.Sprintf("buffer=%d/eager=%t", buffer, eager), func(t *testing.T) {
				l := upCreditLink(t, Config{VCs: 1, Buffer: buffer, Eager: eager})
				for left := buffer - 1; ; left-- {
					l.run("A1> >B Bf")
					want := eager || left == 0 || 2*left < buffer
					require.Equal(t, want, l.b.Owes(), "the neighbour has %d of %d left", left, buffer)
					if want {
						break
					}
				}
				l.settle()
				require.Equal(t, buffer, l.a.Credits(0))
			})
		}
	}
}

// Whatever was sent before, and in whatever order places become free: as soon as one is, a sender
// without credits gets some.
func TestHeldBackCreditsNeverStarveTheNeighbour(t *testing.T) {
	for buffer := 1; buffer <= 8; buffer++ {
		for _, eager := range []bool{false, true} {
			for first := range buffer {
				for freed := range first + 1 {
					l := upCreditLink(t, Config{VCs: 1, Buffer: buffer, Eager: eager})
					l.send(&l.a, make([]weft.VC, first)...)
					l.run(">B")
					for range freed {
						l.run("Bf")
					}
					l.settle()
					l.send(&l.a, make([]weft.VC, l.a.Credits(0))...) // all it has
					l.settle()
					if l.a.Credits(0) == 0 {
						require.Equal(t, buffer, l.b.Held(0), "no credit although a place is free")
						l.run("Bf ..")
					}
					require.Positive(t, l.a.Credits(0), "buffer %d eager %t first %d freed %d", buffer, eager, first, freed)
				}
			}
		}
	}
}

// What falls due by a packet that arrives, not by a place that becomes free, is owed as well.
func TestCreditsHeldBackAreOwedWhenFurtherPacketsArrive(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4})
	l.run("A1> >B Bf")
	require.False(t, l.b.Owes())
	l.run("A2> >B")
	require.True(t, l.b.Owes())
}
