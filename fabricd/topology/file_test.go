package topology

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/document/schematest"
	"github.com/weft-fabric/weft/harness/testenv"
)

const schemaFile = "../../docs/schema/topology.schema.json"

// The published schema is the one of the code. Write it with: go test ./fabricd/topology -run
// Schema -update
func TestSchemaIsPublished(t *testing.T) {
	got, err := Schema()
	require.NoError(t, err)
	if testenv.Update() {
		require.NoError(t, os.MkdirAll(filepath.Dir(schemaFile), 0o755))
		require.NoError(t, os.WriteFile(schemaFile, got, 0o644))
	}
	want, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	return schematest.Compile(t, text, err)
}

var writers = map[string]func(*Graph, *bytes.Buffer) error{
	"short.yaml":   func(g *Graph, b *bytes.Buffer) error { return g.WriteYAML(b) },
	"listing.yaml": func(g *Graph, b *bytes.Buffer) error { return g.WriteYAMLListing(b) },
	"listing.json": func(g *Graph, b *bytes.Buffer) error { return g.WriteJSON(b) },
}

// samples are all generated graphs, some with links missing, and listed ones.
func samples(t *testing.T) []*Graph {
	var all []*Graph
	for _, spec := range specs {
		all = append(all, parse(t, spec))
	}
	for _, text := range []string{
		"generate: kary-ntree:4,3\nremove_links: [s1.10-s0.00, s1.31-s2.33]\n",
		"generate: torus:3x3\nremove_links: [s0.0-s0.2]\n",
		"switches: [{id: s0}]\n",
		"switches: [{id: \"true\", ports: 9}, {id: \"1.10\"}, {id: leaf-2}]\n" +
			"nics: [{id: \"10\"}, {id: b, switch: leaf-2}]\n" +
			"links: [{a: \"10\", b: \"true\"}, {a: leaf-2, b: \"true\"}, {a: \"true\", a_port: 0, b: leaf-2}, {a: \"1.10\", " +
			"b: leaf-2}]\n",
	} {
		g, err := Load("given.yaml", []byte(text))
		require.NoError(t, err)
		all = append(all, g)
	}
	return all
}

// Write then read gives the same graph, in every form, and what is written obeys the schema.
func TestRoundTrip(t *testing.T) {
	sch := schema(t)
	for _, g := range samples(t) {
		if testenv.Short() && len(g.Links) > 100 {
			continue
		}
		for form, write := range writers {
			var b bytes.Buffer
			require.NoError(t, write(g, &b))
			again, err := Load(form, b.Bytes())
			require.NoError(t, err, "%s %s\n%s", g.Spec, form, b.String())
			require.NoError(t, again.Validate())
			requireSame(t, g, again, form)

			var v any
			require.NoError(t, yaml.Unmarshal(b.Bytes(), &v))
			data, err := json.Marshal(v)
			require.NoError(t, err)
			v, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
			require.NoError(t, err)
			require.NoError(t, sch.Validate(v), "%s %s", g.Spec, form)
		}
	}
}

func requireSame(t *testing.T, want, got *Graph, form string) {
	t.Helper()
	require.Equal(t, want.Kind, got.Kind, "%s %s", want.Spec, form)
	require.Equal(t, want.Tiers, got.Tiers)
	require.Equal(t, want.Switches, got.Switches, "%s %s", want.Spec, form)
	require.Equal(t, want.NICs, got.NICs, "%s %s", want.Spec, form)
	require.Equal(t, want.Links, got.Links, "%s %s", want.Spec, form)
	require.Equal(t, want.removed, got.removed)
	for _, s := range want.Switches {
		require.True(t, reflect.DeepEqual(want.Place(s.ID), got.Place(s.ID)))
	}
}

// A tree that lost links keeps its places and port numbers; distances follow the links that are
// left.
func TestRemoveLinks(t *testing.T) {
	g, err := Load("f.yaml", []byte("generate: kary-ntree:2,2\nremove_links: [s0.0-s1.1]\n"))
	require.NoError(t, err)
	assert.Equal(t, KaryNTree, g.Kind)
	assert.Equal(t, "f.yaml", g.Spec)
	assert.Len(t, g.Links, 7)
	s, err := g.SwitchByName("s1.1")
	require.NoError(t, err)
	p := g.Place(s)
	assert.Equal(t, []weft.Role{weft.RoleNIC, weft.RoleNIC, weft.RoleNone, weft.RoleUp}, p.Roles)
	require.NotNil(t, p.Tree)
	assert.Equal(t, 3, g.Distance(0, 2))

	g, err = Load("f.yaml", []byte("generate: ring:6\nremove_links: [s0-s5]\n"))
	require.NoError(t, err)
	assert.Equal(t, 6, g.Distance(0, 5))
}

