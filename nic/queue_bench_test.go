package nic

import (
	"testing"

	"github.com/weft-fabric/weft"
)

// BenchmarkSendAndTransmit has two packets generated, sent and their credits returned, each of its
// own layer when there are two.
func BenchmarkSendAndTransmit(b *testing.B) {
	b.Run("layers=1", func(b *testing.B) { sendAndTransmit(b, Config{VCs: 1}) })
	b.Run("layers=2", func(b *testing.B) {
		sendAndTransmit(b, Config{VCs: 2, Addresses: func(dst weft.NICID) []weft.Address { return byLayer[dst-1 : dst] }})
	})
}

var byLayer = []weft.Address{{}, {VC: 1}}

func sendAndTransmit(b *testing.B, c Config) {
	c.NICs, c.EagerCredits = 4, true
	r := newDarkRig(b, c)
	var in, sent weft.Frame
	r.Signal(0, 0, true, &r.out)
	mine, _ := r.end.Epochs()
	in = weft.Frame{From: 1, To: mine, VCs: c.VCs}
	b.ReportAllocs()
	for b.Loop() {
		r.out.Reset()
		r.now++
		for vc := range c.VCs {
			in.Limit[vc] += uint64(2 / c.VCs)
		}
		r.Receive(r.now, 0, &in, &r.out)
		for dst := range weft.NICID(2) {
			if _, err := r.Send(r.now, dst+1, 256, false, &r.out); err != nil {
				b.Fatal(err)
			}
		}
		for r.Transmit(r.now, 0, 2, &sent, &r.out) {
		}
	}
}
