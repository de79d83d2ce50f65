package document

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-fabric/weft/fabricd/document/nearest"
)

func TestTheNearestWordIsFound(t *testing.T) {
	words := []string{"kary-ntree", "mport-tree", "mesh", "torus", "s1.03", "s1.30"}
	for word, want := range map[string]string{
		"kary-tree": "kary-ntree", "Mesh": "mesh", "tours": "torus", "s1.02": "s1.03", "s1.3": "s1.03", "xyz": "", "": "",
	} {
		got, ok := nearest.Word(word, words)
		assert.Equal(t, want, got, word)
		assert.Equal(t, want != "", ok, word)
	}
	assert.EqualError(t, nearest.Unknown("topology", "kary-tree:4,3", words[:2]),
		`unknown topology "kary-tree:4,3": did you mean "kary-ntree"? known: kary-ntree, mport-tree`)
	assert.EqualError(t, nearest.Unknown("switch", "q", nil), `unknown switch "q": known: none`)
	long := nearest.Unknown("switch", strings.Repeat("q", 1<<20), make([]string, 100)).Error()
	assert.Less(t, len(long), 200)
	assert.Contains(t, long, ", ...")
}
