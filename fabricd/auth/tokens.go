package auth

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/safefile"
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
	maxTokens = 1000            // of one file; chosen by us
	lookEvery = time.Second / 4 // for changes of the file
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
	if name == "" || len(name) > 64 ||
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
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
	lock := safefile.NewLock(path+".lock", 0o600)
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
	return safefile.WriteSecret(path, append(text, '\n'))
}

func readTokens(path string) ([]entry, error) {
	text, err := safefile.ReadSecret(path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	return parseTokens(path, text)
}

func parseTokens(path string, text []byte) ([]entry, error) {
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
	log  *slog.Logger

	mu     sync.Mutex
	text   []byte    // guarded by mu: of the file that list is from
	list   []entry   // guarded by mu
	failed string    // guarded by mu: why no token holds; empty: they hold
	looked time.Time // guarded by mu
}

// Token is one of a file, as it was when its bearer showed it.
type Token struct {
	Name string
	Role Access
	sum  string // another token of the same name is not this one
}

// OpenTokens reads a file of tokens. It is read again and again: a token that is gone from it holds
// no more, and none does while the file is gone, or is not safe from others. Both are logged.
func OpenTokens(path string, log *slog.Logger) (*Tokens, error) {
	list, err := readTokens(path)
	if err != nil {
		return nil, err
	}
	return &Tokens{path: path, log: log, list: list, looked: time.Now()}, nil
}

// Find is the token with that secret, if it is in the file.
func (t *Tokens) Find(secret string) (Token, bool) {
	sum := []byte(hash(secret))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	for _, e := range t.list {
		if subtle.ConstantTimeCompare(sum, []byte(e.SHA256)) == 1 {
			return Token{e.Name, e.Role, e.SHA256}, true
		}
	}
	return Token{}, false
}

// Holds reports whether a token is still in the file.
func (t *Tokens) Holds(token Token) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	return slices.ContainsFunc(t.list, func(e entry) bool { return e.SHA256 == token.sum })
}

// refresh reads the file again, unless it has just been read. The caller holds mu.
func (t *Tokens) refresh() {
	if time.Since(t.looked) < lookEvery {
		return
	}
	t.looked = time.Now()
	text, err := safefile.ReadSecret(t.path)
	if err == nil && t.failed == "" && bytes.Equal(text, t.text) {
		return
	}
	var list []entry
	if err == nil {
		list, err = parseTokens(t.path, text)
	}
	for _, was := range t.list {
		if err == nil && !slices.ContainsFunc(list, func(e entry) bool { return e.SHA256 == was.SHA256 }) {
			t.log.Warn("a token was removed: it holds no more", "token", was.Name, "file", t.path)
		}
	}
	switch {
	case err != nil && err.Error() != t.failed:
		t.failed = err.Error()
		t.log.Warn("no token of the file holds until this is mended", "file", t.path, "err", err)
	case err == nil && t.failed != "":
		t.failed = ""
		t.log.Warn("the tokens of the file hold again", "file", t.path, "tokens", len(list))
	}
	t.list, t.text = list, text
}
