package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/reply"
)

// Order is what is computed: a command, as it is given in a folder with the files that it reads.
type Order struct {
	ID      string    `json:"id"`
	Args    []string  `json:"args"`
	Dir     string    `json:"dir"` // in which it runs, below that with all files
	Files   []File    `json:"files"`
	Version string    `json:"version"` // of the program, see [Version]
	On      []string  `json:"on"`      // workers that may do it; empty: all
	By      string    `json:"by"`      // who gave it
	Given   time.Time `json:"given"`
	State   State     `json:"state"`
	Ended   time.Time `json:"ended"`
	Error   string    `json:"error,omitempty"` // why it has failed
}

// State is how an order stands.
type State string

// The states. An order that has failed goes on when it is given again.
const (
	Open   State = "open"
	Done   State = "done"
	Failed State = "failed"
)

// File is one that the command reads, by its path below the folder with all of them.
type File struct {
	Path string `json:"path"`
	Hash string `json:"hash"` // SHA-256
}

// Stage is one of the jobs that a command runs, one after another.
type Stage struct {
	What  string `json:"what"` // the pieces, as people call them
	Total int    `json:"total"`
}

// Share is what a worker has done of an order.
type Share struct {
	Pieces  int       `json:"pieces"`
	Seconds float64   `json:"seconds"` // of all its children together
	Cost    float64   `json:"cost"`
	Twice   int       `json:"twice,omitempty"` // pieces that another has done too
	Last    time.Time `json:"last"`            // that it ended a piece
	Began   time.Time `json:"began"`           // with the order
}

// Aside is a piece that has no result.
type Aside struct {
	Piece  string `json:"piece"`
	Key    string `json:"key"`
	Worker string `json:"worker"`
	Tries  int    `json:"tries"`
	Why    string `json:"why"`
	Error  bool   `json:"error,omitempty"` // the computation says so itself: it would again
}

// asideTail ends the key of an Aside, which stands beside that of the result.
const asideTail = ".aside"

// Bounds of what an order brings along; chosen by us.
const (
	maxFiles = 1000
	maxFile  = 64 << 20
)

// idPattern is what the name of an order is.
var idPattern = regexp.MustCompile(`^[0-9a-f]{12}$`)

// Version is what must be the same of two programs whose results count as one program's: the
// commit, of a program that was built from one as it stands, or the program itself; the compiler;
// and what machine it is for, because of floating-point numbers.
var Version = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("jobs: which program is this? %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("jobs: which program is this? %w", err)
	}
	return "program " + hashOf(data)[:12], nil
})

// VersionOf is [Version] of a program of that revision.
func VersionOf(revision string) (string, error) {
	where := runtime.Version() + " " + runtime.GOARCH
	if revision != "" && !strings.Contains(revision, "dirty") {
		return revision + " " + where, nil
	}
	v, err := Version()
	return v + " " + where, err
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// NewOrder makes the order of a command line, given in this folder, that reads files with these
// absolute paths. data are the files, by hash.
func NewOrder(args, used []string, version string) (o *Order, data map[string][]byte, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	if len(used) > maxFiles {
		return nil, nil, fmt.Errorf("jobs: the command reads %d files, and an order takes %d along", len(used), maxFiles)
	}
	root := dir
	for _, path := range used {
		for rel, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(rel); rel, err = filepath.Rel(root, path) {
			if up := filepath.Dir(root); up != root {
				root = up
				continue
			}
			return nil, nil, fmt.Errorf("jobs: %s and %s have no folder in common", path, dir)
		}
	}
	o = &Order{Version: version, State: Open, Given: time.Now().UTC()}
	o.Dir, _ = filepath.Rel(root, dir)
	o.Dir = filepath.ToSlash(o.Dir)
	data = map[string][]byte{}
	for _, path := range used {
		f, err := readFile(path)
		if err != nil {
			return nil, nil, err
		}
		for _, other := range used {
			if bytes.Contains(f, []byte(other)) {
				return nil, nil, fmt.Errorf("jobs: %s names %s by its whole path, which other machines do not have: name it "+
					"relative to the folder", path, other)
			}
		}
		rel, _ := filepath.Rel(root, path)
		hash := hashOf(f)
		o.Files, data[hash] = append(o.Files, File{filepath.ToSlash(rel), hash}), f
	}
	for _, a := range args {
		for _, path := range used {
			if rel, err := filepath.Rel(dir, path); err == nil {
				a = strings.ReplaceAll(a, path, rel)
			}
		}
		o.Args = append(o.Args, a)
	}
	host, _ := os.Hostname()
	o.By = fmt.Sprintf("process %d on %s", os.Getpid(), host)
	id, err := json.Marshal([]any{o.Args, o.Dir, o.Files, o.Version})
	o.ID = hashOf(id)[:12]
	return o, data, err
}

func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil || info.Size() > maxFile {
		return nil, errors.Join(err, fmt.Errorf("jobs: %s: an order takes files along of at most %d MB", path, maxFile>>20))
	}
	return os.ReadFile(path)
}

