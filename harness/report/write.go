package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-fabric/weft/fabricd/safefile"
	"github.com/weft-fabric/weft/fabricd/scenario"
)

// The files of a folder.
const (
	PageName = "report.html"
	JSONName = "report.json"
)

// ErrTaken is wrapped by the error for a folder that holds something else.
var ErrTaken = errors.New("the folder holds another report")

// ErrNothing means that the fabric never ran, so that there is nothing to report.
var ErrNothing = errors.New("the run has not begun")

// record is report.json.
type record struct {
	scenario.Result
	Error string `json:"error,omitempty"` // why the run was not judged
}

// Check makes sure that a report of that scenario can be written into a folder, and makes the
// folder. A report of the same scenario is replaced by Write; of another, or a file that is not
// ours, the error wraps [ErrTaken].
func Check(dir, name string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var there struct{ Scenario string }
	data, err := os.ReadFile(filepath.Join(dir, JSONName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(filepath.Join(dir, PageName)); err == nil {
			return fmt.Errorf("%w: %s has a %s without a %s: name another folder, or remove it", ErrTaken, dir, PageName,
				JSONName)
		}
		return nil
	case err != nil:
		return fmt.Errorf("report: %w", err)
	}
	if err := json.Unmarshal(data, &there); err != nil || there.Scenario == "" {
		return fmt.Errorf("%w: the %s in %s is no report: name another folder, or remove it", ErrTaken, JSONName, dir)
	}
	if there.Scenario != name {
		return fmt.Errorf("%w: that in %s is of %s, this one is of %s: name another folder, or remove it", ErrTaken, dir,
			there.Scenario, name)
	}
	return nil
}

// Write writes the report into a folder, which it makes, and returns the path of the page. Each
// file appears whole, or not at all. The error is that of [Check], of the file system, or
// [ErrNothing].
func (r *Recorder) Write(dir string, about About) (path string, err error) {
	if !r.ended {
		return "", ErrNothing
	}
	if err := Check(dir, r.result.Scenario); err != nil {
		return "", err
	}
	var html bytes.Buffer
	if err := r.write(&html, about); err != nil {
		return "", fmt.Errorf("report of %s: %w", r.result.Scenario, err)
	}
	rec := record{Result: r.result}
	if r.err != nil {
		rec.Error = r.err.Error()
	}
	data, err := json.Marshal(rec)
	if err != nil {
		return "", fmt.Errorf("report of %s: %w", r.result.Scenario, err)
	}
	// The JSON first: it says whose the page is.
	if err := replace(dir, JSONName, append(data, '\n')); err != nil {
		return "", err
	}
	return filepath.Join(dir, PageName), replace(dir, PageName, html.Bytes())
}

// replace writes one file whole.
func replace(dir, name string, data []byte) error {
	if err := safefile.Write(filepath.Join(dir, name), data); err != nil {
		return fmt.Errorf("report: %w: make room or mend that, and run again", err)
	}
	return nil
}
