package topology

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

// What is in the way of a tree is named.
func TestWhatIsNoTreeSaysWhy(t *testing.T) {
	const nics = "nics: [{id: n0, switch: a}, {id: n1, switch: b}]\n"
	for _, c := range []struct{ links, want string }{
		{"[{a: a, b: c}, {a: b, b: c}, {a: a, b: d}, {a: b, b: d}]", ""},
		{"[{a: a, b: c}, {a: b, b: c}, {a: a, b: d}]", ""},
		{"[{a: a, b: c}, {a: b, b: c}, {a: a, b: d}, {a: a, b: b}]", "link a-b joins two switches that NICs hang on"},
		{
			"[{a: a, b: c}, {a: b, b: c}, {a: a, b: d}, {a: c, b: d}]",
			"link c-d joins two switches of one tier: the way from both to the nearest NIC has 1 link between switches",
		},
		{"[{a: a, b: c}, {a: b, b: c}, {a: a, b: d}, {a: d, b: a}]", "links a:1-d:0 and a:2-d:1 join the same switches"},
	} {
		g, err := Load("f.yaml", []byte("switches: [{id: a}, {id: b}, {id: c}, {id: d}]\n"+nics+"links: "+c.links+"\n"))
		require.NoError(t, err, c.want)
		if c.want == "" {
			require.NoError(t, g.NoTree())
			continue
		}
		require.EqualError(t, g.NoTree(), c.want)
		assert.Nil(t, g.Place(0).Tree)
		assert.Equal(t, weft.RolePeer, g.Place(2).Roles[0])
	}
	// Tiers alone are no tree: here each of two switches in the middle leads to both leaves and to
	// one top switch of the two.
	g, err := Load("f.yaml", []byte("switches: [{id: a}, {id: b}, {id: c}, {id: d}, {id: e}]\n"+nics+
		"links: [{a: a, b: c}, {a: b, b: c}, {a: a, b: d}, {a: b, b: d}, {a: c, b: e}, {a: d, b: e}]\n"))
	require.NoError(t, err)
	require.EqualError(t, g.NoTree(), "switches c and d of tier 1 lead to the same switches above and below by "+
		"different ways, where a tree has one switch")
	for spec, want := range map[string]string{
		"kary-ntree:4,1": "all NICs hang on one switch",
		"ring:40":        "joins two switches that NICs hang on",
	} {
		g := parse(t, spec)
		h, err := New("listed", g.Switches, g.NICs, g.Links)
		require.NoError(t, err)
		require.ErrorContains(t, h.NoTree(), want)
	}
}

// Tiers and digits that a listing says are those that follow from the links, or they are refused.
func TestTiersOfAListedTreeAreThoseOfItsLinks(t *testing.T) {
	g := parse(t, "mport-tree:4,2")
	listed, err := New("listed", g.Switches, g.NICs, g.Links)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, listed.WriteJSON(&b))
	text := b.String()
	again, err := Load("f.json", []byte(text))
	require.NoError(t, err)
	assert.Equal(t, listed.Switches, again.Switches)
	assert.Equal(t, 2, again.Tiers)
	require.Contains(t, text, `"tier":1`)
	_, err = Load("f.json", []byte(strings.Replace(text, `"tier":1`, `"tier":0`, 1)))
	require.ErrorContains(t, err,
		"by the links it is in tier 1 and has the digits [0]: correct tier and digits, or leave them out")
}

// A tree of 36-port switches with 648 NICs, as a file has it, is a tree.
func TestTheTreeOf648NICsIsFound(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, parse(t, "mport-tree:36,2").WriteIBNet(&b))
	g, err := Load("t648.net", bytes.Replace(b.Bytes(), []byte("# weft:"), []byte("# made by"), 1))
	require.NoError(t, err)
	require.NoError(t, g.NoTree())
	tree := g.Place(0).Tree
	assert.Equal(t, []any{18, 2, []int{36, 18}}, []any{tree.K, tree.N, tree.Radix})
}
