package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func TestHandshake(t *testing.T) {
	for _, c := range []struct{ claim, script, want string }{
		{"without signal nothing happens", "..", "A down 0/0, B down 0/0"},
		{"one end alone stays in init", "A+ ..", "A init 1/0, B down 0/0"},
		{"both ends come up at once", "A+ B+ A> B> >A >B A> B> >A >B", "A up 1/1, B up 1/1"},
		{"hearing a hello is not enough to be up", "A+ B+ A> >B", "A init 1/0, B init 1/1"},
		{"the end that is named in a frame is up first", "A+ B+ A> >B B> >A", "A up 1/1, B init 1/1"},
		{"one after the other", "A+ B+ A> >B B> >A A> >B", "A up 1/1, B up 1/1"},
		{"a hello to an end without signal is lost, the other's hello mends it", "A+ A> >B B+ ..", "A up 1/1, B up 1/1"},
		{"a lost hello is mended by the other's", "A+ B+ A> xB ..", "A up 1/1, B up 1/1"},
		{"signal that is there already changes nothing", "A+ B+ .. A+ B+ ..", "A up 1/1, B up 1/1"},
		{"signal lost at both ends starts a new epoch at both", "A+ B+ .. A- B- A+ B+ ..", "A up 2/2, B up 2/2"},
		{"while one end has no signal the other believes to be up", "A+ B+ .. B-", "A up 1/1, B down 1/0"},
		{"a neighbour that restarts unnoticed takes this end along", "A+ B+ .. B- B+ B> >A", "A init 2/2, B init 2/0"},
		{"and both meet again", "A+ B+ .. B- B+ ..", "A up 2/2, B up 2/2"},
		{"a neighbour that restarts twice is met in its last epoch", "A+ B+ .. B- B+ B> B- B+ ..", "A up 2/3, B up 3/2"},
		{"a restart during the handshake", "A+ B+ A> >B B> B- B+ ..", "A up 2/2, B up 2/2"},
		{"a restart before the hello was heard", "A+ B+ B> >A A> B- B+ >B ..", "A up 1/2, B up 2/1"},
		{"frames of the former epoch do not bring a link up", "A+ B+ .. A1> B- B+ >B", "A up 1/1, B init 2/1"},
		{"frames that name a former epoch do not either", "A+ B+ .. B1> A- A+ >A", "A init 2/1, B up 1/1"},
		{"a repeated hello changes nothing", "A+ B+ A> =B >B ..", "A up 1/1, B up 1/1"},
		{"a repeated hello after the link is up changes nothing", "A+ B+ A> =B B> >A A> >B >B ..", "A up 1/1, B up 1/1"},
		{
			"a neighbour that restarts and hears a repeated hello is noticed", "A+ B+ A> =B B> >A B- B+ >B B> >A",
			"A init 2/2, B init 2/1",
		},
		{"and met again", "A+ B+ A> =B B> >A B- B+ >B ..", "A up 2/2, B up 2/2"},
		{
			"both restart, and each hears the other's repeated hello", "A+ B+ A> B> =A =B A- A+ B- B+ >A >B A> B> ..",
			"A up 2/2, B up 2/2",
		},
		{"a frame without an epoch is nobody's", "A+ B> >A", "A init 1/0, B down 0/0"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
			if c.claim == "a frame without an epoch is nobody's" {
				l.b.hello = true // an end without signal owes nothing; force it
			}
			l.run(c.script)
			l.want(c.want)
		})
	}
}

func TestSignalReportsALossOnlyOfALinkThatWasUp(t *testing.T) {
	l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
	require.False(t, l.a.Signal(0, false), "down before")
	l.run("A+")
	require.False(t, l.a.Signal(0, false), "init before")
	l.run("A+ B+ ..")
	require.True(t, l.a.Signal(0, false), "up before")
	require.False(t, l.a.Signal(0, true), "coming back")
}

func TestVerdictsTellWhatAFrameDidToTheLink(t *testing.T) {
	l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
	l.run("A+ B+ A>")
	require.Equal(t, Verdict{}, l.deliver(&l.b, false), "a hello")
	l.run("B>")
	require.Equal(t, Verdict{Accept: true, CameUp: true}, l.deliver(&l.a, false), "the answer")
	l.run("A>")
	require.Equal(t, Verdict{Accept: true, CameUp: true}, l.deliver(&l.b, false), "the answer's answer")
	l.run("B>")
	require.Equal(t, Verdict{Accept: true}, l.deliver(&l.a, false), "a frame of a link that is up")
	l.run("B- B+ B>")
	require.Equal(t, Verdict{Lost: true}, l.deliver(&l.a, false), "a hello of a new epoch")
}

func TestFramesOfAnotherEpochAreCountedAndTheirPacketsNotTaken(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 2})
	l.run("A2> B- B+ >B ..")
	l.want("A up 2/2, B up 2/2")
	require.Equal(t, Counters{Stale: 1}, l.b.Counters())
	require.Equal(t, uint64(2), l.a.Counters().Sent)
	require.Equal(t, 2, l.a.Credits(0), "credits start anew")

	// An older incarnation of a neighbour that we have met since.
	v, err := l.a.Receive(0, &weft.Frame{From: 1, To: 2, VCs: 1})
	require.NoError(t, err)
	require.Equal(t, Verdict{}, v)
	l.want("A up 2/2, B up 2/2")
}

func TestPacketsHeldWhenALinkRestartsStillTakePlaces(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 3, Eager: true})
	l.run("A2> >B A- A+ ..")
	l.want("A up 2/2, B up 2/2")
	require.Equal(t, 1, l.a.Credits(0))
	l.run("Bf Bf ..")
	require.Equal(t, 3, l.a.Credits(0))
}

func TestFramesThatBreakTheProtocolAreRefusedByName(t *testing.T) {
	good := weft.Frame{From: 1, To: 1, VCs: 2}
	for _, c := range []struct {
		claim string
		want  error
		spoil func(f *weft.Frame)
	}{
		{"another number of VCs", ErrVCs, func(f *weft.Frame) { f.VCs = 3 }},
		{"more sent than was granted", ErrCounters, func(f *weft.Frame) { f.Sent[1] = 3 }},
		{"so much sent that a sum would overflow", ErrCounters, func(f *weft.Frame) { f.Sent[0] = 1<<64 - 1 }},
		{"more granted than any buffer holds", ErrCounters, func(f *weft.Frame) { f.Limit[1] = weft.MaxBuffer + 1 }},
		{"so much granted that credits would be negative", ErrCounters, func(f *weft.Frame) { f.Limit[0] = 1<<64 - 1 }},
	} {
		t.Run(c.claim, func(t *testing.T) {
			l := upCreditLink(t, Config{VCs: 2, Buffer: 2})
			f := good
			c.spoil(&f)
			v, err := l.a.Receive(0, &f)
			require.ErrorIs(t, err, c.want)
			require.False(t, v.Accept)
			require.Equal(t, Counters{Violations: 1}, l.a.Counters())
			require.Equal(t, 2, l.a.Credits(0), "and change nothing")
			require.Equal(t, 2, l.a.Credits(1))
		})
	}
}

func TestStatesPrintInOneWord(t *testing.T) {
	require.Equal(t, "down init up", Down.String()+" "+Init.String()+" "+Up.String())
}
