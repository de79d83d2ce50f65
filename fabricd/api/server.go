package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/member"
	switching "github.com/weft-fabric/weft/switch"
)

// Info is what a server tells about its fabric besides what the fabric knows itself.
type Info struct {
	Name    string
	Routing string // by name
	Started time.Time
}

// Server answers requests about one fabric and publishes its events and a sample a second.
type Server struct {
	info    Info
	fabric  *fabric.Fabric
	control *bus.Server
	stream  *Stream
	first   uint64 // number of the last event before the first that Run publishes

	snapshots []paged // the latest that were asked for; by snapshotPage, one at a time

	listing func() (json.RawMessage, error) // the topology with its places, which take long to find: made once

	mover func(ctx context.Context, sw, host string) (fabric.Moved, error) // of the fabric; tests have another

	routings func() []RoutingView // of this fabric: made once

	loading       sync.Mutex
	loads         string             // guarded by loading: the firmware that was loaded last, by name
	loadsFirmware switching.Firmware // guarded by loading

	history history

	management atomic.Pointer[func() *Management] // nil: there is none
	reporter   atomic.Pointer[Reporter]           // nil: there are no programs
}

// Managed has samples say what the management of InfiniBand has come to. Any goroutine may call it.
func (s *Server) Managed(of func() *Management) { s.management.Store(&of) }

// NewServer serves f over control, which the caller closes after Run has returned.
func NewServer(f *fabric.Fabric, control *bus.Server, info Info) (*Server, error) {
	s := &Server{info: info, fabric: f, control: control, stream: NewStream(f), first: f.Events().Last(), mover: f.Move}
	s.stream.history = &s.history
	s.listing = sync.OnceValues(func() (json.RawMessage, error) { return listing(f.Topology(), s.stream.pods) })
	s.routings = sync.OnceValue(s.listRoutings)
	return s, errors.Join(
		onBus(control, VerbStatus, s.status), onBus(control, VerbTopology, s.topology), onBus(control, VerbLinks, s.links),
		onBus(control, VerbSwitch, s.switchState), onBus(control, VerbFaults, s.faults), onBus(control, VerbEvents, s.events),
		onBus(control, VerbLedger, func(context.Context, none) (fabric.Ledger, error) { return f.Ledger(), nil }),
		onBus(control, VerbWatch, func(context.Context, none) (Watching, error) { return s.stream.lease(), nil }),
		onBus(control, VerbSnapshot, s.snapshotPage), onBus(control, VerbApply, s.apply),
		onBus(control, VerbTraffic, s.traffic),
		onBus(control, VerbTimeFactor, s.timeFactor),
		onBus(control, VerbMove, s.move), onBus(control, VerbLoad, s.load), onBus(control, VerbCapture, s.capture),
		onBus(control, VerbTrace, s.trace), onBus(control, VerbHops, s.hops), onBus(control, VerbPrograms, s.programs),
		onBus(control, member.VerbJoin, s.join), onBus(control, member.VerbAttach, s.attach),
		onBus(control, member.VerbLeave, s.leave),
	)
}

// none is a request that says no more than what it is.
type none = struct{}

func ctl(verb string) bus.Subject { return bus.Subject{Kind: bus.SubjectControl, Verb: verb} }

func onBus[Req, Resp any](control *bus.Server, verb string, h func(ctx context.Context, r Req) (Resp, error)) error {
	return bus.Handle(control, ctl(verb), h)
}

// Stream is the state stream, which Run fills.
func (s *Server) Stream() *Stream { return s.stream }

// Run publishes events, samples and frames until ctx ends. onSample, unless nil, hears every
// sample.
func (s *Server) Run(ctx context.Context, onSample func(Sample)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for seq := s.first; ; {
			e, err := s.fabric.Events().After(ctx, seq)
			if err != nil {
				return
			}
			seq = e.Seq
			_ = s.control.Publish(StreamEvent, e) // a broker that is gone has told so itself
		}
	})
	wg.Go(func() { s.stream.Run(ctx) })
	wg.Go(func() { s.stream.publish(ctx, s.control.Publish) })
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	watch, last := s.fabric.WatchTotals(), s.fabric.Now()
	was, _ := watch.Read(last)
	var overload fabric.OverloadWatch
	deadlock, cycle := s.fabric.WatchDeadlock(), ""
	var waits tellWaits
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := s.fabric.Now()
		totals, latency := watch.Read(now)
		ledger := watch.Ledger()
		seconds := (now - last).Duration().Seconds()
		tempo := s.fabric.Tempo()
		per := func(now, before uint64) float64 { return rate(now, before, seconds) }
		sample := Sample{
			At:            now.Duration().Seconds(),
			Wall:          time.Since(s.info.Started).Seconds(),
			TimeFactor:    tempo.Factor,
			Time:          tempo.String(),
			Late:          tempo.Late,
			InjectedRate:  per(totals.Injected, was.Injected),
			OfferedRate:   per(totals.Injected+totals.Refused, was.Injected+was.Refused),
			Overload:      overload.Next(fabric.CountedIn(now, totals, ledger)).Trouble(tempo),
			DeliveredRate: per(totals.Delivered, was.Delivered),
			InFlight:      ledger.InFlight, Lost: ledger.Lost, Discarded: ledger.Discarded,
			Rerouted: totals.Rerouted, LinksDown: len(s.fabric.LinksDown()), Latency: latency,
		}
		if of := s.management.Load(); of != nil {
			sample.Management = (*of)()
		}
		if sample.Deadlock = deadlock.Cycle().String(); sample.Deadlock != cycle {
			s.tellDeadlock(now, sample.Deadlock)
			cycle = sample.Deadlock
		}
		if cycle == "" && !tempo.TooLate() {
			wait := deadlock.Waiting(s.fabric.Now())
			sample.Waiting, sample.WaitingSeconds = wait.String(), wait.Lasts.Duration().Seconds()
		}
		waits.next(sample.Waiting, func(e fabric.Event) { s.fabric.Events().Publish(now, e) })
		s.history.add(sample, per(totals.Refused, was.Refused))
		last, was = now, totals
		_ = s.control.Publish(StreamSample, sample)
		if onSample != nil {
			onSample(sample)
		}
	}
}

