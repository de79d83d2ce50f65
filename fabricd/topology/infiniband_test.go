package topology

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
)

func ibnetOf(t *testing.T, g *Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, g.WriteIBNet(&b))
	return b.Bytes()
}

// Every generated graph, with links missing too, comes back as it was; so does what a file listed.
func TestIBNetRoundTrip(t *testing.T) {
	for _, g := range samples(t) {
		if len(g.Switches) == 1 && g.Switches[0].Ports == 0 {
			continue // InfiniBand has no switch without ports
		}
		if g.Kind == File {
			continue
		}
		again, err := Load("f.net", ibnetOf(t, g))
		require.NoError(t, err, g.Spec)
		require.NoError(t, again.Validate())
		again.removed = g.removed // in the order in which they were named
		requireSame(t, g, again, "f.net")
		require.Equal(t, string(ibnetOf(t, g)), string(ibnetOf(t, again)))
	}
}

// People keep what ibnetdiscover prints under any name.
func TestAnIBNetFileIsKnownByWhatItLooksLike(t *testing.T) {
	g, err := Generate("irregular:8,12,1")
	require.NoError(t, err)
	text := ibnetOf(t, g)
	blocks := text[bytes.Index(text, []byte("Switch")):]
	for _, data := range [][]byte{text, blocks, append([]byte("\r\n# of Monday\n"), blocks...)} {
		again, err := Load("ibnetdiscover.txt", data)
		require.NoError(t, err)
		assert.Len(t, again.Switches, 8)
		_, err = Load("f.yaml", data)
		require.Error(t, err)
	}
	for _, text := range []string{"", "# no block\n", "generate: ring:4\n", "Switches: []\n", "switches: []\n"} {
		_, err := Load("f", []byte(text))
		assert.NotContains(t, fmt.Sprint(err), "ibnetdiscover", text)
	}
}

func TestAListedGraphComesBackWithItsNamesAndPorts(t *testing.T) {
	g, err := Load("f.yaml", []byte(`
switches: [{id: s0, ports: 8}, {id: leaf-}, {id: "10"}]
nics: [{id: a, switch: s0}, {id: b., switch: leaf-, switch_port: 7}, {id: c, switch: s0}]
links: [{a: leaf-, b: s0}, {a: s0, a_port: 2, b: leaf-, b_port: 0}, {a: "10", b: leaf-}]
`))
	require.NoError(t, err)
	text := ibnetOf(t, g)
	again, err := Load("f.ibnet", text)
	require.NoError(t, err)
	assert.Equal(t, g.Switches, again.Switches)
	assert.Equal(t, g.NICs, again.NICs)
	names := func(g *Graph) (list []string) {
		for _, l := range g.Links {
			list = append(list, g.linkName(l.A, l.B, true))
		}
		return list
	}
	assert.ElementsMatch(t, names(g), names(again))
	assert.Equal(t, string(text), string(ibnetOf(t, again)))
}

func TestAnInfiniBandFabricKeepsItsIdentities(t *testing.T) {
	g, err := Read("testdata/tiny.ibnetdiscover")
	require.NoError(t, err)
	require.NoError(t, g.Validate())
	s, err := g.SwitchByName("L0-1")
	require.NoError(t, err)
	n, err := g.NICByName("host3")
	require.NoError(t, err)
	at, port := g.SwitchOf(n)
	assert.Equal(t, s, at)
	assert.Equal(t, weft.PortID(1), port, "port 2 there")
	assert.Equal(t, Identity{
		Maker: Maker{Vendor: 0x2c9, Device: 0xbd36, System: 0x200001}, GUID: 0x200001, PortGUID: 0x200001, Enhanced: true,
		LID: 3, Description: "L0-1",
	}, g.Identity(s.Node()))
	assert.Equal(t, Identity{
		Maker: Maker{Vendor: 0x2c9, Device: 0x1003, System: 0x10000c}, GUID: 0x10000c, PortGUID: 0x10000d, Port: 1, Ports: 1,
		LID:         8,
		Description: "host3 HCA-1",
	}, g.Identity(n.Node()))

	text, err := os.ReadFile("testdata/tiny.ibnetdiscover")
	require.NoError(t, err)
	_, want, _ := strings.Cut(string(text), "\nvendid")
	_, got, _ := strings.Cut(string(ibnetOf(t, g)), "\nvendid")
	assert.Equal(t, want, got)
}

