package opensm_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/switch/firmware"
)

func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(data)
}

func open(t testing.TB, g *topology.Graph, spec string) *layered.Routing {
	t.Helper()
	r, err := opensm.Open(t.Context(), g, spec)
	require.NoError(t, err)
	return r
}

func writeLFT(w io.Writer, r *layered.Routing, lids *opensm.LIDs) error {
	t, err := opensm.NewLFT(r, lids)
	if err != nil {
		return err
	}
	return t.Write(w)
}

func file(name, text string) opensm.File {
	return opensm.File{Name: name, Reader: strings.NewReader(text)}
}

// way is where a packet goes, by the names of the switches, and in which layers.
func way(t testing.TB, r *layered.Routing, from, to string) (names []string, layers []weft.VC) {
	t.Helper()
	g := r.Graph
	src, err := g.NICByName(from)
	require.NoError(t, err)
	dst, err := g.NICByName(to)
	require.NoError(t, err)
	s, in := g.SwitchOf(src)
	a := r.Assignment.Addresses(s, dst)
	require.Len(t, a, 1)
	vc := a[0].VC
	for range len(g.Switches) + 1 {
		names, layers = append(names, g.Switches[s].Name), append(layers, vc)
		hops := r.Tables.Choices(s, dst, a[0].Path, in, vc)
		require.Len(t, hops, 1)
		if int(hops[0].VC) < r.Layers {
			vc = hops[0].VC
		}
		next, _, ok := g.Peer(weft.End{Node: s.Node(), Port: hops[0].Port})
		require.True(t, ok)
		if !next.Node.IsSwitch() {
			assert.Equal(t, dst.Node(), next.Node)
			return names, layers
		}
		s, in = weft.SwitchID(next.Node.Index), next.Port
	}
	t.Fatal("round and round")
	return nil, nil
}

func TestTablesOfOpenSMAreRead(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	for _, spec := range []string{
		"testdata/opensm-lfts.dump",
		"testdata/dump_lfts.txt",
		"testdata/opensm-lfts.dump,sl2vl=testdata/opensm-sl2vl.dump,path-sl=testdata/path-sl.txt,guid2lid=testdata/guid2lid",
	} {
		r := open(t, g, spec)
		assert.Equal(t, 1, r.Layers)
		assert.Zero(t, r.Unroutable)
		assert.Nil(t, r.Dependencies(t.Context()).Cycle())
		names, _ := way(t, r, "host0", "host3")
		assert.Equal(t, []string{"L0-0", "L1-0", "L0-1"}, names)
		names, _ = way(t, r, "host2", "host3")
		assert.Equal(t, []string{"L0-1"}, names)
	}
}

// torus-2QoS changes lanes at the edges of the torus, by tables that look at where a packet comes
// from and goes to.
func TestTablesThatChangeLanesOnTheWayAreRead(t *testing.T) {
	g := topologytest.Parse(t, "testdata/torus5.net")
	r := open(t, g, "testdata/torus5-lfts.dump.gz,sl2vl=testdata/torus5-sl2vl.dump.gz,path-sl=testdata/torus5-path-sl.txt")
	assert.Zero(t, r.Unroutable)
	assert.Nil(t, r.Dependencies(t.Context()).Cycle())
	assert.Greater(t, r.Layers, 1)

	one := open(t, g, "testdata/torus5-lfts.dump.gz")
	assert.Zero(t, one.Unroutable)
	assert.NotNil(t, one.Dependencies(t.Context()).Cycle(), "all of it in one lane")
}

