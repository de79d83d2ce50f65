package capture

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/wire"
)

// lossy is a tap that says what it has lost.
type lossy struct{ lost, breaks uint64 }

func (l *lossy) Next(context.Context) (bus.Tapped, error) { return bus.Tapped{}, wire.ErrClosed }
func (l *lossy) Waiting() int                             { return 0 }
func (l *lossy) Lost() uint64                             { return l.lost }
func (l *lossy) Breaks() uint64                           { return l.breaks }
func (l *lossy) Close() error                             { return nil }

// recorder is a sink that keeps what it is given.
type recorder struct {
	records []Record
	missed  uint64
}

func (k *recorder) Write(_ int, _ time.Time, r *Record, _ ...string) error {
	k.records = append(k.records, *r)
	return nil
}
func (k *recorder) Missed(_ int, n uint64)     { k.missed += n }
func (k *recorder) Flush() error               { return nil }
func (k *recorder) Close(_, _ time.Time) error { return nil }

func TestWhatDoesNotComeByShowsInTheCountersOfFrames(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "kary-ntree:2,2")
	end := bus.TapEnd{Node: "s0.0", Port: 1}
	listens, sink := &lossy{}, &recorder{}
	s := &session{graph: g, tap: listens, sink: sink, wires: make([]direction, 1), byEnd: map[bus.TapEnd]int{end: 0}}
	// frame is one of an epoch with so many packets, before which so many were sent, in each of two
	// channels.
	frame := func(epoch weft.Epoch, packets int, sent ...uint64) (marks []string) {
		t.Helper()
		f := weft.Frame{From: epoch, To: 1, VCs: 2}
		copy(f.Sent[:], sent)
		for i := range packets {
			f.Packets = append(f.Packets, weft.Header{VC: weft.VC(i % 2), Fields: weft.NewFields()})
		}
		sink.records = nil
		require.NoError(t, s.take(bus.Tapped{From: end, Data: wire.AppendFrame(nil, 0, &f)}))
		for _, r := range sink.records {
			if r.Kind == KindMark {
				marks = append(marks, r.Text)
			} else {
				require.Equal(t, sent[r.Header.VC]+uint64(r.Index/2), r.Sent)
			}
		}
		return marks
	}
	lost := func(n string, why string) []string {
		return []string{"packets before this that did not come by: " + n + ", " + why}
	}
	require.Empty(t, frame(1, 3, 100, 50), "what was sent before it listened is not its business")
	require.Empty(t, frame(1, 0, 102, 51), "a frame without packets that agrees")
	require.Equal(t, lost("4", "lost on the wire"), frame(1, 2, 105, 52))
	require.Empty(t, frame(1, 0, 106, 53))
	s.wires[0].fault, s.wires[0].was = "loss 10%, fault 3", "loss 10%, fault 3"
	require.Equal(t, lost("1", "lost on the wire (loss 10%, fault 3)"), frame(1, 0, 107, 53))
	s.wires[0].fault = ""
	require.Equal(t, lost("1", "lost on the wire (loss 10%, fault 3)"), frame(1, 0, 108, 53),
		"it was, when they were sent")
	require.Equal(t, lost("1", "lost on the wire"), frame(1, 0, 109, 53))
	require.Zero(t, sink.missed)

	listens.lost = 5
	require.Equal(t, lost("1", "missed by this capture, or lost on the wire"), frame(1, 0, 110, 53))
	require.Equal(t, lost("2", "lost on the wire"), frame(1, 0, 112, 53), "it has lost no more since")
	listens.breaks = 1
	require.Equal(t, lost("1", "missed by this capture, or lost on the wire"), frame(1, 0, 113, 53))
	require.EqualValues(t, 2, sink.missed)

	require.Empty(t, frame(2, 0, 500, 500), "another epoch counts anew")
	require.Empty(t, frame(2, 0, 499, 500), "a frame that comes twice")

	sink.records = nil
	require.NoError(t, s.take(bus.Tapped{From: end, Data: []byte("no frame")}))
	require.Len(t, sink.records, 1)
	require.Equal(t, "8 bytes that are no frame: wire: decode frame: 8 bytes: checksum does not match: damaged on the "+
		"way, or for another link: not a valid frame", sink.records[0].Text)
	require.NoError(t, s.take(bus.Tapped{From: bus.TapEnd{Node: "s9"}, Data: []byte("x")}), "a stranger")
	require.Len(t, sink.records, 1)
	require.EqualValues(t, 1, s.sum.Bad)
	require.EqualValues(t, 11, s.sum.Lost)
}
