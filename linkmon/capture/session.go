package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/wire"
)

// ErrInMemory means that nothing can be heard of a fabric from outside.
var ErrInMemory = errors.New("its links are in memory")

// defaultBuffer is how many frames may wait to be written unless configured, some 16 MB in a busy
// fabric. Chosen by us.
const defaultBuffer = 1 << 15

// Sink takes what is captured. A [Writer] is one.
type Sink interface {
	Write(i int, at time.Time, r *Record, comments ...string) error
	Missed(i int, packets uint64)
	Flush() error
	Close(began, ended time.Time) error
}

// Options of a capture.
type Options struct {
	Names []string      // links, their two ends, or nodes, see Wires; none is everything
	Count uint64        // end after so many packets; 0: do not
	For   time.Duration // end after so long; 0: do not
	// Buffer bounds the frames that may wait to be written; further ones are missed, and counted. 0
	// is DefaultBuffer.
	Buffer int
	// Open makes where it is written, once the names are known to be right. Its sink is closed by
	// Run.
	Open func(info api.CaptureInfo, g *topology.Graph, interfaces []Interface) (Sink, error)
}

// Summary is what was captured.
type Summary struct {
	Wires   int
	Packets uint64
	Marks   uint64
	Lost    uint64 // packets that did not come by although they were sent: lost on the wire, or missed
	Missed  uint64 // of all frames on these wires, those that this capture was too slow for
	Bad     uint64 // frames that do not decode
	Took    time.Duration
}

// errEnough ends a capture that is complete.
var errEnough = errors.New("captured all that was asked for")

// session is a capture under way.
type session struct {
	client *api.Client
	graph  *topology.Graph
	o      Options
	tap    tap
	end    context.CancelCauseFunc
	stale  chan struct{} // capacity 1: the states of the links may have changed

	byEnd map[bus.TapEnd]int // wires
	first map[weft.Node]int  // the first wire at a node
	byID  map[weft.LinkID]int

	mu    sync.Mutex // all of the rest
	sink  Sink
	wires []direction
	frame weft.Frame
	rec   Record
	sum   Summary
	began time.Time
}

// tap is what a session needs of a [bus.Tap].
type tap interface {
	Next(ctx context.Context) (bus.Tapped, error)
	Waiting() int
	Lost() uint64
	Breaks() uint64
	Close() error
}

// direction is what is known of a captured direction.
type direction struct {
	Wire
	sum   wire.LinkSum
	state LinkState
	fault string // in force; empty: none
	id    int    // of its report; 0: not known
	was   string // the latest that was in force since the last frame

	known        bool // the rest is
	epoch        weft.Epoch
	next         [weft.MaxVCs]uint64 // per VC, what was sent up to the last frame
	lost, breaks uint64              // of the tap when a gap was last explained
}

// Run captures until ctx ends, or Count or For is reached, and closes the sink. It listens as a
// viewer does: a capture that is too slow misses frames and counts them, and holds up nobody. The
// error wraps ErrInMemory when there is nothing to hear.
func Run(ctx context.Context, c *api.Client, o Options) (sum Summary, err error) {
	info, err := c.CaptureInfo(ctx)
	switch {
	case err != nil:
		return sum, err
	case info.InMemory:
		return sum, fmt.Errorf("capture of fabric %q: %w, where nobody else can hear them: run it with fabricd up, whose "+
			"links are NATS subjects", info.Fabric, ErrInMemory)
	case info.Version != wire.Version:
		return sum, fmt.Errorf("capture of fabric %q: its frames are of version %d, this program knows version %d: use "+
			"the same release", info.Fabric, info.Version, wire.Version)
	}
	raw, err := c.Topology(ctx)
	if err != nil {
		return sum, err
	}
	s := &session{client: c, o: o, stale: make(chan struct{}, 1), began: time.Now()}
	if s.graph, err = topology.Load("topology of fabric "+info.Fabric+".json", raw); err != nil {
		return sum, err
	}
	if err := s.open(ctx, info); err != nil {
		return sum, err
	}
	defer func() {
		s.sum.Missed, s.sum.Took = s.tap.Lost(), time.Since(s.began)
		sum, err = s.sum, errors.Join(err, s.tap.Close(), s.sink.Close(s.began, time.Now()))
	}()
	return s.sum, s.run(ctx, info)
}

// open finds the wires, listens to them and begins the sink.
func (s *session) open(ctx context.Context, info api.CaptureInfo) error {
	wires, err := Wires(s.graph, s.o.Names...)
	if err != nil {
		return err
	}
	s.byEnd, s.first, s.byID = map[bus.TapEnd]int{}, map[weft.Node]int{}, map[weft.LinkID]int{}
	for i, end := range ends(s.graph, wires) {
		w := wires[i]
		d, _ := host.Direction(s.graph, w.From)
		s.wires = append(s.wires, direction{Wire: w, sum: d.Sum()})
		s.byEnd[end] = i
		if _, ok := s.first[w.From.Node]; !ok {
			s.first[w.From.Node] = i
		}
		if !w.BtoA {
			s.byID[w.Link] = i
		}
	}
	s.sum.Wires = len(wires)
	var heard []bus.TapEnd // all, or these
	if len(s.o.Names) > 0 {
		heard = ends(s.graph, wires)
	}
	listens, err := s.client.Tap(heard, cmp.Or(s.o.Buffer, defaultBuffer))
	if err != nil {
		return err
	}
	s.tap = listens
	if err = s.refresh(ctx); err == nil {
		s.sink, err = s.o.Open(info, s.graph, Interfaces(s.graph, "fabric "+info.Fabric+", "+info.Topology, wires))
	}
	if err != nil {
		return errors.Join(err, s.tap.Close())
	}
	return nil
}