// Command is the order's command as people write it.
func (o *Order) Command() string { return "fabricd " + strings.Join(o.Args, " ") }

// check refuses an order of which whoever gave it has made something else.
func (o *Order) check() error {
	if !idPattern.MatchString(o.ID) || len(o.Args) == 0 || len(o.Files) > maxFiles ||
		o.Dir != "." && !filepath.IsLocal(filepath.FromSlash(o.Dir)) {
		return fmt.Errorf("jobs: order %.12q makes no sense", o.ID)
	}
	for _, f := range o.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return fmt.Errorf("jobs: order %s: file %q is outside of its folder", o.ID, f.Path)
		}
	}
	return nil
}

// ErrNoOrder means that there is no order of that name.
var ErrNoOrder = errors.New("there is no such job")

// Find returns an order by its ID, or by the beginning of it.
func Find(ctx context.Context, j *bus.Jobs, id string) (*Order, error) {
	list, err := List(ctx, j)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(o *Order) bool { return id == "" || !strings.HasPrefix(o.ID, id) })
	switch len(list) {
	case 0:
		return nil, fmt.Errorf("job %s: %w: fabricd job list names them", id, ErrNoOrder)
	case 1:
		return list[0], nil
	}
	return nil, fmt.Errorf("job %s: %d begin so: name more of it", id, len(list))
}

// List returns all orders, the oldest first.
func List(ctx context.Context, j *bus.Jobs) (list []*Order, err error) {
	keys, err := j.Keys(ctx, "order.*")
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		o, err := get[Order](ctx, j, key)
		if errors.Is(err, reply.ErrNoKey) {
			continue // gone meanwhile
		}
		if err == nil {
			err = o.check()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b *Order) int { return a.Given.Compare(b.Given) })
	return list, nil
}

func get[T any](ctx context.Context, j *bus.Jobs, key string) (*T, error) {
	data, _, err := j.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("jobs: what the broker keeps as %s makes no sense: %w", key, err)
	}
	return v, nil
}

func put(ctx context.Context, j *bus.Jobs, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return j.Put(ctx, key, data)
}

// Unpack writes the files of an order into a folder, and returns the folder in which its command
// runs.
func Unpack(ctx context.Context, j *bus.Jobs, o *Order, into string) (dir string, err error) {
	for _, f := range o.Files {
		data, err := j.File(ctx, f.Hash)
		if err != nil {
			return "", err
		}
		if hashOf(data) != f.Hash {
			return "", fmt.Errorf("jobs: order %s: %s is not the file it was", o.ID, f.Path)
		}
		path := filepath.Join(into, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return "", err
		}
	}
	dir = filepath.Join(into, filepath.FromSlash(o.Dir))
	return dir, os.MkdirAll(dir, 0o700)
}

// Cancel ends an order: nobody works on it any more, and its results are gone.
func Cancel(ctx context.Context, j *bus.Jobs, o *Order) error {
	err := j.Delete(ctx, "order."+o.ID)
	if err == nil {
		err = j.DropQueue(ctx, o.ID)
	}
	for _, head := range []string{"at.", "got."} {
		if err == nil {
			err = j.Forget(ctx, head+o.ID+".>")
		}
	}
	others, listed := List(ctx, j)
	if err = errors.Join(err, listed); err != nil {
		return err
	}
	for _, f := range o.Files {
		if !slices.ContainsFunc(others, func(x *Order) bool {
			return slices.ContainsFunc(x.Files, func(y File) bool { return y.Hash == f.Hash })
		}) {
			err = errors.Join(err, j.DropFile(ctx, f.Hash))
		}
	}
	return err
}

// silent is after which time a worker counts as gone, and forgotten that after which nobody knows
// it any more. Chosen by us.
const (
	silent    = 15 * time.Second
	forgotten = 24 * time.Hour
)

// Workers returns those that are there.
func Workers(ctx context.Context, j *bus.Jobs) (list []*Status, err error) {
	keys, err := j.Keys(ctx, "worker.*")
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		s, err := get[Status](ctx, j, key)
		if err == nil {
			age := time.Duration(0)
			if age, err = j.Age(ctx, key); age > forgotten {
				err = errors.Join(err, j.Delete(ctx, key))
			}
			if err == nil && age < silent {
				list = append(list, s)
			}
		}
		if err != nil && !errors.Is(err, reply.ErrNoKey) {
			return nil, err
		}
	}
	return list, nil
}
