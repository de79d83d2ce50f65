package capture_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
	"go.uber.org/goleak"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/live"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/linkmon/capture"
	"github.com/weft-fabric/weft/switch/firmware"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is a fabric over an embedded broker, or in memory, and a viewer.
type lab struct {
	*live.Lab
	viewer *api.Client
}

func start(t *testing.T, traffic string, inMemory bool) *lab {
	t.Helper()
	l := &lab{Lab: live.Start(t, live.Config{Topology: "kary-ntree:2,2", InMemory: inMemory, Harness: []harness.Option{
		harness.Firmware(firmware.AdaptiveLink{VectorTimeout: 20 * weft.Millisecond}.Firmware()),
		harness.Traffic(traffic),
		harness.Liveness(50*time.Millisecond, 200), // nobody is taken for dead
	}})}
	l.Answer()
	var err error
	l.viewer, err = api.Dial(registry.Entry{
		Listed: registry.Listed{Name: live.Name, URL: l.Broker.ClientURL()},
		Viewer: l.Broker.Credentials(bus.RoleViewer),
	}, "test", false)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.viewer.Close()) })
	return l
}

// send sends so many packets from n00 to n10, four links away, one after another.
func (l *lab) send(n int) {
	l.Helper()
	for range n {
		before := l.Fabric.Totals().Delivered
		_, err := l.Fabric.Send(0, 2, false)
		require.NoError(l, err)
		rig.Until(l, func() bool { return l.Fabric.Totals().Delivered > before })
	}
}

// entry is a record as a file has it.
type entry struct {
	capture.Record
	wire     string
	comments []string
}

// recording is a capture under way. It keeps what the sink is given, and writes a file.
type recording struct {
	*lab
	file  bytes.Buffer
	began chan struct{} // closed when it listens
	stop  context.CancelFunc
	done  chan struct{} // closed when it has ended
	sum   capture.Summary
	err   error
	marks rig.Output // their texts, a line each
}

// sink tells of marks as they are written.
type sink struct {
	capture.Sink
	r *recording
}

func (s sink) Write(i int, at time.Time, r *capture.Record, comments ...string) error {
	if r.Kind == capture.KindMark {
		_, _ = fmt.Fprintln(&s.r.marks, r.Text)
	}
	return s.Sink.Write(i, at, r, comments...)
}

func (l *lab) record(o capture.Options) *recording {
	l.Helper()
	r := &recording{lab: l, began: make(chan struct{}), done: make(chan struct{})}
	o.Open = func(info api.CaptureInfo, _ *topology.Graph, wires []capture.Interface) (capture.Sink, error) {
		defer close(r.began)
		w, err := capture.NewWriter(&r.file, "test", info.Topology, wires)
		return sink{w, r}, err
	}
	ctx, cancel := context.WithCancel(l.Context())
	r.stop = cancel
	go func() {
		defer close(r.done)
		r.sum, r.err = capture.Run(ctx, l.viewer, o)
	}()
	l.Cleanup(func() { cancel(); <-r.done })
	select {
	case <-r.began:
	case <-r.done:
		require.NoError(l, r.err)
	}
	return r
}

// marked waits for a mark with a text.
func (r *recording) marked(text string) {
	r.Helper()
	r.marks.Await(r, text)
}

// end ends the capture and reads its file.
func (r *recording) end() (entries []entry) {
	r.Helper()
	r.stop()
	return r.read()
}

