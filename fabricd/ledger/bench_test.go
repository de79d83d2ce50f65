package ledger

import (
	"fmt"
	"testing"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/switch/link"
)

// busy is a ring of 1,000 switches with 18 links from each to the next, on so many hosts that are
// all heard.
func busy(b *testing.B, hosts int) (*Ledger, []*Answer) {
	b.Helper()
	const switches, wide = 1000, 18
	var links []Link
	for s := range switches {
		for p := range wide {
			links = append(links, Link{
				weft.End{Node: weft.SwitchID(s).Node(), Port: weft.PortID(p)},
				weft.End{Node: weft.SwitchID((s + 1) % switches).Node(), Port: weft.PortID(wide + p)},
			})
		}
	}
	at := func(n weft.Node) int { return int(n.Index) * hosts / switches }
	l := New(links)
	nodes := make([][]weft.Node, hosts)
	for s := range switches {
		n := weft.SwitchID(s).Node()
		nodes[at(n)] = append(nodes[at(n)], n)
	}
	answers := make([]*Answer, hosts)
	for i := range hosts {
		l.Step(0, HostStarted{HostID(i + 1), Incarnation(i + 1), nodes[i]})
		answers[i] = &Answer{Host: HostID(i + 1), Incarnation: Incarnation(i + 1)}
	}
	for _, k := range links {
		for d, e := range []weft.End{k.A, k.B} {
			me, you := at(e.Node), at([]weft.End{k.B, k.A}[d].Node)
			if me != you {
				answers[me].Flows = append(answers[me].Flows,
					Flow{
						e, Incarnation(you + 1),
						link.Flow{State: link.Up, Mine: 1, Peer: 1, Sent: 9, Received: 9, Taken: 9, LastFrom: 1, LastTo: 1, LastSent: 9},
					})
			}
		}
	}
	for _, a := range answers {
		a.Seq = 1
		l.Step(0, a)
	}
	return l, answers
}

func BenchmarkLedger(b *testing.B) {
	for _, hosts := range []int{1, 8, 1000} {
		l, answers := busy(b, hosts)
		b.Run(fmt.Sprintf("sums/hosts=%d", hosts), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Balance()
			}
		})
		b.Run(fmt.Sprintf("answers/hosts=%d", hosts), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, a := range answers {
					next := *a
					next.Seq = a.Seq + 1
					*a = next
					l.Step(0, &next)
				}
			}
		})
		b.Run(fmt.Sprintf("checkpoint/hosts=%d", hosts), func(b *testing.B) {
			for b.Loop() {
				data, err := l.Checkpoint(maxIncidents)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(data)), "bytes")
			}
		})
	}
}
