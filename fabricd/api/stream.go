package api

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/weft-fabric/weft/fabricd/fabric"
)

// Chosen by us: what a person sees as at once, at a cost that is small beside that of the fabric.
const (
	frameEvery = 250 * time.Millisecond // at least
	// framePerLink is what a frame with all links in it may take of a thirtieth to a tenth of a
	// processor: they are read, compared and encoded in 1 to 3 us each.
	framePerLink = 30 * time.Microsecond
	eventGap     = 40 * time.Millisecond // between frames that come early because of an event
)

// What is kept for viewers that come back, or are slow: so many frames, some 15 s, and no more than
// so many bytes.
const (
	maxFrames     = 64
	maxFrameBytes = 16 << 20
)

// Stream is the state stream of one fabric: a snapshot and then deltas, for any number of viewers.
// Each has a place in the frames that are kept, and no queue: one that falls behind them is given a
// new snapshot. While nobody watches nothing is read.
type Stream struct {
	f     *fabric.Fabric
	run   string
	page  int           // bytes of a page over the broker
	every time.Duration // between frames with counters
	pods  *grouping     // nil: none

	history *history // as of sampling

	wake    chan struct{} // cap 1: somebody watches
	leasing chan struct{} // cap 1: over the broker

	mu       sync.Mutex
	state    State         // as of the latest frame
	frames   []*common     // the latest frames; bounds: maxFrames, maxFrameBytes
	bytes    int           // of frames
	snapshot *common       // of the state, if its number is that of the latest frame
	news     chan struct{} // closed by the next frame
	read     time.Time     // when counters were read last
	viewers  int
	leased   time.Time // somebody watches over the broker until then
}

// common is a frame for any number of viewers.
type common struct {
	Frame
	once sync.Once
	data []byte // of all but what is in sum, once somebody wants it
}

// whole is the frame as it travels to those who are told of everything.
func (t *common) whole() []byte {
	t.once.Do(func() { t.data = encodeFrame(scope(nil).of(t.Frame, nil)) })
	return t.data
}

// size is about how many bytes the frame takes.
func (t *common) size() int {
	return len(t.Links)*int(unsafe.Sizeof(LinkView{})) + len(t.Switches)*int(unsafe.Sizeof(SwitchView{})) +
		len(t.Events)*int(unsafe.Sizeof(fabric.Event{})) + len(t.Hops)*int(unsafe.Sizeof(HopView{})) +
		len(t.History)*int(unsafe.Sizeof(Point{}))
}

// NewStream returns the stream of f, which Run fills.
func NewStream(f *fabric.Fabric) *Stream { return newStream(f, group(f.Topology())) }

func newStream(f *fabric.Fabric, pods *grouping) *Stream {
	return &Stream{
		f: f, pods: pods, run: strings.ToLower(rand.Text()[:12]), page: pageBytes,
		every: framesEvery(len(f.Topology().Links)),
		wake:  make(chan struct{}, 1), leasing: make(chan struct{}, 1), news: make(chan struct{}),
	}
}

// framesEvery is the time between frames with counters, in a fabric of so many links.
func framesEvery(links int) time.Duration { return max(frameEvery, time.Duration(links)*framePerLink) }

// RunID names this run.
func (s *Stream) RunID() string { return s.run }

