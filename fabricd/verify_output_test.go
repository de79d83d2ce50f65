package main

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/rig"
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

func TestVerifyDrawsAPlot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"verify", "-t", "kary-ntree:2,3", "--faults", "3"}
	out, errs, _ := fabricd(t, append(args, "--routing", "adaptive-link", "--json")...)
	require.Empty(t, errs)
	earlier := filepath.Join(dir, "earlier.json")
	require.NoError(t, os.WriteFile(earlier, []byte(out), 0o600))

	svg := filepath.Join(dir, "figure.svg")
	_, errs, _ = fabricd(t, append(args, "--routing", "deterministic-link", "--plot", svg, "--overlay", earlier)...)
	require.Empty(t, errs)
	text, err := os.ReadFile(svg)
	require.NoError(t, err)
	for _, want := range []string{"<svg", "kary-ntree:2,3", "deterministic-link", "adaptive-link", "dead links", "fault sets (%)"} {
		assert.Contains(t, string(text), want)
	}

	picture := filepath.Join(dir, "figure.png")
	_, errs, _ = fabricd(t, append(args, "--routing", "updown", "--kind", "any", "--plot", picture)...)
	require.Empty(t, errs)
	f, err := os.Open(picture)
	require.NoError(t, err)
	defer f.Close()
	_, err = png.Decode(f)
	require.NoError(t, err)
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

func TestProgressIsALineNowAndThenWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out rig.Output
	p := newProgress(&out, false, "fault sets", time.Hour)
	p.told(32, 1000) // by an earlier run, in no time of ours
	assert.Empty(t, out.String())
	p.began, p.spoke = p.began.Add(-time.Hour), p.spoke.Add(-time.Hour)
	p.told(32, 1000)
	assert.Equal(t, "32 of 1,000 fault sets, 3.20%\n", out.String(), "there is no rate yet")
	p.spoke = p.spoke.Add(-time.Hour)
	p.told(64, 1000)
	assert.Equal(t, "64 of 1,000 fault sets, 6.40%, about 29h20m0s left", strings.Split(out.String(), "\n")[1])
	p.told(96, 1000)
	p.spoke = p.spoke.Add(-time.Hour)
	p.told(1000, 1000)
	assert.Equal(t, 2, strings.Count(out.String(), "\n"), "neither before its time nor at the end")
	p.begin("pairs")
	p.spoke = p.spoke.Add(-time.Hour)
	p.told(1, 50)
	assert.Equal(t, "1 of 50 pairs, 2.00%", strings.Split(out.String(), "\n")[2], "what follows has pieces and a rate of its own")
	p.end()
}

func TestProgressIsABarOnATerminal(t *testing.T) {
	t.Parallel()
	var out rig.Output
	p := newProgress(&out, true, "fault sets", time.Hour)
	p.told(32, 100)
	p.end()
	assert.Empty(t, out.String(), "what takes a moment shows nothing")
	p.began = p.began.Add(-time.Second)
	p.told(64, 100)
	assert.Regexp(t, `fault sets, about 1\.\ds left  64% \|`, out.String())
	assert.Contains(t, out.String(), "(64/100)")
	p.begin("pairs")
	p.began = p.began.Add(-time.Second)
	p.told(8, 10)
	assert.Regexp(t, `pairs  80% \|`, out.String())
	assert.Contains(t, out.String(), "(8/10)")
	p.end()
	assert.True(t, strings.HasSuffix(out.String(), "\r"), "the line is empty again")
}

func TestSharesAreAllOrNoneOnlyWhenTheyAre(t *testing.T) {
	t.Parallel()
	for want, of := range map[string][2]uint64{
		"100%": {3, 3}, "0%": {0, 3}, "99.99%": {999_999_999, 1_000_000_000}, "0.01%": {1, 1_000_000_000}, "33.33%": {1, 3},
	} {
		assert.Equal(t, want, share(of[0], of[1]))
	}
	assert.Equal(t, "0", grouped(0))
	assert.Equal(t, "1,000,000", grouped(1_000_000))
	assert.Equal(t, "999", grouped(999))
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

func TestVerifySaysWhichArgumentShowsThatNothingCanDeadlock(t *testing.T) {
	t.Parallel()
	for routing, want := range map[string]string{
		"duato":                       "20 rings that are entered with two free places only: no cycle in any of these: no deadlock, by Duato's theorem and bubble flow control\n",
		"duato:ring=dateline":         "which lead everywhere: no cycle in any of these: no deadlock, by Duato's theorem\n",
		"duato:ring=free":             "which lead everywhere: CYCLES in 1 of these\n",
		"dimension-order:ring=bubble": "no deadlock, by bubble flow control\n",
		"dimension-order":             "channel dependency graph: no cycle in any set\n",
	} {
		out, errs, _ := fabricd(t, "verify", "--topology", "torus:5x5", "--routing", routing, "--faults", "0")
		assert.Empty(t, errs, routing)
		assert.Contains(t, out, want, routing)
	}
	out, _, code := fabricd(t, "verify", "--topology", "torus:3x3", "--routing", "duato:mechanisms=I+D", "--faults", "1", "--json")
	assert.Zero(t, code)
	assert.Contains(t, out, `"cdg_acyclic":true`)
}
