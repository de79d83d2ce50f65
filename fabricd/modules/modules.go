// Package modules makes firmware of WebAssembly modules known by name: wasm:PATH, with options
// behind another colon. The module itself is part of the name once it is pinned, wasm:PATH@HASH, so
// that another process makes the very same one, from what has travelled there or from a file that
// is alike.
package modules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/weft-fabric/weft/fabricd/inputs"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/switch/firmware"
	"github.com/weft-fabric/weft/switch/firmware/wasm"
)

// Name is that of the source.
const Name = "wasm"

// mostModules bounds the modules that a process keeps, and those that it runs. Chosen by us: a
// roll-out needs two, and each may have [wasm.MaxModule] bytes.
const mostModules = 64

// hashDigits is how much of the SHA-256 of a module is in its name.
const hashDigits = 16

// store keeps the modules that this process has read or been sent, by hash, and those that run.
type store struct {
	mu    sync.Mutex
	bytes map[string][]byte       // guarded by mu: by hash; bound: mostModules
	made  map[string]*wasm.Module // guarded by mu: by hash and options; bound: mostModules
}

// Source is where firmware comes from that is a WebAssembly module.
func Source() subnet.Source {
	s := &store{bytes: map[string][]byte{}, made: map[string]*wasm.Module{}}
	return subnet.Source{
		Name: Name, Syntax: "PATH[:OPTIONS]", About: "a WebAssembly module, docs/reference/wasm.md",
		Open: s.open, Pin: s.pin, Keep: s.keep, Kept: s.kept,
	}
}

// Add has this process know the source.
var Add = sync.OnceValue(func() error { return subnet.Add(Source()) })

// named are the parts of PATH[@HASH][:OPTIONS].
type named struct{ path, hash, options string }

// parse finds them. A path holds no colon.
func parse(rest string) (n named, err error) {
	n.path, n.options, _ = strings.Cut(rest, ":")
	if i := strings.LastIndexByte(n.path, '@'); i >= 0 && len(n.path)-i-1 == hashDigits {
		if _, err := hex.DecodeString(n.path[i+1:]); err == nil {
			n.path, n.hash = n.path[:i], n.path[i+1:]
		}
	}
	if n.path == "" {
		return n, fmt.Errorf("firmware %s: expected the path of a module, as %s:./fw.wasm", Name, Name)
	}
	return n, nil
}

func hashOf(module []byte) string {
	sum := sha256.Sum256(module)
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// module is what a name means. The caller holds mu.
func (s *store) module(n *named) ([]byte, error) {
	if b := s.bytes[n.hash]; b != nil {
		return b, nil
	}
	f, err := os.Stat(n.path)
	switch {
	case err != nil && n.hash != "":
		return nil, fmt.Errorf("firmware %s:%s@%s: this process has not been sent that module, and cannot read it: %w",
			Name, n.path, n.hash, err)
	case err != nil:
		return nil, fmt.Errorf("firmware %s: %w", Name, err)
	case !f.Mode().IsRegular() || f.Size() > wasm.MaxModule:
		return nil, fmt.Errorf("firmware %s: %s is no file of at most %d MB: name that of a module",
			Name, n.path, wasm.MaxModule>>20)
	}
	b, err := inputs.ReadFile(n.path)
	if err != nil {
		return nil, fmt.Errorf("firmware %s: %w", Name, err)
	}
	switch hash := hashOf(b); n.hash {
	case "", hash:
		n.hash = hash
	default:
		return nil, fmt.Errorf("firmware %s: %s is another module than the one that is asked for: "+
			"it has the hash %s, not %s: leave out @%[4]s to take it", Name, n.path, hash, n.hash)
	}
	return b, s.hold(b)
}

// hold keeps a module, unless it does already. The caller holds mu.
func (s *store) hold(module []byte) error {
	hash := hashOf(module)
	switch {
	case s.bytes[hash] != nil:
	case len(s.bytes) == mostModules:
		return fmt.Errorf("firmware %s: this process keeps %d modules already, and no more: start it again",
			Name, mostModules)
	default:
		s.bytes[hash] = module
	}
	return nil
}

// open makes the firmware of a module; the same name gives the same one.
func (s *store) open(rest string) (fw firmware.Firmware, err error) {
	n, err := parse(rest)
	if err != nil {
		return fw, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.module(&n)
	if err != nil {
		return fw, err
	}
	key := n.hash + ":" + n.options
	m := s.made[key]
	if m == nil {
		if len(s.made) == mostModules {
			return fw, fmt.Errorf("firmware %s: this process runs %d modules or options already, and no more: "+
				"start it again", Name, mostModules)
		}
		if m, err = wasm.New(context.Background(), n.path, b, n.options); err != nil {
			return fw, err
		}
		s.made[key] = m
	}
	return m.Firmware(), nil
}

// pin adds the hash to a name, and returns the module.
func (s *store) pin(rest string) (pinned string, file []byte, err error) {
	n, err := parse(rest)
	if err != nil {
		return "", nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err = s.module(&n)
	pinned = n.path + "@" + n.hash
	if n.options != "" {
		pinned += ":" + n.options
	}
	return pinned, file, err
}

// keep takes a module that has travelled.
func (s *store) keep(file []byte) error {
	if len(file) > wasm.MaxModule {
		return fmt.Errorf("firmware %s: a module of %d bytes, at most %d", Name, len(file), wasm.MaxModule)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hold(file)
}

// kept reports whether the module of a pinned name has been read or sent.
func (s *store) kept(pinned string) bool {
	n, err := parse(pinned)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && s.bytes[n.hash] != nil
}
