package virtual

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// When all links come up there are more frames than ever after: those on no wire must not stay.
func TestFramesThatNobodyNeedsGo(t *testing.T) {
	e := New(Config{})
	w := e.workers[0]
	to := &Node{worker: w, ports: make([]port, 1)}
	w.add(to)
	for range 100 {
		w.send(sending{to: to, at: weft.Second, on: w.take()})
	}
	w.flush()
	for _, s := range w.sent[:100] {
		require.Nil(t, s.on)
	}
	for line := &to.ports[0].line; !line.Empty(); {
		w.recycle(line.Pop())
	}
	require.LessOrEqual(t, len(w.spare), len(w.nodes)+1)
	require.Zero(t, to.ports[0].line, "it holds the last frame")
}

func TestAFrameOnAWireTakesThreeCacheLines(t *testing.T) {
	var f flight
	require.LessOrEqual(t, unsafe.Sizeof(f), uintptr(192))
	require.EqualValues(t, 64, unsafe.Offsetof(f.Frame)+unsafe.Offsetof(f.Frame.room), "what each frame needs is before it")
}

// Frames of several packets and of more virtual channels than most links have keep all they have.
func TestPackedFrameComesBackWhole(t *testing.T) {
	var p packed
	for _, vcs := range []int{weft.MaxVCs, 1, 3} {
		var in, out weft.Frame
		p.lend(&in)
		in.From, in.To, in.VCs, in.Carrying = 1, 2, vcs, 1
		for vc := range vcs {
			in.Sent[vc], in.Limit[vc] = uint64(vc)+1, uint64(vc)+100
			in.Packets = append(in.Packets, weft.Header{Seq: uint64(vc), VC: weft.VC(vc)})
		}
		p.pack(&in)
		out.VCs, out.Sent[weft.MaxVCs-1] = weft.MaxVCs, 9 // of a frame before
		p.unpack(&out)
		in.Payloads, out.Payloads = nil, nil
		require.Equal(t, in, out)
	}
}
