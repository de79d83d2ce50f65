// Package registry is how the commands find the fabrics that run on this machine: one small file for each in a folder of
// the user's own, held under a lock by the process that runs the fabric. The lock goes with the process, however it ends,
// so a file without one is what a killed fabric left behind, and is cleared away.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/weft-fabric/weft/fabricd/bus"
)

// Errors of this package, wrapped with the name concerned.
var (
	ErrRunning = errors.New("a fabric of this name is running already")
	ErrNone    = errors.New("no fabric is running")
)

// Entry says how to reach a running fabric. The file that holds it is readable by its user only.
type Entry struct {
	Name     string    `json:"name"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	URL      string    `json:"url"` // of the broker
	Topology string    `json:"topology"`
	Firmware string    `json:"firmware"`

	Operator bus.Credentials `json:"operator"` // may cut and restore
	Viewer   bus.Credentials `json:"viewer"`   // may look
	Manager  bus.Credentials `json:"manager"`  // may upload tables

	Page  string `json:"page,omitempty"`  // of its HTTP side, where whoever reaches it may look; empty: it has none
	Token string `json:"token,omitempty"` // with which one may act there
}

// PageWithToken is the address to open in a browser to look and act; empty when there is none.
func (e Entry) PageWithToken() string {
	if e.Page == "" {
		return ""
	}
	return e.Page + "#token=" + e.Token
}

// Dir is the folder of the registry: $WEFT_RUN_DIR, else weft in the user's runtime folder, else in the folder for
// temporary files under the user's number.
func Dir() string {
	if d := os.Getenv("WEFT_RUN_DIR"); d != "" {
		return d
	}
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		return filepath.Join(d, "weft")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("weft-%d", os.Getuid()))
}

// Claim is a name held by this process.
type Claim struct {
	path string
	lock *flock.Flock
}

// lookTime is far more than List holds a lock for: a claim waits so long before it takes the holder for a fabric.
const lookTime = 100 * time.Millisecond

// Take claims a name for this process until Release. ErrRunning: another process holds it.
func Take(name string) (*Claim, error) {
	dir := Dir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("registry of running fabrics: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("registry of running fabrics: %s can be written by others: chmod 700 it, or name another in WEFT_RUN_DIR (%w)", dir, errors.Join(err, os.ErrPermission))
	}
	c := &Claim{path: filepath.Join(dir, name+".json"), lock: flock.New(filepath.Join(dir, name+".lock"))}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	got, err := c.lock.TryLockContext(ctx, lookTime/20)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("registry of running fabrics: lock %s: %w", name, err)
	}
	if !got {
		if e, err := read(c.path); err == nil {
			return nil, fmt.Errorf("%w: %s, process %d: choose another with --name", ErrRunning, name, e.PID)
		}
		return nil, fmt.Errorf("%w: %s: choose another with --name", ErrRunning, name)
	}
	return c, nil
}

// Store is a folder of the fabric's own, for its user alone, which stays when the fabric ends: a fabric of the same name goes on where it was.
func (c *Claim) Store() (string, error) {
	dir := strings.TrimSuffix(c.path, ".json") + ".store"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("registry of running fabrics: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { // it may have been there
		return "", fmt.Errorf("registry of running fabrics: %w", err)
	}
	return dir, nil
}

// Publish writes how to reach the fabric. Readers see the old file or the new one, never a part.
func (c *Claim) Publish(e Entry) error {
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	tmp := c.path + ".new"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("registry of running fabrics: %w", err)
	}
	if err := os.Rename(tmp, c.path); err != nil {
		return fmt.Errorf("registry of running fabrics: %w", err)
	}
	return nil
}

// Release gives the name back.
func (c *Claim) Release() error {
	err := os.Remove(c.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, c.lock.Unlock())
}

// List returns the running fabrics by name, and clears away what killed ones left behind.
func List() ([]Entry, error) {
	files, err := filepath.Glob(filepath.Join(Dir(), "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var out []Entry
	for _, path := range files {
		lock := flock.New(strings.TrimSuffix(path, ".json") + ".lock")
		free, err := lock.TryRLock() // shared, so that several may look at once
		if err != nil {
			return nil, fmt.Errorf("registry of running fabrics: %w", err)
		}
		if free {
			_ = os.Remove(path) // held by nobody: its fabric was killed
			_ = lock.Unlock()
			continue
		}
		if e, err := read(path); err == nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// Names lists the names of the running fabrics.
func Names() []string {
	entries, _ := List()
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	return names
}

// Find returns the named fabric, or the only one when name is empty.
func Find(name string) (Entry, error) {
	entries, err := List()
	if err != nil {
		return Entry{}, err
	}
	switch {
	case len(entries) == 0:
		return Entry{}, fmt.Errorf("%w: start one with: fabricd up", ErrNone)
	case name == "" && len(entries) == 1:
		return entries[0], nil
	case name == "":
		return Entry{}, fmt.Errorf("%d fabrics are running, say which with --fabric: %s", len(entries), strings.Join(Names(), ", "))
	}
	for _, e := range entries {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, &UnknownError{Name: name, Running: Names()}
}

// UnknownError tells that no fabric of that name runs.
type UnknownError struct {
	Name    string
	Running []string
}

// Error implements error.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("no fabric %q is running; there are: %s", e.Name, strings.Join(e.Running, ", "))
}

func read(path string) (Entry, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return Entry{}, fmt.Errorf("registry of running fabrics: %s: %w", path, err)
	}
	return e, nil
}
