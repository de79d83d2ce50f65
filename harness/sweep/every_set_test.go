package sweep

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/verify"
	"github.com/weft-fabric/weft/switch/firmware"
)

const ofEverySetText = `
name: mine
about: All sets.
measure: connectivity
base: {topology: "kary-ntree:2,3", routing: deterministic-link, every_set: true}
axes: [{axis: faults, from: 0, to: 2}]
samples: 500
quick: {samples: 1}
checks:
  - {says: one dead link cuts nobody off, ref: nobody, value: not_tolerated, where: {faults: [0, 1]}, at_most: 0}
  - {says: two do, ref: nobody, value: not_tolerated, where: {faults: 2}, at_least: 1}
  - says: more than one
    ref: nobody
    value: not_tolerated_share
    where: {faults: 2}
    against: {faults: 1}
    as: difference
    above: 0
`

// All sets that are judged at once are as many as those that are not connected when each is asked
// about by itself.
func TestEverySetIsJudged(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(ofEverySetText))
	require.NoError(t, err)
	o := Options{Dir: t.TempDir()}
	s, err := e.Settle(o)
	require.NoError(t, err)
	require.NoError(t, SettleAll(t.Context(), []*Settling{s}, func(*Settling) {}))
	r, err := s.End()
	require.NoError(t, err)
	assert.Equal(t, 1, r.Samples, "a second would be the same")
	for _, f := range r.Findings {
		assert.Equal(t, Holds, f.Holds, f.Says)
	}

	g := e.full.points[0].config.Topology
	var links []verify.Element
	for _, l := range g.Links {
		if l.BetweenSwitches() {
			links = append(links, verify.Element{ID: uint32(l.ID)})
		}
	}
	fw, ok := firmware.ByName("deterministic-link")
	require.True(t, ok)
	v := verify.Config{Graph: g, Firmware: fw, VCs: 2}
	var sets, not [3]uint64
	var each func(from int, set []verify.Element)
	each = func(from int, set []verify.Element) {
		found, err := measure.Judge(t.Context(), v, set)
		require.NoError(t, err)
		require.True(t, found.Acyclic)
		sets[len(set)]++
		not[len(set)] += uint64(b2i(!found.Connected))
		for i := from; i < len(links) && len(set) < 2; i++ {
			each(i+1, append(set[:len(set):len(set)], links[i]))
		}
	}
	each(0, nil)
	require.Positive(t, not[2])
	for k, row := range readCSV(t, o.Dir, "runs.csv") {
		assert.Equal(t, strconv.FormatUint(sets[k], 10), row["sets"])
		assert.Equal(t, strconv.FormatUint(not[k], 10), row["not_tolerated"])
		assert.Equal(t, strconv.FormatBool(not[k] == 0), row["tolerated"])
		assert.Equal(t, "true", row["acyclic"])
	}
}

// Under XY a flow crosses a link between the columns i and i+1 of a row of n where its ends are on
// both sides: the mean over all links is 1/(3(n-1)).
func TestEachLinkDiesAlone(t *testing.T) {
	t.Parallel()
	e, err := loadFile("mine.yaml", []byte(`
name: mine
about: Single faults.
measure: reroute
base: {topology: "mesh:4x4", routing: xy, every_set: true}
axes:
  - {axis: faults, values: [0, 1]}
  - {axis: manager, values: [dqr, "dqr:entries=destination,path=compulsory,turns=local"]}
samples: 1
quick: {samples: 1}
`))
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = e.Run(t.Context(), Options{Dir: dir})
	require.NoError(t, err)
	rows := readCSV(t, dir, "runs.csv")
	require.Len(t, rows, 4)
	for _, row := range rows {
		want := map[string]string{"0": "1", "1": "24"}[row["faults"]]
		assert.Equal(t, want, row["sets"])
		if row["manager"] != "dqr" || row["faults"] == "0" {
			continue
		}
		assert.Equal(t, "0", row["not_tolerated"])
		share, err := strconv.ParseFloat(row["reroute_share"], 64)
		require.NoError(t, err)
		assert.InDelta(t, 1.0/9, share, 1e-9)
	}
	assert.NotEqual(t, "0", rows[3]["not_tolerated"], "the test could not fail")
}

func TestWhereEverySetCannotBeJudgedIsSaid(t *testing.T) {
	t.Parallel()
	const (
		tree = "{topology: \"kary-ntree:2,2\", every_set: true, "
		mesh = "measure: reroute\nbase: {topology: \"mesh:3x3\", routing: xy, every_set: true, "
	)
	for text, want := range map[string]string{
		"measure: tolerate\nbase: " + tree + "mechanisms: I}":                                 "leave it out",
		mesh + "manager: physical}":                                                           "the manager is physical",
		mesh + "manager: dqr, faults: 2}":                                                     "each link dies alone",
		mesh + "manager: dqr, fault_kind: switch}":                                            "of kind link",
		"measure: connectivity\nbase: " + tree + "routing: ddrc}":                             "and ddrc does",
		"measure: connectivity\nbase: " + tree + "routing: deterministic-link, faults: 1000}": "1000 faults",
		"measure: network\nbase: " + tree + "routing: deterministic-link, load: 0.1}": "every_set is for measure: reroute " +
			"and connectivity",
		"measure: connectivity\nbase: {topology: \"torus:3x3\", routing: \"duato:mechanisms=I\", every_set: true}": "do " +
			"not know the faults",
	} {
		file := "name: mine\nabout: x.\n" + text + "\naxes: [{axis: switches, values: [1]}]\nsamples: 1\n" +
			"quick: {samples: 1}\n"
		_, err := loadFile("mine.yaml", []byte(file))
		require.ErrorContains(t, err, want, text)
	}
}

// Whether packets can deadlock is asked for the way in which they wait: with ten dead links nearly
// every set lets packets that wait for one candidate deadlock, and about a quarter those that wait
// for all.
func TestConnectivitySaysWhetherPacketsCanDeadlock(t *testing.T) {
	t.Parallel()
	testenv.Unraced(t)
	e, err := loadFile("mine.yaml", []byte(`
name: mine
about: Ways to wait.
measure: connectivity
base: {topology: "kary-ntree:4,3", routing: adaptive-link}
axes: [{axis: faults, values: [3, 10]}, {axis: waiting, values: [all, one]}]
samples: 4
quick: {samples: 1}
`))
	require.NoError(t, err)
	o := Options{Dir: t.TempDir()}
	_, err = e.Run(t.Context(), o)
	require.NoError(t, err)
	free := map[string]int{} // of deadlocks
	for _, row := range readCSV(t, o.Dir, "runs.csv") {
		free[row["waiting"]+" "+row["faults"]] += b2i(row["acyclic"] == "true")
	}
	require.Equal(t, 4, free["all 3"], "Theorem 1")
	require.Zero(t, free["one 10"])
	require.Positive(t, free["all 10"])
}