// Ports that are not given are the lowest free ones in the order of the file, after those that are
// given.
func TestPortsAreGivenOut(t *testing.T) {
	g, err := Load("f.yaml", []byte(`
switches: [{id: s0, ports: 8}, {id: s1}]
nics: [{id: n0, switch: s0}, {id: n1, switch: s1, switch_port: 7}, {id: n2, switch: s0}]
links: [{a: s1, b: s0}, {a: s0, a_port: 2, b: s1, b_port: 0}]
`))
	require.NoError(t, err)
	var got []string
	for _, l := range g.Links {
		got = append(got, g.linkName(l.A, l.B, true))
	}
	assert.Equal(t, []string{"s0:0-s1:1", "s0:2-s1:0", "s0:1-n0:0", "s1:7-n1:0", "s0:3-n2:0"}, got)
	assert.Equal(t, "s0:0-s1:1", g.Links[0].Name)
	assert.Equal(t, "s0-n0", g.Links[2].Name)
	assert.Equal(t, []int{8, 8}, []int{g.Switches[0].Ports, g.Switches[1].Ports})
	assert.Equal(t, File, g.Kind)
	assert.Nil(t, g.Place(0).Tree)
}

func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{
			"switchs: []",
			`f:1:1: unknown field "switchs": did you mean "switches"? known: generate, kind, layout, links, nics, remove_links, spec, switches`,
		},
		{"switches: []", "f:1:1: no switches, expected at least one"},
		{
			"generate: kary-tree:4,3",
			`f:1:11: unknown topology "kary-tree:4,3": did you mean "kary-ntree"? known: kary-ntree, mport-tree, leaf-spine, mesh, torus, irregular, ring`,
		},
		{"generate: ring:3\nlinks: []", "f:2:8: links beside generate, expected nothing but remove_links"},
		{
			"generate: ring:3\nremove_links:\n- s0-s9",
			`f:3:3: unknown link "s0-s9": did you mean "s0-s1"? known: s0-s1, s1-s2, s0-s2, s0-n0, s1-n1, s2-n2`,
		},
		{
			"generate: ring:3\nremove_links: [s0-n0]",
			"f:2:16: link s0-n0 is the only one of its NIC, expected a link between switches",
		},
		{"generate: ring:3\nremove_links: [s0-s1, s1-s0]", "f:2:23: link s0-s1 is removed twice"},
		{
			"generate: ring:3\nremove_links: [s0-s1, s0-s2]",
			"f:2:15: not connected: 2 of 3 switches cannot be reached from s0: s1, s2",
		},
		{
			"switches: [{id: s0}]\nremove_links: [a]",
			"f:2:15: remove_links without generate: leave the links out of the listing",
		},
		{
			"switches:\n- {id: s0}\n- {id: s1}\nlinks:\n- {a: s0, b: s11}",
			`f:5:14: unknown switch or NIC "s11": did you mean "s1"? known: s0, s1`,
		},
		{"switches: [{id: s0}, {id: s0}]", "f:1:27: switch s0: name s0 is taken by switch 0, expected one name per node"},
		{
			"switches: [{id: s/0}]",
			`f:1:17: switch s/0: name "s/0", expected a letter or digit and then letters, digits, '.', '_' and '-'`,
		},
		{"switches: [{id: s0, ports: 300}]", "f:1:28: switch s0: 300 ports, expected 1 to 256"},
		{"switches: [{id: s0, tier: 0}]", "f:1:12: switch s0: only a listing with spec has coord, and only that of a " +
			"tree has tier and digits: no links lead from switch s0 to a NIC"},
		{"switches: [{id: s0}, {id: s1}]\nlinks:\n- {a: s0, b: s1}\n- {a: s0, a_port: 0, b: s1, b_port: 5}\n- {a: s0, " +
			"a_port: 0, b: s1}", "f:5:7: link s0:0-s1:1: port 0 of s0 is used by link s0:0-s1:5 already"},
		{
			"switches: [{id: s0, ports: 1}, {id: s1}]\nlinks:\n- {a: s0, b: s1}\n- {a: s0, b: s1}",
			"f:4:3: no free port on switch s0, which has 1",
		},
		{
			"switches: [{id: s0, ports: 1}, {id: s1}]\nlinks:\n- {a: s0, a_port: 4, b: s1}",
			"f:3:3: link s0-s1: port 4 of s0, expected 0 to 0",
		},
		{
			"switches: [{id: s0}, {id: s1}]\nlinks:\n- {a: s0, a_port: 256, b: s1}",
			"f:3:19: port 256 of s0, expected 0 to 255",
		},
		{"switches: [{id: s0}]\nlinks:\n- {a: s0, b: s0}", "f:3:3: link s0-s0: both ends at s0, expected two nodes"},
		{"switches: [{id: s0}]\nnics: [{id: n0}]", "f:2:8: NIC n0: no link, expected one to a switch"},
		{
			"switches: [{id: s0}]\nnics: [{id: n0}]\nlinks:\n- {a: s0, b: n0}\n- {a: n0, b: s0}",
			"f:5:7: link s0:1-n0:0: NIC n0 has link s0:0-n0:0 already, expected one link per NIC",
		},
		{"switches: [{id: s0}]\nnics: [{id: n0}, {id: n1}]\nlinks:\n- {a: n0, b: n1}", "f:4:3: link n0-n1: between NICs n0 " +
			"and n1, expected a switch at one end\nf:2:8: NIC n0: no link, expected one to a switch\nf:2:18: NIC n1: no link, " +
			"expected one to a switch"},
		{
			"switches: [{id: s0}]\nnics: [{id: n0}]\nlinks:\n- {a: s0, b: n0, b_port: 1}",
			"f:4:26: port 1 of NIC n0, expected 0, its only port",
		},
		{"switches: [{id: s0}]\nnics: [{id: n0, switch: n0}]", "f:2:25: NIC n0: n0 is a NIC, expected a switch"},
		{"switches: [{id: s0}]\nnics: [{id: n0, switch_port: 1}]", "f:2:8: NIC n0: switch_port without switch"},
		{
			"switches: [{id: s0}, {id: s1}]\nnics: [{id: n0, switch: s1}]\nlinks:\n- {a: s0, b: n0}\n- {a: s0, b: s1}",
			"f:2:25: NIC n0: switch differs from that of its link at f:4:3",
		},
		{
			"switches: [{id: s0}, {id: s1}, {id: s2}, {id: s3}]\nlinks: [{a: s0, b: s2}, {a: s1, b: s3}]",
			"f:1:22: not connected: 2 of 4 switches cannot be reached from s0: s1, s3",
		},
		{
			"switches: [{id: s0}, {id: s1}]\nlinks: [{id: s0-s2, a: s0, b: s1}]",
			"f:2:14: link id s0-s2, expected s0-s1, or no id",
		},
		{
			"switches: [{id: a}, {id: b-c}, {id: a-b}, {id: c}]\nlinks: [{a: a, b: b-c}, {a: a-b, b: c}, {a: a, b: c}]",
			"f:2:25: link a-b-c: name a-b-c is that of another link too: rename a switch",
		},
		{"spec: ring:3\nswitches: [{id: s0}]", "f:1:7: 1 switches and 0 NICs are listed, ring:3 makes 3 and 3: correct it, " +
			"or take spec away to read the listing as it is"},
		{"kind: ring\nswitches: [{id: s0}]", "f:1:7: kind ring without spec, expected kind file or none"},
		{
			"links: [{a: x, b: y}, {a: 1, c: 2}]",
			"f:1:27: found 1, expected a text; put it in quotes\n" +
				`f:1:30: unknown field "c": did you mean "a"? known: a, a_port, b, b_port, bend, id`,
		},
	} {
		_, err := Load("f", []byte(c.in))
		assert.EqualError(t, err, c.want, "%q", c.in)
	}
}

