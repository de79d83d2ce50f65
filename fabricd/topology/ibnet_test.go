package topology

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(data)
}

func TestFilesOfIbsimAndOfIbnetdiscoverAreRead(t *testing.T) {
	f, err := parseIBNet("tiny.net", []byte(sample(t, "tiny.net")))
	require.NoError(t, err)
	require.Len(t, f.Nodes, 8)
	assert.Equal(t, ibNode{
		Maker: Maker{Vendor: 0x2c9, Device: 0xbd36, System: 0x200000},
		Kind:  ibSwitch, Name: "S-0000000000200000", GUID: 0x200000, PortGUID: 0x200000, Description: "L0-0", Ports: 4,
		Enhanced: true, Line: 9,
		Connected: []ibPort{
			{Number: 1, Peer: 4, PeerPort: 1, Line: 10},
			{Number: 2, Peer: 5, PeerPort: 1, Line: 11},
			{Number: 3, Peer: 2, PeerPort: 1, Line: 12},
			{Number: 4, Peer: 3, PeerPort: 1, Line: 13},
		},
	}, f.Nodes[0])

	f, err = parseIBNet("tiny.ibnetdiscover", []byte(sample(t, "tiny.ibnetdiscover")))
	require.NoError(t, err)
	require.Len(t, f.Nodes, 8)
	assert.Equal(t, 3, f.Nodes[0].LID)
	assert.Equal(t, ibNode{
		Maker: Maker{Vendor: 0x2c9, Device: 0x1003, System: 0x10000c},
		Kind:  ibAdapter, Name: "H-000000000010000c", GUID: 0x10000c, Description: "host3 HCA-1", Ports: 1, Line: 46,
		Connected: []ibPort{{Number: 1, GUID: 0x10000d, LID: 8, Peer: 0, PeerPort: 2, Line: 47}},
	}, f.Nodes[4])
}

// What other fabrics' files hold beside: chassis, ports on the outside of a box, quotes in
// descriptions, no GUIDs, no comments, Windows' ends of lines.
func TestUnusualFilesAreRead(t *testing.T) {
	f, err := parseIBNet("f", []byte(strings.ReplaceAll(`
Chassis 1 (guid 0x8f1040012345)
vendid=0x8f1
devid=0x5a5a
sysimgguid=0x8f10400410015	# Chassis 1
switchguid=0x8f10400410015(8f10400410016)	# Spine 1 Chip 1
Switch 24 "S-0008f10400410015"		# "the "big" one" base port 0 lid 70 lmc 2
[12][ext 5]	"H-box"[2][ext 7](9)		# "node HCA-2" lid 12 4xFDR10
[24]	"other"[1]

Non-Chassis Nodes

Switch 1 "other"
[1]	"S-0008f10400410015"[24] # 

Hca 2 "H-box" # "node HCA-2"
[2](9) "S-0008f10400410015"[12] # lid 12 lmc 1 "the "big" one" lid 70 4xFDR10
Ca 1 "idle"
`, "\n", "\r\n")))
	require.NoError(t, err)
	require.Len(t, f.Nodes, 4)
	spine, box := f.Nodes[0], f.Nodes[2]
	assert.Equal(t, `the "big" one`, spine.Description)
	assert.Equal(t, []GUID{0x8f10400410015, 0x8f10400410016}, []GUID{spine.GUID, spine.PortGUID})
	assert.Equal(t, []int{70, 2}, []int{spine.LID, spine.LMC})
	assert.False(t, spine.Enhanced)
	assert.Equal(t, []ibPort{{Number: 2, GUID: 9, LID: 12, LMC: 1, Peer: 0, PeerPort: 12, Line: 17}}, box.Connected)
	assert.Zero(t, f.Nodes[1].GUID)
	assert.Empty(t, f.Nodes[3].Connected)
}

