package fabric

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/host"
)

// freezing is a host that freezes after so many orders.
type freezing struct {
	willing
	after  int
	froze  func() // somebody else finds out
	orders []host.Order
}

func (s *freezing) Order(ctx context.Context, o host.Order) (host.OrderAnswer, error) {
	if s.orders = append(s.orders, o); len(s.orders) > s.after {
		s.froze()
		<-ctx.Done()
		return host.OrderAnswer{}, context.Cause(ctx)
	}
	a, _ := s.willing.Order(ctx, o)
	for range o.Mark {
		a.Mark = append(a.Mark, host.MarkReply{})
	}
	for _, m := range o.Unmark {
		a.MarksLeft = append(a.MarksLeft, m.Count)
	}
	for range o.Send {
		a.Sent = append(a.Sent, host.SendReply{})
	}
	return a, nil
}

// Whoever traces or sends packets of a NIC whose host freezes is told so, whenever it freezes.
func TestTraceOfANICWhoseHostDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const said = "NIC n0: process 7 on rack9, which runs it, does not answer: look after that process"
	for _, after := range []int{0, 1, 2, 3, 4} { // the mark, the look for marks that are left, and two packets
		t.Run(fmt.Sprintf("after %d orders", after), func(t *testing.T) {
			t.Parallel()
			s := &freezing{after: after}
			f := startRing(t, withProcesses(reaches{host: s}))
			h := f.ownedBy(f.switches[0], 2, firstEpoch)
			o := h.owner.Load()
			o.pid, o.machine = 7, "rack9"
			h.markAlive()
			s.froze = h.markSuspect
			f.nics[0].home = h

			traced, err := f.Trace(0, 1, 2)
			if after == 4 {
				require.NoError(t, err)
				require.Equal(t, 2, traced.Sent)
			} else {
				require.ErrorContains(t, err, said)
			}
			_, err = f.Send(0, 1, false)
			require.ErrorContains(t, err, said)
			_, err = f.Trace(0, 1, 2)
			require.ErrorContains(t, err, said, "nobody asks it")
			require.Len(t, s.orders, after+1)
		})
	}
}
