package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/lease"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/manage"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Manager manages one fabric. All but cfg and what is said below is owned by the goroutine of Run.
type Manager struct {
	cfg     Config
	spec    Spec
	planner *manage.Planner
	head    head

	version uint64   // of the last job
	has     []uint64 // per switch: the version of its tables, as far as is known
	want    []uint64 // per switch: the version that it should have
	before  []uint64 // per switch: the version that it should have had before the last job
	known   []bool   // per switch: has is what it said, and its tables are those of that version

	now             *manage.Round // what the last job uploads
	allAcknowledged bool          // all switches have acknowledged the last job
	settled         bool          // since the last job
	more            bool          // flows may return now that older packets are gone
	down            subnet.Dead
	failed          bool // the last plan for down came to nothing

	emptying *emptying // the fabric is emptied for a plan that is being computed; nil: it is not
	late     map[weft.SwitchID]error

	heard chan struct{} // capacity 1: an end has changed its mind
}

// New prepares a manager.
func New(cfg Config) *Manager {
	return &Manager{cfg: cfg.withDefaults(), heard: make(chan struct{}, 1), late: map[weft.SwitchID]error{}}
}

func (m *Manager) tell(n Note) {
	m.cfg.Log.Info("subnet manager", "does", n.Kind, "what", n.Text)
	if m.cfg.Tell != nil {
		m.cfg.Tell(n)
	}
}

// Run manages until ctx ends, which is no error. It stands by while another manages, and again when
// that takes over. Other errors say why it cannot go on.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.check(ctx); err != nil { // rather than stand by for what will be refused
		return ended(ctx, err)
	}
	for {
		held, err := m.acquire(ctx)
		if err != nil {
			return ended(ctx, fmt.Errorf("%w: who manages it is written down at the broker, and cannot be read or written: %w: "+
				"if the fabric runs still, see that the broker's JetStream answers, and start the manager again", ErrGone, err))
		}
		err = m.manage(ctx, held)
		if _, alone := m.cfg.State.(*Memory); alone && errors.Is(err, ErrSuperseded) { // there is no lease to stand by for
			return ended(ctx, err)
		}
		var final final
		if ctx.Err() != nil || errors.As(err, &final) {
			return ended(ctx, err)
		}
		m.tell(Note{Kind: NoteStandby, Text: "managing no more: " + err.Error()})
		select { // what failed may fail again, and the lease is ours to take at once
		case <-ctx.Done():
			return nil
		case <-time.After(m.cfg.Retry):
		}
	}
}

// ErrGone says that the fabric has ended, or cannot be heard any more.
var ErrGone = errors.New("the fabric cannot be reached any more")

// final is an error that trying again does not mend.
type final struct{ error }

// Unwrap returns the error.
func (f final) Unwrap() error { return f.error }

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// storeTime is how long the store may fail to answer a manager that stands by; chosen by us: longer
// than the servers of a cluster take to choose which of them writes.
const storeTime = 15 * time.Second

// acquire waits until this manager holds the lease.
func (m *Manager) acquire(ctx context.Context) (*lease.Lease, error) {
	return lease.Acquire(ctx, lease.Config{
		Store: m.cfg.State, Key: keyLease, Holder: []byte(m.cfg.Holder), Time: m.cfg.Lease, Patience: storeTime,
		Standby: func(holder []byte, _ uint64) {
			m.tell(Note{Kind: NoteStandby, Text: "standing by: " + string(holder) + " manages"})
		},
	})
}

// manage manages for as long as it has the lease.
func (m *Manager) manage(ctx context.Context, held *lease.Lease) (err error) {
	term, lost := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer func() {
		if errors.Is(err, reply.ErrEnded) && !errors.Is(err, ErrGone) { // an answer said so before Watch did
			err = final{fmt.Errorf("%w: %w", ErrGone, err)}
		}
		lost(err)
		running.Wait()
	}()
	running.Go(func() {
		if err := held.Keep(term); err != nil {
			lost(err)
		}
	})
	if err := m.cfg.Fabric.Begin(term); err != nil {
		return cause(term, err)
	}
	running.Go(func() {
		if err := m.cfg.Fabric.Watch(term, m.hear); errors.Is(err, ErrSuperseded) {
			lost(err)
		} else if term.Err() == nil {
			lost(final{fmt.Errorf("%w: %w", ErrGone, err)})
		}
	})
	if err := m.recover(term); errors.Is(err, ErrSuperseded) {
		return cause(term, err)
	} else if err != nil {
		return cause(term, final{err})
	}
	m.tell(Note{
		Kind: NoteManages,
		Text: fmt.Sprintf("managing by %v, tables of version %d", m.planner.Method(), m.version),
	})
	return cause(term, m.loop(term))
}

// cause is why ctx ended, if it has.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// hear is called by others.
func (m *Manager) hear() {
	select {
	case m.heard <- struct{}{}:
	default:
	}
}

// loop does round after round.
func (m *Manager) loop(ctx context.Context) error {
	var settling sync.WaitGroup
	stop := func() {}
	defer func() { stop(); settling.Wait() }()
	gone := make(chan uint64, 1)
	settle := func() { // the one before is over
		stop()
		settling.Wait()
		select {
		case <-gone:
		default:
		}
		var wait context.Context
		wait, stop = context.WithCancel(ctx)
		version := m.version
		settling.Go(func() {
			if m.cfg.Fabric.Settle(wait, version) == nil {
				gone <- version // capacity 1, and nobody else sends
			}
		})
	}
	if !m.settled {
		settle()
	}
	retry := time.NewTicker(m.cfg.Retry)
	defer retry.Stop()
	m.hear() // what happened while nobody managed
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.heard:
			if err := m.coalesce(ctx); err != nil {
				return err
			}
			if done, err := m.round(ctx); err != nil {
				return err
			} else if done {
				settle()
			}
		case <-retry.C:
			if len(m.late) > 0 {
				m.upload(ctx)
				if m.acknowledged() {
					settle()
				}
			}
		case version := <-gone:
			if version == m.version && len(m.late) == 0 {
				m.gone()
			}
		}
	}
}

// gone takes note that the packets of older tables are gone.
func (m *Manager) gone() {
	m.planner.Settled()
	m.allAcknowledged, m.settled = true, true
	if m.more = m.planner.More(); m.more {
		m.hear()
	}
}

// readGraph makes the graph of a spec.
func readGraph(c Spec) (*topology.Graph, error) {
	g, err := topology.Load("fabric.yaml", []byte(c.Topology))
	if err != nil {
		return nil, fmt.Errorf("the topology of the fabric: %w", err)
	}
	g.Spec = "the topology of the fabric" // as errors name it: no file of their reader
	return g, nil
}