// run captures until something ends it.
func (s *session) run(ctx context.Context, info api.CaptureInfo) error {
	if s.o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.o.For, errEnough)
		defer cancel()
	}
	work, end := context.WithCancelCause(ctx)
	s.end = end
	var running sync.WaitGroup
	for _, f := range []func(context.Context) error{
		s.frames,
		func(ctx context.Context) error { return s.client.Follow(ctx, info.Event, s.event) },
		func(ctx context.Context) error { return s.client.Hops(ctx, info.Hop, s.hop) },
		s.states,
	} {
		running.Go(func() {
			if err := f(work); err != nil {
				end(err) // the first counts
			}
		})
	}
	running.Wait()
	end(nil)
	if err := context.Cause(work); ctx.Err() == nil && !errors.Is(err, errEnough) {
		return err
	}
	return nil // it was ended
}

// frames writes what the tap hears.
func (s *session) frames(ctx context.Context) error {
	for {
		f, err := s.tap.Next(ctx)
		if err != nil {
			return err
		}
		if err := s.take(f); err != nil {
			return err
		}
	}
}

// take writes the packets of one frame, and hands them over when no other waits.
func (s *session) take(f bus.Tapped) error {
	i, ok := s.byEnd[f.From]
	if !ok {
		return nil // a stranger with full rights speaks where there is no link
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now() // with the lock, as marks: records are in the order of their times
	if err := wire.DecodeFrame(&s.frame, s.wires[i].sum, f.Data); err != nil {
		s.sum.Bad++
		return s.mark(i, at, fmt.Sprintf("%d bytes that are no frame: %v", len(f.Data), err))
	}
	if err := s.gaps(i, at); err != nil {
		return err
	}
	w := &s.wires[i]
	for k := range s.frame.Packets {
		h := &s.frame.Packets[k]
		s.rec = Record{
			Kind: KindPacket, State: w.state, Header: *h, Index: uint16(k), Packets: uint16(len(s.frame.Packets)),
			SrcName: s.graph.Name(h.Src.Node()), DstName: s.graph.Name(h.Dst.Node()), From: s.frame.From, To: s.frame.To,
			Sent: w.next[h.VC], Limit: s.frame.Limit[h.VC],
		}
		if len(s.frame.Payloads) > 0 {
			s.rec.Payload = s.frame.Payloads[k]
		}
		w.next[h.VC]++
		if err := s.sink.Write(i, at, &s.rec); err != nil {
			return err
		}
		if s.sum.Packets++; s.sum.Packets == s.o.Count {
			return errEnough
		}
	}
	if s.tap.Waiting() == 0 {
		return s.sink.Flush()
	}
	return nil
}

// gaps marks that packets sent before this frame did not come by: frames count what was sent. The
// caller holds mu.
func (s *session) gaps(i int, at time.Time) error {
	w, f := &s.wires[i], &s.frame
	lost := uint64(0)
	if w.known && w.epoch == f.From {
		for vc := range f.VCs {
			if f.Sent[vc] > w.next[vc] {
				lost += f.Sent[vc] - w.next[vc]
			}
		}
	}
	w.known, w.epoch, w.next = true, f.From, f.Sent
	why := w.was
	w.was = w.fault
	if lost == 0 {
		return nil
	}
	s.sum.Lost += lost
	text := "lost on the wire"
	if why != "" {
		text += " (" + why + ")"
	}
	if missed, breaks := s.tap.Lost(), s.tap.Breaks(); missed > w.lost || breaks > w.breaks {
		text = "missed by this capture, or " + text
		w.lost, w.breaks = missed, breaks
		s.sink.Missed(i, lost)
	}
	return s.mark(i, at, fmt.Sprintf("packets before this that did not come by: %d, %s", lost, text))
}

// mark writes a mark, with its text as comment too. The caller holds mu.
func (s *session) mark(i int, at time.Time, text string) error {
	s.sum.Marks++
	s.rec = Record{Kind: KindMark, State: s.wires[i].state, Text: text}
	if err := s.sink.Write(i, at, &s.rec, text); err != nil {
		return err
	}
	return s.sink.Flush()
}

var _ Sink = (*Writer)(nil)

// event marks what happened to a captured wire.
func (s *session) event(e fabric.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(e)
	select {
	case s.stale <- struct{}{}:
	default:
	}
	i, text, ok := s.place(e)
	if !ok {
		return nil
	}
	return s.mark(i, time.Now(), text)
}

// hop marks where a traced packet of a captured wire has ended badly.
func (s *session) hop(v fabric.HopView) error {
	if v.End != fabric.EndLost && v.End != fabric.EndDiscarded {
		return nil
	}
	node, err := s.graph.NodeByName(v.Node)
	if err != nil {
		return nil // it is none of this topology
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := 0, false
	if v.Out >= 0 {
		i, ok = s.byEnd[bus.TapEnd{Node: v.Node, Port: weft.PortID(v.Out)}]
	} else if v.In >= 0 {
		if from, _, linked := s.graph.Peer(weft.End{Node: node, Port: weft.PortID(v.In)}); linked {
			i, ok = s.byEnd[bus.TapEnd{Node: s.graph.Name(from.Node), Port: from.Port}]
		}
	}
	if !ok {
		return nil
	}
	return s.mark(i, time.Now(), fmt.Sprintf("%s to %s #%d: %s", v.Src, v.Dst, v.Seq, v.Summary()))
}
