package ibd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// ibnetdiscover of the emulated fabric gives the file back that it was made of: makers, GUIDs,
// LIDs, names, and adapters of several ports; before a manager comes and after OpenSM has kept the
// LIDs.
func TestIbnetdiscoverGivesTheFileBack(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/ports.net", "../../topology/testdata/tiny.ibnetdiscover"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			testenv.Raced(t)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			m := manage(t, path)
			require.Equal(t, blocks(string(text)), blocks(m.run("", "ibnetdiscover")))
			m.opensm("", "-R", "minhop")
			require.Equal(t, blocks(string(text)), blocks(m.run("", "ibnetdiscover")))
			m.requireForwardsAsRead()
		})
	}
}

// blocks are those of a file, without comments and in the order of their text: who discovers begins
// where he is.
func blocks(text string) []string {
	var list []string
	for b := range strings.SplitSeq(text, "\n\n") {
		if b = strings.TrimSpace(b); strings.HasPrefix(b, "vendid") {
			list = append(list, b)
		}
	}
	slices.Sort(list)
	return list
}
