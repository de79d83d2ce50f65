package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/peterh/liner"

	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/safefile"
)

// converse reads lines from a terminal, with editing, completion and a history, until exit or
// Ctrl-D.
func (s *shell) converse(ctx context.Context) error {
	prompt := "linkmon> "
	if e, err := s.of.find(ctx); err != nil {
		fmt.Fprintf(s.errs, "linkmon: %s\n", plain.Error(err.Error())) // there may be one later
	} else {
		fmt.Fprintf(s.out, "fabric %s: %s, %s; help lists the commands, tab completes, exit or Ctrl-D ends\n", e.Name,
			e.Topology, e.Routing)
		prompt = e.Name + "> "
	}
	line := liner.NewLiner()
	defer func() { _ = line.Close() }()
	line.SetCtrlCAborts(true)
	line.SetTabCompletionStyle(liner.TabPrints)
	line.SetBeep(false)
	line.SetCompleter(func(text string) []string { return s.complete(ctx, text) })
	file := historyFile()
	if f, err := os.Open(file); err == nil {
		_, _ = line.ReadHistory(f) // without it there is only less to go back to
		_ = f.Close()
	}
	defer saveHistory(line, file)
	for {
		text, err := line.Prompt(prompt)
		switch {
		case errors.Is(err, liner.ErrPromptAborted):
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.out)
			return nil
		case err != nil:
			return fmt.Errorf("reading from the terminal: %w", err)
		}
		if words, err := split(text); err == nil && len(words) > 0 {
			line.AppendHistory(text)
		}
		interruptible(ctx, func(ctx context.Context) { err = s.run(ctx, text) })
		switch {
		case errors.Is(err, errExit):
			return nil
		case err != nil && !errors.Is(err, context.Canceled):
			fmt.Fprintf(s.errs, "linkmon: %s\n", plain.Error(err.Error()))
		}
	}
}

// historyFile is where typed lines are kept: in the user's folder for state, "" when that is not
// known.
func historyFile() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "weft", "linkmon_history")
}

// saveHistory keeps the lines typed for the next time, if it can: names of links are all that would
// be missed.
func saveHistory(line *liner.State, file string) {
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	var text bytes.Buffer
	if _, err := line.WriteHistory(&text); err == nil {
		_ = safefile.WriteSecret(file, text.Bytes())
	}
}
