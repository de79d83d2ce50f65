package nic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// inTurn sends to two destinations in turn.
type inTurn struct{ a, b weft.NICID }

func (d *inTurn) Next(Rand) (weft.NICID, bool) {
	d.a, d.b = d.b, d.a
	return d.b, true
}

// generated is how many packets for a and b have been put into the send queue.
func generated(r *rig, a, b weft.NICID) [2]uint64 {
	return [2]uint64{r.sequence.get(a), r.sequence.get(b)}
}

func TestAfterANoticeNothingIsGeneratedForThatDestinationForATime(t *testing.T) {
	r := newRig(t, Config{ID: 3, HonourNotices: 10_000})
	require.NoError(t, r.SetSource(0, Source{To: &inTurn{5, 6}, Mean: 10}, &r.out))
	r.Tick(1000, &r.out)
	before := generated(r, 5, 6)
	require.NoError(t, r.Notice(1000, 5))
	r.Tick(9000, &r.out)
	after := generated(r, 5, 6)
	require.Equal(t, before[0], after[0], "5 cannot be reached")
	require.Greater(t, after[1], before[1]+300, "6 can")
	s := r.Stats()
	require.Equal(t, uint64(1), s.Notices)
	require.InDelta(t, after[1]-before[1], s.Withheld, 1, "in turn: as many as went to 6")
	require.Equal(t, after[0]+after[1], s.Injected, "what is withheld is not injected")

	require.NoError(t, r.Notice(9000, 5))
	r.Tick(18_990, &r.out)
	require.Equal(t, before[0], generated(r, 5, 6)[0], "the latest notice counts")
	r.Tick(25_000, &r.out)
	require.Greater(t, generated(r, 5, 6)[0], before[0]+200, "then it tries again")
}

func TestASourceThatIsBehindTriesAgainFromWhenItMay(t *testing.T) {
	r := newRig(t, Config{HonourNotices: 10_000})
	require.NoError(t, r.SetSource(0, Source{To: only(5), Mean: 10}, &r.out))
	require.NoError(t, r.Notice(1000, 5))
	r.Tick(12_000, &r.out)
	n := generated(r, 5, 6)[0]
	require.Greater(t, n, uint64(50), "from 11,000 on")
	require.Less(t, n, uint64(150))
}

func TestNoticesAreCountedAndChangeNothingUnlessHonoured(t *testing.T) {
	r := newRig(t, Config{})
	require.NoError(t, r.SetSource(0, Source{To: only(5), Mean: 10}, &r.out))
	for range 1000 {
		require.NoError(t, r.Notice(1000, 5))
	}
	r.Tick(1000, &r.out) // what it owes for the time before
	require.Positive(t, generated(r, 5, 6)[0])
	require.Equal(t, uint64(1000), r.Stats().Notices)
	require.Zero(t, r.Stats().Withheld)
}

func TestSendSendsWhateverANoticeSaid(t *testing.T) {
	r := newRig(t, Config{HonourNotices: 10_000})
	require.NoError(t, r.Notice(0, 5))
	r.send(5)
	require.Len(t, r.take(1), 1)
	require.Equal(t, uint64(1), r.Stats().Injected)
}

func TestANoticeAboutANICThatThereIsNotIsRefused(t *testing.T) {
	r := newRig(t, Config{NICs: 4, HonourNotices: 1})
	require.ErrorIs(t, r.Notice(0, 4), ErrNoSuchNIC)
	require.Zero(t, r.Stats().Notices)
	_, err := New(Config{NICs: 1, Rand: r.cfg.Rand, HonourNotices: -1})
	require.ErrorContains(t, err, "honoured")
}

func TestTheSourceHookWritesIntoEveryPacketThatIsSent(t *testing.T) {
	route, _ := weft.SourceRoute{}.Push(7)
	r := newRig(t, Config{ID: 3, Source: func(h *weft.Header) {
		require.Equal(t, weft.NewFields(), h.Fields)
		if h.Dst == 5 {
			h.Route = route
		}
	}})
	r.send(5)
	r.send(6)
	packets := r.take(2)
	require.Equal(t, weft.Fields{PortField: weft.PortFieldNone, Route: route}, packets[0].Fields)
	require.Equal(t, weft.NewFields(), packets[1].Fields)
}
