package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/ledger"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// stateFlags are the flags of fabricd state.
type stateFlags struct {
	name   string
	json   bool
	server bus.Settings
}

func stateCommand() *cobra.Command {
	var s stateFlags
	cmd := &cobra.Command{
		Use:   "state --name FABRIC --server URL",
		Short: "Print the checkpoint that the next leader of a fabric on agents goes on from",
		Long: `Prints what the leader of a fabric on agents has written down last: hosts and their incarnations, faults in force, and
the checkpoint of the ledger. It changes nothing, and asks neither the leader nor an agent.

Exit codes: 0 it is printed; 2 there is no such fabric, or its leader has written nothing down.`,
		Example: "  fabricd state --name lab --server nats://h1:4222 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.name, "name", "weft", "name of the fabric")
	f.BoolVarP(&s.json, "json", "j", false, "print all of it as a JSON object")
	s.server.Flags(f)
	return cmd
}

// checkpoint is what fabricd state prints.
type checkpoint struct {
	Term   uint64        `json:"term"` // of the leader that wrote it
	State  fabric.State  `json:"state"`
	Ledger *ledger.State `json:"ledger"`
	Sums   ledger.Sums   `json:"sums"`
}

func (s stateFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := bus.ValidateFabric(s.name); err != nil {
		return err
	}
	at, err := resolve(s.server, stderr)
	if err != nil {
		return err
	}
	none := fmt.Errorf("no state of fabric %s is written down at this server: that of fabrics on agents only is", s.name)
	book, err := openBook(ctx, s.name, at, true)
	if errors.Is(err, reply.ErrNoKey) {
		return none
	}
	if err != nil {
		return err
	}
	defer book.Store.Close()
	want, there, err := book.Desired(ctx)
	if err != nil {
		return err
	}
	if !there {
		return none
	}
	g, err := want.Graph()
	if err != nil {
		return err
	}
	term, text, err := book.State(ctx)
	if err != nil {
		return err
	}
	if text == nil {
		return none
	}
	c := checkpoint{Term: term}
	if err := json.Unmarshal(text, &c.State); err != nil {
		return fmt.Errorf("state of fabric %s: %w: was that another version of fabricd?", s.name, err)
	}
	l, err := c.State.Restore(g)
	if err != nil {
		return err
	}
	c.Ledger, c.Sums, c.State.Ledger = l.State(), l.Sums(), nil
	if s.json {
		return cli.JSON(stdout, c)
	}
	n := &c.Sums
	fmt.Fprintf(stdout, "fabric %s, term %d: %v\n", s.name, term, c.State)
	fmt.Fprintf(stdout, "injected %d, delivered %d, lost %d, discarded %d, in flight %d\n", n.Injected, n.Delivered, n.Lost, n.Discarded, n.InFlight)
	for _, h := range l.Hosts() {
		fmt.Fprintf(stdout, "host %d, incarnation %v: %v since %v, holds %d packets\n", h.Host, h.Incarnation, h.Status, h.Since.Duration(), h.Held)
	}
	return nil
}
