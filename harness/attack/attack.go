// Package attack is for tests that attack Weft: it plays another user of the machine, and holds the table in docs/security.md to
// what the tests try. Nothing but tests imports it.
package attack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Count says that a test has tried a class of attack so many times, and fails it unless the row of that class in
// docs/security.md, "| class | attempts | outcome | test |", says so too.
func Count(t testing.TB, class string, attempts int) {
	t.Helper()
	t.Logf("%s: %d attempts", class, attempts)
	page := filepath.Join(root(t), "docs", "security.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.TrimSpace(cells[1]) != class {
			continue
		}
		if says := strings.ReplaceAll(strings.TrimSpace(cells[2]), ",", ""); says != fmt.Sprint(attempts) {
			t.Errorf("%s says %s attempts of %q, and the test makes %d", page, says, class, attempts)
		}
		return
	}
	t.Errorf("%s has no row %q: give it one with %d attempts", page, class, attempts)
}

// root is the folder of the module.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// Nobody is the number of the other user, and of the group.
const Nobody = 65534

// Shared is a folder where every user may make files, as /tmp. It skips the test unless it runs as root, who alone can play
// another user.
func Shared(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("to play another user of the machine takes root: what others can do to files is not tried")
	}
	dir, err := os.MkdirTemp("/tmp", "weft-shared") // not below a folder of the test, which nobody else can enter
	if err == nil {
		err = os.Chmod(dir, 0o777|os.ModeSticky)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// AsNobody runs a shell script as the other user and returns what it printed.
func AsNobody(script string) (string, error) {
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Nobody, Gid: Nobody}}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
