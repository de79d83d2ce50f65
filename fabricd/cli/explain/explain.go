// Package explain is the command fabricd explain: what a firmware would do with a packet at a
// switch.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/explain"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/topology"
)

// explainFlags are the flags of fabricd explain: those that describe a question are the defaults of
// every line.
type explainFlags struct {
	question       explain.Question
	sw, in         string
	src, dst       string
	dead           []string
	state          map[string]string
	portField      int16
	misroute       string
	path           uint16
	layers         string
	route, sub     string
	asJSON, single bool // single: one question, by flags alone
}

// Command is fabricd explain.
func Command() *cobra.Command {
	u := explainFlags{question: explain.NewQuestion()}
	cmd := &cobra.Command{
		Use:   "explain [FILE.jsonl ...]",
		Short: "What a firmware would do with a packet at a switch, and by which rule",
		Long: `Asks a firmware for single decisions: where would this switch send this packet, and by which rule?

One decision is asked for by --switch, --in-port and --dst. Many are read as JSON lines from files, or from standard input
(none of these flags, or -), and answered as JSON lines in the same order; flags then say what lines leave out. A line:

  {"switch": "s1.00", "in_port": "s2.00", "header": {"dst": "n100"}, "dead_ports": [4], "state": {"reroute-vector": "0001"}}

A line that cannot be answered is answered with an error, and the next is read. docs/howto/firmware.md lists all that may stand
in a line and in an answer.

Exit codes: 0 all answered; 2 a question that cannot be answered, or a file that cannot be read.`,
		Example: "  fabricd explain --switch s1.00 --in-port s2.00 --dst n100 --dead-ports s0.00\n" +
			"  fabricd explain --routing adaptive-link --switch s2.00 --in-port 4 --dst n333 --state reroute-vector=0010\n" +
			"  fabricd explain --topology mport-tree:8,2 < questions.jsonl > answers.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			u.single = len(args) == 0 && (u.sw != "" || u.in != "" || u.dst != "")
			return u.run(cmd, args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"jsonl", "json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	f := cmd.Flags()
	q := &u.question
	f.StringVarP(&q.Topology, "topology", "t", "kary-ntree:4,3",
		"topology, or a file; see fabricd topology generate --help")
	command.RoutingFlag(f, &q.Routing)
	f.IntVar(&q.VCs, "vcs", 0, "virtual channels per link direction, 1 to 16; 0 is what the firmware needs")
	f.StringVar(&u.sw, "switch", "", "the switch, by name or number")
	f.StringVar(&u.in, "in-port", "", "the port the packet came in by: its number, or the neighbour's name")
	f.IntVar(&q.VC, "vc", 0, "the virtual channel the packet came in")
	f.StringVar(&u.dst, "dst", "", "the NIC the packet is for, by name or number")
	f.StringVar(&u.src, "src", "", "the NIC it is from")
	f.StringSliceVar(&u.dead, "dead-ports", nil, "ports of the switch whose links are dead: numbers, or neighbours' names")
	f.Int16Var(&u.portField, "port-field", q.Header.PortField, "the port field in the header: a port, -1 or -2")
	f.StringVar(&u.route, "route", "",
		"the source route in the header, as p4,p1; at a port to a NIC what that NIC would write unless given")
	f.StringVar(&u.sub, "sub", "", "the sub-headers in the header, as 12,d;end,p1x2: where each sub-path leads, d "+
		"without adaptive routing, oI the other way round dimension I, misroutes; at a port to a NIC what that NIC would "+
		"write unless given")
	f.Uint16Var(&u.path, "path", 0, "the address of the NIC it is sent to; at a port to a NIC what that NIC would send "+
		"by, unless path, layers or vc are given")
	f.StringVar(&u.layers, "layers", "",
		"the layers in the header that it may move between, as bits: 0110 has VCs 1 and 2")
	f.StringVar(&u.misroute, "misroute", "", "the misroute vector in the header, as bits: 0101 has up ports 0 and 2")
	f.StringToStringVar(&u.state, "state", nil, "registers of the firmware in the switch, as bits: reroute-vector=0101")
	f.IntVar(&q.Free, "free", q.Free, "packets that every output queue can still take")
	command.Bound(f, "vcs", 0, weft.MaxVCs)
	command.Bound(f, "vc", 0, weft.MaxVCs-1)
	command.Bound(f, "free", 0, weft.MaxBuffer)
	f.BoolVarP(&u.asJSON, "json", "j", false, "print the one decision asked for by flags as a JSON line too")
	command.Complete(cmd, "topology", topology.Kinds)
	command.CompleteRouting(cmd, nil, subnet.None)
	return cmd
}

// defaults is the question that the flags describe.
func (u explainFlags) defaults() (q explain.Question, err error) {
	q = u.question
	for _, r := range []struct {
		to   *explain.Ref
		text string
	}{{&q.Switch, u.sw}, {&q.In, u.in}, {&q.Dst, u.dst}, {&q.Src, u.src}} {
		if r.text != "" {
			*r.to = explain.ParseRef(r.text)
		}
	}
	for _, p := range u.dead {
		q.Dead = append(q.Dead, explain.ParseRef(p))
	}
	if err := q.SetPortField(int(u.portField)); err != nil {
		return q, fmt.Errorf("--port-field: %w", err)
	}
	q.Header.Path = u.path
	if u.layers != "" {
		set, err := explain.ParseBits(u.layers)
		if err == nil {
			err = q.SetLayers(set)
		}
		if err != nil {
			return q, fmt.Errorf("--layers: %w", err)
		}
	}
	if u.misroute != "" {
		if q.Header.Misroute, err = explain.ParseBits(u.misroute); err != nil {
			return q, fmt.Errorf("--misroute: %w", err)
		}
	}
	if q.Header.Route, err = weft.ParseSourceRoute(u.route); err != nil {
		return q, fmt.Errorf("--route: %w", err)
	}
	if q.Header.Sub, err = weft.ParseSubHeaders(u.sub); err != nil {
		return q, fmt.Errorf("--sub: %w", err)
	}
	q.State = map[string]uint64{}
	for name, text := range u.state {
		if q.State[name], err = explain.ParseBits(text); err != nil {
			return q, fmt.Errorf("--state %s: %w", name, err)
		}
	}
	return q, nil
}

func (u explainFlags) run(cmd *cobra.Command, files []string) error {
	q, err := u.defaults()
	if err != nil {
		return err
	}
	e := explain.New(subnet.Firmware)
	stderr := cmd.ErrOrStderr()
	e.Loaded = func(g *topology.Graph) { command.Warn(stderr, g.Warnings) }
	if u.single {
		d, err := e.Explain(cmd.Context(), q)
		if err != nil {
			return flagged(err)
		}
		if u.asJSON {
			return command.JSON(cmd.OutOrStdout(), explain.Answer{Decision: d})
		}
		_, err = io.WriteString(cmd.OutOrStdout(), d.String())
		return err
	}
	if f, ok := cmd.InOrStdin().(*os.File); ok && len(files) == 0 && command.Terminal(f) {
		return errors.New(
			"no question: name --switch, --in-port and --dst, or files of JSON lines, or - for lines typed here")
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	// A read of standard input cannot be interrupted, so it has a goroutine of its own, which ends
	// with the process.
	done := make(chan error, 1)
	go func() { done <- answerFiles(cmd.Context(), e, q, files, cmd.InOrStdin(), cmd.OutOrStdout()) }()
	return untilInterrupted(cmd.Context(), done)
}

func untilInterrupted(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		if ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)) {
			return err
		}
	case <-ctx.Done():
	}
	return errors.New("interrupted, not all questions are answered")
}

