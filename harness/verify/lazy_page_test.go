package verify

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/switch/firmware"
)

// walksOf lists what packets from n00 to n11 in kary-ntree:2,2 can meet with so many dead links, as
// lines of a table: where they are, what they learn there, where they go, and what they still know
// then.
func walksOf(t *testing.T, most int) (lines []string) {
	t.Helper()
	r := lazyRun(t, "kary-ntree:2,2", firmware.DeterministicLink(), most)
	w := newLazyWalk(r.model, most, newMortals(r.model, &r.Sets, false))
	from := slices.IndexFunc(r.Graph.NICs, func(n topology.NIC) bool { return n.Name == "n00" })
	to := slices.IndexFunc(r.Graph.NICs, func(n topology.NIC) bool { return n.Name == "n11" })
	w.apart, w.only = true, slices.Index(r.model.flows[to].srcs, weft.NICID(from))+1
	require.NoError(t, w.walk(t.Context(), to))
	at := make([]string, len(w.classes))
	for i, st := range w.flows[to].states {
		at[w.class[i]] = "`" + r.Graph.Switches[st.sw].Name + "`"
	}
	facts := func(list []fact) string {
		var words []string
		for _, is := range list {
			word := map[bool]string{true: "dead", false: "up"}[is.dead()]
			words = append(words, fmt.Sprintf("`%s` %s", r.Graph.Links[is>>1].Name, word))
		}
		return cmp.Or(strings.Join(words, ", "), "nothing")
	}
	for _, n := range w.nodes {
		for i := n.first; i < n.last; i++ {
			e := w.edges[i]
			goes, knows := "n11", "nothing"
			switch {
			case e.to == lost:
				goes = "nowhere"
			case e.to >= 0:
				goes, knows = at[w.nodes[e.to].class], facts(w.known[w.nodes[e.to].known])
			}
			lines = append(lines, fmt.Sprintf("| %s | %d | %s | %s | %s |", at[n.class], int32(most)-n.cost,
				facts(w.classes[n.class].outcomes[e.outcome].facts), goes, knows))
		}
	}
	return lines
}

// The example of docs/explanation/all-sets.md is what the code does.
func TestThePagesExampleIsWhatIsExplored(t *testing.T) {
	page, err := os.ReadFile("../../docs/explanation/all-sets.md")
	require.NoError(t, err)
	lines := walksOf(t, 1)
	assert.Contains(t, string(page), strings.Join(lines, "\n")+"\n\n")
	nowhere := func(line string) bool { return strings.Contains(line, "nowhere") }
	assert.False(t, slices.ContainsFunc(lines, nowhere))
	assert.True(t, slices.ContainsFunc(walksOf(t, 2), nowhere), "with one fault more a packet is lost")
}