// DFSSSP gives each pair of NICs a service level of its own, so the NICs of a switch send to a NIC
// in different layers.
func TestServiceLevelsOfEachPairOfNICsAreRead(t *testing.T) {
	g := topologytest.Parse(t, "testdata/dfsssp8.net")
	r := open(t, g,
		"testdata/dfsssp8-lfts.dump.gz,sl2vl=testdata/dfsssp8-sl2vl.dump.gz,path-sl=testdata/dfsssp8-path-sl.txt")
	assert.Zero(t, r.Unroutable)
	assert.Equal(t, 8, r.Layers)
	assert.Nil(t, r.Dependencies(t.Context()).Cycle())
	lids, err := opensm.AssignLIDs(g, 0, 0)
	require.NoError(t, err)
	fw := firmware.Layered{Tables: r.Tables, Assignment: r.Assignment}.Firmware()
	of := map[int]weft.NICID{}
	for d := range g.NICs {
		lid, _ := lids.Of(weft.NICID(d).Node())
		of[lid] = weft.NICID(d)
	}
	differ, pairs := 0, 0
	for _, line := range lines0(read(t, "dfsssp8-path-sl.txt"))[1:] {
		var from, to, sl int
		_, err := fmt.Sscan(line, &from, &to, &sl)
		require.NoError(t, err)
		s, port := g.SwitchOf(of[from])
		d := of[to]
		require.Equal(t, []weft.Address{{VC: weft.VC(sl)}}, fw.Addresses(g.Place(s), port, d), line)
		pairs++
		if len(r.Assignment.Addresses(s, d)) > 1 {
			differ++
		}
	}
	assert.Equal(t, 240, pairs)
	assert.Greater(t, differ, 100)
	var again bytes.Buffer
	require.NoError(t, opensm.WritePathSL(&again, r, lids))
	assert.Equal(t, read(t, "dfsssp8-path-sl.txt"), again.String())
}

// A NIC of which the file says nothing sends as the others of its switch do.
func TestServiceLevelsOfSomeNICsStandForTheOthers(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	sl := file("sl", "1 7 2\n1 8 3\n6 8 1\n1 6 0\n6 1 0\n7 1 0\n7 6 0\n7 8 0\n8 7 0\n")
	r, err := opensm.Load(t.Context(), g, opensm.Files{LFT: file("f", read(t, "opensm-lfts.dump")), PathSL: &sl})
	require.NoError(t, err)
	from := func(nic, to string) []weft.Address {
		n, err := g.NICByName(nic)
		require.NoError(t, err)
		d, err := g.NICByName(to)
		require.NoError(t, err)
		s, port := g.SwitchOf(n)
		return r.Assignment.From(s, port, d)
	}
	assert.Equal(t, []weft.Address{{VC: 2}}, from("host1", "host2"), "as host0")
	assert.Equal(t, []weft.Address{{VC: 3}}, from("host0", "host3"))
	assert.Equal(t, []weft.Address{{VC: 1}}, from("host1", "host3"))
	assert.Zero(t, r.Unroutable)
}

func TestWhatIsWrittenIsWhatWasRead(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	r := open(t, g, "testdata/opensm-lfts.dump")
	lids, err := opensm.AssignLIDs(g, 0, 0)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, writeLFT(&b, r, lids))
	assert.Equal(t, read(t, "opensm-lfts.dump"), b.String())
	b.Reset()
	require.NoError(t, opensm.WritePathSL(&b, r, lids))
	assert.Equal(t, lines0(read(t, "path-sl.txt"))[1:], lines0(b.String())[1:])
	b.Reset()
	require.NoError(t, lids.WriteGUID2LID(&b))
	assert.ElementsMatch(t, lines0(read(t, "guid2lid")), lines0(b.String()))
}

