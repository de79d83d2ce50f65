package cli_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/jobs"
	"github.com/weft-fabric/weft/harness/rig"
)

// What an agent costs beside none: the time of a job that it was not computing in, in percent. That is
// between pieces, at the beginning and at the end, and does not depend on how fast the machine is at the
// moment.
func BenchmarkOneAgent(b *testing.B) {
	server := natstest.Start(b, natstest.Newest, fmt.Sprintf("jetstream { store_dir: %q }", b.TempDir()))
	program := filepath.Join(builtCommands(b), "fabricd")
	dir := b.TempDir()
	agent := rig.Run(b, inFolder(program, dir, "agent", "--work-only", "--name", "h1", "--jobs", "1", "--server", server.URL))
	agent.Says("computes 1 piece")
	writeIn(b, dir, "small.yaml", fmt.Sprintf(smallSweep, 40, 60000))
	j, err := bus.OpenJobs(b.Context(), bus.JobsConfig{URL: server.URL})
	require.NoError(b, err)
	defer j.Close()
	var took, busy time.Duration
	for i := range b.N {
		began := time.Now()
		out := fmt.Sprint("out", i)
		code, said := rig.Run(b, inFolder(program, dir, "sweep", "small.yaml", "--out", out, "--on", "all", "--server", server.URL)).Ends()
		took += time.Since(began)
		require.Zero(b, code, said)
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
	b.ReportMetric(100*(took-busy).Seconds()/took.Seconds(), "%idle")
	b.ReportMetric(0, "ns/op")
}
