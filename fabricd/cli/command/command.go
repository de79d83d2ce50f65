// Package command is what commands are made of: exit codes, how errors are printed, interrupts,
// output and progress, which fabricd and linkmon share; and what several commands of fabricd share:
// topologies, routings and brokers as flags name them.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/document/plain"
)

// Exit codes.
const (
	ExitOK       = 0
	ExitFailed   = 1 // an expectation did not hold
	ExitUnusable = 2 // wrong input, or nothing to work on
)

// ErrFailed means that what was asked for ran and did not hold. What did not has been printed.
var ErrFailed = errors.New("expectations failed")

// Exited is the exit code of a program that the command has run, and of the command. What went
// wrong the program has printed.
type Exited int

// Error implements error.
func (e Exited) Error() string { return fmt.Sprintf("it ended with exit code %d", int(e)) }

// Main runs a command to its end and exits the process.
func Main(root *cobra.Command) {
	ctx, stop := interruptible()
	code := Run(ctx, root)
	stop()
	os.Exit(code)
}

// Run runs a command to its end, prints what went wrong and returns the exit code.
func Run(ctx context.Context, root *cobra.Command) int {
	return report(root.ErrOrStderr(), root.Name(), Execute(ctx, root))
}

// Execute runs a command to its end. What went wrong is returned and not printed.
func Execute(ctx context.Context, root *cobra.Command) error {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetOut(Printable(newLeavable(ctx, root.OutOrStdout())))
	root.SetErr(Printable(newLeavable(ctx, root.ErrOrStderr())))
	root.SetUsageTemplate(usage)
	root.SetFlagErrorFunc(wrongFlag) // of all its commands
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	cmd, err := root.ExecuteContextC(ctx)
	return inWords(cmd, err)
}

// interruptible returns a context that ends at the first Ctrl-C or SIGTERM; at the second the
// process ends at once.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // signals have their own effect again
	return ctx, stop
}

// report prints err and returns the exit code.
func report(w io.Writer, name string, err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrFailed):
		return ExitFailed
	}
	if code, ok := errors.AsType[Exited](err); ok {
		return int(code)
	}
	fmt.Fprintf(Printable(w), "%s: ", name)
	for _, err := range joined(err) {
		fmt.Fprintln(Printable(w), plain.Error(err.Error(), os.Args...))
		if at, ok := errors.AsType[*document.Error](err); ok && at.Source() != "" {
			fmt.Fprintln(w, at.Source())
		}
	}
	return ExitUnusable
}

// joined are the errors that were joined to err, each of which has lines of its own.
func joined(err error) (list []error) {
	j, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var lines []string
	for _, e := range j.Unwrap() {
		list, lines = append(list, joined(e)...), append(lines, e.Error())
	}
	if strings.Join(lines, "\n") != err.Error() {
		return []error{err} // they are parts of one sentence
	}
	return list
}

// Group makes cmd print its help when no subcommand is given, and refuse one that it does not have.
func Group(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return document.Unknown("command", args[0], commandNames(cmd))
	}
	return cmd
}

// JSON prints v as one line.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Printable is w for text that may be from outside: what a terminal would obey is escaped. All that
// a command prints goes through one.
func Printable(w io.Writer) io.Writer {
	if _, ok := w.(*plain.Writer); ok {
		return w
	}
	return plain.NewWriter(w)
}

// Raw is what a Printable prints to, for what is not text or has escapes of our own.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*plain.Writer); ok {
		return p.Unwrap()
	}
	return w
}

// Terminal reports whether w is a terminal, so that a line may be refreshed in place.
func Terminal(w any) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// file is the file that w writes to, if it does.
func file(w any) (*os.File, bool) {
	for {
		over, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			f, ok := w.(*os.File)
			return f, ok
		}
		w = over.Unwrap()
	}
}

// Width is how many characters fit into a line of w, 0 when it is no terminal: then what reads it
// can take long lines.
func Width(w io.Writer) int {
	if f, ok := file(w); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// Line is a line of state: refreshed in place on a terminal, one after the other elsewhere.
type Line struct {
	w     io.Writer
	live  bool
	shown bool
}

// NewLine returns a line on w.
func NewLine(w io.Writer) *Line { return &Line{w: Printable(w), live: Terminal(w)} }

// Show replaces the line by text.
func (l *Line) Show(text string) {
	if !l.live {
		fmt.Fprintln(l.w, text)
		return
	}
	if width := Width(l.w); width > 1 {
		text = whole(text, width-1)
	}
	fmt.Fprint(Raw(l.w), "\r\x1b[K"+plain.Text(text))
	l.shown = true
}

// Print writes a line of its own above the state.
func (l *Line) Print(text string) {
	l.Done()
	fmt.Fprintln(Folded(l.w), text)
}

// Done ends the line, so that what follows starts on one of its own.
func (l *Line) Done() {
	if l.shown {
		fmt.Fprint(Raw(l.w), "\r\x1b[K")
		l.shown = false
	}
}

// End leaves the line as it stands.
func (l *Line) End() {
	if l.shown {
		fmt.Fprintln(l.w)
		l.shown = false
	}
}
