package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
)

// ShrinkResult is what came of a reduction that was written to a file.
type ShrinkResult struct {
	Pass     bool   `json:"pass"` // of the original, which then is not reduced
	Scenario string `json:"scenario"`
	File     string `json:"file,omitempty"` // the smallest that fails
	Runs     int    `json:"runs"`
	Stopped  string `json:"stopped,omitempty"` // why it may not be the smallest
	Result   Result `json:"result"`            // of the smallest
}

// Write writes the outcome as a scenario file that says what it was, in the file from, and how it
// fails.
func (o Shrunk) Write(path, from string) error {
	f := o.File
	was := f.Name
	f.Name += "-shrunk"
	f.About = fmt.Sprintf("Reduced from %s (%s) in %d runs. It fails:\n%s\n",
		was, filepath.Base(from), o.Runs, strings.Join(o.Result.Failed, "\n"))
	if o.Stopped != "" {
		f.About += "It may not be the smallest: " + o.Stopped + ".\n"
	}
	text, err := format.Write(f)
	if err != nil {
		return err
	}
	// Whoever interrupts the search still gets what it has found.
	if _, err := Load(context.Background(), path, text); err != nil {
		return fmt.Errorf("the reduced scenario is not valid: %w", err) // a bug
	}
	return safefile.Write(path, append([]byte("# Reduced by fabricd run --shrink.\n"), text...))
}
