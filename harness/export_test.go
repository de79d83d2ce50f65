package harness

import "testing"

// Count is how many seeds are run of n.
var Count = seeds

// One is one of Seeds.
func One(t testing.TB, seed uint64, spec string, body func(h *Harness), options ...Option) {
	newPlan(t, spec, append(options, Virtual())).one(t, t.Name(), seed, body)
}