// A listing that is not what its spec makes is refused where it differs: its switches would not be
// in their places.
func TestListingDiffersFromSpec(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, parse(t, "kary-ntree:2,2").WriteYAMLListing(&b))
	text := b.String()
	for _, c := range []struct{ from, to, want string }{
		{"ports: 2}", "ports: 9}", "f:4:5: switch s0.0, expected s0.0 with 2 ports as in kary-ntree:2,2: correct it"},
		{
			"s0.0, a_port: 0,", "s0.0, a_port: 1,",
			"f:14:5: link s0.0:1-s1.0:2, expected a link that is in kary-ntree:2,2: correct it",
		},
	} {
		changed := strings.Replace(text, c.from, c.to, 1)
		if c.to == "s0.0, a_port: 1," { // and the other way round, so that no port is used twice
			changed = strings.Replace(changed, "s0.0, a_port: 1, b: s1.1", "s0.0, a_port: 0, b: s1.1", 1)
		}
		_, err := Load("f", []byte(changed))
		assert.ErrorContains(t, err, c.want)
	}
	_, err := Load("f", []byte(strings.ReplaceAll(text, "n00", "n99")))
	assert.ErrorContains(t, err, "f:9:10: NIC n99, expected n00 as in kary-ntree:2,2")
}

// Scripts rely on the JSON.
func TestWriteJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, parse(t, "kary-ntree:2,1").WriteJSON(&b))
	assert.Equal(t, `{"spec":"kary-ntree:2,1","kind":"kary-ntree",
"switches":[
{"id":"s0","ports":2,"tier":0}
],
"nics":[
{"id":"n0","switch":"s0","switch_port":0},
{"id":"n1","switch":"s0","switch_port":1}
],
"links":[
{"id":"s0-n0","a":"s0","a_port":0,"b":"n0","b_port":0},
{"id":"s0-n1","a":"s0","a_port":1,"b":"n1","b_port":0}
]}
`, b.String())
	b.Reset()
	require.NoError(t, parse(t, "kary-ntree:4,3").WriteJSON(&b))
	var v struct{ Switches, NICs, Links []map[string]any }
	require.NoError(t, json.Unmarshal(b.Bytes(), &v))
	assert.Equal(t, []int{48, 64, 192}, []int{len(v.Switches), len(v.NICs), len(v.Links)})
}

