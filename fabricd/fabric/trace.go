package fabric

import (
	"errors"
	"fmt"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/host"
)

// MaxTraced bounds the packets of one order to trace. Chosen by us: their events are kept, see
// Hops.
const MaxTraced = 256

// traceGrace is how long a trace waits for packets of the NIC's own traffic before it sends others
// in their place, by the clock of the fabric or that of the machine, whichever is faster. Chosen by us:
// shorter than anybody waits.
const traceGrace = weft.Second

// tracing follows single packets: it owns the latest events of traced packets. Any goroutine may
// call it.
type tracing struct {
	*site
	traces traces
}

// Tracing is the result of an order to trace.
type Tracing struct {
	After uint64 `json:"after"` // the number of what was told last before it, see Hops
	Sent  int    `json:"sent"`  // packets sent for it at once, since the NIC generates none
}

// Trace traces the next count packets of a flow. A NIC without traffic sends them at once. One with
// traffic has a second, see traceGrace, to send packets of its own; then Trace sends those that are missing. They
// take the same paths as all packets.
func (tr *tracing) Trace(src, dst weft.NICID, count int) (t Tracing, err error) {
	switch {
	case int(src) >= len(tr.nics):
		return t, fmt.Errorf("nic %d: %w: there are %d", src, ErrUnknown, len(tr.nics))
	case src == dst:
		return t, fmt.Errorf("trace from %s to itself: name two NICs", tr.graph.Name(src.Node()))
	case count < 1 || count > MaxTraced:
		return t, fmt.Errorf("trace %d packets: expected 1 to %d", count, MaxTraced)
	}
	if tr.hasStopped() {
		return t, errStopped
	}
	t.After = tr.LastHop()
	busy, err := tr.mark(src, dst, count)
	if err != nil {
		return t, err
	}
	if busy {
		grace := traceGrace
		if tr.live != nil {
			grace = weft.Time(float64(grace) * min(1, tr.live.Clock.Factor()))
		}
		tr.runtime.At(tr.Now()+grace, func() {
			if _, err := tr.sendMarked(src, dst, count); err != nil {
				tr.opts.Log.Warn("trace", "err", err) // whoever ordered it has had the answer
			}
		})
		return t, nil
	}
	t.Sent, err = tr.sendMarked(src, dst, count)
	return t, err
}

// sendMarked sends one packet for each mark that no packet has taken.
func (tr *tracing) sendMarked(src, dst weft.NICID, most int) (sent int, err error) {
	a, err := tr.nics[src].order(host.Order{Unmark: []host.MarkOrder{{Src: src, Dst: dst, Count: most}}})
	if err != nil || len(a.MarksLeft) != 1 {
		return 0, err
	}
	for range a.MarksLeft[0] {
		if _, err := tr.Send(src, dst, true); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// mark marks the next packets of a flow to be traced, and reports whether the NIC has packets of
// its own to send.
func (tr *tracing) mark(src, dst weft.NICID, count int) (busy bool, err error) {
	n := tr.nics[src]
	a, err := n.order(host.Order{Mark: []host.MarkOrder{{Src: src, Dst: dst, Count: count}}})
	switch {
	case err != nil:
		return false, err
	case len(a.Mark) != 1:
		return false, fmt.Errorf("%v does not say whether it has marked the packets", n.home)
	case a.Mark[0].Err != "":
		return false, a.Mark[0].Reason()
	}
	return a.Mark[0].Busy, nil
}

// Send puts one packet into the send queue of NIC src and returns its number in its flow.
func (tr *tracing) Send(src, dst weft.NICID, traced bool) (seq uint64, err error) {
	if int(src) >= len(tr.nics) {
		return 0, fmt.Errorf("nic %d: %w: there are %d", src, ErrUnknown, len(tr.nics))
	}
	n := tr.nics[src]
	a,
		err := n.order(
		host.Order{Send: []host.SendOrder{{Src: src, Dst: dst, Bytes: tr.opts.NIC.PacketBytes, Traced: traced}}})
	switch {
	case err != nil:
		return 0, err
	case len(a.Sent) != 1:
		return 0, fmt.Errorf("%v does not say whether it has sent", n.home)
	case a.Sent[0].Err != "":
		return 0, a.Sent[0].Reason()
	}
	return a.Sent[0].Seq, nil
}

// order has the host of the NIC carry out an order that concerns this NIC alone. The error names
// both.
func (n *liveNIC) order(o host.Order) (a host.OrderAnswer, err error) {
	h := n.home
	if !h.late() {
		return h.carryOut(o) // it waits for nothing that was decided
	}
	if a, err = h.order(o); err == nil || errors.Is(err, errStopped) {
		return a, err
	}
	name := h.site.graph.Name(n.id.Node())
	if h.suspect.Load() {
		return a,
			fmt.Errorf("NIC %s: %v, which runs it, does not answer: look after that process, or try again when linkmon events "+
				"says that it is back", name, h)
	}
	return a, fmt.Errorf("NIC %s: %v, which runs it: %w", name, h, err)
}
