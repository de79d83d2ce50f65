// Package testenv says how much the tests of a run do.
//
// WEFT_TEST chooses the level. At short, the default of go test, tests do what every change needs.
// At full, as make test runs them, they also do what takes minutes. At soak some go on for hours.
// The race detector makes code some ten times slower, so of what a test repeats it does as much as
// at short.
//
// Golden files, schemas and tables, and what scripts say that commands print, are written anew with
// -update, as in go test ./fabricd/cli -run Scripts -update: read the difference before it is kept.
//
// To repeat a failure, WEFT_SEED is the seed of whatever a test draws (0 draws the seed too), and
// WEFT_FOR is how long a test goes on that goes on for a time; tests that take long then run at
// short too.
package testenv

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

type level int

const (
	short level = iota
	full
	soak
)

// chosen is the level of this run. It is read each time: go test notes with a result what the tests
// read of the environment, and misses what was read before them, in TestMain.
func chosen() level {
	l, err := levelOf(os.Getenv("WEFT_TEST"))
	if err != nil {
		panic(err)
	}
	return l
}

// levelOf is the level of a name; without a name it is short.
func levelOf(name string) (level, error) {
	switch name {
	case "", "short":
		return short, nil
	case "full":
		return full, nil
	case "soak":
		return soak, nil
	}
	return short, fmt.Errorf("WEFT_TEST=%s: expected short, full or soak", name)
}

var update = flag.Bool("update", false, "write golden files, schemas and tables anew from what the tests see")

// Update reports whether tests write their golden files anew.
func Update() bool { return *update }

// Full reports whether tests repeat what they do as often as full asks for: not under the race
// detector.
func Full() bool { return chosen() >= full && !Race }

// Short reports whether tests do only what every change needs.
func Short() bool { return chosen() == short }

// Soak reports whether tests do what takes hours.
func Soak() bool { return chosen() >= soak && !Race }

// Long skips a test that takes long, unless tests do what takes minutes or WEFT_FOR asks for it.
func Long(tb testing.TB) {
	tb.Helper()
	if Short() && os.Getenv("WEFT_FOR") == "" {
		tb.Skip("takes long: WEFT_TEST=full runs it")
	}
}

// Nightly skips a test that takes long and says little about a single change, unless tests do what
// takes hours or WEFT_FOR asks for it.
func Nightly(tb testing.TB) {
	tb.Helper()
	if !Soak() && os.Getenv("WEFT_FOR") == "" {
		tb.Skip("takes long: WEFT_TEST=soak runs it, as make soak does")
	}
}

// OneIn runs one in n of many tests that are alike and take long, and skips the others. Their names
// decide which, so that each run has the same. Where tests do what takes hours, or WEFT_FOR asks for
// it, all run.
func OneIn(tb testing.TB, n uint32) {
	tb.Helper()
	h := fnv.New32a()
	h.Write([]byte(tb.Name()))
	if h.Sum32()%n != 0 && !Soak() && os.Getenv("WEFT_FOR") == "" {
		tb.Skipf("one in %d of these runs: WEFT_TEST=soak runs all", n)
	}
}

// Unraced skips a test that takes long under the race detector, and that finds no races: it has few
// goroutines, or others run the same ones. A package whose tests ask for it is tested without too.
func Unraced(tb testing.TB) {
	tb.Helper()
	if Race {
		tb.Skip("takes long under the race detector: it runs without")
	}
}

// Raced skips a test that does the same with and without the race detector, where this package has
// been tested with it already: make test names such packages in WEFT_RACED. So the test asks for
// nothing that the race detector changes: [Unraced], [N] and the like.
func Raced(tb testing.TB) {
	tb.Helper()
	if Race || Soak() {
		return
	}
	if built, ok := debug.ReadBuildInfo(); ok &&
		slices.Contains(strings.Fields(os.Getenv("WEFT_RACED")), strings.TrimSuffix(built.Path, ".test")) {
		tb.Skip("has run under the race detector: it runs without where WEFT_RACED does not say so")
	}
}

// N is how many of something a test does: whole where tests do what takes minutes, else some.
func N(whole, some int) int {
	if Full() {
		return whole
	}
	return some
}

// Levels is how many of something a test does at soak, at full and at short.
func Levels(soak, full, short int) int {
	if Soak() {
		return soak
	}
	return N(full, short)
}

// For is how long a test goes on: some by itself, long at soak, and WEFT_FOR where that is set.
func For(tb testing.TB, some, long time.Duration) time.Duration {
	tb.Helper()
	if text := os.Getenv("WEFT_FOR"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			tb.Fatalf("WEFT_FOR=%s: expected a time with its unit, as 10m", text)
		}
		return d
	}
	if Soak() {
		return long
	}
	return some
}

// MostlyWaits is for TestMain of a package whose tests mostly wait: three times as many of them run
// at once as there are processors. The flag -parallel overrides this.
func MostlyWaits() {
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

// Seed is the seed of a test: usual, or WEFT_SEED where that is set. The test says it in the log.
func Seed(tb testing.TB, usual uint64) uint64 {
	tb.Helper()
	seed := usual
	if text := os.Getenv("WEFT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("WEFT_SEED=%s: expected a whole number from 0", text)
		}
		if seed == 0 {
			seed = rand.Uint64()
		}
	}
	tb.Logf("run it again with WEFT_SEED=%d", seed)
	return seed
}

// Need returns the path of a program that a test cannot do without. Where it is missing the test is
// skipped, and in CI it fails. From is the package that has the program.
func Need(tb testing.TB, program, from string) string {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		Missing(tb, "there is no %s: install %s", program, from)
	}
	return path
}

// Missing ends a test for want of something that the machine does not have. In CI that is a
// failure.
func Missing(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatalf(format, args...)
	}
	tb.Skipf(format, args...)
}
