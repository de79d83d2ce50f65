package ibd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/subnet"
	fabrictopology "github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/harness"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// managed is a fabric with programs of InfiniBand.
type managed struct {
	*testing.T
	*harness.Harness
	driver  *Driver
	name    string
	dir     string
	opensms map[string]*os.Process // by node
}

var fabrics atomic.Int64 // to tell their sockets apart

func manage(t *testing.T, topology string, options ...harness.Option) *managed {
	t.Helper()
	return manageWith(t, topology, nil, options...)
}

// manageWith has our own manager stand by, unless own is nil.
func manageWith(t *testing.T, topology string, own *Own, options ...harness.Option) *managed {
	t.Helper()
	m := &managed{name: fmt.Sprintf("weft-ibd-%d-%d", os.Getpid(), fabrics.Add(1)), dir: t.TempDir(), T: t}
	m.opensms = map[string]*os.Process{}
	g, err := fabrictopology.Parse(topology)
	require.NoError(t, err)
	fw, vcs, err := subnet.Firmware(t.Context(), subnet.FromManager, g)
	require.NoError(t, err)
	options = append([]harness.Option{harness.Patience(rig.Patience), harness.Configure(func(o *fabric.Options) {
		o.Topology, o.Firmware, o.Switch.VCs = g, fw, vcs
	})}, options...)
	m.Harness = harness.New(t, topology, options...)
	m.driver, err = New(Config{
		Fabric: m.Fabric(), Name: m.name, VLs: 8, Forward: true, Bytes: 256, Own: own,
		Note: func(text string) { t.Log(text) },
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); m.driver.Run(ctx) }()
	t.Cleanup(func() { stop(); <-over })
	return m
}

// command is a program at a node.
func (m *managed) command(at, program string, args ...string) *exec.Cmd {
	m.Helper()
	path := testenv.Need(m.T, program, "packages opensm and infiniband-diags")
	list, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	if len(list) == 0 {
		testenv.Missing(m.T, "libumad2sim.so is not installed: install package libumad2sim0")
	}
	c := exec.Command(path, args...)
	c.Dir = m.dir
	c.Env = append(os.Environ(), "LD_PRELOAD="+list[0], "IBSIM_SOCKNAME="+m.name, "SIM_HOST="+at,
		"OSM_TMP_DIR="+m.dir, "OSM_CACHE_DIR="+m.dir)
	return c
}

// run runs a program of infiniband-diags to its end. It waits longer for an answer than by itself:
// on a busy machine OpenSM takes its time.
func (m *managed) run(at, program string, args ...string) string {
	m.Helper()
	var out, errs bytes.Buffer
	c := m.command(at, program, append([]string{"--timeout", "20000"}, args...)...)
	c.Stdout, c.Stderr = &out, &errs
	require.NoError(m.T, c.Run(), "%s %v: %s%s", program, args, &out, &errs)
	return out.String()
}

// opensm starts OpenSM and returns when NICs send by its paths. stop kills it.
func (m *managed) opensm(at string, args ...string) (stop func()) {
	m.Helper()
	stop = m.start(at, args...)
	m.settle()
	return stop
}

// log is what OpenSM at a node writes.
func (m *managed) log(at string) string { return filepath.Join(m.dir, "opensm-"+at+".log") }

func (m *managed) start(at string, args ...string) (stop func()) {
	m.Helper()
	log := m.log(at)
	c := m.command(at, "opensm", append([]string{"-f", log, "-d", "2"}, args...)...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	require.NoError(m.T, c.Start())
	m.opensms[at] = c.Process
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = c.Process.Signal(syscall.SIGKILL)
			_ = c.Wait() // it was killed
		}
	}
	m.Cleanup(func() {
		stop()
		if m.Failed() {
			text, _ := os.ReadFile(log)
			m.Logf("%s\n%s\n%+v", &out, text[max(0, len(text)-3000):], m.driver.Status())
		}
	})
	return stop
}

// polling is a file of options by which a standby soon sees that the master is gone.
func (m *managed) polling() string {
	m.Helper()
	conf := filepath.Join(m.dir, "opensm.conf")
	require.NoError(m.T, os.WriteFile(conf, []byte("sminfo_polling_timeout 200\npolling_retry_number 2\n"), 0o600))
	return conf
}

// settle waits until a manager has done all that there is to do: what it does next, if it only
// seemed so, it does sooner than calmFor is over.
func (m *managed) settle() {
	m.Helper()
	busy := time.Now()
	rig.Until(m.T, func() bool {
		s := m.driver.Status()
		if !s.Settled || len(s.Managers) == 0 || s.Ports["init"]+s.Ports["armed"] > 0 {
			busy = time.Now()
		}
		return time.Since(busy) > calmFor
	}, "no manager has done all that there is to do")
}

const calmFor = 400 * time.Millisecond

// requireNoneLost requires that since then nothing was lost or discarded.
func (m *managed) requireNoneLost(since fabric.Ledger) {
	m.Helper()
	l := m.Fabric().Ledger()
	require.Equal(m.T, since.Lost+since.Discarded, l.Lost+l.Discarded)
}

// requireSound requires that the ledger balances, and that no packet came to another NIC.
func (m *managed) requireSound() {
	m.Helper()
	m.SetTraffic("none")
	l := m.Quiesce()
	require.True(m.T, l.Balanced, "%+v", l)
}
