package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

// Parts are killed under load, come back anew, and are cut off and come back as they were: the new ledger says what today's
// accounting says, but for what the dead part told between our last look and its death.
func TestTheLedgerInTheShadowOfParts(t *testing.T) {
	t.Parallel()
	w := newWay(t)
	l := startPartsOn(t, 3, func(h *hosts) { h.apart, h.way = "host2", w.url() }, w.to)
	s := fabric.NewPartsShadow(l.Fabric)
	until := func(what string, ok func() bool) {
		t.Helper()
		l.until(what, func() bool { s.Look(); return ok() })
	}
	more := func(n uint64) {
		t.Helper()
		before := s.Look().Delivered
		until("packets are delivered", func() bool { return s.Look().Delivered >= before+n })
	}
	missed := uint64(0) // packets delivered that a part told of between our last look and its death
	compare := func(when, gone string) {
		t.Helper()
		require.NoError(t, l.Fabric.StopTraffic())
		var today fabric.Ledger
		until(when+": both are balanced, and nothing is on its way", func() bool {
			today = s.Look()
			n := s.Ledger.Sums()
			return today.Balanced && n.Balanced && today.InFlight == 0 && n.InFlight == 0 && len(n.Uncertain) == 0
		})
		n := s.Ledger.Sums()
		t.Logf("%s: injected %d, today's accounting %d; delivered %d, %d; discarded %d, %d; lost on wires %d, %d, in queues %d, %d, inside %d, %d; written off %d, injected without telling %d",
			when, n.Injected, today.Injected, n.Delivered, today.Delivered, n.Discarded, today.Discarded, n.LostWire, today.LostWire,
			n.LostQueued, today.LostQueued, n.LostCrash, today.LostCrash, n.WrittenOff, n.Unheard)
		switch less := today.Delivered - n.Delivered; {
		case gone == "for good":
			missed = less
		case gone == "for now":
			require.GreaterOrEqual(t, less, missed, when)
		default:
			require.Equal(t, missed, less, when)
			require.Equal(t, today.Waiting, fabric.InFlight{}, when)
		}
		l.load("uniform:0.3")
	}
	l.load("uniform:0.3")
	more(300)
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s0.00-s1.00", Silent: true})
	more(200)
	l.Do(fault.Spec{Do: fault.VerbHeal})
	compare("after a cut", "")
	more(200)
	l.hosts.kill("host1")
	until("it is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	more(200)
	compare("a part is dead", "for good")
	l.hosts.back("host1")
	until("it is back", func() bool { return len(l.Fabric.LinksDown()) == 0 })
	more(200)
	compare("it was made anew", "")
	w.cut()
	until("another is missed", func() bool { return len(l.Fabric.CrashedSwitches()) == 4 })
	more(200)
	compare("another is out of reach", "for now")
	w.restore()
	until("it is back", func() bool { return len(l.Fabric.LinksDown()) == 0 })
	more(200)
	compare("it has come back as it was", "")
}
