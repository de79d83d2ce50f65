package agent

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/cluster"
)

// agentsFlags are the flags of fabricd agents.
type agentsFlags struct {
	names  []string
	json   bool
	server bus.Settings
}

// ListCommand is fabricd agents.
func ListCommand() *cobra.Command {
	var a agentsFlags
	cmd := &cobra.Command{
		Use:   "agents --server URL",
		Short: "List the agents at a NATS server: what they offer, what they run",
		Long: `Lists the agents that answer, with what they offer and what they run.

Exit codes: 0 all are there; 2 none is, one that was named is not, two have one name, one is of another version.`,
		Example: "  fabricd agents --server nats://h1:4222\n  fabricd agents --server nats://h1:4222 --names h1,h2,h3 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&a.names, "names", nil, "the `agents` that must be there, as h1,h2; all that answer unless given")
	f.BoolVarP(&a.json, "json", "j", false, "print a JSON list")
	a.server.Flags(f)
	return cmd
}

func (a agentsFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	at, err := command.Resolve(a.server, stderr)
	if err != nil {
		return err
	}
	agents,
		err := bus.Dial(bus.ClientConfig{
		Leads: true, URL: at.URL, Credentials: at.Credentials, Program: "agents",
		Build: command.ThisVersion(),
	})
	if err != nil {
		return err
	}
	defer func() { _ = agents.Close() }() // it goes with the process
	found, err := cluster.Find(ctx, agents, command.ThisVersion(), a.names)
	if err != nil {
		return err
	}
	if a.json {
		for i := range found {
			found[i].Parts = found[i].Hosts
		}
		return command.JSON(stdout, found)
	}
	for _, s := range found {
		runs := "nothing"
		if len(s.Hosts) > 0 {
			var list []string
			for _, p := range s.Hosts {
				what := p.Fabric
				if p.Switch != "" {
					what = p.String()
				}
				list = append(list, fmt.Sprintf("%s (%d switches, %d ports)", what, p.Needs.Switches, p.Needs.Ports))
			}
			runs = strings.Join(list, ", ")
		}
		left := s.Room.Minus(s.Used)
		switches := ""
		if s.Room.Switches > 0 {
			switches = fmt.Sprintf(" and %d of %d switches", left.Switches, s.Room.Switches)
		}
		fmt.Fprintf(stdout, "%-16s %s, process %d: %d cores, %s, room for %d of %d ports%s; runs %s\n",
			s.Name, s.Host, s.PID, s.Room.Cores, cluster.Bytes(s.Room.Memory), left.Ports, s.Room.Ports, switches, runs)
	}
	return nil
}
