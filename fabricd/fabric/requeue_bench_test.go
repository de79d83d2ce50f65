package fabric_test

import (
	"testing"

	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/nic"
)

// BenchmarkCutCost reports what a signalled cut costs a loaded 4-ary 3-tree, in packets per cut, as
// the papers have it and with requeue: lost on the wire, lost in output queues, taken back from
// them, and delivered out of order.
func BenchmarkCutCost(b *testing.B) {
	for name, fw := range linkFirmware {
		for _, requeue := range []bool{false, true} {
			mode := "/papers"
			if requeue {
				mode = "/requeue"
			}
			b.Run(name+mode, func(b *testing.B) {
				h := harness.New(b, tree, harness.Firmware(fw), shortQueues,
					harness.Switches(settings.Switch{Requeue: requeue, InputBuffer: 8, OutputBuffer: 8}),
					harness.Links(settings.Link{Rate: 2_000 * nic.DefaultPacketBytes, Paced: true}), harness.Traffic("uniform:0.9"))
				saturated(h)
				links := betweenSwitches(h.Topology())
				before := h.Fabric().Totals().Reordered
				for i := 0; b.Loop(); i++ {
					l := links[i*37%len(links)]
					h.Cut(ends(h, l))
					more(h, 2000)
					restore(h, l)
					more(h, 2000)
				}
				l := h.Fabric().Ledger()
				var requeued uint64
				for _, s := range h.Topology().Switches {
					requeued += h.Fabric().Switch(s.ID).Stats.Requeued
				}
				per := func(n uint64, unit string) { b.ReportMetric(float64(n)/float64(b.N), unit) }
				per(l.LostWire, "wire/cut")
				per(l.LostQueued, "queued/cut")
				per(requeued, "requeued/cut")
				per(h.Fabric().Totals().Reordered-before, "reordered/cut")
			})
		}
	}
}