// flagged names the flag that a mistake is about: "header.dst" is --dst.
func flagged(err error) error {
	at, ok := errors.AsType[*explain.Error](err)
	if !ok {
		return err
	}
	part, of, _ := strings.Cut(strings.TrimPrefix(at.Path, "header."), ".")
	flag := "--" + strings.ReplaceAll(part, "_", "-")
	if part == "state" && of != "" { // which of the registers
		flag += " " + of
	}
	return fmt.Errorf("%s: %w", flag, at.Err)
}

// answerFiles answers the questions in all files, as far as they can be read.
func answerFiles(
	ctx context.Context, e *explain.Explainer, q explain.Question, files []string, stdin io.Reader, stdout io.Writer,
) error {
	var all explain.Tally
	var errs []error
	for _, name := range files {
		t, err := answerFile(ctx, e, q, name, stdin, stdout)
		all.Lines += t.Lines
		all.Bad += t.Bad
		errs = append(errs, err)
	}
	if all.Bad > 0 {
		errs = append(errs, fmt.Errorf("%d of %d questions cannot be answered: see \"error\" in the answers", all.Bad,
			all.Lines))
	}
	return errors.Join(errs...)
}

func answerFile(
	ctx context.Context, e *explain.Explainer, q explain.Question, name string, stdin io.Reader, stdout io.Writer,
) (explain.Tally, error) {
	in, file, shown := stdin, "", "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return explain.Tally{}, err // names the file
		}
		defer f.Close()
		in, file, shown = f, name, name
	}
	t, err := e.Lines(ctx, q, file, in, stdout)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", shown, err)
	case t.Lines == 0:
		err = fmt.Errorf("%s: no question in it: expected one a line, such as "+
			`{"switch": "s1.00", "in_port": "s2.00", "header": {"dst": "n100"}}; `+
			"or ask for one decision with --switch, --in-port and --dst", shown)
	}
	return t, err
}