// A router is left out with the links that lead to it, whichever comes first; what else there is
// loads, with every port of an adapter.
func TestRoutersAreLeftOut(t *testing.T) {
	g, err := loadIBNet("f", []byte(`
vendid=0x2c9
devid=0xd2f2
sysimgguid=0x20
switchguid=0x20(20)
Switch	8 "S-0000000000000020"		# "leaf" enhanced port 0 lid 8 lmc 0
[2]	"R-0000000000000028"[3](29) 		# "leaf/RT" lid 9 1xXDR
[3]	"H-0000000000000010"[1](11) 		# "node HCA-1" lid 3 2xNDR
[4]	"H-0000000000000010"[2](12) 		# "node HCA-1" lid 4 2xNDR

vendid=0x2c9
devid=0xc839
sysimgguid=0x20
rtguid=0x28
Rt	8 "R-0000000000000028"		# "leaf/RT"
[2](27) 	"H-0000000000000010"[9]		# lid 9 lmc 0 "elsewhere" lid 8 1xXDR
[3](29) 	"S-0000000000000020"[2]		# lid 9 lmc 0 "leaf" lid 8 1xXDR

vendid=0x2c9
devid=0x1021
sysimgguid=0x10
caguid=0x10
Ca	2 "H-0000000000000010"		# "node HCA-1"
[1](11) 	"S-0000000000000020"[3]		# lid 3 lmc 0 "leaf" lid 8 2xNDR
[2](12) 	"S-0000000000000020"[4]		# lid 4 lmc 0 "leaf" lid 8 2xNDR
`))
	require.NoError(t, err)
	require.Equal(t, []string{`f:15: left out router "R-0000000000000028" and its links: Weft has no routers`}, g.Warnings)
	require.Len(t, g.NICs, 2)
	a, b := g.Identity(g.NICs[0].ID.Node()), g.Identity(g.NICs[1].ID.Node())
	require.Equal(t, a.GUID, b.GUID)
	require.Equal(t, []int{3, 4}, []int{a.LID, b.LID})
	require.Len(t, g.Links, 2)
}

// What ibnetdiscover -g prints of a director, a gateway to Ethernet and storage with the names of
// its hosts, with routers, and with a node of which it does not know the kind: adapters of the
// gateway are NICs, and what Weft does not have is named and left out.
func TestGatewaysLoadAndUnknownNodesAreNamed(t *testing.T) {
	g, err := loadIBNet("f", []byte(`
Chassis 1 (guid 0x13970201000000)
Hostname: director one

# Spine Nodes
# Line Nodes
# Chassis Switches
vendid=0x2c9
devid=0xb924
		# Chassis 1 (director one) slot 3
switchguid=0x20(20)	# Xsigo Leaf 
Switch	24 "S-0000000000000020"		# "director IB switch" base port 0 lid 8 lmc 0
[1]	"H-0013970201000010"[1](13970201000011) 		# "gateway" lid 2 4xSDR slot 1
[2]	"H-0013970301000030"[1](13970301000031) 		# "host HCA-1" lid 3 4xDDR (scp)
[3]	"H-0000000000000040"[1](41) 		# "plain HCA-1" lid 4 4xDDR
[4]	"R-0000000000000050"[1](51) 		# "router" lid 5 4xDDR
[5]	"?-0000000000000060"[1](61) 		# "no kind" lid 0 4x???

# Chassis CAs
vendid=0x1397
devid=0x1
sysimgguid=0x13970201000000		# Chassis 1 (director one) slot 1
caguid=0x13970201000010
Ca	2 "H-0013970201000010"		# "gateway"
[1](13970201000011) 	"S-0000000000000020"[1]		# lid 2 lmc 0 "director IB switch" lid 8 4xSDR

Non-Chassis Nodes

vendid=0x1397
devid=0x2
caguid=0x13970301000030
Ca	2 "H-0013970301000030"		# "host HCA-1" (scp)
[1](13970301000031) 	"S-0000000000000020"[2]		# lid 3 lmc 0 "director IB switch" lid 8 4xDDR
[2](13970301000032) 	"R-0000000000000050"[2] (52) 		# lid 6 lmc 0 "router" lid 7 4xDDR

vendid=0x2c9
devid=0x6282
caguid=0x40
Ca	1 "H-0000000000000040"		# "plain HCA-1"
[1](41) 	"S-0000000000000020"[3]		# lid 4 lmc 0 "director IB switch" lid 8 4xDDR

vendid=0x2c9
devid=0xc839
rtguid=0x50
Rt	2 "R-0000000000000050"		# "router"
[1](51) 	"S-0000000000000020"[4]		# lid 5 lmc 0 "director IB switch" lid 8 4xDDR
[2](52) 	"H-0013970301000030"[2] (13970301000032) 		# lid 7 lmc 0 "host HCA-1" lid 6 4xDDR
`))
	require.NoError(t, err)
	require.Equal(t, []string{
		`f:45: left out router "R-0000000000000050" and its links: Weft has no routers`,
		`f:17: left out the link from port 5 of "S-0000000000000020" to "?-0000000000000060": ` +
			`ibnetdiscover does not know what that is`,
	}, g.Warnings)
	require.Equal(t, []string{"gateway", "host", "plain"}, g.NICNames())
	require.Len(t, g.Links, 3)
}

