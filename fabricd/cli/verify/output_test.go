package verify

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
		Graph: g, Name: "updown", Firmware: firmware.UpDown{}.Firmware(), Sets: verify.Sets{Max: 2},
		Compare: func(set []verify.Element) (updown, physical bool) { return len(set) < 2, true },
	}
	r, err := verify.Run(t.Context(), c)
	require.NoError(t, err)
	return c, r
}

// The table has what it was compared with, the most frequent rules only, and which claims of a
// firmware are not believed.
func TestVerifyPrintsItsResult(t *testing.T) {
	t.Parallel()
	c, r := compared(t, "kary-ntree:2,2")
	r.Seconds = 0
	r.Asymmetry, r.SourceBased = "mine says that it is symmetric", "mine says that only the destination matters"
	var rules string
	for i := range maxRules + 3 {
		rule := strings.Repeat("x", i+1)
		if r.Discards[rule] = uint64(1_000_000 + i); i >= 3 {
			rules = fmt.Sprintf("     1,000,%03d  %s\n", i, rule) + rules
		}
	}
	var out strings.Builder
	require.NoError(t, printVerified(&out, c, r))
	assert.Equal(t, `kary-ntree:2,2, updown, 1 virtual channel, faults before the first packet

   faults   fault sets   all pairs connected   can deadlock   by up/down tables   physically
        0            1             1    100%              0           1    100%    1    100%
        1            4             0      0%              0           4    100%    4    100%
        2            6             2  33.33%              0           0      0%    6    100%

FAILS: 11 fault sets, 12 pairs each: 40 not connected, 0 livelocks, 0 sets that can deadlock, at most 3 hops
channel dependency graph: no cycle in any set
channel numbering: rises on every hop
ends without delivery, by rule, in how many states over all sets:
`+rules+`  and 5 more rules
not believed: mine says that it is symmetric
not believed: mine says that only the destination matters
counterexample: unconnected with s0.0-s1.0 dead, n10 to n00:
    1  s1.1 from n10 vc0  (1: up) -> s0.0 vc0
    2  s0.0 from s1.1 vc0  (2: the down link is dead)
    2: the down link is dead
196 states, set by set, in 0.00 s
`, out.String())
	data, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"asymmetry":"mine says that it is symmetric","source_based":"mine says`)
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
	assert.Equal(t, []string{"updown", "up/down tables made anew", "physically", "adaptive-link"}, names,
		"what does not depend on the firmware is drawn once")
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
	all := &verify.Result{
		Topology: "kary-ntree:2,3", Routing: "adaptive-link", Kind: verify.Links,
		ByFaults: []verify.ByFaults{{Sets: 1, Connected: 1}, {Faults: 1, Sets: 16, Connected: 16}},
	}
	require.NoError(t, plotConnectivity(file, []*verify.Result{all}))
	svg, err := os.ReadFile(file)
	require.NoError(t, err)
	labels := regexp.MustCompile(`>\d+<`).FindAllString(string(svg), -1)
	assert.Equal(t, []string{">0<", ">1<", ">0<", ">20<", ">40<", ">60<", ">80<", ">100<"}, labels,
		"the room of the legend is no share")
}
