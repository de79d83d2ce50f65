package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/api"
	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/linkmon/screen"
)

// screenCommand is the full-screen view. It makes root show it when no command is given on a
// terminal.
func (m *monitor) screenCommand(root *cobra.Command) *cobra.Command {
	var ascii, once bool
	var page string
	var columns, lines uint8
	cmd := &cobra.Command{
		Use: "screen", Short: "Show the fabric full screen, and break and repair it by keys", Args: cobra.NoArgs,
		Long: `screen shows a running fabric, live: a map, tables of links, switches and NICs, events, the reports of faults, charts. Keys set
faults and repair them; ? lists them. With --readonly none changes anything. It needs a terminal of at least 40 characters in 10
lines, and is at its best from 80 in 24 on. NO_COLOR turns colours off.

linkmon without a command is the same.`,
		Example: "  linkmon screen\n  linkmon screen --readonly\n  linkmon screen --once --page links",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := m.screenConfig(ascii)
			if once {
				return screen.Once(cmd.Context(), cfg, page, int(columns), int(lines), command.Raw(cmd.OutOrStdout()))
			}
			if !command.Terminal(cmd.InOrStdin()) || !command.Terminal(cmd.OutOrStdout()) {
				return errors.New("the full screen needs a terminal: see linkmon status, or linkmon screen --once")
			}
			return m.fullScreen(cmd.Context(), cfg)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ascii, "ascii", !utf8Terminal(os.Getenv),
		"draw with ASCII characters alone; as the locale says unless given")
	f.BoolVar(&once, "once", false, "print a page once, and end")
	f.StringVar(&page, "page", "map", "with --once: `NAME` of the page: "+strings.Join(screen.Pages(), ", "))
	command.Complete(cmd, "page", screen.Pages)
	f.Uint8Var(&columns, "columns", 80, "with --once: `N` characters in a line")
	f.Uint8Var(&lines, "lines", 24, "with --once: `N` lines")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if m.json || !command.Terminal(cmd.InOrStdin()) || !command.Terminal(cmd.OutOrStdout()) {
			return cmd.Help()
		}
		return m.fullScreen(cmd.Context(), m.screenConfig(!utf8Terminal(os.Getenv)))
	}
	return cmd
}

// fullScreen runs the full screen. It waits for a fabric that is not there yet, but not for one
// that nobody could mean, and of several lets the user choose.
func (m *monitor) fullScreen(ctx context.Context, cfg screen.Config) error {
	if _, err := m.find(ctx); err != nil && !errors.Is(err, registry.ErrNone) && !errors.Is(err, registry.ErrSeveral) {
		return err
	}
	return screen.Run(ctx, cfg)
}

// screenConfig lets the full screen see the fabric as a viewer, and act by lines of the shell.
func (m *monitor) screenConfig(ascii bool) screen.Config {
	m.chosen = new(chosenFabric)
	return screen.Config{
		Dial: func(ctx context.Context) (screen.Source, error) { return m.dial(ctx, false) },
		Do: func(ctx context.Context, line string) (string, error) {
			var out bytes.Buffer
			s := &shell{of: m, out: &out, errs: &out}
			ctx, cancel := context.WithTimeout(ctx, doTimeout)
			defer cancel()
			err := s.run(ctx, line)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("%s took longer than %v", line, doTimeout)
			}
			return out.String(), err
		},
		Complete: (&shell{of: m}).complete,
		Fabrics:  m.fabrics, Choose: m.chosen.choose,
		ReadOnly: m.readOnly, ASCII: ascii,
	}
}

// fabrics lists the fabrics that linkmon can reach; those of a server by name alone.
func (m *monitor) fabrics(ctx context.Context) (list []api.Listed, err error) {
	server, err := m.server.Resolve(os.Getenv)
	if err != nil {
		return nil, err
	}
	if server.URL == "" {
		entries, err := registry.List()
		for _, e := range entries {
			list = append(list, api.Listed{Name: e.Name, Topology: e.Topology, Routing: e.Routing})
		}
		return list, err
	}
	names, err := bus.Fabrics(ctx, server)
	for _, name := range names {
		list = append(list, api.Listed{Name: name})
	}
	return list, err
}

// doTimeout bounds a command that is given in the full screen: one that goes on, as events
// --follow, has no place there. Chosen by us: a repair waits for its links to be back.
const doTimeout = 30 * time.Second

// utf8Terminal reports whether the locale says that the terminal shows UTF-8.
func utf8Terminal(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true // nothing is said: nearly all do
}
