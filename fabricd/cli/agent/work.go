package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/jobs"
)

const maxPieceTime = 1000 * time.Hour

// serverFlags are the flags by which another process finds the same server.
func serverFlags(cmd *cobra.Command) (list []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, ok := f.Annotations[bus.ServerFlag]; ok {
			list = append(list, "--"+f.Name+"="+f.Value.String())
		}
	})
	return list
}

// work computes pieces of jobs until ctx ends.
func (a *agentFlags) work(ctx context.Context, server []string, stdout, stderr io.Writer) error {
	if a.switches != 0 {
		return fmt.Errorf("--switches with --work-only, which runs none: leave one of them out")
	}
	room, err := a.room()
	if err != nil {
		return err
	}
	version, err := jobs.VersionOf(command.Revision())
	if err != nil {
		return err
	}
	slots := a.jobs
	if slots == 0 {
		slots = room.Cores
	}
	j, err := command.OpenJobs(ctx, a.server, stderr, "worker-"+a.name)
	if err != nil {
		return err
	}
	defer j.Close()
	if !a.named {
		if err := a.alone(ctx, j); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(stdout, "agent %s: %s\n", a.name, s)
	}
	limits := jobs.Limits{Memory: room.Memory / int64(slots), Time: a.pieceTime}
	within := ""
	if limits.Time > 0 {
		within = fmt.Sprintf(" and %v", limits.Time)
	}
	note(fmt.Sprintf("computes %s of jobs at once, each within %s%s, as version %s", command.Counted(slots, "piece"),
		cluster.Bytes(limits.Memory), within, version))
	w := jobs.Worker{
		Status: jobs.Status{Name: a.name, PID: os.Getpid(), Slots: slots, Version: version}, Jobs: j, Limits: limits,
		Cores: room.Cores, Server: server, Note: note,
	}
	return w.Run(ctx)
}

// alone gives a worker that was not named a name of its own where there are several on a host, as
// under Slurm: that of its process is part of it.
func (a *agentFlags) alone(ctx context.Context, j *bus.Jobs) error {
	list, err := jobs.Workers(ctx, j)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Name == a.name && w.PID != os.Getpid() && runs(w.PID) {
			a.name = fmt.Sprintf("%s-%d", a.name, os.Getpid())
			break
		}
	}
	return nil
}

// runs reports whether a process of this host is there.
func runs(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
