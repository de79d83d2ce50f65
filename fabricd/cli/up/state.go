package up

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/ledger"
)

// stateFlags are the flags of fabricd state.
type stateFlags struct {
	writtenFlags
	json bool
}

// StateCommand is fabricd state.
func StateCommand() *cobra.Command {
	var s stateFlags
	cmd := &cobra.Command{
		Use:   "state --fabric FABRIC --server URL",
		Short: "Print the checkpoint that the next leader of a fabric on agents goes on from",
		Long: `Prints what the leader of a fabric on agents has written down last: hosts and their incarnations, faults in force, and
the checkpoint of the ledger. It changes nothing, and asks neither the leader nor an agent.

Exit codes: 0 it is printed; 2 there is no such fabric, or its leader has written nothing down.`,
		Example: "  fabricd state --fabric lab --server nats://h1:4222 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	s.flags(cmd)
	f.BoolVarP(&s.json, "json", "j", false, "print all of it as a JSON object")
	return cmd
}

// Checkpoint is what fabricd state prints.
type Checkpoint struct {
	Term   uint64         `json:"term"` // of the leader that wrote it
	State  fabric.State   `json:"state"`
	Ledger *ledger.State  `json:"ledger"`
	Sums   ledger.Balance `json:"sums"`
}

func (s stateFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	f, err := s.open(ctx, stderr)
	if err != nil {
		return err
	}
	defer f.store.Store.Close()
	term, data, err := f.store.State(ctx)
	if err != nil {
		return err
	}
	if data == nil {
		return fmt.Errorf("fabric %s: its leader has not written down any state yet: try again when it has begun",
			s.fabric)
	}
	c := Checkpoint{Term: term}
	if err := c.State.UnmarshalBinary(data); err != nil {
		return fmt.Errorf("fabric %s: %w", s.fabric, err)
	}
	l, err := c.State.Restore(f.graph)
	if err != nil {
		return err
	}
	c.Ledger, c.Sums, c.State.Ledger = l.State(), l.Balance(), nil
	if s.json {
		return command.JSON(stdout, c)
	}
	n := &c.Sums
	fmt.Fprintf(stdout, "fabric %s, term %d: %v\n", s.fabric, term, c.State)
	fmt.Fprintf(stdout, "injected %d, delivered %d, lost %d, discarded %d, in flight %d\n", n.Injected, n.Delivered,
		n.Lost, n.Discarded, n.InFlight)
	for _, h := range l.Hosts() {
		fmt.Fprintf(stdout, "host %d, incarnation %v: %v since %v, holds %d packets\n", h.Host, h.Incarnation,
			h.Status, h.Since.Duration(), h.Held)
	}
	return nil
}
