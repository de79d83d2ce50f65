package natstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// module is the nats-server that go.mod names. It is built, not imported: what is under test is
// another process.
const module = "github.com/nats-io/nats-server/v2"

// Program is the path of the executable of a release, for tests that start it in their own way.
func Program(release Release) (string, error) { return program(release) }

// program is the path of the executable of a release.
func program(release Release) (string, error) {
	switch release {
	case Newest:
		return newest()
	case Debian:
		return debian()
	}
	return "", fmt.Errorf("unknown release %q, known: %s, %s", release, Newest, Debian)
}

// debian looks where Debian installs, too: users do not have that on their PATH.
func debian() (string, error) {
	path, err := exec.LookPath("nats-server")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nats-server")
	}
	if err != nil {
		return "", errors.New("no nats-server on the PATH: install the package nats-server")
	}
	return path, nil
}

// newest builds the server once and keeps it in the cache of the user, under the versions it is
// made of: linking it takes seconds, and it is the same for all tests.
var newest = sync.OnceValues(func() (string, error) {
	version, err := run("list", "-m", "-f", "{{.Version}}", module)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // no home directory: in a folder of our own, below
	}
	dir := filepath.Join(cache, fmt.Sprintf("weft-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir,
		strings.Join([]string{"nats-server", version, runtime.Version(), runtime.GOOS, runtime.GOARCH}, "-"))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// Test processes that build at the same time each build their own; the last to rename wins, and
	// all are alike.
	tmp, err := os.MkdirTemp(dir, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	built := filepath.Join(tmp, "nats-server")
	if _, err := run("build", "-o", built, module); err != nil {
		return "", err
	}
	if err := os.Rename(built, path); err != nil {
		return "", err
	}
	return path, nil
})

// run runs the go command in this module and returns what it prints.
func run(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
