package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/host"
	"github.com/weft-fabric/weft/fabricd/host/remote"
)

// agentFlags are the flags of fabricd agent.
type agentFlags struct {
	name, memory    string
	switches, cores int
	server          bus.Settings
	verbose         bool
}

func agentCommand() *cobra.Command {
	var a agentFlags
	cmd := &cobra.Command{
		Use:   "agent --server URL",
		Short: "Offer this host to fabrics: run nodes of them until Ctrl-C",
		Long: `Offers room for switches and NICs on this host. A fabric takes it with: fabricd up --agents all --server URL

The agent is found at the NATS server (or cluster of servers) that all hosts use, and runs a part of each fabric that is placed on it. When it is
killed its switches are dead and packets go around them; started again it gets its parts back. It also runs switches that are moved here from
other hosts, if it has room for them. Ctrl-C ends it and all that it runs.

Exit codes: 0 interrupted; 2 it cannot be an agent: another has its name, no broker, no memory.`,
		Example: "  fabricd agent --server nats://h1:4222,nats://h2:4222\n  fabricd agent --server nats://h1:4222 --creds agent-h2.creds --memory 4GiB --cores 8",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Unhurried(cmd.OutOrStdout(), cmd.ErrOrStderr(), false, func(stdout, stderr io.Writer) error {
				return a.run(cmd.Context(), stdout, stderr)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.name, "name", "", "name of this host among the agents; that of the host unless given")
	f.IntVar(&a.switches, "switches", 0, "most switches to run; 0 is as many as fit the memory")
	f.StringVar(&a.memory, "memory", "", "memory to offer, as 4GiB; three quarters of what the host has left unless given")
	f.IntVar(&a.cores, "cores", 0, "cores to offer: fabrics share their load by them; 0 is all")
	cli.Bound(f, "switches", 0, maxCount)
	cli.Bound(f, "cores", 0, 65536)
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens to stderr")
	a.server.Flags(f)
	return cmd
}

// errNoServer says what a cluster needs.
var errNoServer = errors.New("hosts meet at a NATS server: name it with --server (NATS_URL), as nats://h1:4222")

// room checks the flags.
func (a *agentFlags) room() (r cluster.Room, err error) {
	if a.name == "" {
		if a.name, err = os.Hostname(); err != nil {
			return r, fmt.Errorf("name of this host: %w: give one with --name", err)
		}
		a.name = strings.ReplaceAll(a.name, "_", "-")
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
	at, err := resolve(a.server, stderr)
	if err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	if a.verbose {
		log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var k keys
	if err := k.open(at, "", log); err != nil {
		return err
	}
	defer k.close()
	var mu sync.Mutex
	return cluster.RunAgent(ctx, cluster.AgentConfig{
		Name: a.name, URL: at.URL, Credentials: at.Credentials, Version: thisVersion(), Room: room, Log: log,
		Run: func(ctx context.Context, c host.Spec, ready func()) error {
			r := remote.Config{Spec: c, URL: at.URL, Credentials: at.Credentials, Log: log, Ready: ready}
			if c.Placement.Shared {
				r.Alone = remote.GoneAfter // another host runs the switch by then
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

// resolve finds the server that hosts meet at.
func resolve(server bus.Settings, stderr io.Writer) (bus.Resolved, error) {
	r, err := server.Resolve(os.Getenv)
	if err != nil {
		return r, err
	}
	for _, note := range r.Notes {
		fmt.Fprintln(stderr, "fabricd: "+note)
	}
	if r.URL == "" {
		return r, errNoServer
	}
	return r, nil
}

// thisVersion is what this program is to others of a cluster.
func thisVersion() bus.Build {
	return bus.Build{Protocol: bus.Protocol, Revision: cli.Version()}
}