func TestALinkMayBeListedOnce(t *testing.T) {
	f, err := parseIBNet("f", []byte("Switch 2 \"S-0000000000000001\"\n[1] \"b\"[2]\n[2] "+
		"\"H-0000000000000010\"[1]\n\nSwitch 2 \"b\"\n\nCa 1 \"H-0000000000000010\"\n"))
	require.NoError(t, err)
	assert.Equal(t, []ibPort{{Number: 2, Peer: 0, PeerPort: 1}}, f.Nodes[1].Connected)
	assert.Equal(t, []ibPort{{Number: 1, GUID: 0x11, Peer: 0, PeerPort: 2}}, f.Nodes[2].Connected)
}

func TestWhatIsWrittenReadsTheSame(t *testing.T) {
	for _, name := range []string{"tiny.net", "tiny.ibnetdiscover"} {
		f, err := parseIBNet(name, []byte(sample(t, name)))
		require.NoError(t, err)
		f.Spec = "mesh:2x2"
		var b bytes.Buffer
		require.NoError(t, f.Write(&b))
		again, err := parseIBNet(name, b.Bytes())
		require.NoError(t, err)
		for _, f := range []*ibFabric{f, again} {
			for i := range f.Nodes {
				f.Nodes[i].Line = 0
				for j := range f.Nodes[i].Connected {
					f.Nodes[i].Connected[j].Line = 0
				}
			}
		}
		assert.Equal(t, f, again)
	}
}

// The blocks are those that were read, byte by byte, so that the tools see no difference.
func TestBlocksAreWrittenAsTheToolsDo(t *testing.T) {
	text := sample(t, "tiny.ibnetdiscover")
	f, err := parseIBNet("f", []byte(text))
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	_, want, _ := strings.Cut(text, "\nvendid")
	_, got, _ := strings.Cut(b.String(), "\nvendid")
	assert.Equal(t, want, got)
}

