// Package lead starts and resumes the leader of a live fabric, with all that is beside it: the
// claim of its name, the broker or the connections to one, its hosts, its entry in the registry,
// the API, the page and the subnet manager. fabricd up is this package with flags and text around
// it; a Go program or a test has the same without a command.
package lead

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/placement"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/settings"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// Config says which fabric to lead, and where it runs. Name is required.
type Config struct {
	Name string // of the fabric
	// Settings are those of a new fabric. A topology that is empty is [DefaultTopology]; firmware and
	// traffic that are empty, and the method auto of a manager, are chosen for it. A fabric that runs
	// on agents already keeps its own; Start refuses it when a topology is named here that it has not.
	Settings settings.Settings
	// Load reads the topology that the settings name; nil: [topology.Parse].
	Load  func(spec string) (*topology.Graph, error)
	Build bus.Build    // what this program is to others of a cluster
	Log   *slog.Logger // nil: discarded

	Server bus.Resolved // the broker; without a URL there is an embedded one
	Listen string       // where an embedded broker listens, as 127.0.0.1:0; empty: nowhere
	// OnAgents: a new fabric runs on agents, those named or all, and not in this process. One of this
	// name that runs on agents already is led in any case.
	OnAgents bool
	Agents   []string
	Detach   bool // on agents: when ctx ends, the fabric is left to the next leader

	// InfiniBand is the name by which programs of InfiniBand reach the fabric, see package ibd; "":
	// they do not.
	InfiniBand string
	// InfiniBandPriority is that of our own subnet manager among them; 0: there is none.
	InfiniBandPriority int

	Page  Page
	For   time.Duration // then the fabric ends by itself; 0: when ctx ends
	Drain time.Duration // how long packets in flight are waited for at the end; 0: [DrainTime]

	Observer
}

// Observer hears of what a leader does. Functions that are nil are not called; the others must not
// block.
type Observer struct {
	Note     func(text string)                         // what the operator should know, from any goroutine
	Existing func(settings.Settings)                   // a fabric of this name runs on agents, with these settings
	Standby  func(cluster.Leader)                      // another process leads
	Progress func(stage fabric.Stage, done, total int) // how far the fabric has come up; stage "": that is over
	Up       func(*Term) error                         // this process leads, and the fabric is up; an error ends it
	Event    func(fabric.Event)                        // by one goroutine
	Sample   func(api.Sample)                          // every second, by one goroutine
	Draining func()                                    // the fabric ends
	Ended    func(Result)                              // the fabric has ended in this process
}

// Term is a fabric while this process leads it.
type Term struct {
	Fabric    *fabric.Fabric
	Settings  settings.Settings    // all that were given, or written down, and what was chosen
	Entry     registry.Entry       // how others reach it
	Page      string               // address of the page, as it may be shown; empty: there is none
	OwnBroker bool                 // the broker is embedded
	Placement *placement.Placement // on agents; nil: all of it runs in this process
	Took      time.Duration        // to come up
}

// Result is what a fabric has come to.
type Result struct {
	Ledger  fabric.Ledger
	Drained error // why packets are left in flight; nil: none are
	Totals  fabric.Totals
	Faults  []fault.Report
}

// How leading ends, beside the errors of what it needs.
var (
	// ErrUnbalanced means that the ledger does not balance, or could not be read exactly.
	ErrUnbalanced = errors.New("the ledger does not balance, or is not exact")
	// ErrLeft means that the fabric goes on, on agents, for the next process that leads it.
	ErrLeft = errors.New("the fabric is left to the next that leads it")
	// ErrStoodBy means that the fabric was ended, or ctx, before this process led it.
	ErrStoodBy = errors.New("this process stood by for a fabric and did not lead it")
)

// Leader is a process that leads a fabric, or stands by for another that does.
type Leader struct {
	interrupt context.CancelFunc
	term      atomic.Pointer[Term]
	ended     chan struct{}
	err       error // when ended is closed
}

// Start leads a fabric until ctx ends or Close is called. It returns when the fabric is up: on
// agents that may be when another process leads no more. When the lead is lost the leader stands by
// for it again. The error is of what the fabric needs, or a [MistakesError].
func Start(ctx context.Context, cfg Config) (*Leader, error) {
	ctx, interrupt := context.WithCancel(ctx)
	l := &Leader{interrupt: interrupt, ended: make(chan struct{})}
	up := make(chan struct{}, 1)
	p := newProcess(cfg, func(t *Term) {
		l.term.Store(t)
		select {
		case up <- struct{}{}:
		default:
		}
	})
	go func() {
		defer close(l.ended)
		defer interrupt()
		l.err = p.run(ctx)
	}()
	select {
	case <-up:
		return l, nil
	case <-l.ended:
	}
	switch {
	case l.Term() != nil:
		return l, nil // it is over already
	case l.err == nil:
		return nil, ErrStoodBy
	}
	return nil, l.err
}

// Term is the fabric as this process has led it last.
func (l *Leader) Term() *Term { return l.term.Load() }

// Wait returns when this process leads no more. The error is nil when the fabric was ended and its
// ledger balances.
func (l *Leader) Wait() error {
	<-l.ended
	return l.err
}

// Close ends the fabric, or leaves it as Detach says, and returns what [Leader.Wait] does.
func (l *Leader) Close() error {
	l.interrupt()
	return l.Wait()
}