// Names tell nodes apart: the host where it has one adapter, the whole description where it has
// two, a port where several are connected, and the GUID where descriptions are of no use.
func TestNodesGetUsableNames(t *testing.T) {
	g, err := Load("f.net", []byte(`
Switch 36 "S-0000000000000001" # "MF0;sw1:MSB7700/U1" enhanced port 0 lid 1 lmc 0
[1] "S-0000000000000002"[1]
[2] "S-0000000000000003"[1]
[3] "H-0000000000000010"[1]
[4] "H-0000000000000020"[1]
[5] "H-0000000000000030"[1]
[6] "H-0000000000000040"[1]
[7] "H-0000000000000040"[2]
[8] "Hidden"[1]

Switch 36 "S-0000000000000002" # "SwitchX -  Mellanox Technologies" base port 0 lid 1 lmc 0

Switch 36 "S-0000000000000003" # "SwitchX -  Mellanox Technologies" base port 0 lid 1 lmc 0

Ca 2 "H-0000000000000010" # "node1 mlx5_0"

Ca 1 "H-0000000000000020" # "node2 HCA-1"

Ca 1 "H-0000000000000030" # "node2 HCA-2"

Ca 2 "H-0000000000000040" # "node3 HCA-1"

Ca 1 "Hidden"
`))
	require.NoError(t, err)
	assert.Equal(t, []string{"MF0-sw1-MSB7700-U1", "S-0000000000000002", "S-0000000000000003"}, g.switchNames())
	assert.Equal(t, []string{"node1", "node2-HCA-1", "node2-HCA-2", "node3-p1", "node3-p2", "Hidden"}, g.NICNames())
	assert.EqualValues(t, 0x42, g.Identity(weft.NICID(4).Node()).PortGUID)
	again, err := Load("f.net", ibnetOf(t, g))
	require.NoError(t, err)
	assert.Equal(t, g.NICs[:5], again.NICs[:5])
	assert.Equal(t, g.Switches, again.Switches)
}

func TestBadIBNetFilesAreRefusedAtTheirLine(t *testing.T) {
	turned, err := Load("f.yaml", []byte("switches: [{id: s0}, {id: s1}, {id: s2}]\nnics: [{id: n0, switch: s0}, {id: "+
		"n1, switch: s1}, {id: n2, switch: s2}]\n"+
		"links: [{a: s0, b: s2}, {a: s0, b: s1}, {a: s1, b: s2}]\n"))
	require.NoError(t, err)
	for _, c := range []struct{ in, want string }{
		{
			"Ca 1 \"a\"\n[1] \"b\"[1]\n\nCa 1 \"b\"\n[1] \"a\"[1]\n",
			`f.net:2: adapter "a" is linked to adapter "b", and there is no switch: expected a fabric with one`,
		},
		{"Ca 1 \"a\"\n", "f.net:1: no switches, expected at least one"},
		{
			"Switch 2 \"a\"\n[1] \"b\"[1]\n\nSwitch 2 \"b\"\n\nSwitch 2 \"c\"\n",
			"f.net:6: switch c: not connected: 1 of 3 switches cannot be reached from a: c",
		},
		{"# weft: kary:2,2\nSwitch 2 \"a\"\n", `f.net: unknown topology "kary:2,2"`},
		{
			"# weft: ring:3\nSwitch 2 \"a\"\n",
			`f.net:1: 1 switches and 0 NICs, unlike ring:3: correct it, or take the line "# weft:" away to read the file as it is`,
		},
		{
			strings.Replace(string(ibnetOf(t, parse(t, "ring:3"))), `"s1" en`, `"t1" en`, 1),
			`f.net:19: switch t1 with 3 ports, unlike ring:3: correct it`,
		},
		{"# weft: ring:3\n" + string(ibnetOf(t, turned)), "f.net:10: link s0:0-s2:0, unlike ring:3: correct it"},
	} {
		_, err := Load("f.net", []byte(c.in))
		if assert.Error(t, err, c.want) {
			assert.Contains(t, err.Error(), c.want)
		}
	}
	_, err = Parse(filepath.Join(t.TempDir(), "none.net"))
	assert.ErrorContains(t, err, "none.net: no such file")
	err = parse(t, "mesh:2x2,nics=252").WriteIBNet(&bytes.Buffer{})
	assert.ErrorContains(t, err, "switch s0.0 has 256 ports, and one of InfiniBand at most 254")
}

// A fabric that was read keeps its GUIDs in the other formats, in which processes of other hosts
// get it.
func TestListingsKeepGUIDs(t *testing.T) {
	g, err := Read("testdata/tiny.ibnetdiscover")
	require.NoError(t, err)
	for form, write := range writers {
		var b bytes.Buffer
		require.NoError(t, write(g, &b))
		again, err := Load(form, b.Bytes())
		require.NoError(t, err)
		for _, s := range g.Switches {
			assert.Equal(t, g.Identity(s.ID.Node()).GUID, again.Identity(s.ID.Node()).GUID)
		}
		for _, n := range g.NICs {
			assert.Equal(t, g.Identity(n.ID.Node()).PortGUID, again.Identity(n.ID.Node()).PortGUID)
		}
	}
	_, err = Load("f", []byte("switches: [{id: a, guid: \"0x12\"}]\nnics: [{id: b, switch: a, guid: \"0x0012\"}, {id: "+
		"c, switch: a, guid: \"12\"}]\n"))
	assert.EqualError(t, err, "f:2:33: b: GUID 0x0000000000000012 is that of a, expected one of its own\n"+
		"f:2:69: c: GUID \"12\", expected a hexadecimal number as 0x0002c90300a1b2c3")
}