func TestBadFilesAreRefusedAtTheirLine(t *testing.T) {
	tiny := sample(t, "tiny.net")
	change := func(from, to string) string {
		require.Contains(t, tiny, from)
		return strings.Replace(tiny, from, to, 1)
	}
	lines := func(n int) string { return strings.Join(strings.SplitAfter(tiny, "\n")[:n], "") }
	for _, c := range []struct{ in, want string }{
		{"", "f:1: no Switch and no Ca, expected a topology as ibnetdiscover prints it"},
		{"hello\n", `f:1: found "hello", expected Switch, Ca, a port as [1], a GUID or a comment`},
		{"[1] \"a\"[1]\n", "f:1: a port before the first Switch or Ca, expected its block"},
		{"Switch \"a\"\n", `f:1: expected the number of ports and the name, as Switch 4 "S-0000000000200000"`},
		{"Switch 4 \"a\n", `f:1: expected the number of ports and the name, as Switch 4 "S-0000000000200000"`},
		{"Switch 255 \"a\"\n", "f:1: 255 ports, expected 1 to 254"},
		{"Switch 0 \"a\"\n", "f:1: 0 ports, expected 1 to 254"},
		{"switchguid=zero\n", `f:1: found "switchguid=zero", expected a hexadecimal number after "switchguid=", as 0x2c9`},
		{"Switch 1 \"a\"\n\x1b[2J=zz\n", `f:2: found "\x1b[2J=zz", expected a hexadecimal number after "\x1b[2J=", as 0x2c9`},
		{"hello\n\x1b[2J=zz\n", `f:1: found "hello", expected Switch, Ca, a port as [1], a GUID or a comment`},
		{"Switch 1 \"a\"\nhello\n", `f:2: found "hello", expected Switch, Ca, a port as [1], a GUID or a comment`},
		{"$ ibnetdiscover\n[1] \"a\"[1]\n", "f:2: a port before the first Switch or Ca, expected its block"},
		{
			"Switch 1 \"a\"\n\nRt two \"R-1\"\n",
			`f:3: expected the number of ports and the name, as Rt 8 "R-0000000000300000"`,
		},
		{
			"Switch 1 \"a\"\n[1] \"R-1\"[1]\n",
			`f:2: port 1 of "a" leads to "R-1", which has no block: the file is cut short; or remove this line`,
		},
		{"Switch 1 \"a\"\n\nSwitch 2 \"a\"\n", `f:3: "a" has a block at line 1 already`},
		{
			"Switch 3 \"a\"\n[1] \"a\"[2]\n[2] \"a\"[3]\n[3] \"a\"[2]\n",
			`f:2: port 1 of "a" leads to port 2 of "a", which by line 3 leads to port 3 of "a"`,
		},
		{
			"Ca 1 \"a\"\n[1] \"b\"[1]\nCa 1 \"b\"\n[1] \"a\"[1]\nCa 1 \"b\"\n[1] \"a\"[2]\n",
			`f:6: port 1 of "b" is at line 4 already`,
		},
		{"Switch 1 \"a\"\nSwitch 1 \"a\"\n", `f:2: "a" has a block at line 1 already`},
		{"Ca 1 \"a\"\nCa 2 \"a\"\n", `f:2: "a" has a block at line 1 already`},
		{"Switch 1 \"a\"\n[1] \"b\" 2\n", `f:2: expected a port and where it leads, as [3] "S-0000000000200002"[1]`},
		{"Switch 2 \"a\"\n[1] \"b\"[1]\n[2] \"b\"[1]\n\nSwitch 2 \"b\"\n", `f:3: port 1 of "b" is taken by line 2 already`},
		{
			change("switchguid=0x200001(", "switchguid=0x200000("),
			`f:19: GUID 0x0000000000200000 is that of "S-0000000000200000" at line 9 too, expected one of its own`,
		},
		{
			change("\n[1](100005)", "\n[1](100001)"),
			`f:53: GUID 0x0000000000100001 is that of "H-0000000000100000" at line 46 too, expected one of its own`,
		},
		{
			change("[1](100005)", "[1](100001)"),
			`f:11: port 2 of "S-0000000000200000" leads to port GUID 0x0000000000100001, which by line 53 is 0x0000000000100005`,
		},
		{change("[2]	\"H", "[5]	\"H"), `f:11: port 5 of "S-0000000000200000", expected 1 to 4`},
		{change("[2]	\"H", "[1]	\"H"), `f:11: port 1 of "S-0000000000200000" is at line 10 already`},
		{change("200002\"[1]", "200002\"[7]"), `f:12: leads to port 7 of "S-0000000000200002", which has 4`},
		{change("200002\"[1]", "200002\"[255]"), `f:12: leads to port 255 of "S-0000000000200002", expected 1 to 254`},
		{change("200002\"[1]", "200002[1]"), `f:12: expected a port and where it leads, as [3] "S-0000000000200002"[1]`},
		{change("200002\"[1]", "200003\"[2]"), "f:12: port 3 of \"S-0000000000200000\" leads to port 2 of " +
			"\"S-0000000000200003\", which by line 39 leads to port 4 of \"S-0000000000200001\"\n" +
			"f:30: port 1 of \"S-0000000000200002\" leads to port 3 of \"S-0000000000200000\", which by line 12 leads to port " +
			"2 of \"S-0000000000200003\""},
		{
			change("[1]	\"S-0000000000200000\"[4]", "#"),
			`f:13: port 4 of "S-0000000000200000" leads to port 1 of "S-0000000000200003", whose block at line 37 does not have it: the file is cut short, or was edited at one end`,
		},
		{lines(65), "f:65: the file ends in a block without Switch, Ca or Rt: it is cut short"},
		{
			lines(60),
			`f:21: port 2 of "S-0000000000200001" leads to "H-000000000010000c", which has no block: the file is cut short; or remove this line`,
		},
		{
			lines(66),
			`f:21: port 2 of "S-0000000000200001" leads to port 1 of "H-000000000010000c", whose block at line 66 does not have it: the file is cut short, or was edited at one end`,
		},
		{tiny[:len(tiny)-60], `f:67: expected a port and where it leads, as [3] "S-0000000000200002"[1]`},
	} {
		_, err := parseIBNet("f", []byte(c.in))
		if assert.Error(t, err, "%s", c.want) {
			assert.Equal(t, c.want, err.Error())
		}
	}
}

// Any bytes give a fabric whose links agree, or an error.
func FuzzParseIBNet(f *testing.F) {
	names, err := filepath.Glob("testdata/forms/*.net")
	require.NoError(f, err)
	for _, name := range append(names, "testdata/tiny.net", "testdata/tiny.ibnetdiscover") {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("Switch 2 \"S-0000000000000001\"\n[1] \"b\"[2]\n\nSwitch 2 \"b\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fabric, err := parseIBNet("f", data)
		if err != nil {
			return
		}
		for i, n := range fabric.Nodes {
			for _, p := range n.Connected {
				back := fabric.Nodes[p.Peer].port(p.PeerPort)
				require.NotNil(t, back)
				require.Equal(t, []int{i, p.Number}, []int{back.Peer, back.PeerPort})
			}
		}
	})
}
