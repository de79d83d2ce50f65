package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// ErrSwept means that OpenSM has looked at the fabric after a cut and configured no tables.
var ErrSwept = errors.New("no tables were configured")

// What the log of OpenSM says.
const (
	heard      = "Link state change"
	building   = "building routing with"
	configured = "tables configured on all switches"
	up         = "SUBNET UP"
)

// Manager is an OpenSM that goes on managing the fabric. Its methods are for one goroutine.
type Manager struct {
	sim    *Sim
	m      *manager
	engine string
	read   int64 // of its log
}

// Rerouted is how long OpenSM took after a cut, by its log: from when the simulator was told.
type Rerouted struct {
	Heard      time.Duration // until the first switch had told it
	Configured time.Duration // until its engine had its tables, which are then sent to the switches
	Up         time.Duration // until all had answered
	// Engine is what of this the engine took: with lash, or when the log is verbose, otherwise 0.
	Engine time.Duration
}

// Manage starts OpenSM with an engine and more of its options, and returns when it has configured
// the fabric.
func (s *Sim) Manage(ctx context.Context, engine string, options ...string) (*Manager, error) {
	m, err := s.manage(ctx, engine, append([]string{"-d", "2"}, options...)...) // a log that is written at once
	if err != nil {
		return nil, err
	}
	o := &Manager{sim: s, m: m, engine: engine}
	_, err = o.await(ctx, up)
	if err == nil {
		err = o.calm(ctx)
	}
	if err != nil {
		o.Stop()
		return nil, err
	}
	return o, nil
}

// Stop ends it.
func (o *Manager) Stop() { o.m.stop() }

// Cut has the simulator unlink a link and waits until OpenSM has sent new tables and has no more to
// do. The error wraps ErrRefused when its engine cannot route what is left.
func (o *Manager) Cut(ctx context.Context, l *topology.Link) (Rerouted, error) {
	began := time.Now()
	if err := o.sim.order("Unlink", l.A); err != nil {
		return Rerouted{}, err
	}
	lines, err := o.await(ctx, up)
	if err != nil {
		return Rerouted{}, fmt.Errorf("unlink %s: %w", l.Name, err)
	}
	var r Rerouted
	var from time.Time
	for _, line := range lines {
		at := stamp(line)
		if at.IsZero() {
			continue
		}
		at = time.Date(began.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.Local)
		switch {
		case r.Heard == 0 && strings.Contains(line, heard):
			r.Heard = at.Sub(began)
		case strings.Contains(line, "discover_network_properties: "), strings.Contains(line, building):
			if from.IsZero() {
				from = at
			}
		case r.Configured == 0 && strings.Contains(line, configured):
			r.Configured = at.Sub(began)
			if !from.IsZero() {
				r.Engine = at.Sub(from)
			}
		case strings.Contains(line, up):
			r.Up = at.Sub(began)
		}
	}
	if err := o.calm(ctx); err != nil {
		return r, err
	}
	if r.Configured == 0 {
		return r, fmt.Errorf("unlink %s: opensm -R %s: %w", l.Name, o.engine, ErrSwept)
	}
	return r, nil
}

// Restore has the simulator link it again and waits until OpenSM has swept the fabric.
func (o *Manager) Restore(ctx context.Context, l *topology.Link) error {
	if err := o.sim.order("ReLink", l.A); err != nil {
		return err
	}
	if _, err := o.await(ctx, up); err != nil {
		return err
	}
	return o.calm(ctx)
}

// calmTime is how long OpenSM says nothing before it counts as done: each end of a link that comes
// has it sweep the fabric.
const calmTime = 500 * time.Millisecond

// calm waits until OpenSM has done all there was to do.
func (o *Manager) calm(ctx context.Context) error {
	for last := time.Now(); time.Since(last) < calmTime; {
		lines, err := o.news()
		if err != nil {
			return err
		}
		for _, line := range lines {
			o.read += int64(len(line))
			last = time.Now()
		}
		if !wait(ctx) {
			return fmt.Errorf("opensm -R %s: %w", o.engine, context.Cause(ctx))
		}
	}
	return nil
}

// order types a command at the simulator's console about the port of a switch.
func (s *Sim) order(verb string, at weft.End) error {
	_, err := fmt.Fprintf(s.stdin, "%s \"S-%016x\"[%d]\n", verb, uint64(s.graph.Identity(at.Node).GUID), at.Port+1)
	return err
}

// await reads what is new in the log up to a line that says so.
func (o *Manager) await(ctx context.Context, text string) (lines []string, err error) {
	for {
		more, err := o.news()
		if err != nil {
			return nil, err
		}
		for _, line := range more {
			lines = append(lines, line)
			o.read += int64(len(line))
			switch {
			case strings.Contains(line, refusal):
				return lines, fmt.Errorf("opensm -R %s: %w", o.engine, ErrRefused)
			case strings.Contains(line, text):
				return lines, nil // what follows is for the next
			}
		}
		if !wait(ctx) {
			return lines, fmt.Errorf("opensm -R %s: %w\n%s", o.engine, context.Cause(ctx), tail(o.m.log))
		}
	}
}

// news are the whole lines that have come since.
func (o *Manager) news() (lines []string, err error) {
	f, err := os.Open(o.m.log)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // it has just been started
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(o.read, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	for line := range strings.Lines(string(data)) {
		if strings.HasSuffix(line, "\n") {
			lines = append(lines, line)
		}
	}
	return lines, err
}
