// Package nearest finds the word that somebody meant. Pure: a core may say so of the words it
// reads.
package nearest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	maxWord   = 80 // characters of a word that an error repeats
	maxListed = 8  // known words that an error lists
)

// Word is the candidate with the least edit distance (Levenshtein, ignoring case) to word, the
// first of equals. It reports false when none is near: more than a third of the word, and at least
// one letter, would have to change.
func Word(word string, candidates []string) (string, bool) {
	word = strings.ToLower(word)
	limit := max(1, (len(word)+1)/3)
	best, found := "", false
	for _, c := range candidates {
		if diff := len(c) - len(word); diff > limit || -diff > limit {
			continue // cannot be near: saves nearly all the work in a fabric of many names
		}
		if n := distance(word, strings.ToLower(c)); n <= limit {
			best, found, limit = c, true, n-1
		}
	}
	return best, found
}

// distance counts the swap of two neighbouring letters as one change, being the commonest slip of
// all.
func distance(a, b string) int {
	if len(a) == len(b) {
		for i := 0; i+1 < len(a); i++ {
			if a[i] == b[i] {
				continue
			}
			if a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] {
				return 1
			}
			break
		}
	}
	return levenshtein.ComputeDistance(a, b)
}

// Unknown is the error for a word that is not among the candidates: `unknown switch "s99": did you
// mean "s9"? known: s0, s1, ...`. The kind says what the word should have been. A word with
// arguments, "kary-tree:4,3", is compared without them too.
func Unknown(kind, word string, candidates []string) error {
	near, ok := Word(word, candidates)
	if head, _, cut := strings.Cut(word, ":"); !ok && cut {
		near, ok = Word(head, candidates)
	}
	hint := ""
	if ok {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("unknown %s %q: %sknown: %s", kind, Clip(word), hint, list(candidates))
}

// list prints the first few of words in the order given, and not how many there are: what is said
// of one word stays the same when another is added.
func list(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	if len(words) > maxListed {
		words = append(slices.Clone(words[:maxListed]), "...")
	}
	return strings.Join(words, ", ")
}

// Clip bounds what an error repeats of its input.
func Clip(word string) string {
	if len(word) <= maxWord {
		return word
	}
	return strings.ToValidUTF8(word[:maxWord], "") + "..."
}
