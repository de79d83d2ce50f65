package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fault"
	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/linkmon/capture"
)

func (m *monitor) captureCommand() *cobra.Command {
	var o capture.Options
	var file string
	var all, dissector bool
	cmd := &cobra.Command{
		Use:   "capture LINK|SWITCH... [-w FILE] | capture A B | capture --all",
		Short: "Record the packets on links, for Wireshark",
		Long: `capture listens to links and writes what they carry as pcapng: one interface for each direction of each link, one record for
each packet with its whole header, its virtual channel and the state of the link. What happens to the links is marked by records with
comments: faults and repairs, frames that were lost, and the ends of traced packets. Without -w it prints a line for each packet.

Name links, s0.00-s1.00, or their two ends, or switches and NICs, for all their links. It listens as a viewer and holds up nobody:
what it is too slow for is missed, counted, and marked.

Wireshark shows the records with the dissector that --dissector prints: put it into the folder of personal Lua plugins.

Exit codes: 0 done, also when the reader of a pipe has gone, 2 wrong input or no fabric.`,
		Example: "  linkmon capture s0.00 s1.00 -w - | wireshark -k -i -\n  linkmon capture s1.00 -w s1.pcapng --for 10s\n " +
			" linkmon capture --all --count 100\n" +
			"  linkmon capture --dissector > ~/.local/lib/wireshark/plugins/weft.lua",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case dissector:
				_, err := io.WriteString(cmd.OutOrStdout(), capture.Dissector)
				return err
			case all && len(args) > 0:
				return errors.New("--all captures every link: name none, or leave it out")
			case !all && len(args) == 0:
				return fmt.Errorf("capture what? name %s, or %s, or say --all", aLink, aSwitch)
			}
			o.Names = args
			return m.with(cmd, false, func(ctx context.Context, c *api.Client) error { return m.record(ctx, cmd, c, o, file) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&file, "write", "w", "", "`file` to write as pcapng, - for stdout")
	f.Uint64Var(&o.Count, "count", 0, "end after so many packets; 0 is not")
	f.DurationVar(&o.For, "for", 0, "end after so long, as 10s; 0 is not")
	command.Bound(f, "for", 0, fault.MaxDuration)
	f.BoolVar(&all, "all", false, "every link")
	f.BoolVar(&dissector, "dissector", false, "print the Wireshark dissector and end")
	for _, name := range []string{"count", "for"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	cmd.ValidArgsFunction = both(m.completeLinks(anyLink), m.completeSwitches(anySwitch))
	return cmd
}

// record captures to a file, a pipe or the terminal.
func (m *monitor) record(ctx context.Context, cmd *cobra.Command, c *api.Client, o capture.Options, file string) error {
	out := cmd.OutOrStdout()
	if file == "-" {
		out = command.Raw(out)
		if f, ok := out.(*os.File); ok {
			if term.IsTerminal(int(f.Fd())) {
				return errors.New("pcapng is not for a terminal: write a file with -w FILE, or a pipe: linkmon capture ... -w - " +
					"| wireshark -k -i -")
			}
			signal.Ignore(syscall.SIGPIPE) // a reader that has gone is an error to look at, not our end
		}
	}
	var opened *os.File
	o.Open = func(info api.CaptureInfo, g *topology.Graph, wires []capture.Interface) (capture.Sink, error) {
		if file == "" {
			return capture.NewText(out, m.json, g, wires), nil
		}
		to := out
		if file != "-" {
			var err error
			if opened, err = safefile.Create(file); err != nil {
				return nil, err
			}
			to = opened
		}
		return capture.NewWriter(to, "linkmon",
			fmt.Sprintf("fabric %s, %s, routing %s; time: %s", info.Fabric, info.Topology, info.Routing, info.Time), wires)
	}
	sum, err := capture.Run(ctx, c, o)
	if opened != nil {
		err = errors.Join(err, opened.Close())
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil // whoever read it has enough
	}
	if file != "" && (err == nil || sum.Packets > 0) { // what is there can be read, whatever ended it
		fmt.Fprintf(cmd.ErrOrStderr(), "captured %d packets and %d marks on %d directions in %v: %d packets lost on their "+
			"way, %d frames missed, %d unreadable\n",
			sum.Packets, sum.Marks, sum.Wires, sum.Took.Round(time.Millisecond), sum.Lost, sum.Missed, sum.Bad)
	}
	return err
}
