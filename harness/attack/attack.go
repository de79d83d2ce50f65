// Package attack is for tests that attack Weft: it plays another user of the machine, and holds the
// table in docs/reference/security.md to what the tests try. Nothing but tests imports it.
package attack

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weft-fabric/weft/harness/testenv"
)

// countsFile names the file that make attacks has attempts appended to. Processes that tests start
// inherit it.
const countsFile = "WEFT_TEST_ATTEMPTS"

// Count says that a test has tried a class of attack so many times, and fails it unless the row of
// that class in docs/reference/security.md, "| class | attempts | outcome | test |", says so too.
// At short a test may try fewer.
func Count(t testing.TB, class string, attempts int) {
	t.Helper()
	count(t, class, attempts, false)
}

// Seen is Count for a class of which a run tries as many as its time, its machine or its flags
// allow. Its row has the attempts of one run of make attacks, and says so.
func Seen(t testing.TB, class string, attempts int) {
	t.Helper()
	count(t, class, attempts, true)
}

func count(t testing.TB, class string, attempts int, once bool) {
	t.Helper()
	t.Logf("%s: %d attempts", class, attempts)
	if path := os.Getenv(countsFile); path != "" {
		keep(t, path, counted{class, attempts, once})
		return
	}
	page, text := table(t)
	for line := range strings.Lines(text) {
		r, ok := parse(line)
		if !ok || r.class != class {
			continue
		}
		switch {
		case r.once != once:
			t.Errorf("%s: the row %q must say %q", page, class, cell(attempts, once))
		case !once && (attempts > r.attempts || !testenv.Short() && attempts < r.attempts):
			t.Errorf("%s says %d attempts of %q, and the test makes %d", page, r.attempts, class, attempts)
		}
		return
	}
	t.Errorf("%s has no row %q: give it one with %s attempts", page, class, cell(attempts, once))
}

// Tries counts the attempts of a test and its subtests. Its methods may be called at once by
// several goroutines.
type Tries struct{ n atomic.Int64 }

// Tally counts attempts until a test and its subtests have ended well, and passes them to Count.
func Tally(t testing.TB, class string) *Tries {
	tries := &Tries{}
	t.Cleanup(func() {
		if tries.n.Load() > 0 && !t.Failed() && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
			Count(t, class, int(tries.n.Load()))
		}
	})
	return tries
}

// Add counts so many more attempts.
func (t *Tries) Add(attempts int) { t.n.Add(int64(attempts)) }

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

// nobody is the number of the other user, and of the group.
const nobody = 65534

// Shared is a folder where every user may make files, as /tmp. It skips the test unless it runs as
// root, who alone can play another user.
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
	runAs(cmd, nobody)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
