// Package opensm has an unmodified OpenSM manage a live fabric of this process, as a scenario asks.
package opensm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/ib/ibd"
	"github.com/weft-fabric/weft/fabricd/ib/program"
)

// Method is the name by which a scenario asks for OpenSM.
const Method = "opensm"

// Config says how OpenSM is to run.
type Config struct {
	Args    []string // of OpenSM
	Folder  string   // files among the arguments are looked for here; "": where this process began
	Options fabric.Options
}

// Manager is an OpenSM at work, at the first NIC.
type Manager struct {
	driver *ibd.Driver
	dir    string // of its log and caches
	stop   context.CancelFunc
	over   sync.WaitGroup
	begun  bool
	ended  chan struct{} // closed when OpenSM has ended
	why    error         // then; nil: it ended by itself, without an error
}

// Chosen by us: how long OpenSM may take to manage a fabric, and how often it is looked.
const (
	startTime = 5 * time.Minute
	lookEvery = 20 * time.Millisecond
)

var managers atomic.Int64 // of this process, to tell their sockets apart

// Attach starts OpenSM on a fabric that has been started with the routing infiniband. It returns
// when switches forward by its tables and NICs send by its paths.
func Attach(ctx context.Context, f *fabric.Fabric, c Config) (m *Manager, err error) {
	m = &Manager{ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = fmt.Errorf("OpenSM: %w", errors.Join(err, m.Stop()))
			m = nil
		}
	}()
	if m.dir, err = os.MkdirTemp("", "weft-opensm-"); err != nil {
		return m, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx)) // Stop ends it
	m.stop = stop
	name := fmt.Sprintf("weft-run-%d-%d", os.Getpid(), managers.Add(1))
	m.driver, err = ibd.New(ibd.Config{
		Fabric: f, Name: name, VLs: c.Options.Switch.VCs, Forward: true, Hop: ibd.Hop(c.Options.Link),
		Bytes: c.Options.NIC.PacketBytes, Note: func(string) {},
	})
	if err != nil {
		return m, err
	}
	m.over.Go(func() { m.driver.Run(running) })
	// What is among the arguments later counts, so these are defaults.
	args := append([]string{"-f", m.log(), "-L", mostLog}, c.files()...)
	cmd, err := program.Command(running, name, "", "opensm", args...)
	if err != nil {
		return m, err
	}
	cmd.Dir = m.dir
	cmd.Env = append(cmd.Env, "OSM_TMP_DIR="+m.dir, "OSM_CACHE_DIR="+m.dir)
	alone(cmd)
	told, err := os.Create(m.told())
	if err != nil {
		return m, err
	}
	defer func() { _ = told.Close() }() // it has its own
	cmd.Stdout, cmd.Stderr = told, told
	wait, err := program.Start(cmd)
	if err != nil {
		return m, err
	}
	m.begun = true
	m.over.Go(func() { m.follow(wait) })
	return m, m.ready(ctx)
}

func (m *Manager) log() string  { return filepath.Join(m.dir, "opensm.log") }
func (m *Manager) told() string { return filepath.Join(m.dir, "opensm.out") }

// files are the arguments, those that name files in the folder with their whole paths.
func (c Config) files() []string {
	folder, err := filepath.Abs(c.Folder)
	if err != nil {
		return c.Args
	}
	var list []string
	for _, a := range c.Args {
		path := filepath.Join(folder, a)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !filepath.IsAbs(a) {
			a = path
		}
		list = append(list, a)
	}
	return list
}

// follow waits for OpenSM to end.
func (m *Manager) follow(wait func() error) {
	defer close(m.ended)
	err := wait()
	if err == nil {
		err = errors.New("it has ended")
	}
	// It tells first what is wrong with its arguments, and last what else kept it; it may do neither.
	text, _ := os.ReadFile(m.told())
	log, _ := os.ReadFile(m.log())
	m.why = fmt.Errorf("%w\n%s\n%s", err, bytes.TrimSpace(text[:min(len(text), mostTold)]),
		bytes.TrimSpace(log[max(0, len(log)-mostTold):]))
}

// Chosen by us: how many bytes of each file of OpenSM's are told, and how many MB its log
// may have.
const (
	mostTold = 400
	mostLog  = "64"
)

// ready waits until the fabric is managed.
func (m *Manager) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if m.Settled() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it has not managed the fabric in %v: %w", startTime, ctx.Err())
		case <-m.ended:
			return m.why
		case <-tick.C:
		}
	}
}

// Settled reports whether OpenSM has done all that there is to do, switches forward by its tables,
// and NICs send by its paths.
func (m *Manager) Settled() bool {
	s := m.driver.Status()
	return s.Settled && len(s.Managers) > 0
}

// Err is why OpenSM has ended before it was stopped; nil: it has not.
func (m *Manager) Err() error {
	select {
	case <-m.ended:
		return m.why
	default:
		return nil
	}
}

// Stop ends OpenSM and the management of the fabric. The error says that it had ended before.
func (m *Manager) Stop() error {
	var err error
	if m.begun {
		err = m.Err()
	}
	if m.stop != nil {
		m.stop()
	}
	m.over.Wait()
	if m.dir != "" {
		err = errors.Join(err, os.RemoveAll(m.dir))
	}
	return err
}
