package testenv

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

const module = "github.com/weft-fabric/weft"

func TestLevels(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]level{"": short, "short": short, "full": full, "soak": soak} {
		if l, err := levelOf(name); l != want || err != nil {
			t.Errorf("WEFT_TEST=%s: level %d, %v, expected %d", name, l, err, want)
		}
	}
	for _, name := range []string{"long", "Full", " full", "1"} {
		if _, err := levelOf(name); err == nil || err.Error() != "WEFT_TEST="+name+": expected short, full or soak" {
			t.Errorf("WEFT_TEST=%s: %v", name, err)
		}
	}
	if !(short < full && full < soak) {
		t.Error("a level does all that the one before does")
	}
}

// A level that was kept from before the tests would be unknown to go test, which would then take the
// result of a run at short for one at full.
func TestTheLevelIsReadWhenItIsAskedFor(t *testing.T) {
	for _, name := range []string{"soak", "short", "full"} {
		t.Setenv("WEFT_TEST", name)
		if want, _ := levelOf(name); chosen() != want {
			t.Errorf("WEFT_TEST=%s: level %d, expected %d", name, chosen(), want)
		}
	}
}

func TestNAndLongGoByTheLevel(t *testing.T) {
	t.Setenv("WEFT_FOR", "")
	n, skips := 3, chosen() == short
	if Full() {
		n = 100
	}
	if got := N(100, 3); got != n {
		t.Errorf("N(100, 3) = %d, expected %d", got, n)
	}
	if Soak() {
		n = 1000
	}
	if got := Levels(1000, 100, 3); got != n {
		t.Errorf("Levels(1000, 100, 3) = %d, expected %d", got, n)
	}
	if got := told(func(tb testing.TB) { Nightly(tb) }); strings.HasPrefix(got, "skip: ") == Soak() {
		t.Errorf("Nightly: %q, skips %v expected", got, !Soak())
	}
	if got := told(func(tb testing.TB) { Unraced(tb) }); strings.HasPrefix(got, "skip: ") != Race {
		t.Errorf("Unraced: %q, skips %v expected", got, Race)
	}
	if got := told(func(tb testing.TB) { Long(tb) }); strings.HasPrefix(got, "skip: ") != skips {
		t.Errorf("Long: %q, skips %v expected", got, skips)
	}
	t.Setenv("WEFT_FOR", "1s")
	for name, skip := range map[string]func(testing.TB){"Long": Long, "Nightly": Nightly} {
		if got := told(skip); got != "" {
			t.Errorf("%s with WEFT_FOR: %q", name, got)
		}
	}
}

func TestOneInThreeRunsTheSameAtEachRun(t *testing.T) {
	t.Setenv("WEFT_FOR", "")
	run := func(i int) bool {
		return told(func(tb testing.TB) {
			tb.(*recorder).name = fmt.Sprint("TestOf/", i)
			OneIn(tb, 3)
		}) == ""
	}
	ran := 0
	for i := range 300 {
		first := run(i)
		if first {
			ran++
		}
		if again := run(i); again != first {
			t.Fatalf("the test of %d runs or not by chance", i)
		}
	}
	if Soak() != (ran == 300) || ran < 70 {
		t.Errorf("of 300 tests %d ran", ran)
	}
	t.Setenv("WEFT_FOR", "1s")
	for i := range 10 {
		if !run(i) {
			t.Errorf("with WEFT_FOR the test of %d did not run", i)
		}
	}
}

func TestWhatHasRunUnderTheRaceDetectorIsSkippedInItsPackageAlone(t *testing.T) {
	for raced, skips := range map[string]bool{
		"": false, module + "/nic " + module + "/harness/testenv2": false,
		module + "/nic " + module + "/harness/testenv": !Race && !Soak(),
	} {
		t.Setenv("WEFT_RACED", raced)
		if got := told(func(tb testing.TB) { Raced(tb) }); strings.HasPrefix(got, "skip: ") != skips {
			t.Errorf("Raced with WEFT_RACED=%q: %q, skips %v expected", raced, got, skips)
		}
	}
}

func TestForReadsATime(t *testing.T) {
	for text, want := range map[string]time.Duration{"10m": 10 * time.Minute, "1ms": time.Millisecond} {
		t.Setenv("WEFT_FOR", text)
		if got := For(t, time.Second, time.Hour); got != want {
			t.Errorf("WEFT_FOR=%s: %v, expected %v", text, got, want)
		}
	}
	for _, text := range []string{"10", "0s", "-1s", "soon"} {
		t.Setenv("WEFT_FOR", text)
		got := told(func(tb testing.TB) { For(tb, time.Second, time.Hour) })
		if want := "fatal: WEFT_FOR=" + text + ": expected a time with its unit, as 10m"; got != want {
			t.Errorf("WEFT_FOR=%s: %q, expected %q", text, got, want)
		}
	}
	t.Setenv("WEFT_FOR", "")
	want := time.Second
	if Soak() {
		want = time.Hour
	}
	if got := For(t, time.Second, time.Hour); got != want {
		t.Errorf("without WEFT_FOR: %v, expected %v", got, want)
	}
}

func TestSeedReadsANumber(t *testing.T) {
	t.Setenv("WEFT_SEED", "")
	if got := Seed(t, 7); got != 7 {
		t.Errorf("without WEFT_SEED: %d, expected 7", got)
	}
	t.Setenv("WEFT_SEED", "18446744073709551615")
	if got := Seed(t, 7); got != 1<<64-1 {
		t.Errorf("the highest seed: %d", got)
	}
	t.Setenv("WEFT_SEED", "0")
	if got := Seed(t, 7); got == 0 {
		t.Error("WEFT_SEED=0 draws a seed")
	}
	for _, text := range []string{"-1", "1.5", "0x10", "18446744073709551616", "x"} {
		t.Setenv("WEFT_SEED", text)
		got := told(func(tb testing.TB) { Seed(tb, 7) })
		if want := "fatal: WEFT_SEED=" + text + ": expected a whole number from 0"; got != want {
			t.Errorf("WEFT_SEED=%s: %q, expected %q", text, got, want)
		}
	}
}

func TestWhatIsMissingFailsInCIAlone(t *testing.T) {
	need := func(tb testing.TB) { Need(tb, "no-such-program", "the package nowhere") }
	for ci, want := range map[string]string{"true": "fatal: ", "": "skip: "} {
		t.Setenv("CI", ci)
		if got := told(need); got != want+"there is no no-such-program: install the package nowhere" {
			t.Errorf("CI=%s: %q", ci, got)
		}
	}
	if got := told(func(tb testing.TB) { Need(tb, "go", "Go") }); got != "" {
		t.Errorf("Need of what is there: %q", got)
	}
}

// told is how a test that calls f ends: "fatal: " or "skip: " with the message, or "" when it goes
// on.
func told(f func(testing.TB)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.end
}

// recorder is a test that notes how it ends.
type recorder struct {
	testing.TB
	name, end string
}

func (r *recorder) Helper()             {}
func (r *recorder) Name() string        { return r.name }
func (r *recorder) Logf(string, ...any) {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.end = "fatal: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.end = "skip: " + fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) { r.Skip(fmt.Sprintf(format, args...)) }
