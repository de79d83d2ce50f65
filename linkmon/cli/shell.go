package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/plain"
)

// errExit ends a shell.
var errExit = errors.New("exit")

func (m *monitor) shCommand() *cobra.Command {
	var keepGoing bool
	cmd := &cobra.Command{
		Use: "sh", Aliases: []string{"shell"}, Short: "A shell of these commands, for people and for scripts",
		Args: cobra.NoArgs,
		Long: `sh reads command lines as they would follow linkmon: cut s0.00 s1.00 --silent, status, faults 1, and besides them wait 2s and
exit. On a terminal it completes with tab, remembers what was typed, and goes on after an error. From a file or a pipe it stops
at the first error and says in which line it is, unless --keep-going; it ends with 2 if there was any. What follows a # is a
comment, and a name with spaces goes into quotes.`,
		Example: "  linkmon sh\n  linkmon sh < faults.txt\n  printf 'link s0.00 s1.00 down\\nwait 2s\\nheal --all\\n' | " +
			"linkmon sh",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m.chosen = new(chosenFabric)
			s := &shell{of: m, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr()}
			if command.Terminal(cmd.InOrStdin()) && command.Terminal(s.out) {
				return s.converse(cmd.Context())
			}
			return s.script(cmd.Context(), cmd.InOrStdin(), keepGoing)
		},
	}
	cmd.Flags().BoolVarP(&keepGoing, "keep-going", "k", false, "from a file or a pipe: go on after errors")
	return cmd
}

// shell runs command lines.
type shell struct {
	of        *monitor
	out, errs io.Writer
}

// maxLine bounds a line of a script, in bytes. Chosen by us: every link of a fabric of some hundred
// switches fits.
const maxLine = 64 << 10

// script runs the lines of in until one fails.
func (s *shell) script(ctx context.Context, in io.Reader, keepGoing bool) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	failed := 0
	for n := 1; lines.Scan(); n++ {
		switch err := s.run(ctx, lines.Text()); {
		case err == nil:
		case errors.Is(err, errExit):
			return failures(failed)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !keepGoing:
			return fmt.Errorf("line %d: %s: %w", n, strings.TrimSpace(lines.Text()), err)
		default:
			failed++
			fmt.Fprintf(s.errs, "line %d: %s\n", n,
				plain.Error(fmt.Sprintf("%s: %v", strings.TrimSpace(lines.Text()), err), lines.Text()))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading commands: %w", err)
	}
	return failures(failed)
}

func failures(n int) error {
	if n == 0 {
		return nil
	}
	return errors.New(english.Plural(n, "line", "") + " failed, see above")
}

// run runs one line; an empty one does nothing.
func (s *shell) run(ctx context.Context, line string) error {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return err
	}
	root := s.root()
	root.SetArgs(words)
	return command.Execute(ctx, root)
}

// split makes words of a line.
func split(line string) ([]string, error) {
	p := shellwords.NewParser()
	p.ParseComment = true
	p.SetExcludeSeparators(';', '&', '|', '<', '>', '(', ')', '`') // nothing of a command line follows another
	words, err := p.Parse(line)
	if err != nil {
		return nil, fmt.Errorf("%s: a quote is not closed", strings.TrimSpace(line))
	}
	return words, nil
}

// root is the commands of linkmon as the shell has them, made anew for each line so that no flag of one stays for the next.
func (s *shell) root() *cobra.Command {
	m := *s.of
	root := &cobra.Command{
		Use: "linkmon", Short: "Commands of the shell", Args: cobra.ArbitraryArgs,
		Long: "The commands are those of linkmon; help COMMAND tells of one. wait and exit are the shell's own.",
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().BoolVarP(&m.json, "json", "j", m.json, "print JSON")
	root.AddCommand(m.commands()...)
	root.AddCommand(waitCommand(), &cobra.Command{
		Use: "exit", Aliases: []string{"quit"}, Short: "End the shell", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return errExit },
	})
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return document.Unknown("command", args[0], names(cmd))
	}
	root.SetIn(strings.NewReader("")) // the lines are not a command's to read
	root.SetOut(s.out)
	root.SetErr(s.errs)
	return root
}

func names(cmd *cobra.Command) (list []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			list = append(list, c.Name())
		}
	}
	return list
}

func waitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "wait TIME", Short: "Do nothing for a while", Args: cobra.ExactArgs(1), Example: "  wait 500ms",
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := time.ParseDuration(args[0])
			if err != nil || d < 0 {
				return fmt.Errorf("wait %s: expected a time with its unit, as 500ms or 2s", args[0])
			}
			select {
			case <-time.After(d):
				return nil
			case <-cmd.Context().Done():
				return context.Cause(cmd.Context())
			}
		},
	}
}

// complete returns the lines that line could become by completing its last word.
func (s *shell) complete(ctx context.Context, line string) (lines []string) {
	head := line[:strings.LastIndexAny(line, " \t")+1]
	words, err := split(head)
	if err != nil {
		return nil
	}
	root := s.root()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, words...), line[len(head):]))
	if command.Execute(ctx, root) != nil {
		return nil
	}
	for word := range strings.Lines(out.String()) {
		word = strings.TrimRight(word, "\n")
		if strings.HasPrefix(word, ":") {
			break // the directive, which comes last
		}
		if strings.HasPrefix(word, line[len(head):]) {
			lines = append(lines, head+word)
		}
	}
	return lines
}

// interruptible runs f with a context of its own that Ctrl-C ends, so that it ends a command and not the shell.
func interruptible(ctx context.Context, f func(ctx context.Context)) {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt)
	defer stop()
	f(ctx)
}
