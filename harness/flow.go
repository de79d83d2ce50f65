package harness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/weft-fabric/weft"
)

// flow is the packets from one NIC to another.
type flow struct{ src, dst weft.NICID }

func (p Packet) flow() flow { return flow{p.Src, p.Dst} }

// arrivals is in which order the traced packets of a flow have arrived.
type arrivals struct {
	last  uint64 // the highest number in the flow that has arrived
	late  Packet // the first that arrived after a later one
	after Packet // the one that it should have come before
	wrong bool   // there is a late one
}

func (a *arrivals) add(p Packet) {
	switch {
	case p.Seq >= a.last:
		a.last = p.Seq
	case !a.wrong:
		a.late, a.after, a.wrong = p, Packet{p.Src, p.Dst, a.last}, true
	}
}

// RequireInOrder requires that no packet of the flow from NIC src to NIC dst has arrived after a
// later one. It waits for the packets that Send has sent, and looks at all traced packets that have
// arrived by then; without any it fails.
func (h *Harness) RequireInOrder(src, dst string) {
	h.t.Helper()
	f := h.awaitFlow(src, dst)
	a, arrived := h.record.arrivalsOf(f)
	switch {
	case !arrived:
		h.fail("no traced packet of the flow from %s to %s has arrived: "+
			"Send traces those that it sends, TraceEvery(1) all others", src, dst)
	case a.wrong:
		h.fail("packet #%d of the flow from %s to %s arrived after #%d\n%v\n%v", a.late.Seq, src, dst, a.after.Seq,
			h.record.path(a.late), h.record.path(a.after))
	}
}

// RequirePath requires that the packets of the flow from NIC src to NIC dst arrived and went
// through these switches, in this order. It waits for the packets that Send has sent, and looks at
// all traced packets that have ended by then, of which the latest 16,384 of all flows are kept;
// without any it fails.
func (h *Harness) RequirePath(src, dst string, switches ...string) {
	h.t.Helper()
	for _, name := range switches {
		if _, err := h.Topology().SwitchByName(name); err != nil {
			h.fail("path from %s to %s: %v", src, dst, err)
		}
	}
	f := h.awaitFlow(src, dst)
	var wrong *Path
	packets, others := 0, 0
	for _, p := range h.record.all() {
		if p.Packet.flow() != f || p.End == 0 {
			continue
		}
		packets++
		if p.End != weft.Delivered || !slices.Equal(p.Switches(), switches) {
			if others++; wrong == nil {
				wrong = &p
			}
		}
	}
	switch {
	case packets == 0:
		h.fail("no traced packet of the flow from %s to %s has ended: "+
			"Send traces those that it sends, TraceEvery(1) all others", src, dst)
	case wrong != nil:
		h.fail("%d of %d packets from %s to %s did not arrive by the path expected\n  expected: %s\n  actual:   %s\n%v",
			others, packets, src, dst, route(switches), route(wrong.Switches()), wrong)
	}
}

// route prints the names of switches, loops folded.
func route(switches []string) string {
	if len(switches) == 0 {
		return "no switch"
	}
	var parts []string
	foldLoops(switches, func(i int) { parts = append(parts, switches[i]) },
		func(hops, times int) { parts = append(parts, "("+again(hops, times)+")") })
	return strings.Join(parts, " ")
}

// awaitFlow waits until the packets of a flow that Send has sent have ended.
func (h *Harness) awaitFlow(src, dst string) flow {
	h.t.Helper()
	f := flow{h.nicID(src), h.nicID(dst)}
	for _, p := range h.record.pending(f) {
		h.ended(p)
	}
	return f
}

// maxPeriod is the longest loop that is folded; chosen by us.
const maxPeriod = 64

// foldLoops calls one for each of the steps, and repeat in place of what comes at least twice more
// after it: so many steps, so many times.
func foldLoops[S comparable](steps []S, one func(i int), repeat func(hops, times int)) {
	for i := 0; i < len(steps); {
		period, times := 1, 0
		for p := 1; p <= min(maxPeriod, (len(steps)-i)/3); p++ {
			same := 0
			for i+p+same < len(steps) && steps[i+same] == steps[i+p+same] {
				same++
			}
			if n := same / p; n >= 2 && n*p > times*period {
				period, times = p, n
			}
		}
		for j := range period {
			one(i + j)
		}
		if times > 0 {
			repeat(period, times)
		}
		i += period * (times + 1)
	}
}

// again says that hops come again: "the same 4 hops 8,190 times more".
func again(hops, times int) string {
	if hops == 1 {
		return fmt.Sprintf("the same hop %s times more", humanize.Comma(int64(times)))
	}
	return fmt.Sprintf("the same %d hops %s times more", hops, humanize.Comma(int64(times)))
}
