package nic

import (
	"runtime"
	"testing"

	"github.com/weft-fabric/weft"
)

// The memory of a NIC of mport-tree:36,3 that has spoken with so many of the others, four packets
// to each and four from each, in order, which take 20 us to 20 ms.
//
//	go test ./nic -run '^$' -bench Memory -benchtime=20x
func BenchmarkMemory(b *testing.B) {
	const nics = 11_664
	for _, c := range []struct {
		name  string
		peers int
	}{{"new", 0}, {"50", 50}, {"all", nics}} {
		b.Run(c.name, func(b *testing.B) {
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			rigs := make([]*rig, b.N)
			before := heap()
			for i := range rigs {
				r := newDarkRig(b, Config{NICs: nics})
				rigs[i] = r
				for k := range c.peers * 4 {
					peer := weft.NICID(k % c.peers * (nics / c.peers))
					r.now += weft.Millisecond
					r.send(peer)
					r.queue.popped(0, r.queue.fifos[0].PopFront().size)
					h := weft.Header{Src: peer, Seq: uint64(k / c.peers), Injected: r.now - weft.Time(1+k%997)*20*weft.Microsecond}
					r.out.Reset()
					r.deliver(r.now, &h, &r.out)
				}
			}
			b.ReportMetric(float64(heap()-before)/float64(b.N), "B/NIC")
			runtime.KeepAlive(rigs)
		})
	}
}
