package link

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSilence(t *testing.T) {
	for _, c := range []struct{ claim, script, want string }{
		{"an end that gives up starts anew", "A+ B+ .. A!", "A init 2/0, B up 1/1"},
		{"and its hello takes the other along", "A+ B+ .. A! A> >B", "A init 2/0, B init 2/2"},
		{"so that both meet again", "A+ B+ .. A! ..", "A up 2/2, B up 2/2"},
		{"both give up at once", "A+ B+ .. A! B! ..", "A up 2/2, B up 2/2"},
		{"one that is not up has nothing to give up", "A+ A! B!", "A init 1/0, B down 0/0"},
		{"giving up twice is giving up once", "A+ B+ .. A! A! ..", "A up 2/2, B up 2/2"},

		{"a lost hello is not repeated by itself", "A+ B+ .. A! A> xB ..", "A init 2/0, B up 1/1"},
		{"but by the next hello", "A+ B+ .. A! A> xB .. A? ..", "A up 2/2, B up 2/2"},
		{"the other's hello mends it too", "A+ B+ .. A! A> xB .. B? .. A? ..", "A up 2/2, B up 2/2"},
		{"a lost last frame of the handshake leaves one end in init", "A+ B+ A> >B B> >A A> xB ..", "A up 1/1, B init 1/1"},
		{"which the next hello of the one mends", "A+ B+ A> >B B> >A A> xB .. A? ..", "A up 1/1, B up 1/1"},
		{"and that of the other does not", "A+ B+ A> >B B> >A A> xB .. B? ..", "A up 1/1, B init 1/1"},
		{"all frames of a handshake lost", "A+ B+ A> xB B> xA .. A? B? ..", "A up 1/1, B up 1/1"},
		{"without signal no hello is owed", "A? ..", "A down 0/0, B down 0/0"},
		{"a hello while up changes nothing", "A+ B+ .. A? B? ..", "A up 1/1, B up 1/1"},

		{"an end that is held does not come up, nor does its neighbour", "A+ Ah B+ .. A? B? ..", "A init 1/1, B init 1/1"},
		{"not even when it is held in the middle of the handshake", "A+ B+ A> >B B> Ah >A ..", "A init 1/1, B init 1/1"},
		{"let go, both come up", "A+ Ah B+ .. Ag ..", "A up 1/1, B up 1/1"},
		{"let go before it hears anything", "A+ Ah Ag B+ ..", "A up 1/1, B up 1/1"},
		{"let go after the neighbour started anew", "A+ Ah B+ .. B- B+ .. Ag ..", "A up 1/2, B up 2/1"},
		{"both held, one let go", "A+ B+ Ah Bh .. Ag ..", "A init 1/1, B init 1/1"},
		{"both held, both let go", "A+ B+ Ah Bh .. Ag .. Bg ..", "A up 1/1, B up 1/1"},
		{"a link that is up stays so", "A+ B+ .. Ah A? B? ..", "A up 1/1, B up 1/1"},
		{"until it is lost", "A+ B+ .. Ah B! .. B? ..", "A init 2/2, B init 2/2"},
		{"it is held over a loss of signal", "A+ B+ Ah .. A- A+ .. B? ..", "A init 2/1, B init 1/2"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
			l.run(c.script)
			l.want(c.want)
		})
	}
}

func TestGivingUpReportsALossOnlyOfALinkThatWasUp(t *testing.T) {
	l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
	require.False(t, l.a.giveUp(0), "down")
	require.False(t, l.a.Owes())
	l.run("A+")
	require.False(t, l.a.giveUp(0), "init")
	l.run("B+ ..")
	require.True(t, l.a.giveUp(0), "up")
	require.True(t, l.a.Owes(), "its hello")
	require.False(t, l.a.giveUp(0))
}

func TestWithoutSignalNoHelloIsOwed(t *testing.T) {
	l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
	l.run("A?")
	require.False(t, l.a.Owes())
	l.run("Ah Ag")
	require.False(t, l.a.Owes())
}

func TestAHelloIsOwedOnceAndCarriesTheCredits(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 4})
	l.run("A1> >B Bf")
	require.False(t, l.b.Owes(), "held back")
	l.run("B?")
	require.True(t, l.b.Owes())
	l.run("B>")
	require.False(t, l.b.Owes())
	l.run(">A")
	require.Equal(t, 4, l.a.Credits(0))
}

func TestALostFrameOfCreditsIsMadeUpForByTheNextHello(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 2})
	l.run("A2> >B Bf Bf B> xA ..")
	require.Zero(t, l.a.Credits(0), "for ever")
	l.run("B? ..")
	require.Equal(t, 2, l.a.Credits(0))
}

func TestLostPacketsAreNoticedByTheNextHello(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 2})
	l.run("A2> xB ..")
	require.Zero(t, l.b.Counters().Gaps)
	require.Zero(t, l.a.Credits(0))
	wire, lost := OnWire(l.a.Flow(), l.b.Flow())
	require.Equal(t, [2]uint64{2, 0}, [2]uint64{wire, lost}, "they might still come")
	l.run("A? ..")
	require.Equal(t, uint64(2), l.b.Counters().Gaps)
	require.Equal(t, 2, l.a.Credits(0))
	wire, lost = OnWire(l.a.Flow(), l.b.Flow())
	require.Equal(t, [2]uint64{0, 2}, [2]uint64{wire, lost})
}

// A held end answers nothing, so that the two do not exchange hellos as fast as they can until it
// is let go.
func TestAHeldEndAnswersNoHello(t *testing.T) {
	l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
	l.run("A+ Ah B+ ..")
	for range 5 {
		l.run("B?")
		frames := 0
		for l.a.Owes() || l.b.Owes() || len(l.a.in)+len(l.b.in) > 0 {
			require.Less(t, frames, 3)
			frames++
			if l.b.Owes() {
				l.run("B> >A")
			}
			require.False(t, l.a.Owes())
		}
		require.Equal(t, 1, frames)
		l.run("A? A> >B") // A's own hello is answered once
		require.True(t, l.b.Owes())
		l.run("B> >A")
		require.False(t, l.a.Owes() || l.b.Owes())
	}
	l.want("A init 1/1, B init 1/1")
}

func TestAnEndThatTakesAnothersPlaceBeginsAboveItsEpochs(t *testing.T) {
	c := Config{VCs: 1, Buffer: 2, Eager: true}
	l := upCreditLink(t, c)
	l.run("A2> >B")

	// Below: B takes its hellos for those of the end it knows, and never answers.
	l.a.End = New(c)
	l.run("A+ .. A? ..")
	l.want("A init 1/0, B up 1/1")

	c.First = 1
	l.a.End = New(c)
	l.run("A+ ..")
	l.want("A up 2/2, B up 2/2")
	require.Zero(t, l.a.Credits(0), "what B still holds takes its places")
	l.run("Bf Bf ..")
	require.Equal(t, 2, l.a.Credits(0))
}

func TestTheFirstEpochIsTheOneAfterFirst(t *testing.T) {
	e := New(Config{VCs: 1, Buffer: 1, First: 41})
	mine, peer := e.Epochs()
	require.EqualValues(t, 41, mine)
	require.Zero(t, peer)
	e.Signal(0, true)
	mine, _ = e.Epochs()
	require.EqualValues(t, 42, mine)
}