// tellDeadlock publishes that there is a deadlock, or none any more.
func (s *Server) tellDeadlock(now weft.Time, cycle string) {
	e := fabric.Event{Kind: fabric.EventDeadlock, Detail: cycle}
	if cycle == "" {
		e.Kind = fabric.EventDeadlockOver
	}
	s.fabric.Events().Publish(now, e)
}

// tellWaits makes events of waits that come and go: near saturation one second differs from the
// next.
type tellWaits struct {
	told bool
	calm int // samples in a row in which nothing waits
}

// waitsCalm is for how many samples nothing must wait before that is told. Chosen by us.
const waitsCalm = 10

func (t *tellWaits) next(waiting string, publish func(fabric.Event)) {
	if t.calm++; waiting != "" {
		t.calm = 0
	}
	switch {
	case !t.told && waiting != "":
		publish(fabric.Event{Kind: fabric.EventWaiting, Detail: waiting})
		t.told = true
	case t.told && t.calm == waitsCalm:
		publish(fabric.Event{Kind: fabric.EventWaitingOver})
		t.told = false
	}
}

func (s *Server) status(context.Context, none) (Status, error) {
	g, hosts, tempo, sample := s.fabric.Topology(), s.fabric.Hosts(), s.fabric.Tempo(), s.history.latest()
	sample.At, sample.Wall = s.fabric.Now().Duration().Seconds(), time.Since(s.info.Started).Seconds()
	sample.TimeFactor, sample.Time = tempo.Factor, tempo.String()
	return Status{
		Name: s.info.Name, Topology: g.Spec, Routing: s.info.Routing, Firmware: s.info.Routing,
		Traffic: s.fabric.Traffic().String(), TimeFactor: tempo.Factor, Started: s.info.Started,
		Switches: len(g.Switches), NICs: len(g.NICs), Links: len(g.Links),
		LinksCut: s.fabric.CutLinks(), LinksImpaired: s.fabric.ImpairedLinks(), Processes: s.fabric.SwitchProcesses(),
		Hosts: hosts, Parts: hosts, SwitchesDown: s.fabric.CrashedSwitches(),
		Sample: sample, Totals: s.fabric.Totals(), Ledger: s.fabric.Ledger(),
	}, nil
}

func (s *Server) topology(context.Context, none) (json.RawMessage, error) { return s.listing() }

func (s *Server) links(context.Context, none) ([]fabric.LinkState, error) {
	return s.fabric.LinkStates(), nil
}

func (s *Server) switchState(_ context.Context, r SwitchRequest) (SwitchDetail, error) {
	return detail(s.fabric, r.Switch, r.Forwarding)
}

// eventsPage bounds the events of one answer, which must stay below what a NATS message carries (1
// MB).
const eventsPage = 512

// events answers with the first events that are kept after a number.
func (s *Server) events(_ context.Context, r EventsRequest) ([]fabric.Event, error) {
	return s.eventsAfter(r.After), nil
}

// faultsPage bounds the reports of one answer likewise; one that shares its figures with many
// others is long.
const faultsPage = 512

// faults answers with the reports after a number.
func (s *Server) faults(_ context.Context, r *FaultsRequest) ([]fault.Report, error) {
	if r == nil {
		r = &FaultsRequest{}
	}
	return s.faultsAfter(r.After), nil
}

// eventsAfter are the events after number seq that one answer holds.
func (s *Server) eventsAfter(seq uint64) []fabric.Event {
	events := s.fabric.Events().Since(seq)
	return events[:min(len(events), eventsPage)]
}

// faultsAfter are the reports with higher numbers that one answer holds.
func (s *Server) faultsAfter(id int) []fault.Report {
	all := slices.DeleteFunc(s.fabric.Faults(), func(f fault.Report) bool { return f.ID <= id })
	return all[:min(len(all), faultsPage)]
}

// UnmarshalJSON is strict: a misspelt field of an order must not make it another one.
func (r *ApplyRequest) UnmarshalJSON(data []byte) error {
	type plain ApplyRequest
	return strictly(data, (*plain)(r))
}

// apply does what it is ordered to.
func (s *Server) apply(ctx context.Context, r ApplyRequest) ([]fabric.Outcome, error) {
	switch n := len(r.Specs); {
	case n == 0:
		return nil, errors.New("nothing is ordered: expected specs, a list of faults and repairs")
	case n > MaxSpecs:
		return nil, fmt.Errorf("%d faults and repairs at once: expected at most %d", n, MaxSpecs)
	}
	out, err := s.fabric.Apply(ctx, r.Specs...)
	if err != nil && len(out) > 0 {
		return nil, fmt.Errorf("it was done, but did not come off: %w", err)
	}
	return out, err
}
