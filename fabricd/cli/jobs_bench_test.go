package cli_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/jobs"
	"github.com/weft-fabric/weft/harness/rig"
)

// What an agent costs beside none, in percent: of the time of a job, that in which it was not
// computing, which is between pieces, at the beginning and at the end; and by how much more
// processor time all processes took than the one that does the same alone. Neither depends on how
// fast the machine is at the moment.
func BenchmarkOneAgent(b *testing.B) {
	server := natstest.Start(b, natstest.Newest, fmt.Sprintf("jetstream { store_dir: %q }", b.TempDir()))
	program := filepath.Join(builtCommands(b), "fabricd")
	dir := b.TempDir()
	agent := rig.Run(b, inFolder(program, dir, "agent", "--work-only", "--name", "h1", "--jobs", "1", "--server",
		server.URL))
	agent.Says("computes 1 piece")
	writeIn(b, dir, "small.yaml", fmt.Sprintf(smallSweep, 40, 60000))
	sweep := func(to string, args ...string) *rig.Process {
		p := rig.Run(b, inFolder(program, dir, append([]string{"sweep", "small.yaml", "--out", to}, args...)...))
		code, said := p.Ends()
		require.Zero(b, code, said)
		return p
	}
	j, err := bus.OpenJobs(b.Context(), bus.JobsConfig{URL: server.URL})
	require.NoError(b, err)
	defer j.Close()
	var took, busy, alone, together time.Duration
	for i := range b.N {
		alone += computed(sweep(fmt.Sprint("alone", i), "--jobs", "1"))
		began := time.Now()
		together += computed(sweep(fmt.Sprint("out", i), "--on", "all", "--server", server.URL))
		took += time.Since(began)
		list, err := jobs.List(b.Context(), j)
		require.NoError(b, err)
		rig.Until(b, func() bool { // its last word comes after the end
			p, err := jobs.Look(b.Context(), j, list[0])
			if err == nil && len(p.Hosts) > 0 && p.Hosts[0].Pieces == p.Pieces {
				busy += time.Duration(p.Hosts[0].Seconds * float64(time.Second))
				return true
			}
			return false
		})
		require.NoError(b, jobs.Cancel(b.Context(), j, list[0]))
	}
	agent.Signal(syscall.SIGTERM)
	agent.Ends()
	together += computed(agent)
	b.ReportMetric(100*(took-busy).Seconds()/took.Seconds(), "%idle")
	b.ReportMetric(100*(together.Seconds()/alone.Seconds()-1), "%cpu")
	b.ReportMetric(0, "ns/op")
}

// computed is the processor time of a process that has ended, and of those that it waited for.
func computed(p *rig.Process) time.Duration {
	return p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()
}
