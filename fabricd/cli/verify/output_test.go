package verify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

// compared verifies with a comparison that says: up/down connects sets of one fault at most, and
// physically all sets are.
func compared(t *testing.T, spec string) (verify.Config, *verify.Result) {
	t.Helper()
	g := topologytest.Parse(t, spec)
	c := verify.Config{
		Graph: g, Name: "updown", Firmware: firmware.UpDown{}, Sets: verify.Sets{Max: 2},
		Compare: func(set []verify.Element) (updown, physical bool) { return len(set) < 2, true },
	}
	r, err := verify.Run(t.Context(), c)
	require.NoError(t, err)
	return c, r
}

func TestVerifyTableHasWhatItWasComparedWith(t *testing.T) {
	t.Parallel()
	c, r := compared(t, "kary-ntree:2,2")
	var out strings.Builder
	require.NoError(t, printVerified(&out, c, r))
	assert.Regexp(t, `can deadlock +by up/down tables +physically\n +0 +1 +1 +100% +0 +1 +100% +1 +100%\n`, out.String())
	assert.Regexp(t, `\n +2 +6 +2 +33\.33% +0 +0 +0% +6 +100%\n`, out.String())
}

func TestVerifySaysWhichClaimsOfAFirmwareAreNotBelieved(t *testing.T) {
	t.Parallel()
	c, r := compared(t, "kary-ntree:2,2")
	var out strings.Builder
	require.NoError(t, printVerified(&out, c, r))
	assert.NotContains(t, out.String(), "not believed")
	r.Asymmetry, r.SourceBased = "mine says that it is symmetric", "mine says that only the destination matters"
	require.NoError(t, printVerified(&out, c, r))
	assert.Contains(t, out.String(),
		"\nnot believed: mine says that it is symmetric\nnot believed: mine says that only the destination matters\n")
	data, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"asymmetry":"mine says that it is symmetric","source_based":"mine says`)
}

func TestVerifyListsTheMostFrequentRulesOnly(t *testing.T) {
	t.Parallel()
	c, r := compared(t, "kary-ntree:2,2")
	for i := range maxRules + 3 {
		r.Discards[strings.Repeat("x", i+1)] = uint64(1_000_000 + i)
	}
	var out strings.Builder
	require.NoError(t, printVerified(&out, c, r))
	assert.Contains(t, out.String(), "     1,000,022  "+strings.Repeat("x", 23)+"\n")
	assert.NotContains(t, out.String(), "the down link is dead\n     1,")
	assert.Regexp(t, `  and \d more rules\n`, out.String())
}

func TestPlotHasACurveForEachWayOfRouting(t *testing.T) {
	t.Parallel()
	_, r := compared(t, "kary-ntree:2,2")
	_, other := compared(t, "kary-ntree:3,2")
	earlier := *r
	earlier.Routing = "adaptive-link"

	list := curves([]*verify.Result{r, &earlier})
	var names []string
	for _, c := range list {
		names = append(names, c.name)
		require.Len(t, c.points, 3)
	}
	assert.Equal(t, []string{"updown", "up/down tables made anew", "physically", "adaptive-link"}, names, "what does not depend on the firmware is drawn once")
	assert.InDelta(t, 100.0/3, list[0].points[2].Y, 0.01)
	assert.Zero(t, list[1].points[2].Y)
	assert.Equal(t, 100.0, list[2].points[2].Y)

	list = curves([]*verify.Result{r, other})
	require.Len(t, list, 6)
	assert.Equal(t, "kary-ntree:3,2 physically", list[5].name)
}

func TestVerifyResultCanBeReadBack(t *testing.T) {
	t.Parallel()
	_, r := compared(t, "kary-ntree:2,2")
	data, err := json.Marshal(r)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	back, err := readResult(path)
	require.NoError(t, err)
	assert.Equal(t, r.ByFaults, back.ByFaults)
}

func TestThePlotsAxisIsAllOfItWhereNothingIsDisconnected(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "all.svg")
	all := &verify.Result{Topology: "kary-ntree:2,3", Routing: "adaptive-link", Kind: verify.Links, ByFaults: []verify.ByFaults{{Sets: 1, Connected: 1}, {Faults: 1, Sets: 16, Connected: 16}}}
	require.NoError(t, plotConnectivity(file, []*verify.Result{all}))
	svg, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, label := range []string{"0", "20", "40", "60", "80", "100"} {
		assert.Contains(t, string(svg), ">"+label+"</text>")
	}
	assert.NotContains(t, string(svg), ">120</text>", "the room of the legend is no share")
}
