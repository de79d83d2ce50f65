package lead

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/reply"
)

func TestAFabricEndsWellOnlyWithALedgerThatIsExactAndBalances(t *testing.T) {
	t.Parallel()
	balanced, unbalanced := fabric.Ledger{Balanced: true}, fabric.Ledger{}
	late := &fabric.NotDrainedError{Ledger: balanced, Err: context.DeadlineExceeded}
	for _, c := range []struct {
		what    string
		ledger  fabric.Ledger
		drained error
		want    error
	}{
		{"balanced", balanced, nil, nil},
		{"balanced with packets that wait for good", balanced, &fabric.StuckError{Ledger: balanced}, nil},
		{"balanced by chance while packets still moved", balanced, late, ErrUnbalanced},
		{"balanced, but the traffic could not be stopped", balanced, errors.New("traffic"), ErrUnbalanced},
		{"unbalanced", unbalanced, nil, ErrUnbalanced},
		{"unbalanced with packets that wait for good", unbalanced, &fabric.StuckError{Ledger: unbalanced}, ErrUnbalanced},
		{"unbalanced while packets still moved", unbalanced, late, ErrUnbalanced},
	} {
		require.ErrorIs(t, judged(c.ledger, c.drained), c.want, c.what)
	}
}

// goesOn is a fabric whose traffic cannot be stopped.
type goesOn struct{ *fabric.Fabric }

var errGoesOn = errors.New("a host does not answer")

func (goesOn) StopTraffic() error { return errGoesOn }

func (goesOn) Ledger() fabric.Ledger { return fabric.Ledger{Balanced: true} }

func TestALedgerIsNotCheckedWhileTheTrafficGoesOn(t *testing.T) {
	t.Parallel()
	l, err := drain(goesOn{}, time.Second)
	require.ErrorIs(t, err, errGoesOn)
	require.False(t, l.Balanced)
	require.Equal(t, "the traffic goes on, so the ledger was not checked", l.NotChecked)
	require.ErrorIs(t, judged(l, err), ErrUnbalanced)
}

func TestALeaderOnAgentsThatFindsAnUnbalancedLedgerSaysSoHoweverItWasEnded(t *testing.T) {
	t.Parallel()
	other := errors.New("links do not come up")
	for _, c := range []struct {
		err                error
		fresh, interrupted bool
		over               bool
		want               error
	}{
		{nil, true, true, true, nil},
		{nil, false, true, true, nil},
		{ErrUnbalanced, true, true, true, ErrUnbalanced},
		{ErrUnbalanced, false, true, true, ErrUnbalanced}, // led on from another, and interrupted
		{ErrUnbalanced, false, false, true, ErrUnbalanced},
		{other, true, true, true, other},
		{other, false, true, false, ErrLeft},
		{other, false, false, false, other},
		{errOtherLeader, false, false, false, errOtherLeader},
		{ErrLeft, true, true, false, ErrLeft},
		{reply.ErrNoAccess, true, false, false, reply.ErrNoAccess},
	} {
		over, err := outcome(c.err, c.fresh, c.interrupted)
		require.Equal(t, c.over, over, "%+v", c)
		require.ErrorIs(t, err, c.want, "%+v", c)
	}
}
