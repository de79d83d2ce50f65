package link

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAsking(t *testing.T) {
	for _, c := range []struct{ claim, script, want string }{
		{"an end that asks waits for the answer", "A+ B+ .. Aa A> >B", "A up 1/1 asks, B up 1/1"},
		{"and has it", "A+ B+ .. Aa ..", "A up 1/1, B up 1/1"},
		{"a frame that was on its way is no answer", "A+ B+ .. B? B> Aa A> >A", "A up 1/1 asks, B up 1/1"},
		{"two that ask each other do not wait for each other", "A+ B+ .. Aa Ba ..", "A up 1/1, B up 1/1"},
		{"a neighbour that has given up begins anew", "A+ B+ .. B! Aa A> >B ..", "A up 2/2, B up 2/2"},
		{"and so it does if its hello is lost", "A+ B+ .. B! B> xA Aa A> >B ..", "A up 2/2, B up 2/2"},
		{"a lost question is asked again with the next hello", "A+ B+ .. Aa A> xB A? ..", "A up 1/1, B up 1/1"},
		{"so is one whose answer is lost", "A+ B+ .. Aa A> >B B> xA A? ..", "A up 1/1, B up 1/1"},
		{"a question that comes twice is answered", "A+ B+ .. Aa A> =B >B ..", "A up 1/1, B up 1/1"},
		{
			"a question brings up a neighbour that has missed the last frame of the handshake", "A+ B+ A> >B B> >A A> xB Aa ..",
			"A up 1/1, B up 1/1",
		},
		{
			"one that holds back, when it is let go and asked again", "A+ B+ A> >B B> >A A> xB Bh Aa .. Bg .. A? ..",
			"A up 1/1, B up 1/1",
		},
		{"an end that is not up asks nothing", "A+ Aa B+ ..", "A up 1/1, B up 1/1"},
		{"a signal that goes ends the question", "A+ B+ .. Aa A- A+ ..", "A up 2/2, B up 2/2"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			l := newCreditLink(t, Config{VCs: 1, Buffer: 2})
			l.run(c.script)
			l.want(c.want)
		})
	}
}

// Packets wait for the answer; those that come are taken, and their credits are given back once the
// answer is there.
func TestAnEndThatAsksSendsNoPackets(t *testing.T) {
	l := upCreditLink(t, Config{VCs: 1, Buffer: 2, Eager: true})
	l.a.ask()
	require.Zero(t, l.a.Credits(0))
	l.send(&l.b, 0, 0)
	l.deliver(&l.a, false)
	require.Equal(t, 2, l.a.Held(0))
	l.a.Free(0)
	l.a.Free(0)
	l.send(&l.a)
	require.False(t, l.a.Owes(), "it waits")
	l.settle()
	require.Equal(t, 2, l.a.Credits(0))
	require.Equal(t, 2, l.b.Credits(0))
}
