package opensm_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/fabricd/subnet/layered"
	"github.com/weft-fabric/weft/fabricd/subnet/opensm"
	"github.com/weft-fabric/weft/fabricd/topology/topologytest"
	"github.com/weft-fabric/weft/harness/testenv"
)

// Routings that look at nothing but the destination come back from their files as they were, layers
// too.
func TestRoutingsOfOursComeBack(t *testing.T) {
	for spec, engine := range map[string]func() (*layered.Routing, error){
		"lash": func() (*layered.Routing, error) {
			return layered.LASH(t.Context(), topologytest.Parse(t, "irregular:16,32,4,nics=2"), layered.Options{})
		},
		"updn": func() (*layered.Routing, error) {
			return layered.UpDownByDestination(t.Context(), topologytest.Parse(t, "torus:4x4"), layered.Options{})
		},
		"minimal-hop": func() (*layered.Routing, error) {
			return layered.MinimalHop(t.Context(), topologytest.Parse(t, "mesh:3x3"), layered.Options{})
		},
		"without NICs": func() (*layered.Routing, error) {
			return layered.LASH(t.Context(), topologytest.Parse(t, "kary-ntree:2,3"), layered.Options{})
		},
	} {
		r, err := engine()
		require.NoError(t, err, spec)
		lids, err := opensm.AssignLIDs(r.Graph, 0, 0)
		require.NoError(t, err)
		var lft, sl bytes.Buffer
		require.NoError(t, writeLFT(&lft, r, lids), spec)
		require.NoError(t, opensm.WritePathSL(&sl, r, lids))
		levels := file("sl", sl.String())
		again, err := opensm.Load(t.Context(), r.Graph, opensm.Files{LFT: file("lft", lft.String()), PathSL: &levels})
		require.NoError(t, err)
		assert.Zero(t, again.Unroutable)
		assert.Equal(t, r.Layers, again.Layers, spec)
		want, got := r.Dependencies(t.Context()), again.Dependencies(t.Context())
		assert.Equal(t, want.Loads, got.Loads, spec)
		assert.Nil(t, got.Cycle(), spec)
		entries := len(r.Graph.Switches) * (len(r.Graph.Switches) + len(r.Graph.NICs))
		assert.Equal(t, entries, strings.Count(lft.String(), "portguid"), "%s: every switch has a way to every LID", spec)
	}
}