// A graph that somebody changed by hand does not pass.
func TestValidateFindsDamage(t *testing.T) {
	for want, damage := range map[string]func(*Graph){
		"expected one link per NIC": func(g *Graph) {
			g.Links[5].B = g.Links[4].B
			g.Links[5].Name = g.linkName(g.Links[5].A, g.Links[5].B, false)
		},
		"wrong name, expected":     func(g *Graph) { g.Links[0].Name = "x" },
		"number 7 at position 0":   func(g *Graph) { g.Links[0].ID = 7 },
		"number 9 at position 1":   func(g *Graph) { g.Switches[1].ID = 9 },
		"is taken by switch 0":     func(g *Graph) { g.Switches[1].Name = g.Switches[0].Name },
		"not where port 1 of s0.0": func(g *Graph) { g.Links[0].A.Port, g.Links[1].A.Port = 1, 0 },
		"is not there":             func(g *Graph) { g.Links[0].B.Node.Index = 99 },
		"expected the lower":       func(g *Graph) { g.Links[0].A, g.Links[0].B = g.Links[0].B, g.Links[0].A },
		"no link, expected one":    func(g *Graph) { g.Links = g.Links[:7] },
		"expected at most 256":     func(g *Graph) { g.Switches[0].Ports = 257 },
		"cannot be reached from s0.0": func(g *Graph) {
			g.remove([]bool{true, true, false, false, false, false, false, false})
		},
		"no switches, expected":       func(g *Graph) { g.Switches, g.NICs, g.Links = nil, nil, nil },
		"name of 65 characters":       func(g *Graph) { g.NICs[0].Name = strings.Repeat("x", 65) },
		"empty name, expected one as": func(g *Graph) { g.NICs[0].Name = "" },
	} {
		g := parse(t, "kary-ntree:2,2")
		require.NoError(t, g.Validate())
		damage(g)
		assert.ErrorContains(t, g.Validate(), want)
	}
}

// Any bytes give a sound graph or an error.
func FuzzLoadFile(f *testing.F) {
	f.Add([]byte("generate: ring:4\nremove_links: [s0-s1]\n"))
	f.Add([]byte("switches: [{id: s0, ports: 8}, {id: s1}]\nnics: [{id: n0, switch: s0}, {id: n1, switch: s1, " +
		"switch_port: 7}]\nlinks: [{a: s1, b: s0}, {a: s0, a_port: 2, b: s1, b_port: 0}]\n"))
	f.Add([]byte("spec: ring:3\nswitches: [{id: s0}, {id: s1}]\nlinks: [{id: a-b, a: s0, b: n0}]\n"))
	f.Add([]byte("switches: [{id: s0}]\nnics: [{id: s0, switch: s0}, {id: n0, switch: s0}, {id: n0, switch: " +
		"s0}]\nlinks: [{a: n0, b: s0}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := Load("f", data)
		if err == nil && len(g.Links) < 5000 {
			require.NoError(t, g.Validate())
		}
	})
}
