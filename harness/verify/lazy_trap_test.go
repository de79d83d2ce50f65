package verify

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	switching "github.com/weft-fabric/weft/switch"
)

// What is forgotten too early is found wrong: each way to forget that is planted here differs from
// exploring every set by itself.

func TestADeadLinkThatIsForgottenAndChargedAgainHidesWhatFails(t *testing.T) {
	// A packet that has forgotten that a link is dead pays for it a second time, and has less left for
	// what would stop it.
	forgets := func(w *lazyWalk, known []fact, to int32) []fact {
		return slices.DeleteFunc(w.relevant(known, to), fact.dead)
	}
	for _, folded := range []bool{false, true} {
		want, got := bothWays(t, "kary-ntree:3,2", "adaptive-link-one", 2, folded, forgets)
		assert.NotEqual(t, want, got)
		for i := range want {
			assert.GreaterOrEqual(t, got[i].fails, want[i].fails, "a pair seems to hold, and does not")
		}
	}
	want, got := bothWays(t, "kary-ntree:3,2", "deterministic-link", 2, false, forgets)
	assert.NotEqual(t, want, got)
	for i := range want {
		assert.Equal(t, want[i].fails, got[i].fails)
		assert.LessOrEqual(t, got[i].hops, want[i].hops, "a way seems to be shorter, and is not")
	}
}

func TestADeadLinkThatIsForgottenForNothingInventsFailures(t *testing.T) {
	// A packet that pays nothing for a link may meet more dead ones than there are.
	free := func(w *lazyWalk, known []fact, to int32) []fact {
		for _, c := range w.classes {
			for i := range c.outcomes {
				c.outcomes[i].facts = slices.DeleteFunc(slices.Clone(c.outcomes[i].facts), fact.dead)
			}
		}
		return w.relevant(known, to)
	}
	want, got := bothWays(t, "kary-ntree:3,2", "deterministic-link", 2, false, free)
	assert.NotEqual(t, want, got)
	for i := range want {
		assert.Equal(t, int32(never), want[i].fails)
		assert.LessOrEqual(t, got[i].fails, want[i].fails)
	}
}

func TestALinkThatIsForgottenToBeUpInventsWays(t *testing.T) {
	// A packet that came back by a link which it has found up finds it dead.
	forgets := func(w *lazyWalk, known []fact, to int32) []fact {
		return slices.DeleteFunc(w.relevant(known, to), func(is fact) bool { return !is.dead() })
	}
	want, got := bothWays(t, "kary-ntree:3,2", "adaptive-link-one", 2, false, forgets)
	assert.NotEqual(t, want, got)
	for i := range want {
		assert.GreaterOrEqual(t, got[i].hops, want[i].hops, "a packet seems to cross more switches, and does not")
	}
}

func TestWhatSomePacketsHaveFoundIsNotCertain(t *testing.T) {
	// A state is taken to be certain of what is found where packets come to it from one other state.
	settled := map[int]bool{}
	some := func(w *lazyWalk, known []fact, to int32) []fact {
		if settled[w.last] {
			return w.relevant(known, to)
		}
		settled[w.last] = true
		certain := make([]*certainty, len(w.classes))
		for _, c := range w.classes {
			for _, o := range c.outcomes {
				if o.to >= 0 && certain[o.to] == nil {
					certain[o.to] = &certainty{slices.Clone(o.facts)}
				}
			}
		}
		w.forgetCertain(certain)
		return w.relevant(known, to)
	}
	want, got := bothWays(t, "kary-ntree:3,2", "adaptive-link-one", 2, false, some)
	assert.NotEqual(t, want, got)
}

// A packet that forgets what became of names by a renumbering knows of the wrong links.
func TestWhatIsKnownIsRenumberedWithTheState(t *testing.T) {
	names := func(w *lazyWalk, known []fact, to int32) []fact {
		known = slices.Clone(known)
		for i, is := range known { // the next link has what is known of this one
			known[i] = fact((int(is>>1)+1)%len(w.m.g.Links))<<1 | is&1
			if w.fold.coords[known[i]>>1] == nil {
				known[i] = is
			}
		}
		slices.Sort(known)
		return w.relevant(slices.Compact(known), to)
	}
	want, got := bothWays(t, "kary-ntree:3,2", "adaptive-link-one", 2, true, names)
	assert.NotEqual(t, want, got)
}

// bothWays is what is found of all pairs with up to so many dead links, one set after the other,
// and at once by forgetting so, with states folded or not.
func bothWays(t *testing.T, on, name string, most int, folded bool, forget forget) (want, got []lazyPair) {
	t.Helper()
	all := covered()
	fw := all[slices.IndexFunc(all, func(fw switching.Firmware) bool { return fw.Name == name })]
	r := lazyRun(t, on, fw, most)
	r.folded = folded
	each, _ := r.enumerated(t)
	found, err := r.find(t.Context(), forget)
	require.NoError(t, err)
	return slices.Concat(each...), slices.Concat(found.pairs...)
}