func TestRoutingsThatTablesOfInfiniBandCannotSayAreRefused(t *testing.T) {
	g := topologytest.Parse(t, "irregular:16,32,4")
	lids, err := opensm.AssignLIDs(g, 0, 0)
	require.NoError(t, err)
	r, err := layered.UpDownAdaptive(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	assert.ErrorContains(t, writeLFT(io.Discard, r, lids), "updn-adaptive: its switches choose among ports")
	r.Kind = layered.Deterministic
	assert.ErrorContains(t, writeLFT(io.Discard, r, lids), "ports for packets to n")

	wide := topologytest.Parse(t, "irregular:64,128,3")
	r, err = layered.UpDown(t.Context(), wide, layered.Options{})
	require.NoError(t, err)
	theirs, err := opensm.AssignLIDs(wide, 0, 0)
	require.NoError(t, err)
	assert.ErrorContains(t, writeLFT(io.Discard, r, theirs),
		"by where they come from, and a table of InfiniBand has one for each LID: take a routing by destination alone, as "+
			"updn:in-port=false")

	r, err = layered.LASH(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	assert.ErrorContains(t, writeLFT(io.Discard, r, &opensm.LIDs{}), "NIC n0 has no LID: give those of this fabric")
	assert.ErrorIs(t, writeLFT(broken{}, r, lids), errBroken)
	assert.ErrorIs(t, opensm.WriteSL2VL(broken{}, r, lids), errBroken)
	r.Layers = 16
	for _, write := range []func(io.Writer, *layered.Routing, *opensm.LIDs) error{opensm.WritePathSL, opensm.WriteSL2VL} {
		assert.ErrorContains(t, write(io.Discard, r, lids),
			"lash has 16 layers, and InfiniBand has 15 virtual lanes for data: take a routing of fewer layers")
	}

	torus := topologytest.Parse(t, "testdata/torus5.net")
	r = open(t, torus,
		"testdata/torus5-lfts.dump.gz,sl2vl=testdata/torus5-sl2vl.dump.gz,path-sl=testdata/torus5-path-sl.txt")
	lids, err = opensm.AssignLIDs(torus, 0, 0)
	require.NoError(t, err)
	assert.ErrorContains(t, writeLFT(io.Discard, r, lids), "from layer 0 to 1, which a table of InfiniBand cannot say")

	tiny := topologytest.Parse(t, "testdata/tiny.net")
	text := strings.ReplaceAll(read(t, "opensm-lfts.dump"), "0x0008", "0x0009")
	text = strings.NewReplacer("[0-8]", "[0-9]", "8 lids", "9 lids").Replace(text)
	two := file("guid2lid", "0x000000000010000d 0x0008 0x0009\n")
	r, err = opensm.Load(t.Context(), tiny, opensm.Files{LFT: file("f", text), GUID2LID: &two})
	require.NoError(t, err)
	lids, err = opensm.AssignLIDs(tiny, 0, 0)
	require.NoError(t, err)
	assert.ErrorContains(t, writeLFT(io.Discard, r, lids), "gives NIC host0 2 addresses, and it has 1 LIDs: raise the LMC")
	lids, err = opensm.AssignLIDs(tiny, 0, 1)
	require.NoError(t, err)
	assert.NoError(t, writeLFT(io.Discard, r, lids))
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// The NICs of a switch may have lanes of their own for a level.
func TestNICsOfASwitchMaySendInDifferentLanes(t *testing.T) {
	g := topologytest.Parse(t, "testdata/tiny.net")
	text := read(t, "opensm-sl2vl.dump")
	at := strings.Index(text, "Channel Adapter 0x0000000000100005")
	text = text[:at] + strings.Replace(text[at:], "0   0   : 0", "0   0   : 1", 1)
	levels := file("sl2vl", text)
	r, err := opensm.Load(t.Context(), g, opensm.Files{LFT: file("f", read(t, "opensm-lfts.dump")), SL2VL: &levels})
	require.NoError(t, err)
	for nic, vc := range map[weft.NICID]weft.VC{0: 0, 1: 1} {
		s, port := g.SwitchOf(nic)
		assert.Equal(t, []weft.Address{{VC: vc}}, r.Assignment.From(s, port, 2))
	}
}

// What a switch does with a packet may not depend on its service level where lane and port are the
// same.
func TestLanesThatDependOnTheLevelAreRefused(t *testing.T) {
	g := topologytest.Parse(t, "mesh:3")
	r, err := layered.MinimalHop(t.Context(), g, layered.Options{})
	require.NoError(t, err)
	lids, err := opensm.AssignLIDs(g, 0, 0)
	require.NoError(t, err)
	var lft, tables bytes.Buffer
	require.NoError(t, writeLFT(&lft, r, lids))
	lanes := func(in, out int, ofLevel8 int) {
		fmt.Fprintf(&tables, "%d %d : 0 1 2 3 4 5 6 7 %d 1 2 3 4 5 6 7\n", in, out, ofLevel8)
	}
	for _, s := range g.Switches {
		fmt.Fprintf(&tables, "Switch %v, base LID 1, \"\"\n", g.Identity(s.ID.Node()).GUID)
		for in := range s.Ports + 1 {
			for out := range s.Ports + 1 {
				level8 := 0
				if s.ID == 2 {
					level8 = 1
				}
				lanes(in, out, level8)
			}
		}
	}
	for _, n := range g.NICs {
		fmt.Fprintf(&tables, "Channel Adapter %v, base LID 1, \"\"\n", g.Identity(n.ID.Node()).PortGUID)
		lanes(0, 0, 0)
	}
	of := func(i int) int { first, _ := lids.Of(weft.NICID(i).Node()); return first }
	load := func(level int) error { // n0 sends to n2 in level 0, and n1 in this; both come to the last switch in lane 0
		levels := file("sl2vl", tables.String())
		paths := file("path-sl", fmt.Sprintf("%d %d 0\n%d %d %d\n", of(0), of(2), of(1), of(2), level))
		_, err := opensm.Load(t.Context(), g, opensm.Files{LFT: file("f", lft.String()), SL2VL: &levels, PathSL: &paths})
		return err
	}
	require.NoError(t, load(0))
	assert.ErrorContains(t, load(8), "sl2vl: switch s2 sends packets to n2 that come by port 1 in virtual lane 0 on in "+
		"lanes 0 and 1, by their service level: Weft's tables do not look at it")
}

func TestAFileLargerThanAllowedIsRefused(t *testing.T) {
	testenv.Nightly(t) // 1 GiB is packed and unpacked
	name := filepath.Join(t.TempDir(), "lfts.gz")
	f, err := os.Create(name)
	require.NoError(t, err)
	packed := gzip.NewWriter(f)
	line := append(bytes.Repeat([]byte(" "), 1<<15-1), '\n')
	for range 1<<15 + 1 {
		_, err := packed.Write(line)
		require.NoError(t, err)
	}
	require.NoError(t, packed.Close())
	require.NoError(t, f.Close())
	_, err = opensm.Open(t.Context(), topologytest.Parse(t, "testdata/tiny.net"), name)
	assert.ErrorContains(t, err, "the file is larger than 1 GiB, which is the most that is read")
}
