package main

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft"
	"github.com/weft-fabric/weft/harness/measure"
	"github.com/weft-fabric/weft/harness/testenv"
	switching "github.com/weft-fabric/weft/switch"
)

// smallNetwork is a network that is measured in no time.
var smallNetwork = []network{{"small", "small", "kary-ntree:2,2", "updown", "uniform", 500, []variant{
	{"match", 0, []change{fifo, input(4), output(1)}},
	{"fifo", 0.9, []change{fifo}},
}}}

const theirRuns = booksimColumns + `small,plain,0.1,1,ok,0.2,10,10,2,1,1,1
small,plain,0.1,2,ok,0.2,11,10,2,1,1,1
small,match,0.3,2,ok,0.6,12,10,2,1,1,1
large,plain,0.3,2,ok,0.6,12,10,2,1,1,1
`

func TestWeftIsMeasuredWhereBookSimWas(t *testing.T) {
	testenv.Unraced(t)
	folder := t.TempDir()
	require.NoError(t, compare(t.Context(), smallNetwork, booksimFile(t, theirRuns), folder))
	text, err := os.ReadFile(filepath.Join(folder, "booksim-weft.csv"))
	require.NoError(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	require.NoError(t, err)
	var keys []string
	for _, row := range rows[1:] {
		keys = append(keys, strings.Join(row[:4], ","))
	}
	assert.Equal(t, []string{
		"small,plain,0.1,1", "small,plain,0.1,2",
		"small,match,0.3,2",
		"small,fifo,0.9,1", "small,fifo,0.9,2", // at its own load, with their seeds
	}, keys)
	for _, picture := range []string{"booksim-small.svg", "booksim-small.png"} {
		assert.FileExists(t, filepath.Join(folder, picture))
	}
	assert.NoFileExists(t, filepath.Join(folder, "booksim-large.svg"))

	// What is there is kept, whatever it says, and what is missing is measured.
	lines := strings.SplitAfter(string(text), "\n")
	part := t.TempDir()
	marked := "small,plain,0.1,1,ok,7.0000,7.000,7.0000\n"
	require.NoError(t, os.WriteFile(filepath.Join(part, "booksim-weft.csv"), []byte(lines[0]+marked), 0o644))
	require.NoError(t, compare(t.Context(), smallNetwork, booksimFile(t, theirRuns), part))
	third, err := os.ReadFile(filepath.Join(part, "booksim-weft.csv"))
	require.NoError(t, err)
	assert.Equal(t, lines[0]+marked+strings.Join(lines[2:], ""), string(third))

	again := t.TempDir()
	require.NoError(t, compare(t.Context(), smallNetwork, booksimFile(t, theirRuns), again))
	second, err := os.ReadFile(filepath.Join(again, "booksim-weft.csv"))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(second))
}

func TestRunsThatAreKeptAreDrawnAsWell(t *testing.T) {
	of, err := readTable(booksimFile(t, theirRuns))
	require.NoError(t, err)
	kept := booksimRun{network: "small", variant: "plain", load: 0.1, seed: 2, accepted: 7, latency: 8, hops: 9}
	done := 0
	got, err := smallNetwork[0].measure(t.Context(), of.of("small"), booksimTable{kept},
		func(booksimRun) error { done++; return nil })
	require.NoError(t, err)
	require.Len(t, got, 5)
	assert.Equal(t, kept, got[1])
	assert.Equal(t, 4, done, "what is kept is not written again")
}

func TestCompareSaysWhatItCannotDo(t *testing.T) {
	require.ErrorContains(t, compare(t.Context(), smallNetwork, booksimFile(t, booksimColumns), t.TempDir()),
		"no run that ended well of a network compared here")
	require.ErrorIs(t, compare(t.Context(), smallNetwork, booksimFile(t, theirRuns),
		filepath.Join(t.TempDir(), "no", "folder")), os.ErrNotExist)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := compare(ctx, smallNetwork, booksimFile(t, theirRuns), t.TempDir())
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "small, plain at load 0.1")
}