func (r *recording) read() (entries []entry) {
	r.Helper()
	<-r.done
	require.NoError(r, r.err)
	in, err := pcapgo.NewNgReader(&r.file, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	require.NoError(r, err)
	for {
		data, ci, opts, err := in.ReadPacketDataWithOptions()
		if errors.Is(err, io.EOF) {
			return entries
		}
		require.NoError(r, err)
		rec := capture.Decode(r, data)
		intf, err := in.Interface(ci.InterfaceIndex)
		require.NoError(r, err)
		entries = append(entries, entry{rec, intf.Name, opts.Comments})
	}
}

func TestACaptureHasEachPacketOnEachLinkItCrosses(t *testing.T) {
	t.Parallel()
	l := start(t, "none", false)
	const packets = 20
	r := l.record(capture.Options{Count: 4 * packets})
	l.send(packets)
	entries := r.read()
	require.Len(t, entries, 4*packets)
	require.Equal(t, capture.Summary{Wires: 16, Packets: 4 * packets, Took: r.sum.Took}, r.sum)
	sent := map[string]uint64{}
	for i, e := range entries {
		hop, packet := i%4, i/4
		require.Equal(t, capture.KindPacket, e.Kind)
		require.Equal(t, []string{"n00", "n10"}, []string{e.SrcName, e.DstName})
		require.EqualValues(t, packet, e.Header.Seq)
		require.EqualValues(t, hop, e.Header.Hops)
		require.EqualValues(t, 256, e.Header.Size)
		require.Equal(t, weft.PortFieldNone, e.Header.PortField)
		require.Regexp(t, []string{"^n00->s1.0$", "^s1.0->s0.[01]$", "^s0.[01]->s1.1$", "^s1.1->n10$"}[hop], e.wire)
		require.Equal(t, []uint16{0, 1}, []uint16{e.Index, e.Packets})
		require.Equal(t, sent[e.wire], e.Sent, "what the frame says was sent before")
		sent[e.wire]++
		require.Equal(t, capture.StateUp, e.State)
		require.Empty(t, e.comments)
	}
}

func TestACaptureMarksFaultsRepairsAndWhatWasLost(t *testing.T) {
	t.Parallel()
	l := start(t, "none", false)
	r := l.record(capture.Options{Names: []string{"s1.1", "n10"}})
	l.send(1)
	l.Do(fault.Spec{
		Do: fault.VerbImpair, A: "s1.1-n10", Direction: fault.To,
		Impair: &fault.Impair{Loss: new(fault.Percent(100))},
	})
	r.marked("impair s1.1-n10, s1.1 to n10, loss 100%")
	_, err := l.Fabric.Send(0, 2, false) // it is lost between the two
	require.NoError(t, err)
	rig.Until(t, func() bool {
		for _, s := range l.Fabric.LinkStates() {
			if s.Link == "s1.1-n10" {
				return s.SentAB == 2
			}
		}
		return false
	})
	l.Do(fault.Spec{Do: fault.VerbRestore, A: "s1.1-n10"})
	r.marked("restored s1.1-n10")
	l.send(1)
	r.marked("did not come by: 1, lost on the wire (")

	entries := r.end()
	states := map[string]capture.LinkState{}
	for _, e := range entries {
		if e.Kind == capture.KindPacket {
			require.Equal(t, "s1.1->n10", e.wire)
			continue
		}
		require.Equal(t, []string{e.Text}, e.comments, "a mark is a comment too")
		text, _, _ := strings.Cut(e.Text, ",")
		states[text] = e.State
	}
	require.Equal(t, capture.StateImpaired, states["impair s1.1-n10"])
	require.EqualValues(t, 1, r.sum.Lost)
	require.Zero(t, r.sum.Missed)
	require.Zero(t, r.sum.Bad)
}

func TestACaptureMarksWhereATracedPacketWasLost(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "none", false)
	r := l.record(capture.Options{Names: []string{"n10"}})
	l.Do(fault.Spec{Do: fault.VerbCut, A: "s1.1-n10", Silent: true})
	r.marked("cut s1.1-n10 silently")
	_, err := l.Fabric.Trace(0, 2, 1)
	require.NoError(t, err)
	r.marked("n00 to n10 #0: lost on the wire from s1.1 to n10, on link s1.1-n10 (cut silently, fault 1)")
	last := r.end()[1]
	require.Equal(t, []any{"s1.1->n10", capture.StateSilent}, []any{last.wire, last.State})
	require.Equal(t, []string{last.Text}, last.comments)
}

