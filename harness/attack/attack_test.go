package attack

import (
	"slices"
	"testing"

	"github.com/weft-fabric/weft/harness/testenv"
)

// failures is a test that notes whether it has failed.
type failures struct {
	testing.TB
	failed bool
}

func (f *failures) Errorf(string, ...any) { f.failed = true }

// A test makes as many attempts as its row says; at short it may make fewer, and never more.
func TestCountComparesAttemptsWithTheRow(t *testing.T) {
	t.Setenv(countsFile, "")
	_, text := table(t)
	list := rows(t, text)
	r := list[slices.IndexFunc(list, func(r row) bool { return !r.once && r.attempts > 1 })]
	for attempts, fails := range map[int]bool{
		r.attempts: false, r.attempts + 1: true, r.attempts - 1: !testenv.Short(),
	} {
		f := &failures{TB: t}
		Count(f, r.class, attempts)
		if f.failed != fails {
			t.Errorf("%d attempts of %q, whose row says %d: fails %v, expected %v", attempts, r.class, r.attempts, f.failed,
				fails)
		}
	}
}