// Run makes frames while anybody watches, until ctx ends. It is called once.
func (s *Stream) Run(ctx context.Context) {
	var smp *sampling
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		if smp == nil || !s.watched(time.Now()) {
			select {
			case <-s.wake:
			case <-ctx.Done():
				return
			}
			if smp == nil {
				smp = newSampling(s.f)
				smp.history = s.history
				smp.sums = newPodSums(s.pods)
			}
			smp.resume()
			tick.Reset(s.every)
			s.add(smp.frame(true))
			continue
		}
		events := s.f.Events().News()
		if s.f.Events().Last() > smp.lastEvent {
			events = closed
		}
		counters := false
		select {
		case <-tick.C:
			counters = true
		case <-events:
		case <-s.wake:
			continue
		case <-ctx.Done():
			return
		}
		switch {
		case !s.watched(time.Now()): // any more
		case counters:
			s.add(smp.frame(true))
		default:
			s.add(smp.frame(false))
			gap.Reset(eventGap) // so that a storm of events makes few frames
			select {
			case <-gap.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// watched reports whether anybody watches.
func (s *Stream) watched(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.viewers > 0 || now.Before(s.leased)
}

// add numbers a frame and gives it to viewers, unless it says nothing.
func (s *Stream) add(st step) {
	if st.empty() {
		return
	}
	d := st.Frame
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Run, d.Seq = s.run, s.state.Seq+1
	if d.Seq == 1 {
		d.Kind = KindSnapshot // of everything, since everything is new
		d.Events, d.Faults = newest(d.Events, snapshotEvents), newest(d.Faults, snapshotFaults)
	}
	if err := s.state.Apply(d); err != nil {
		panic("api: BUG: " + err.Error())
	}
	k := &common{Frame: d}
	s.frames, s.bytes = append(s.frames, k), s.bytes+k.size()
	for len(s.frames) > maxFrames || s.bytes > maxFrameBytes && len(s.frames) > 1 {
		s.bytes -= s.frames[0].size()
		s.frames = slices.Delete(s.frames, 0, 1)
	}
	if st.counters {
		s.read = time.Now()
	}
	close(s.news)
	s.news = make(chan struct{})
}

func encodeFrame(f Frame) []byte {
	data, err := json.Marshal(f)
	if err != nil {
		panic("api: BUG: a frame does not encode: " + err.Error())
	}
	return data
}

// Viewer is one who watches. It is for one goroutine.
type Viewer struct {
	s     *Stream
	seq   uint64 // of the last frame it was given; 0: none, it begins with a snapshot
	since time.Time
	open  scope
}

// WatchPods is Watch for one who is told of pods in sum, and of single links and switches only in
// those with the names in open, separated by commas. In a fabric without pods he is told of
// everything. The error names a pod that there is not.
func (s *Stream) WatchPods(after, open string) (*Viewer, error) {
	in, err := s.pods.scope(open)
	if err != nil {
		return nil, err
	}
	v := s.Watch(after)
	v.open = in
	return v, nil
}

// Watch begins watching, after the frame with that id, as Next returns it; unless that is kept, or
// the id is empty or of another run, with a snapshot. The viewer is to be closed.
func (s *Stream) Watch(after string) *Viewer {
	v := &Viewer{s: s, since: time.Now()}
	if run, seq, ok := strings.Cut(after, "-"); ok && run == s.run {
		v.seq, _ = strconv.ParseUint(seq, 10, 64) // what is no number is no frame
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.viewers++
	wake(s.wake)
	return v
}

// follow begins watching after the latest frame.
func (s *Stream) follow() *Viewer {
	s.mu.Lock()
	seq := s.state.Seq
	s.mu.Unlock()
	return s.Watch(s.id(seq))
}

func (s *Stream) id(seq uint64) string { return fmt.Sprintf("%s-%d", s.run, seq) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Close ends watching.
func (v *Viewer) Close() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.s.viewers--
}

// Next waits for the next frame and returns its id and JSON, which must not be changed. The error
// is that of ctx.
func (v *Viewer) Next(ctx context.Context) (id string, frame []byte, err error) {
	for {
		e, news := v.s.after(v.seq, v.since)
		if e != nil {
			v.seq = e.Seq
			if v.open == nil {
				return v.s.id(e.Seq), e.whole(), nil
			}
			return v.s.id(e.Seq), encodeFrame(v.open.of(e.Frame, v.s.pods)), nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return "", nil, ctx.Err()
		}
	}
}

// after is the frame after number seq, or a snapshot when that is not kept: none that is older than
// a viewer who came then. When there is none yet, news tells of the next.
func (s *Stream) after(seq uint64, since time.Time) (e *common, news <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.state.Seq
	switch oldest := last - uint64(len(s.frames)) + 1; {
	case seq == last && seq != 0, seq == 0 && since.Sub(s.read) > s.every:
		return nil, s.news
	case seq != 0 && seq < last && seq+1 >= oldest:
		return s.frames[seq+1-oldest], nil
	case last == 0:
		return nil, s.news
	}
	return s.snap(), nil
}

// snap is a snapshot of the latest state. The caller holds mu.
func (s *Stream) snap() *common {
	if s.snapshot == nil || s.snapshot.Seq != s.state.Seq {
		f := s.state.Frame
		f.Hops = nil // of the past
		// The state goes on in the same storage.
		f.Links, f.Switches, f.Pods, f.Bundles = slices.Clone(f.Links), slices.Clone(f.Switches), slices.Clone(f.Pods),
			slices.Clone(f.Bundles)
		f.Events, f.Faults, f.History = slices.Clone(f.Events), slices.Clone(f.Faults), slices.Clone(f.History)
		s.snapshot = &common{Frame: f}
	}
	return s.snapshot
}
