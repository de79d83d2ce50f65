package survey_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/tables"
)

func TestEqualRoutingsDoNotDiffer(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "irregular:12,20,1")
	r, err := layered.LASH(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	d, err := survey.Diff(t.Context(), r, r)
	require.NoError(t, err)
	assert.Equal(t, survey.Difference{Entries: 144, Pairs: 132}, d)
}

func TestDifferencesAreCountedByWhatPacketsDo(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	counter := func(at, _ int, _ weft.VC) []int { return []int{(at + 3) % 4} }
	one, other := byHand{next: clockwise(4)}.make(t, g), byHand{next: counter}.make(t, g)
	d, err := survey.Diff(t.Context(), one, other)
	require.NoError(t, err)
	assert.Equal(t, 12, d.DifferPairs)
	assert.Equal(t, 12, d.DifferEntries, "at the destination they are the same")
	assert.Equal(t, 16, d.Entries)
	assert.Equal(t, 4, d.Longer, "to the next one clockwise")
	assert.Equal(t, 4, d.Shorter)
	assert.Len(t, d.FirstPairs, 12)
	assert.Equal(t, [2]weft.Node{weft.SwitchID(1).Node(), weft.NICID(0).Node()}, d.FirstPairs[0])

	layer1 := func(s, dst int) []weft.Address {
		if s == 2 {
			return []weft.Address{{VC: 1}}
		}
		return []weft.Address{{}}
	}
	two := byHand{layers: 2, next: clockwise(4), addresses: layer1}.make(t, g)
	d, err = survey.Diff(t.Context(), one, two)
	require.NoError(t, err)
	assert.Equal(t, survey.Difference{Entries: 16, Pairs: 12, DifferLayers: 3}, d, "switch 2 sends in another layer")

	twice := byHand{
		next:      clockwise(4),
		addresses: func(int, int) []weft.Address { return []weft.Address{{}, {Path: 1}} },
	}.make(t, g)
	d, err = survey.Diff(t.Context(), one, twice)
	require.NoError(t, err)
	assert.Equal(t, survey.Difference{Entries: 16, Pairs: 12}, d, "a second address with the same way is no other way")

	silent := byHand{next: clockwise(4), addresses: func(s, _ int) []weft.Address {
		if s == 2 {
			return nil
		}
		return []weft.Address{{}}
	}}.make(t, g)
	d, err = survey.Diff(t.Context(), one, silent)
	require.NoError(t, err)
	assert.Equal(t, 3, d.OnlyA)
	assert.Zero(t, d.Longer+d.Shorter, "what has no route has no length")
	d, err = survey.Diff(t.Context(), silent, one)
	require.NoError(t, err)
	assert.Equal(t, 3, d.OnlyB)

	_, err = survey.Diff(t.Context(), one, byHand{next: clockwise(5)}.make(t, topologytest.Parse(t, "ring:5")))
	assert.ErrorContains(t, err, "different graphs, ring:4 and ring:5")
}

func TestAListingPutsEqualEntriesTogether(t *testing.T) {
	t.Parallel()
	g := topologytest.Parse(t, "ring:4")
	l := survey.List(byHand{next: clockwise(4)}.make(t, g))
	require.Len(t, l.Tables, 4)
	at := portTo(g, 0, weft.SwitchID(1).Node())
	assert.Equal(t, []survey.Entry{
		{To: []string{"n0"}, Path: 0, Out: []string{portTo(g, 0, weft.NICID(0).Node()).String() + " n0"}},
		{To: []string{"n0"}, Path: 1, Out: []string{portTo(g, 0, weft.NICID(0).Node()).String() + " n0"}},
		{To: []string{"n1", "n2", "n3"}, Path: 0, Out: []string{at.String() + " s1"}},
		{To: []string{"n1", "n2", "n3"}, Path: 1, Out: []string{at.String() + " s1"}},
	}, l.Tables[0].Entries)
	assert.Equal(t, []survey.Sender{{To: []string{"n0", "n1", "n2", "n3"}, Addresses: []survey.By{{Layers: []int{0}}}}},
		l.Sources[0].Sends)
	assert.Nil(t, l.Escape)

	tree, err := subnet.Routes(t.Context(), "deterministic-table", topologytest.Parse(t, "kary-ntree:2,2"))
	require.NoError(t, err)
	leaf := survey.List(tree).Tables[2]
	assert.Equal(t, "s1.0", leaf.Switch)
	assert.Contains(t, leaf.Entries,
		survey.Entry{To: []string{"n10", "n11"}, Layers: []int{1}, In: []string{"p2"}, Out: []string{"p3 s0.1"}})

	r := byHand{next: clockwise(4)}.make(t, g)
	entries := make([][]tables.Hop, g.Switches[0].Ports+1)
	entries[at] = []tables.Hop{{Port: at, VC: tables.SameVC}}
	row, err := r.Tables.AddChoices(0, entries)
	require.NoError(t, err)
	require.NoError(t, r.Tables.SetAddress(0, 0, 3, 0, row))
	assert.Contains(t, survey.List(r).Tables[0].Entries,
		survey.Entry{To: []string{"n3"}, In: []string{at.String()}, Out: []string{at.String() + " s1"}}, "from one port only")

	l = survey.List(escape(4).make(t, g))
	require.NotNil(t, l.Escape)
	data, err := json.Marshal(l.Tables[0].Entries[2])
	require.NoError(t, err)
	assert.JSONEq(t, `{"to":["n1"],"address":0,"out":["`+at.String()+` s1"]}`, string(data), "in both layers")
	for _, e := range l.Tables[0].Entries {
		if e.To[0] == "n3" && e.Path == 0 {
			assert.Len(t, e.Layers, 1, "in layer 1 the other way")
		}
	}
}