func TestVariantsChangeWhatTheySay(t *testing.T) {
	seen := map[string]bool{}
	for i := range networks {
		n := &networks[i]
		for _, v := range n.variants {
			assert.False(t, seen[n.name+v.name], "%s: %s twice", n.name, v.name)
			seen[n.name+v.name] = true
			c := n.config(nil, v, 0.5, 1)
			if v.name == "match" {
				assert.Equal(t, "fifo", c.Switch.Queueing)
				assert.Equal(t, []int{4, 1}, []int{c.Switch.InputBuffer, c.Switch.OutputBuffer})
				assert.Equal(t, n.name == "fattree64", c.Firmware.Route != nil,
					"up ports are drawn where there are any")
			}
		}
		assert.Equal(t, n.title != "", seen[n.name+"match"], "what is drawn has a match")
		plainly := n.config(nil, variant{}, 0.5, 1)
		assert.Equal(t, []int{0, 0}, []int{plainly.Switch.InputBuffer, plainly.Switch.OutputBuffer})
	}
	var c measure.Config
	for _, change := range []change{fifo, input(3), output(5), upDrawn} {
		change(&c)
	}
	assert.Equal(t, []int{3, 5}, []int{c.Switch.InputBuffer, c.Switch.OutputBuffer})
}

// placedAt is a view that knows its place only.
type placedAt struct {
	switching.View
	tree weft.Tree
}

func (a *placedAt) Place() *weft.Place { return &weft.Place{Tree: &a.tree} }

// What is drawn in the upper tier must not depend on what was drawn in the lower: all packets that
// come to a switch would go on together.
func TestDrawnUpPortsOfTwoTiersAreIndependent(t *testing.T) {
	leaf, middle := &placedAt{tree: weft.Tree{K: 4, N: 3, Tier: 2}}, &placedAt{tree: weft.Tree{K: 4, N: 3, Tier: 1}}
	var count [4][4]int
	const each = 200
	for i := range 16 * each {
		h := &weft.Header{Src: weft.NICID(i % 64), Dst: weft.NICID(i / 7 % 64), Seq: uint64(i / 640)}
		a, b := drawnUp(leaf, h), drawnUp(middle, h)
		assert.Equal(t, a, drawnUp(leaf, h), "the draw is the same when the packet has waited")
		count[a][b]++
	}
	for _, row := range count {
		for _, n := range row {
			assert.InDelta(t, each, n, 75, "of %v", count)
		}
	}
}

// around sends every packet on by port 1 of a ring until it is there, in one virtual channel.
type around struct{ *measure.Config }

func (a around) Route(pkt *weft.Header, _ switching.Arrival, sw switching.View) switching.Decision {
	at := sw.Place().Switch
	leaf, port := a.Topology.SwitchOf(pkt.Dst)
	for p := range weft.PortID(sw.Place().Ports()) {
		peer, _, ok := a.Topology.Peer(weft.End{Node: at.Node(), Port: p})
		if next := (int(at) + 1) % len(a.Topology.Switches); leaf != at && ok && peer.Node == weft.SwitchID(next).Node() {
			port = p
		}
	}
	return switching.To(sw, port, 0, pkt.Fields, "on")
}

// Until the deadlock packets have moved, and a throughput of that time would stand in the curve as
// if it were one.
func TestANetworkThatDeadlocksIsNotCompared(t *testing.T) {
	n := &network{
		name: "ring", spec: "ring:4", pattern: "uniform", window: 2000,
		variants: []variant{{"circle", 1, []change{
			func(c *measure.Config) {
				copied := *c
				c.Firmware = switching.Firmware{Name: "around", Route: around{&copied}.Route}
			},
		}}},
	}
	_, err := n.measure(t.Context(), booksimTable{{network: "ring", variant: "circle", load: 1, seed: 1}}, nil,
		func(booksimRun) error { return nil })
	require.ErrorContains(t, err, "ring, circle at load 1, seed 1: deadlock after ")
	require.ErrorContains(t, err, "s3 -> s0 vc0")
}

func TestARowThatAKillHasTornIsMeasuredAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours.csv")
	whole := booksimHeader + "\nring,plain,0.1,1,ok,3.2000,16.500,4.4000\n"
	require.NoError(t, os.WriteFile(path, []byte(whole+"ring,plain,0.2,1,ok,6.4000,17.500,4."), 0o644))
	file, before, err := resume(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Len(t, before, 1)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, whole, string(text))
}

func booksimFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "booksim.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

const booksimColumns = "network,variant,load,seed,status,accepted,latency,network_latency,hops,cycles,cpu_seconds,hops_per_cpu_second\n"

func TestRunsThatEndedWellAreRead(t *testing.T) {
	got, err := readTable(booksimFile(t, booksimColumns+
		"mesh64,plain,0.1,1,ok,3.2,22.5,22.4,6.25,25041,1.098,457554\n"+
		"mesh64,plain,0.2,1,timeout,,,,,,300,\n"+
		"torus512,match,0.3,2,ok,76.8,28.3,28.1,7,5048,15.9,170038\n"))
	require.NoError(t, err)
	assert.Equal(t, booksimTable{
		{network: "mesh64", variant: "plain", load: 0.1, seed: 1, accepted: 3.2, latency: 22.5, hops: 6.25},
		{network: "torus512", variant: "match", load: 0.3, seed: 2, accepted: 76.8, latency: 28.3, hops: 7},
	}, got)
}

func TestColumnsMayStandInAnyOrder(t *testing.T) {
	got,
		err := readTable(booksimFile(t,
		"hops,extra,latency,accepted,status,seed,load,variant,network\n4,x,16,3,ok,1,0.1,plain,fattree64\n"))
	require.NoError(t, err)
	assert.Equal(t,
		booksimTable{{network: "fattree64", variant: "plain", load: 0.1, seed: 1, accepted: 3, latency: 16, hops: 4}}, got)
}

func TestBadTablesAreNamed(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "empty, without columns"},
		{"network,load\n", `no column "variant": is it a table of run.sh or booksim-compare? It has network, load`},
		{booksimColumns + "a,plain,fast,1,ok,1,1,1,1,1,1,1\n", `line 2, load: strconv.ParseFloat: parsing "fast"`},
		{booksimColumns + "a,plain,0.1,1,ok,1,1,1,1,1,1,1\na,plain,0.1,-1,ok,1,1,1,1,1,1,1\n", "line 3, seed: "},
		{booksimColumns + "a,plain,0.1,1,ok\n", "wrong number of fields"},
		{"\"network\n", "parse error on line"},
	} {
		path := booksimFile(t, c.text)
		_, err := readTable(path)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, path)
	}
	_, err := readTable("not-there.csv")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "not-there.csv")
}

func TestSeedsAreMergedToTheirMeanAndSpread(t *testing.T) {
	of := func(variant string, load float64, seed uint64, accepted, latency float64) booksimRun {
		return booksimRun{network: "a", variant: variant, load: load, seed: seed, accepted: accepted, latency: latency}
	}
	points := booksimTable{
		of("plain", 0.1, 1, 3, 10), of("plain", 0.2, 1, 6, 20), of("plain", 0.1, 2, 4, 11), of("plain", 0.1, 3, 8, 12),
		of("match", 0.1, 1, 1, 1),
	}.points()
	require.Len(t, points, 3)
	assert.Equal(t, interval{3, 5, 8}, points[0].accepted)
	assert.Equal(t, interval{10, 11, 12}, points[0].latency)
	assert.Equal(t, interval{6, 6, 6}, points[1].accepted)
	assert.Equal(t, "match", points[2].variant)
}

func TestPointsBeyondSaturationAreNotDrawn(t *testing.T) {
	of := func(load, accepted, latency float64) booksimRun {
		return booksimRun{variant: "plain", load: load, accepted: accepted, latency: latency}
	}
	var loads []float64
	for _, p := range sustained(booksimTable{
		of(0.1, 3.18, 10), of(0.2, 6.4, 12), of(0.3, 9.5, 39),
		of(0.4, 12.3, 20), // less accepted than offered, and the run too short for the latency to show it
		of(0.5, 16, 41),   // and what the queues still take
	}.points()) {
		loads = append(loads, p.load)
	}
	assert.Equal(t, []float64{0.1, 0.2, 0.3}, loads)
}
