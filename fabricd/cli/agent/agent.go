// Package agent has the commands fabricd agent, which offers a host to fabrics, and fabricd agents,
// which lists those that do.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
	"github.com/weft-fabric/weft/fabricd/lead"
	"github.com/weft-fabric/weft/fabricd/namespace"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/nic/nicd"
)

// agentFlags are the flags of fabricd agent.
type agentFlags struct {
	name, memory    string
	switches, cores int
	workOnly, named bool
	jobs            int
	pieceTime       time.Duration
	server          bus.Settings
	verbose         bool
}

// Command is fabricd agent.
func Command() *cobra.Command {
	var a agentFlags
	cmd := &cobra.Command{
		Use:   "agent --server URL",
		Short: "Offer this host to fabrics: run nodes of them until Ctrl-C",
		Long: `Offers room for switches and NICs on this host. A fabric takes it with: fabricd up --agents all --server URL

The agent is found at the NATS server (or cluster of servers) that all hosts use, and runs a part of each fabric that is placed on it. When it is
killed its switches are dead and packets go around them; started again it gets its parts back. It also runs switches that are moved here from
other hosts, if it has room for them. Ctrl-C ends it and all that it runs.

With --work-only it runs no nodes: it computes pieces of jobs, --jobs of them at once, each in a process of its own (fabricd sweep, verify,
tolerate, reroute and run with --on). A piece that takes more than its share of --memory, or more than --piece-time, is ended and tried
elsewhere; after three tries it is given up.

Exit codes: 0 interrupted; 2 it cannot be an agent: another has its name, no broker, no memory.`,
		Example: "  fabricd agent --server nats://h1:4222,nats://h2:4222\n  fabricd agent --server nats://h1:4222 --creds " +
			"agent-h2.creds --memory 4GiB --cores 8\n" +
			"  fabricd agent --server nats://h1:4222 --work-only --jobs 8 --piece-time 1h",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return command.Unhurried(cmd.OutOrStdout(), cmd.ErrOrStderr(), false, func(stdout, stderr io.Writer) error {
				a.named = a.name != ""
				switch {
				case a.workOnly:
					return a.work(cmd.Context(), serverFlags(cmd), stdout, stderr)
				case a.jobs != 0 || a.pieceTime != 0:
					return errors.New("--jobs and --piece-time are for --work-only: give that, or leave them out")
				}
				return a.run(cmd.Context(), stdout, stderr)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.name, "name", "", "name of this host among the agents; that of the host unless given")
	f.IntVar(&a.switches, "switches", 0, "most switches to run; 0 is as many as fit the memory")
	f.StringVar(&a.memory, "memory", "", "memory to offer, as 4GiB; three quarters of what the host has left unless given")
	f.IntVar(&a.cores, "cores", 0, "cores to offer: fabrics share their load by them; 0 is all")
	command.Bound(f, "switches", 0, command.MaxCount)
	command.Bound(f, "cores", 0, 65536)
	f.BoolVar(&a.workOnly, "work-only", false, "run no nodes of fabrics: compute pieces of jobs")
	f.IntVar(&a.jobs, "jobs", 0, "with --work-only: pieces at once; 0 is one per core")
	f.DurationVar(&a.pieceTime, "piece-time", 0, "with --work-only: most time for one piece; 0 is any")
	command.Bound(f, "jobs", 0, command.MaxWorkers)
	command.Bound(f, "piece-time", 0, maxPieceTime)
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens to stderr")
	a.server.Flags(f)
	return cmd
}

// room checks the flags.
func (a *agentFlags) room() (r cluster.Room, err error) {
	if a.name == "" {
		if a.name, err = os.Hostname(); err != nil {
			return r, fmt.Errorf("name of this host: %w: give one with --name", err)
		}
		a.name = strings.ReplaceAll(a.name, "_", "-")
	}
	if a.workOnly { // many on one host need no names of their own
		a.name = strings.ReplaceAll(a.name, ".", "-")
	}
	if err := bus.ValidateAgent(a.name); err != nil {
		return r, fmt.Errorf("--name: %w", err)
	}
	memory := int64(0)
	if a.memory != "" {
		if memory, err = cluster.ParseBytes(a.memory); err != nil {
			return r, fmt.Errorf("--memory: %w", err)
		}
	}
	return cluster.OfferOf(memory, a.cores, a.switches)
}

func (a agentFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	room, err := a.room()
	if err != nil {
		return err
	}
	at, err := command.Resolve(a.server, stderr)
	if err != nil {
		return err
	}
	log := command.Logger(a.verbose, stderr)
	var k lead.Keys
	if err := k.Open(at, "", log); err != nil {
		return err
	}
	defer k.Close()
	var mu sync.Mutex
	return cluster.RunAgent(ctx, cluster.AgentConfig{
		Name: a.name, URL: at.URL, Credentials: at.Credentials, Version: command.ThisVersion(), Room: room, Log: log,
		Run: func(ctx context.Context, c host.Spec, ready func()) error {
			r := remote.Config{Spec: c, URL: at.URL, Credentials: at.Credentials, Log: log, Ready: ready}
			if c.Placement.Shared {
				r.Alone = remote.GoneAfter // another host runs the switch by then
			} else {
				r.Programs = func(
					g *topology.Graph, nic func(weft.NICID) *nicd.NIC, now func() weft.Time,
				) (remote.Programs, error) {
					s, err := namespace.Serve(namespace.Config{
						Fabric: c.Fabric, Host: c.Host, Names: g.NICNames(), NIC: nic, Where: c.HostOf, Now: now,
					})
					if err != nil {
						return nil, err
					}
					return s, nil
				}
			}
			return remote.Run(ctx, r)
		},
		Note: func(s string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(stdout, "agent %s: %s\n", a.name, s)
		},
	})
}
