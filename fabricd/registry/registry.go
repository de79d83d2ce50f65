// Package registry is how the commands find the fabrics that run on this machine: one small file
// for each in a folder of the user's own, held under a lock by the process that runs the fabric.
// The lock goes with the process, however it ends, so a file without one is what a killed fabric
// left behind. Nothing is removed but the file of a fabric by the process that has written it, and
// only if it still is one.
package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/document/plain"
	"github.com/weft-fabric/weft/fabricd/reply"
	"github.com/weft-fabric/weft/fabricd/safefile"
)

// Errors of this package, wrapped with the name concerned.
var (
	ErrRunning = errors.New("a fabric of this name is running already")
	ErrNone    = errors.New("no fabric is running")
	ErrSeveral = errors.New("fabrics are running")
)

// Entry says how to reach a running fabric. The file that holds it is readable by its user only.
type Entry struct {
	Format string `json:"format"` // "weft fabric 1": by it Weft knows its own files
	Listed

	Operator bus.Credentials `json:"operator"` // may cut and restore
	Viewer   bus.Credentials `json:"viewer"`   // may look
	Manager  bus.Credentials `json:"manager"`  // may upload tables

	Token string `json:"token,omitempty"` // with which one may act on the page
}

// Listed is what lists show of a running fabric: no passwords for its broker.
type Listed struct {
	Name     string    `json:"name"`
	PID      int       `json:"pid"`
	Started  time.Time `json:"started"`
	URL      string    `json:"url"` // of the broker
	Topology string    `json:"topology"`
	Routing  string    `json:"routing"`
	Firmware string    `json:"firmware"` // the same, under its old name: until 0.2.0
	// Page is the address of its HTTP side, where whoever reaches it may look; empty: it has none.
	Page string `json:"page,omitempty"`
}

// PageWithToken is the address to open in a browser to look and act; empty when there is none.
func (e Entry) PageWithToken() string {
	if e.Page == "" {
		return ""
	}
	return e.Page + "#token=" + e.Token
}

// Folder is where the registry is, and by which variable: $WEFT_RUN_DIR, else weft in
// $XDG_RUNTIME_DIR, else in the folder for temporary files under the user's number.
type Folder struct{ Path, Variable string }

// Dir is the folder of this user.
func Dir() Folder {
	if d := os.Getenv("WEFT_RUN_DIR"); d != "" {
		return Folder{d, "WEFT_RUN_DIR"}
	}
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		return Folder{filepath.Join(d, "weft"), "XDG_RUNTIME_DIR"}
	}
	return Folder{filepath.Join(os.TempDir(), fmt.Sprintf("weft-%d", os.Getuid())), "TMPDIR"}
}

// failed says of what folder an error is, and how to have another. It is never left out: the path
// may be one that nobody has typed.
func (f Folder) failed(err error) error {
	return fmt.Errorf("registry of running fabrics: %w (the folder comes from %s: set WEFT_RUN_DIR to have another)",
		err,
		f.Variable)
}

// Claim is a name held by this process.
type Claim struct {
	dir  Folder
	path string // without links
	name string
	lock *flock.Flock
}

// lookTime is far more than List holds a lock for: a claim waits so long before it takes the holder
// for a fabric.
const lookTime = 100 * time.Millisecond

// Take claims a name for this process until Release. ErrRunning: another process holds it. A file
// that is no entry of a fabric of that name is refused, and never replaced.
func Take(name string) (*Claim, error) {
	dir := Dir()
	path, err := safefile.Folder(dir.Path)
	if err != nil {
		return nil, dir.failed(err)
	}
	c := &Claim{
		dir: dir, path: filepath.Join(path, name+entryEnd), name: name,
		lock: safefile.NewLock(filepath.Join(path, name+lockEnd), 0o600),
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	got, err := c.lock.TryLockContext(ctx, lookTime/20)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, dir.failed(fmt.Errorf("lock %s: %w", name, err))
	}
	e, there := read(c.path, name)
	if !got {
		if there == nil {
			return nil, fmt.Errorf("%w: %s, process %d: choose another with --fabric", ErrRunning, name, e.PID)
		}
		return nil, fmt.Errorf("%w: %s: choose another with --fabric", ErrRunning, name)
	}
	if there != nil && !errors.Is(there, fs.ErrNotExist) {
		return nil, errors.Join(dir.failed(fmt.Errorf("%w: move it, or choose another name with --fabric", there)),
			c.lock.Unlock())
	}
	return c, nil
}

