package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/fault"
)

func (m *monitor) traceCommand() *cobra.Command {
	t := &tracing{}
	cmd := &cobra.Command{
		Use:   "trace --src NIC --dst NIC | trace --all",
		Short: "Follow packets hop by hop: what each switch decided, and why",
		Long: `trace has the next packets from one NIC to another tell what becomes of them: at each switch the port and virtual channel they
come by, the candidates with the room that their queues and neighbours had, the choice and the rule that made it, why it
waited, what changed in its header; at last where it was delivered, lost or discarded. If the NIC has none for that
destination within a second, it sends some: they go the way of all others. Of several packets, each is printed when it has
ended, or when no more is heard of it.

--all prints what is told of packets that are traced anyway, those of fabricd up --trace-every and of others who trace, until Ctrl-C.

A packet lost on a wire is noticed when nobody has it any more: half a second later on a link with a fault, three on others.

Exit codes: 0 all packets were followed to their ends, 1 of some nothing more was heard, 2 wrong input or no fabric.`,
		Example: "  linkmon trace --src n000 --dst n333\n  linkmon trace --src n000 --dst n333 --count 10 --json\n  " +
			"linkmon trace --all",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.out, t.json = cmd.OutOrStdout(), m.json
			switch {
			case t.all && (t.src != "" || t.dst != ""):
				return errors.New("--all follows what is traced anyway: leave out --src and --dst, or --all")
			case !t.all && (t.src == "" || t.dst == ""):
				return errors.New("trace what? name two NICs with --src and --dst, or --all")
			}
			return m.with(cmd, !t.all, t.run)
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.src, "src", "", "`NIC` that sends the packets, as n000")
	f.StringVar(&t.dst, "dst", "", "`NIC` that they are for")
	f.IntVar(&t.count, "count", 1, fmt.Sprintf("so many packets, at most %d", fabric.MaxTraced))
	f.DurationVar(&t.wait, "wait", 5*time.Second, "give up when nothing was heard for so long, as 10s")
	command.Bound(f, "count", 1, fabric.MaxTraced)
	command.Bound(f, "wait", time.Millisecond, fault.MaxDuration)
	f.BoolVar(&t.all, "all", false, "whatever is traced, until Ctrl-C")
	for _, name := range []string{"src", "dst"} {
		_ = cmd.RegisterFlagCompletionFunc(name, m.completeNICs)
	}
	for _, name := range []string{"count", "wait"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

// tracing is a run of trace.
type tracing struct {
	src, dst  string
	count     int
	wait      time.Duration
	all, json bool
	out       io.Writer

	packets map[packetKey]*travelled
	order   []*travelled
	ended   int
}

// packetKey names a packet.
type packetKey struct {
	src, dst string
	seq      uint64
}

// travelled is what a packet has gone through so far.
type travelled struct {
	packetKey
	views    []fabric.HopView
	decided  int // views that are decisions
	rerouted int
	end      fabric.HopView
}

// maxFollowed bounds the packets under way that are remembered.
const maxFollowed = 4096

// errEnough ends the reading of hops.
var errEnough = errors.New("all packets have ended")

func (t *tracing) run(ctx context.Context, c *api.Client) error {
	t.packets = map[packetKey]*travelled{}
	if t.all {
		return unlessEnded(ctx, c.Hops(ctx, math.MaxUint64, t.take)) // from now on
	}
	order, err := c.Trace(ctx, api.TraceRequest{Src: t.src, Dst: t.dst, Count: t.count})
	if err != nil {
		return err
	}
	// A context that ends when nothing has been heard for long: its end is told apart from that of
	// ctx by its cause.
	hear, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	late := time.AfterFunc(t.wait, func() { giveUp(command.ErrFailed) })
	defer late.Stop()
	err = c.Hops(hear, order.After, func(v fabric.HopView) error {
		if v.Src != t.src || v.Dst != t.dst {
			return nil
		}
		late.Reset(t.wait)
		return t.take(v)
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case ctx.Err() != nil:
		t.endRest("")
		return unlessEnded(ctx, err)
	case errors.Is(context.Cause(hear), command.ErrFailed):
		return t.unheard()
	}
	return err
}

// take prints what was told, and how a packet went when it has ended.
func (t *tracing) take(v fabric.HopView) error {
	p := t.packets[packetKey{v.Src, v.Dst, v.Seq}]
	if p == nil {
		if !t.all && len(t.packets) == t.count {
			return nil // another one, that others trace
		}
		if len(t.packets) == maxFollowed {
			clear(t.packets) // of --all: some were missed, and never end
		}
		p = &travelled{packetKey: packetKey{v.Src, v.Dst, v.Seq}}
		t.packets[p.packetKey] = p
		if !t.all {
			t.order = append(t.order, p)
		}
	}
	if t.json {
		if err := command.JSON(t.out, v); err != nil {
			return err
		}
	} else if v.Missed > 0 {
		fmt.Fprintf(t.out, "(%d missed)\n", v.Missed)
	}
	p.add(v)
	if !t.grouped() {
		t.print(p, v)
	}
	if !p.complete() {
		return nil
	}
	if err := t.end(p, ""); err != nil {
		return err
	}
	if t.all {
		delete(t.packets, p.packetKey)
		return nil
	}
	if t.ended++; t.ended == t.count {
		return errEnough
	}
	return nil
}

// grouped reports whether the hops of a packet are printed when it has ended, so that those of
// several do not mix.
func (t *tracing) grouped() bool { return t.count > 1 && !t.all }

// print prints one hop.
func (t *tracing) print(p *travelled, v fabric.HopView) {
	if !t.json {
		fmt.Fprintf(t.out, "%s  %10.6fs  %s\n", p.name(t.all), v.At, v.Summary())
	}
}

// end prints how a packet went; note says so first if it has not ended.
func (t *tracing) end(p *travelled, note string) error {
	if t.json {
		return nil
	}
	how := p.summary() // sorts the views
	if t.grouped() {
		for _, v := range p.views {
			t.print(p, v)
		}
	}
	_, err := fmt.Fprintf(t.out, "%s  %s%s\n", p.name(t.all), note, how)
	return err
}

// endRest is end for the packets that have not ended.
func (t *tracing) endRest(note string) {
	for _, p := range t.order {
		if !p.complete() {
			_ = t.end(p, note) // a closed pipe ends the process by signal
		}
	}
}

// unheard tells of the packets that have not ended, and fails.
func (t *tracing) unheard() error {
	if t.json {
		return command.ErrFailed
	}
	t.endRest("not heard of any more: ")
	if missing := t.count - len(t.order); missing > 0 {
		fmt.Fprintf(t.out, "%d of %d packets from %s to %s did not leave within %v: the send queue is long, or the link of "+
			"%s is down, see linkmon status and linkmon links\n",
			missing, t.count, t.src, t.dst, t.wait, t.src)
	}
	return command.ErrFailed
}

// name is how lines about the packet begin.
func (p *travelled) name(all bool) string {
	if all {
		return fmt.Sprintf("%s>%s #%d", p.src, p.dst, p.seq)
	}
	return fmt.Sprintf("#%d", p.seq)
}

func (p *travelled) add(v fabric.HopView) {
	p.views = append(p.views, v)
	if v.Rule != "" && !v.Egress && v.In >= 0 && v.Out >= 0 {
		p.decided++
	}
	if v.Rerouted {
		p.rerouted++
	}
	if v.End != "" {
		p.end = v
	}
}

// complete reports whether all was heard. What a switch tells that is a process of its own may come
// later than the end.
func (p *travelled) complete() bool {
	return p.end.End != "" && (p.end.End != fabric.EndDelivered || p.decided >= p.end.Hops)
}

func (p *travelled) summary() string {
	// A NIC that loses its processor reads the time after the packet has gone on: it is first all the
	// same.
	rank := func(v fabric.HopView) int {
		if v.Node == p.src {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(p.views, func(a, b fabric.HopView) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.At, b.At))
	})
	var nodes []string
	for _, v := range p.views {
		if len(nodes) == 0 || nodes[len(nodes)-1] != v.Node {
			nodes = append(nodes, v.Node)
		}
	}
	text := strings.Join(nodes, " > ")
	if p.end.End == fabric.EndLost && p.end.To != "" {
		text += " > (" + p.end.To + ")"
	}
	return fmt.Sprintf("%s: %s, %s", cmp.Or(p.end.End, "under way"), text, english.Plural(p.rerouted, "reroute", ""))
}

// completeNICs offers the names of NICs.
func (m *monitor) completeNICs(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	_ = m.with(cmd, false, func(ctx context.Context, c *api.Client) error {
		raw, err := c.Topology(ctx)
		if err != nil {
			return err
		}
		var graph struct {
			NICs []struct {
				ID string `json:"id"`
			} `json:"nics"`
		}
		err = json.Unmarshal(raw, &graph)
		for _, n := range graph.NICs {
			names = append(names, n.ID)
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
