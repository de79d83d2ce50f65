package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/linkmon/fault"
)

// Info is what a server tells about its fabric besides what the fabric knows itself.
type Info struct {
	Name     string
	Firmware string
	Started  time.Time
}

// Server answers requests about one fabric and publishes its events and a sample a second.
type Server struct {
	info    Info
	fabric  *fabric.Fabric
	control *bus.Control
	first   uint64 // number of the last event before the first that Run publishes

	mu     sync.Mutex
	sample Sample // guarded by mu: the latest
}

// NewServer serves f over control, which the caller closes after Run has returned.
func NewServer(f *fabric.Fabric, control *bus.Control, info Info) (*Server, error) {
	s := &Server{info: info, fabric: f, control: control, first: f.Events().Last()}
	for verb, h := range map[string]bus.Handler{
		VerbStatus:   s.status,
		VerbTopology: s.topology,
		VerbLinks:    s.links,
		VerbSwitch:   s.switchState,
		VerbFaults:   func(context.Context, []byte) (any, error) { return f.Faults(), nil },
		VerbLedger:   func(context.Context, []byte) (any, error) { return f.Ledger(), nil },
		VerbEvents:   s.events,
		VerbCut:      s.cut,
		VerbRestore:  s.restore,
		VerbCrash:    s.crash,
		VerbHeal:     s.heal,
	} {
		if err := control.Serve(verb, h); err != nil {
			return nil, err
		}
	}
	for verb, h := range s.processVerbs() {
		if err := control.Serve(verb, h); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Run publishes events and samples until ctx ends. onSample, unless nil, hears every sample.
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
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, lastTotals := s.fabric.Now(), s.fabric.Totals()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now, totals, ledger := s.fabric.Now(), s.fabric.Totals(), s.fabric.Ledger()
		seconds := (now - last).Duration().Seconds()
		sample := Sample{
			At:            now.Duration().Seconds(),
			InjectedRate:  float64(totals.Injected-lastTotals.Injected) / seconds,
			DeliveredRate: float64(totals.Delivered-lastTotals.Delivered) / seconds,
			InFlight:      ledger.InFlight, Lost: ledger.Lost, Discarded: ledger.Discarded,
			Rerouted: totals.Rerouted, LinksDown: len(s.fabric.LinksDown()),
		}
		last, lastTotals = now, totals
		s.mu.Lock()
		s.sample = sample
		s.mu.Unlock()
		_ = s.control.Publish(StreamSample, sample)
		if onSample != nil {
			onSample(sample)
		}
	}
}

func (s *Server) status(context.Context, []byte) (any, error) {
	g := s.fabric.Topology()
	s.mu.Lock()
	sample := s.sample
	s.mu.Unlock()
	return Status{
		Name: s.info.Name, Topology: g.Spec, Firmware: s.info.Firmware, Traffic: s.fabric.Traffic().String(), Started: s.info.Started,
		Switches: len(g.Switches), NICs: len(g.NICs), Links: len(g.Links),
		LinksCut: s.fabric.CutLinks(), SwitchesDown: s.fabric.CrashedSwitches(),
		Sample: sample, Totals: s.fabric.Totals(), Ledger: s.fabric.Ledger(),
	}, nil
}

func (s *Server) topology(context.Context, []byte) (any, error) {
	var b bytes.Buffer
	if err := s.fabric.Topology().WriteJSON(&b); err != nil {
		return nil, err
	}
	return json.RawMessage(b.Bytes()), nil
}

func (s *Server) links(context.Context, []byte) (any, error) { return s.fabric.LinkStates(), nil }

func (s *Server) switchState(_ context.Context, req []byte) (any, error) {
	var r SwitchRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	id, err := s.fabric.Topology().SwitchByName(r.Switch)
	if err != nil {
		return nil, err
	}
	return s.fabric.Switch(id), nil
}

// eventsPage bounds the events of one answer, which must stay below what a NATS message carries (1 MB).
const eventsPage = 512

// events answers with the first events that are kept after a number.
func (s *Server) events(_ context.Context, req []byte) (any, error) {
	var r EventsRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	kept := s.fabric.Events().Kept(r.After)
	return kept[:min(len(kept), eventsPage)], nil
}

func (s *Server) cut(_ context.Context, req []byte) (any, error) {
	l, err := s.link(req)
	if err != nil {
		return nil, err
	}
	report, fresh, err := s.fabric.Cut(l.ID)
	return change(l.Name, report, fresh), err
}

func (s *Server) crash(_ context.Context, req []byte) (any, error) {
	var r SwitchRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	id, err := s.fabric.Topology().SwitchByName(r.Switch)
	if err != nil {
		return nil, err
	}
	report, fresh, err := s.fabric.Crash(id)
	return change(r.Switch, report, fresh), err
}

// restore takes a link, or the name of a switch in A.
func (s *Server) restore(ctx context.Context, req []byte) (any, error) {
	var r LinkRequest
	if err := decode(req, &r); err != nil {
		return nil, err
	}
	if r.B == "" {
		id, err := s.fabric.Topology().SwitchByName(r.A)
		if err == nil {
			fresh, err := s.fabric.Restart(ctx, id)
			return Change{Target: r.A, Fresh: fresh}, err
		}
		if !strings.Contains(r.A, "-") {
			return nil, err // it cannot be a link either
		}
	}
	l, err := s.link(req)
	if err != nil {
		return nil, err
	}
	fresh, err := s.fabric.Restore(ctx, l.ID)
	return Change{Target: l.Name, Fresh: fresh}, err
}

func (s *Server) heal(ctx context.Context, _ []byte) (any, error) {
	names, err := s.fabric.Heal(ctx)
	if names == nil {
		names = []string{}
	}
	return Healed{Healed: names}, err
}

func (s *Server) link(req []byte) (topology.Link, error) {
	var r LinkRequest
	if err := decode(req, &r); err != nil {
		return topology.Link{}, err
	}
	if r.B == "" {
		return s.fabric.Topology().LinkByName(r.A)
	}
	return s.fabric.Topology().LinkBetween(r.A, r.B)
}

func change(target string, report fault.Report, fresh bool) Change {
	c := Change{Target: target, Fresh: fresh}
	if fresh {
		c.Fault = &report
	}
	return c
}

func decode(req []byte, v any) error {
	if err := json.Unmarshal(req, v); err != nil {
		return fmt.Errorf("malformed request: %w", err)
	}
	return nil
}