func lines0(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func TestLIDsAreGivenAsOpenSMDoes(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	lids, err := opensm.AssignLIDs(g, 2, 2)
	require.NoError(t, err)
	of := func(name string) [2]int {
		n, err := g.NodeByName(name)
		require.NoError(t, err)
		first, count := lids.Of(n)
		return [2]int{first, count}
	}
	// The manager's host first; hosts at multiples of four, and what is left between stays free.
	assert.Equal(t, [2]int{4, 4}, of("host2"))
	assert.Equal(t, [2]int{8, 1}, of("L0-0"))
	assert.Equal(t, [2]int{18, 1}, of("L1-1"))
	assert.Equal(t, [2]int{12, 4}, of("host0"))
	_, err = opensm.AssignLIDs(topologytest.Parse(t, "kary-ntree:12,3"), 0, 5)
	assert.ErrorContains(t, err, "kary-ntree:12,3 with 432 switches and 1728 NICs: LIDs")
}

func TestAddressesOfAPortAreItsLIDs(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	text := strings.NewReplacer("[0-8]", "[0-9]", "8 lids", "9 lids",
		"0x0008 002 # Channel Adapter portguid 0x000000000010000d: 'host3 HCA-1'\n",
		"0x0008 002 # Channel Adapter portguid 0x000000000010000d: 'host3 HCA-1'\n0x0009 002 # Channel Adapter portguid "+
			"0x000000000010000d: 'host3 HCA-1'\n",
		"0x0008 003 # Channel Adapter portguid 0x000000000010000d: 'host3 HCA-1'\n",
		"0x0008 003 # Channel Adapter portguid 0x000000000010000d: 'host3 HCA-1'\n0x0009 004 # Channel Adapter portguid "+
			"0x000000000010000d: 'host3 HCA-1'\n",
	).Replace(read(t, "opensm-lfts.dump"))
	text = strings.Replace(text, "'L0-1'\n0x0004 001", "'L0-1'\n0x0004 001", 1)
	r, err := opensm.Load(t.Context(), g, opensm.Files{LFT: file("f", text)})
	require.NoError(t, err)
	assert.Equal(t, 2, r.Tables.Paths())
	assert.Equal(t, []weft.Address{{Path: 0}, {Path: 1}}, r.Assignment.Addresses(0, 3))
	assert.Equal(t, []weft.Address{{Path: 0}}, r.Assignment.Addresses(0, 2))
	assert.Equal(t, weft.PortID(3), r.Tables.Choices(0, 3, 1, 0, 0)[0].Port)
}

func TestBadTablesAreRefusedAtTheirLine(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	lft := read(t, "opensm-lfts.dump")
	diags := read(t, "dump_lfts.txt")
	bare := "Unicast lids [0-2] of switch Lid 2 guid 0x0000000000200000 ('L0-0'):\n0x0001 001\n"
	change := func(text, from, to string) string {
		require.Contains(t, text, from)
		return strings.Replace(text, from, to, 1)
	}
	head := func(text string, n int) string { return strings.Join(strings.SplitAfter(text, "\n")[:n], "") }
	for _, c := range []struct{ in, want string }{
		{
			"",
			"f: the file ends without a table of switch L0-0, GUID 0x0000000000200000: it is cut short, or of another fabric",
		},
		{head(lft, 30), "f:30: the file ends without a table of switch L1-1, GUID 0x0000000000200003"},
		{head(lft, 38), "f:38: the file ends within the table of switch L1-1: it is cut short"},
		{
			change(diags, "0x0003 000 : (Switch portguid 0x0000000000200001: 'L0-1')\n", ""),
			"f:11: 8 LIDs of switch L0-1 are counted, and 7 are there",
		},
		{
			change(lft, "8 lids dumped\n", "8 lids dumped\n8 lids dumped\n"),
			`f:11: found "8 lids dumped", expected it at the end of a table`,
		},
		{
			change(lft, "0x0003 003 ", "0x0003 "),
			`f:4: found "0x0003 # Switch portguid 0x0000000000200001: 'L0-1'", expected an entry as 0x0001 001`,
		},
		{change(lft, "0x0003 003 ", "0x0003 005 "), "f:4: port 5 of switch L0-0, which has 4"},
		{change(lft, "0x0003 003 ", "0x0009 003 "), "f:4: LID 0x0009 in the table of switch L0-0, which ends at 0x0008"},
		{change(lft, "0x0003 003 ", "0x0002 003 "), "f:4: LID 0x0002 is twice in the table of switch L0-0, at line 1 first"},
		{change(lft, "0x0001 001 ", "0x0001 000 "), "f:2: LID 0x0001 is that of host0, and port 0 is switch L0-0 itself"},
		{
			change(lft, "0x0001 001 ", "0x0001 002 "),
			"f:2: port 2 of switch L0-0 leads to host1, and LID 0x0001 is that of host0",
		},
		{
			change(lft, "Adapter portguid 0x0000000000100001", "Adapter portguid 0x0000000000100002"),
			"f:2: port GUID 0x0000000000100002 is not in topology testdata/tiny.net: give the topology that the file is of",
		},
		{
			change(lft, "guid 0x0000000000200001 (", "guid 0x0000000000200009 ("),
			"f:11: switch GUID 0x0000000000200009 is not in topology",
		},
		{
			change(lft, "guid 0x0000000000200001 (", "guid 0x0000000000200000 ("),
			"f:11: switch L0-0 has a table at line 1 already",
		},
		{
			change(lft, "portguid 0x0000000000200002: ", "portguid 0x0000000000200003: "),
			"f:15: LID 0x0004 is that of L1-0, and by line 5 that of L1-1",
		},
		{change(lft, "[0-8]", "[0-7]"), "f:9: LID 0x0008 in the table of switch L0-0, which ends at 0x0007"},
		{change(lft, "8 lids", "7 lids"), "f:10: the table of switch L0-0 ends at LID 7, and at its beginning it is 8"},
		{change(diags, "8 valid", "9 valid"), "f:12: 9 LIDs of switch L0-1 are counted, and 8 are there: lines are missing"},
		{change(lft, "8 lids dumped\n", ""), "f:1: this table ends without counting its LIDs, as others do"},
		{change(lft, "Unicast lids [0-8] of", "Unicast lids of"), `f:1: found "Unicast lids of switch Lid 2`},
		{"0x0001 001\n", "f:1: an entry outside of a table"},
		{"hello\n", `f:1: found "hello", expected an entry as 0x0001 001`},
		{bare, "f:2: LID 0x0001 is unknown: name the file that has it, as guid2lid=guid2lid"},
		{"Unicast lids [0-8] of switch" + strings.Repeat("x", 64<<10), "f:1: bufio.Scanner: token too long"},
	} {
		_, err := opensm.Load(t.Context(), g, opensm.Files{LFT: file("f", c.in)})
		if assert.Error(t, err, c.want) {
			assert.Contains(t, err.Error(), c.want)
		}
	}
}

func TestBadFilesBesideTheTablesAreRefusedAtTheirLine(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	change := func(name, from, to string) *opensm.File {
		text := read(t, name)
		require.Contains(t, text, from)
		f := file("f", strings.Replace(text, from, to, 1))
		return &f
	}
	for _, c := range []struct {
		files opensm.Files
		want  string
	}{
		{
			opensm.Files{GUID2LID: change("guid2lid", "0x0006 0x0006", "0x0006")},
			"f:1: found \"0x0000000000100005 0x0006\", expected a GUID and its first and last LID",
		},
		{
			opensm.Files{GUID2LID: change("guid2lid", "0x0006 0x0006", "0x0006 0x0005")},
			"f:1: LIDs 0x0006 to 0x0005 for host1",
		},
		{
			opensm.Files{GUID2LID: change("guid2lid", "0x0006 0x0006", "0x0006 0x0008")},
			"f:3: LID 0x0008 of host3 is that of host1 already",
		},
		{opensm.Files{GUID2LID: &opensm.File{Name: "f", Reader: strings.NewReader("")}}, "f: no GUID of this topology"},
		{opensm.Files{PathSL: change("path-sl.txt", "1 6 0", "1 6 16")}, "f:2: found \"1 6 16\", expected a source LID"},
		{opensm.Files{PathSL: change("path-sl.txt", "1 6 0", "1 6")}, "f:2: found \"1 6\", expected a source LID"},
		{opensm.Files{PathSL: change("path-sl.txt", "1 6 0", "1 9 0")}, "f:2: LID 9 is unknown"},
		{
			opensm.Files{PathSL: change("path-sl.txt", "6 7 0", "6 7 0\n6 7 2")},
			"f:7: service level 2 from host1 to LID 7 of host2, and 0 by a line before: expected one",
		},
		{
			opensm.Files{SL2VL: change("opensm-sl2vl.dump", "0   1   : 0  1  2  3  4  5", "0   1   : 0  1  2  3  4")},
			"f:4: found",
		},
		{opensm.Files{SL2VL: change("opensm-sl2vl.dump", "0   4   :", "0   5   :")}, "f:19: port 5, expected 0 to 4"},
		{
			opensm.Files{SL2VL: change("opensm-sl2vl.dump", "0x0000000000200001, base", "0x0000000000200000, base")},
			"f:32: a second table of L0-0",
		},
		{
			opensm.Files{SL2VL: change("opensm-sl2vl.dump", "0x0000000000200001, base", "0x0000000000200009, base")},
			"f:32: node GUID 0x0000000000200009 is not in topology",
		},
		{
			opensm.Files{SL2VL: change("opensm-sl2vl.dump", "1   3   : 0", "1   3   : 15")},
			"f: switch L0-0 has no virtual lane from port 1 to 3 for service level 0, in which packets to host2 come",
		},
		{
			opensm.Files{SL2VL: &opensm.File{Name: "f", Reader: strings.NewReader("0 0 : 0\n")}},
			"f:1: found \"0 0 : 0\", expected the beginning of a table",
		},
	} {
		c.files.LFT = file("lft", read(t, "opensm-lfts.dump"))
		_, err := opensm.Load(t.Context(), g, c.files)
		if assert.Error(t, err, c.want) {
			assert.Contains(t, err.Error(), c.want)
		}
	}
}

// Tables of a file may send packets round and round, or nowhere: that is found, counted, and no
// reason to refuse them.
func TestTablesThatLoopOrEndAreFound(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	lft := read(t, "opensm-lfts.dump")
	blocks := strings.SplitAfter(lft, "dumped\n")
	// Both of L0-1 and L1-0 send packets to host0 to each other.
	blocks[2] = strings.Replace(blocks[2], "0x0001 001", "0x0001 002", 1)
	r, err := opensm.Load(t.Context(), g, opensm.Files{LFT: file("f", strings.Join(blocks, ""))})
	require.NoError(t, err)
	assert.Equal(t, 2, r.Unroutable, "host2 and host3 to host0")
	assert.Len(t, r.Dependencies(t.Context()).Cycle(), 2)

	blocks[2] = strings.Replace(blocks[2], "0x0001 002", "0x0001 255", 1)
	r, err = opensm.Load(t.Context(), g, opensm.Files{LFT: file("f", strings.Join(blocks, ""))})
	require.NoError(t, err)
	assert.Equal(t, 2, r.Unroutable)
	assert.Nil(t, r.Dependencies(t.Context()).Cycle())
}

func TestOpenSaysWhatItExpects(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	for spec, want := range map[string]string{
		"":                          "tables: no file, expected FILE[,sl2vl=FILE][,path-sl=FILE][,guid2lid=FILE]",
		"a,b":                       `tables:a,b: found "b", expected FILE[,sl2vl=FILE]`,
		"a,sl2v=b":                  `tables:a,sl2v=b: unknown option "sl2v": did you mean "sl2vl"?`,
		"a,sl2vl=b,sl2vl=c":         "tables:a,sl2vl=b,sl2vl=c: sl2vl is there twice",
		"testdata/none":             "testdata/none: no such file",
		"testdata/guid2lid":         "testdata/guid2lid:1: found",
		"testdata/tiny.net,sl2vl=x": "x: no such file",
	} {
		_, err := opensm.Open(t.Context(), g, spec)
		if assert.Error(t, err, want) {
			assert.Contains(t, err.Error(), want)
		}
	}
}