// Store is a folder of the fabric's own, for its user alone, which stays when the fabric ends: a
// fabric of the same name goes on where it was.
func (c *Claim) Store() (string, error) {
	path, err := safefile.Folder(strings.TrimSuffix(c.path, entryEnd) + ".store")
	if err != nil {
		return "", c.dir.failed(err)
	}
	return path, nil
}

// Publish writes how to reach the fabric, which has the name of the claim. Readers see the old file
// or the new one, never a part.
func (c *Claim) Publish(e Entry) error {
	e.Format, e.Name = entryFormat, c.name
	data, err := json.MarshalIndent(e, "", "  ")
	if err == nil {
		err = safefile.WriteSecret(c.path, append(data, '\n'))
	}
	if err != nil {
		return c.dir.failed(err)
	}
	return nil
}

// Release gives the name back.
func (c *Claim) Release() error {
	var err error
	if _, there := read(c.path, c.name); there == nil {
		err = os.Remove(c.path)
	}
	return errors.Join(err, c.lock.Unlock())
}

// List returns the running fabrics by name. It changes nothing: what killed ones left behind is
// passed over, and replaced by the next fabric of that name.
func List() ([]Entry, error) {
	dir := Dir()
	if _, err := os.Lstat(dir.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	path, err := safefile.Folder(dir.Path)
	if err != nil {
		return nil, dir.failed(err)
	}
	files, err := os.ReadDir(path) // by name
	if err != nil {
		return nil, dir.failed(err)
	}
	var out []Entry
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), entryEnd)
		if !ok {
			continue
		}
		e, err := read(filepath.Join(path, f.Name()), name)
		if err == nil && held(filepath.Join(path, name+lockEnd)) {
			out = append(out, e)
		}
	}
	return out, nil
}

// held reports whether a process holds a lock. One that is not there is not made.
func held(path string) bool {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY|safefile.NoFollow))
	free, err := lock.TryRLock() // shared, so that several may look at once
	if free {
		_ = lock.Unlock()
	}
	return !free && err == nil
}

// Gone reports whether the process of a fabric of the registry is gone. Of one that is not from the
// registry nobody knows.
func (e Entry) Gone() bool {
	if e.PID == 0 {
		return false
	}
	now, err := Find(e.Name)
	var unknown *UnknownError
	return errors.Is(err, ErrNone) || errors.As(err, &unknown) || err == nil && now.PID != e.PID
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
		return Entry{}, severalError(Names())
	}
	for _, e := range entries {
		if e.Name == name {
			return e, nil
		}
	}
	return Entry{}, &UnknownError{Name: name, Running: Names()}
}

// At is [Find] at the server that is named, where there is one; the entry then has its address and
// its credentials alone. Which fabric runs there the server is asked only where name is empty.
func At(ctx context.Context, server bus.Resolved, name string) (Entry, error) {
	if server.URL == "" {
		return Find(name)
	}
	e := Entry{
		Listed: Listed{URL: server.URL}, Operator: server.Credentials, Viewer: server.Credentials,
		Manager: server.Credentials,
	}
	if name == "" {
		names, err := bus.Fabrics(ctx, server)
		switch {
		case errors.Is(err, reply.ErrDenied):
			return Entry{}, fmt.Errorf("which fabric of the server? name it with --fabric: %w", err)
		case err != nil:
			return Entry{}, err
		case len(names) == 0:
			return Entry{}, fmt.Errorf("%w at this server: start one there, or name one that does not answer with --fabric",
				ErrNone)
		case len(names) > 1:
			return Entry{}, severalError(names)
		}
		name = names[0]
	}
	e.Name = name
	return e, bus.ValidateFabric(name)
}

func severalError(names []string) error {
	return fmt.Errorf("%d %w, say which with --fabric: %s", len(names), ErrSeveral, strings.Join(names, ", "))
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

const (
	entryFormat       = "weft fabric 1"
	entryEnd, lockEnd = ".json", ".lock"
)

// read reads the entry of a fabric. Anything else under that name is an error.
func read(path, name string) (Entry, error) {
	data, err := safefile.ReadSecret(path)
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	if err := json.Unmarshal(plain.JSON(data), &e); err != nil || e.Format != entryFormat || e.Name != name {
		return Entry{}, fmt.Errorf("%s is no entry of a fabric %s", path, name)
	}
	return e, nil
}
