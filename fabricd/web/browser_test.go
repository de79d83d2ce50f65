package web_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

const (
	leastNode   = 20               // what Playwright runs with
	browserTime = 20 * time.Minute // for all tests in the browser, against a hang; a quiet machine needs one or two
	setupTime   = 4 * time.Minute  // to fetch Playwright, or build the commands
	endTime     = 15 * time.Second // to end browser and fabrics when that is over
)

// The tests are in e2e, in TypeScript; here they run under go test, each as one of its own.
func TestInTheBrowser(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	node := browserNeeds(t)
	bin := t.TempDir()
	said, err := bounded(t, setupTime, ".", "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o",
		bin+string(filepath.Separator), "../../fabricd", "../../linkmon").CombinedOutput()
	require.NoError(t, err, string(said))

	results := filepath.Join(t.TempDir(), "results.json")
	cmd := bounded(t, browserTime, "e2e", node, filepath.Join("node_modules", "@playwright", "test", "cli.js"), "test",
		"--project=tests", "--reporter=list,json")
	cmd.Env = append(os.Environ(), "WEFT_BIN="+bin, "PLAYWRIGHT_JSON_OUTPUT_NAME="+results, "FORCE_COLOR=0")
	said, failed := cmd.CombinedOutput()
	t.Log(string(said)) // with what was measured
	text, err := os.ReadFile(results)
	require.NoError(t, err, "the tests have not come to an end: %v", failed)
	var r browserResults
	require.NoError(t, json.Unmarshal(text, &r))
	for _, e := range r.Errors {
		t.Error(e.Message)
	}
	tests := 0
	for _, s := range r.Suites {
		tests += s.run(t)
	}
	require.NotZero(t, tests)
	require.True(t, failed == nil || t.Failed(), "%v", failed)
}

// browserNeeds returns the path of Node.js when all is there, and else skips the test. CI has to
// have it.
func browserNeeds(t *testing.T) (node string) {
	t.Helper()
	without := func(format string, args ...any) {
		t.Helper()
		testenv.Missing(t, "the page is not tested in a browser: "+format, args...)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		without("there is no Node.js (Debian: apt-get install nodejs npm)")
	}
	version, err := bounded(t, setupTime, ".", node, "--version").Output()
	if err != nil {
		without("node --version: %v", err)
	}
	if major(string(version)) < leastNode {
		without("Node.js is %s, expected v%d or newer", strings.TrimSpace(string(version)), leastNode)
	}
	if os.Getenv("WEFT_CHROMIUM") == "" && !anyOf("chromium", "chromium-browser", "google-chrome") {
		without("there is no Chromium (Debian: apt-get install chromium), and WEFT_CHROMIUM names none")
	}
	if !installed() {
		npm, err := exec.LookPath("npm")
		if err != nil {
			without("there is no npm to fetch Playwright with (Debian: apt-get install npm)")
		}
		if said, err := bounded(t, setupTime, "e2e", npm, "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
			without("npm ci in fabricd/web/e2e: %v: %s", err, said)
		}
	}
	return node
}

// bounded is a command that may take so long, and no longer than the test: what go test kills
// leaves its browser behind.
func bounded(t *testing.T, most time.Duration, dir, name string, args ...string) *exec.Cmd {
	if end, ok := t.Deadline(); ok {
		most = min(most, time.Until(end)-2*endTime)
	}
	ctx, cancel := context.WithTimeout(t.Context(), most)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// Interrupted, Playwright ends the browser; a fabricd whose output nobody reads any more ends
	// by itself.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endTime
	return cmd
}

func major(version string) int {
	digits := regexp.MustCompile(`^v(\d+)\.`).FindStringSubmatch(version)
	if digits == nil {
		return 0
	}
	n, _ := strconv.Atoi(digits[1]) // too large a number is 0 as well
	return n
}

func anyOf(names ...string) bool {
	for _, n := range names {
		if _, err := exec.LookPath(n); err == nil {
			return true
		}
	}
	return false
}

// installed reports whether what the lock file names is there: npm notes what it has installed,
// after the rest.
func installed() bool {
	want, err := os.Stat("e2e/package-lock.json")
	if err != nil {
		return false
	}
	have, err := os.Stat("e2e/node_modules/.package-lock.json")
	return err == nil && !have.ModTime().Before(want.ModTime())
}

// browserResults is what Playwright writes as JSON, as far as it is used here.
type browserResults struct {
	Suites []browserSuite `json:"suites"`
	Errors []struct {
		Message string `json:"message"`
	} `json:"errors"` // outside of any test
}

type browserSuite struct {
	Suites []browserSuite `json:"suites"`
	Specs  []struct {
		Title string `json:"title"`
		OK    bool   `json:"ok"`
		Tests []struct {
			Results []struct {
				Error struct {
					Message string `json:"message"`
				} `json:"error"`
			} `json:"results"`
		} `json:"tests"`
	} `json:"specs"`
}

// run reports each test as a test of t, and returns how many there are.
func (s browserSuite) run(t *testing.T) (tests int) {
	for _, spec := range s.Specs {
		tests++
		t.Run(spec.Title, func(t *testing.T) {
			if spec.OK {
				return
			}
			for _, test := range spec.Tests {
				for _, r := range test.Results {
					t.Error(r.Error.Message)
				}
			}
			t.Error("it failed; screenshots are in fabricd/web/e2e/test-results")
		})
	}
	for _, inner := range s.Suites {
		tests += inner.run(t)
	}
	return tests
}