func TestACaptureOfASwitchHasItsLinksAndItsCrash(t *testing.T) {
	t.Parallel()
	l := start(t, "uniform:0.3", false)
	r := l.record(capture.Options{Names: []string{"s1.0"}})
	l.Do(fault.Spec{Do: fault.VerbCrash, A: "s1.0"}, fault.Spec{Do: fault.VerbCut, A: "s0.0-s1.1"})
	r.marked("crash s1.0")
	l.Do(fault.Spec{Do: fault.VerbHeal})
	r.marked("restarted s1.0")
	entries := r.end()
	require.Equal(t, 8, r.sum.Wires)
	for _, e := range entries {
		require.Contains(t, e.wire, "s1.0")
		require.NotContains(t, e.Text, "cut s0.0-s1.1", "it is another's")
	}
}

func TestACaptureEndsAfterItsCountOrItsTime(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "uniform:0.5", false)
	r := l.record(capture.Options{Count: 25})
	require.Len(t, r.read(), 25)
	require.EqualValues(t, 25, r.sum.Packets)
	r = l.record(capture.Options{For: 200 * time.Millisecond})
	require.NotEmpty(t, r.read())
	require.Less(t, r.sum.Took, 10*time.Second)
}

// slow takes nothing before it is let go.
type slow struct {
	capture.Sink
	open <-chan struct{}
}

func (s slow) Write(i int, at time.Time, r *capture.Record, comments ...string) error {
	<-s.open
	return s.Sink.Write(i, at, r, comments...)
}

func TestACaptureThatIsTooSlowMissesFramesAndSaysSo(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	l := start(t, "uniform:0.5", false)
	open, began := make(chan struct{}), make(chan struct{})
	var file bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sum capture.Summary
	done := make(chan error, 1)
	go func() {
		var err error
		sum, err = capture.Run(ctx, l.viewer,
			capture.Options{
				Buffer: 10,
				Open: func(_ api.CaptureInfo, _ *topology.Graph, wires []capture.Interface) (capture.Sink, error) {
					defer close(began)
					w, err := capture.NewWriter(&file, "test", "", wires)
					return slow{w, open}, err
				},
			})
		done <- err
	}()
	<-began
	before := l.Fabric.Totals().Delivered
	delivered := func(n uint64) {
		t.Helper()
		rig.Until(t, func() bool { return l.Fabric.Totals().Delivered > before+n }, "the fabric goes on")
	}
	delivered(500)
	close(open)
	delivered(1000)
	cancel()
	require.NoError(t, <-done)
	require.Positive(t, sum.Missed)
	require.Contains(t, file.String(), "missed by this capture, or lost on the wire")
	require.NoError(t, l.Fabric.StopTraffic())
	_, err := l.Fabric.Quiesce(t.Context())
	require.NoError(t, err)
	require.True(t, l.Fabric.Ledger().Balanced)
}

func TestWhatCannotBeCapturedIsRefused(t *testing.T) {
	t.Parallel()
	l := start(t, "none", false)
	never := func(api.CaptureInfo, *topology.Graph, []capture.Interface) (capture.Sink, error) {
		t.Error("nothing should be written")
		return nil, io.ErrClosedPipe
	}
	_, err := capture.Run(t.Context(), l.viewer, capture.Options{Names: []string{"s0.0-s1.5", "s3.0"}, Open: never})
	require.EqualError(t, err,
		`unknown link "s0.0-s1.5": did you mean "s0.0-s1.0"? known: s0.0-s1.0, s0.0-s1.1, s0.1-s1.0, s0.1-s1.1, s1.0-n00, s1.0-n01, s1.1-n10, s1.1-n11
unknown link or node "s3.0": did you mean "s0.0"? known: s0.0, s0.1, s1.0, s1.1, n00, n01, n10, n11`)
	_, err = capture.Run(t.Context(), l.viewer,
		capture.Options{Open: func(api.CaptureInfo, *topology.Graph, []capture.Interface) (capture.Sink, error) {
			return nil, io.ErrClosedPipe
		}})
	require.ErrorIs(t, err, io.ErrClosedPipe)

	_, err = capture.Run(t.Context(), start(t, "none", true).viewer, capture.Options{Open: never})
	require.ErrorIs(t, err, capture.ErrInMemory)
	require.EqualError(t, err,
		`capture of fabric "lab": its links are in memory, where nobody else can hear them: run it with fabricd up, whose links are NATS subjects`)
}
