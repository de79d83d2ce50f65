package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/document"
)

// Access is what a token of the HTTP API lets its bearer do.
type Access uint8

// The accesses, each with all before it. The zero value is none.
const (
	View    Access = iota + 1 // look
	Operate                   // cut, restore, trace
)

// String prints the access as it is written.
func (a Access) String() string {
	switch a {
	case View:
		return "view"
	case Operate:
		return "operate"
	}
	return "nothing"
}

// ParseAccess reads view or operate.
func ParseAccess(text string) (Access, error) {
	for _, a := range []Access{View, Operate} {
		if text == a.String() {
			return a, nil
		}
	}
	return 0, document.Unknown("role of a token", text, []string{View.String(), Operate.String()})
}

// MarshalText and UnmarshalText are for JSON.
func (a Access) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Access) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAccess(string(text))
	return err
}

const (
	maxTokens    = 1000            // of one file; chosen by us
	maxTokenFile = 1 << 20         // bytes
	lookEvery    = time.Second / 2 // for changes of the file
)

// entry is a token in the file: what it is is not in there.
type entry struct {
	Name   string    `json:"name"`
	Role   Access    `json:"role"`
	SHA256 string    `json:"sha256"` // of the token, in hexadecimal: it is random, so that it needs no salt
	Made   time.Time `json:"made"`
}

// NewToken is a token that was just made: nobody can read it again.
type NewToken struct {
	Name   string
	Access Access
	Secret string
}

// AddToken makes a token and adds it to a file, which it makes if need be.
func AddToken(path, name string, a Access) (t NewToken, err error) {
	if name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return t, fmt.Errorf("name %.80q of a token: want 1 to 64 of A-Z, a-z, 0-9, '-', '_' and '.'", name)
	}
	t = NewToken{name, a, rand.Text()}
	return t, changeTokens(path, func(list []entry) ([]entry, error) {
		if slices.ContainsFunc(list, func(e entry) bool { return e.Name == name }) {
			return nil, fmt.Errorf("there is a token %s in %s: remove it, or give another name", name, path)
		}
		if len(list) >= maxTokens {
			return nil, fmt.Errorf("%s holds %d tokens, as many as it may: remove some", path, len(list))
		}
		return append(list, entry{name, a, hash(t.Secret), time.Now().UTC().Truncate(time.Second)}), nil
	})
}

// RemoveToken takes a token out of a file: it holds no more within a second.
func RemoveToken(path, name string) error {
	return changeTokens(path, func(list []entry) ([]entry, error) {
		i := slices.IndexFunc(list, func(e entry) bool { return e.Name == name })
		if i < 0 {
			var names []string
			for _, e := range list {
				names = append(names, e.Name)
			}
			return nil, fmt.Errorf("%s: %w", path, document.Unknown("token", name, names))
		}
		return slices.Delete(list, i, i+1), nil
	})
}

func changeTokens(path string, change func([]entry) ([]entry, error)) error {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // it goes with the process
	list, err := readTokens(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if list, err = change(list); err != nil {
		return err
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return bus.WritePrivate(path, append(text, '\n'))
}

func readTokens(path string) ([]entry, error) {
	if err := bus.CheckPrivate(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxTokenFile {
		err = fmt.Errorf("it has %d bytes, more than %d", info.Size(), maxTokenFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	var list []entry
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("tokens: %s: %w: make it with fabricd auth token", path, err)
	}
	for _, e := range list {
		if len(e.SHA256) != 2*sha256.Size || e.Role == 0 || e.Name == "" {
			return nil, fmt.Errorf("tokens: %s: token %q is not complete: make it with fabricd auth token", path, e.Name)
		}
	}
	return list, nil
}

func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Tokens are those of a file, as it is now. Methods may be called concurrently.
type Tokens struct {
	path string
	log  func(error)

	mu     sync.Mutex
	list   []entry   // guarded by mu
	looked time.Time // guarded by mu
	as     os.FileInfo
}

// OpenTokens reads a file of tokens. It is read again when it has changed; onError, which may be nil, is told when that fails: what held
// before holds then.
func OpenTokens(path string, onError func(error)) (*Tokens, error) {
	if onError == nil {
		onError = func(error) {}
	}
	t := &Tokens{path: path, log: onError, looked: time.Now()}
	var err error
	if t.as, err = os.Stat(path); err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if t.list, err = readTokens(path); err != nil {
		return nil, err
	}
	return t, nil
}

// Access is what a token lets its bearer do, and its name: nothing if there is no such token.
func (t *Tokens) Access(token string) (Access, string) {
	sum := []byte(hash(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	for _, e := range t.list {
		if subtle.ConstantTimeCompare(sum, []byte(e.SHA256)) == 1 {
			return e.Role, e.Name
		}
	}
	return 0, ""
}

// Named is what the token of a name lets its bearer do now.
func (t *Tokens) Named(name string) Access {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	for _, e := range t.list {
		if e.Name == name {
			return e.Role
		}
	}
	return 0
}

// refresh reads the file again when it has changed. The caller holds mu.
func (t *Tokens) refresh() {
	if time.Since(t.looked) < lookEvery {
		return
	}
	t.looked = time.Now()
	as, err := os.Stat(t.path)
	if err == nil && os.SameFile(as, t.as) && as.ModTime().Equal(t.as.ModTime()) && as.Size() == t.as.Size() {
		return
	}
	var list []entry
	if err == nil {
		list, err = readTokens(t.path)
	}
	if err != nil {
		t.log(err)
		return
	}
	t.list, t.as = list, as
}
