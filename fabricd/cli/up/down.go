package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
	"github.com/weft-fabric/weft/fabricd/lease"
)

// downFlags are the flags of fabricd down.
type downFlags struct {
	writtenFlags
	force bool
}

// DownCommand is fabricd down.
func DownCommand() *cobra.Command {
	var d downFlags
	cmd := &cobra.Command{
		Use:   "down --fabric FABRIC --server URL",
		Short: "End a fabric on agents that nobody leads any more",
		Long: `Ends the hosts of a fabric on all its agents and forgets it. A fabric that a fabricd up leads is ended there, with Ctrl-C.
It does not drain the fabric, so its ledger is not checked.

Exit codes: 0 it is ended; 1 an agent does not answer and may still run its host; 2 there is no such fabric, or somebody leads it.`,
		Example: "  fabricd down --fabric lab --server nats://h1:4222",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	d.flags(cmd)
	f.BoolVar(&d.force, "force", false, "forget the fabric even though an agent does not answer")
	return cmd
}

func (d downFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	f, err := d.open(ctx, stderr)
	if err != nil {
		return err
	}
	defer f.store.Store.Close()
	lead, stop, err := d.lead(ctx, f.store)
	if err != nil {
		return err
	}
	defer stop()
	if err := f.store.Claim(ctx, lead.Term); err != nil {
		return err
	}
	where, err := f.store.Placement(ctx, f.graph)
	if err != nil {
		return err
	}
	agents, err := bus.Dial(bus.ClientConfig{
		Leads: true, URL: f.at.URL, Credentials: f.at.Credentials,
		Program: "down", Build: command.ThisVersion(),
	})
	if err != nil {
		return err
	}
	defer func() { _ = agents.Close() }() // it goes with the process
	var names []string
	for _, p := range where.Hosts {
		names = append(names, p.Agent)
	}
	hosts := cluster.Hosts{Agents: agents, Fabric: d.fabric, Term: lead.Term}
	dropped, err := hosts.Drop(ctx, names, "fabricd down has ended the fabric")
	if err != nil {
		fmt.Fprintln(stderr, "fabricd: "+err.Error())
		if !d.force {
			fmt.Fprintln(stderr,
				"fabricd: it stays written down; try again when the agent answers or has ended, or forget it with --force")
			return command.ErrFailed
		}
	}
	if err := f.store.End(ctx); err != nil {
		return err
	}
	on := "which ran nowhere any more"
	if len(dropped) > 0 {
		on = "which ran on " + strings.Join(dropped, ", ")
	}
	fmt.Fprintf(stdout, "fabric %s is ended: %s, %s\n", d.fabric, f.want.Spec, on)
	fmt.Fprintln(stdout, "its ledger was not checked: nobody led it; to check a ledger, lead the fabric with fabricd "+
		"up and end it with Ctrl-C")
	return nil
}

// leadTime is how long down waits until a leader that was killed leads no more.
const leadTime = 10 * lease.Default

// lead takes the lead, so that nobody begins to while the fabric is ended; stop gives it back.
func (d downFlags) lead(ctx context.Context, store cluster.StateStore) (l *lease.Lease, stop func(), err error) {
	me, err := cluster.ThisLeader()
	if err != nil {
		return nil, nil, err
	}
	try, cancel := context.WithTimeout(ctx, leadTime)
	defer cancel()
	var who cluster.Leader
	l, err = cluster.Campaign(try, cluster.CampaignConfig{
		Store: store.Store, Me: me, Once: true, Standby: func(l cluster.Leader, _ uint64) { who = l },
	})
	switch {
	case errors.Is(err, lease.ErrHeld):
		return nil, nil, fmt.Errorf("%v leads fabric %s: end it there with Ctrl-C", who, d.fabric)
	case err != nil:
		return nil, nil, fmt.Errorf("take the lead of fabric %s to end it: %w", d.fabric, err)
	}
	run, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.Keep(run) // should it be lost within the second that this takes, the agents go by the term
	}()
	return l, func() {
		end()
		<-ended
	}, nil
}
