package ledger

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/weft-fabric/weft/harness/testenv"
)

// histories is how many random histories the ledger is held against, where the level does not say.
var histories = flag.Int("weft.histories", 0, "hold the ledger against so many random histories")

// historiesOf is how many there are in this run.
func historiesOf() int {
	switch {
	case *histories > 0:
		return *histories
	case testenv.Soak():
		return 1_000_000
	}
	return testenv.N(1_000, 150)
}

const (
	stepsOfHistory = 250
	firstSeed      = 1
)

// Random histories of hosts and links against a model that knows everything. See history for what
// happens, and never and equal for what holds.
func TestTheLedgerKnowsWhatCanBeKnown(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	most, seed := historiesOf(), testenv.Seed(t, firstSeed)
	each := make([][counted]uint64, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for k := range each {
		running.Go(func() {
			for i := k; i < most && !t.Failed(); i += len(each) {
				runHistory(t, seed+uint64(i), &each[k])
			}
		})
	}
	running.Wait()
	var counts [counted]uint64
	for _, c := range each {
		for i, n := range c {
			counts[i] += n
		}
	}
	for i, n := range counts {
		name := names[min(i, kinds-1)]
		if i >= kinds {
			name = others[i-kinds]
		}
		t.Logf("%9d %s", n, name)
		if floor := uint64(most / 10); n < floor && !t.Failed() {
			t.Errorf("%s happened %d times in %d histories, expected %d", name, n, most, floor)
		}
	}
}

// runHistory runs one history, and says what is needed for it to go wrong.
func runHistory(t *testing.T, seed uint64, counts *[counted]uint64) {
	list := script(seed, stepsOfHistory)
	err := newHistory(seed, counts).play(list)
	if err == nil {
		return
	}
	short := shrink(seed, list)
	t.Errorf("seed %d: %v\n%d steps are enough: %v\n%s\nrun it again: WEFT_SEED=%d go test ./fabricd/ledger -run Knows "+
		"-weft.histories 1",
		seed, err, len(short), newHistory(seed, new([counted]uint64)).play(short), describe(short), seed)
}

// fails reports whether a history goes wrong.
func fails(seed uint64, list []step) (failed bool) {
	defer func() { failed = failed || recover() != nil }()
	var counts [counted]uint64
	return newHistory(seed, &counts).play(list) != nil
}

// shrink leaves out steps that a failure does not need: many at once, then fewer.
func shrink(seed uint64, list []step) []step {
	for n := len(list) / 2; n > 0; {
		dropped := false
		for at := 0; at+n <= len(list); {
			less := append(append([]step(nil), list[:at]...), list[at+n:]...)
			if fails(seed, less) {
				list, dropped = less, true
				continue
			}
			at += n
		}
		if !dropped || n > len(list) {
			n /= 2
		}
	}
	return list
}

// describe puts steps into words.
func describe(list []step) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "  %s %d %d\n", names[int(s[0])%kinds], s[1], s[2])
	}
	return b.String()
}

// FuzzHistory runs histories that nobody has drawn. The first byte draws the fabric.
func FuzzHistory(f *testing.F) {
	for seed := range uint64(4) {
		data := []byte{byte(seed)}
		for _, s := range script(seed, 60) {
			data = append(data, s[:]...)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 3*1000 {
			return
		}
		var list []step
		for b := data[1:]; len(b) >= 3; b = b[3:] {
			list = append(list, step(b[:3]))
		}
		var counts [counted]uint64
		if err := newHistory(uint64(data[0]), &counts).play(list); err != nil {
			t.Fatal(err)
		}
	})
}
