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
	switching "github.com/weft-fabric/weft/switch"
)

// small is a network that is measured in no time.
var small = []network{{"small", "small", "kary-ntree:2,2", "updown", "uniform", 500, []variant{
	{"match", 0, []change{fifo, input(4), output(1)}},
	{"fifo", 0.9, []change{fifo}},
}}}

const theirs = columns + `small,plain,0.1,1,ok,0.2,10,10,2,1,1,1
small,plain,0.1,2,ok,0.2,11,10,2,1,1,1
small,match,0.3,2,ok,0.6,12,10,2,1,1,1
large,plain,0.3,2,ok,0.6,12,10,2,1,1,1
`

func TestWeftIsMeasuredWhereBookSimWas(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, compare(t.Context(), small, file(t, theirs), folder))
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
	require.NoError(t, compare(t.Context(), small, file(t, theirs), part))
	third, err := os.ReadFile(filepath.Join(part, "booksim-weft.csv"))
	require.NoError(t, err)
	assert.Equal(t, lines[0]+marked+strings.Join(lines[2:], ""), string(third))

	again := t.TempDir()
	require.NoError(t, compare(t.Context(), small, file(t, theirs), again))
	second, err := os.ReadFile(filepath.Join(again, "booksim-weft.csv"))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(second))
}

func TestRunsThatAreKeptAreDrawnAsWell(t *testing.T) {
	of, err := readTable(file(t, theirs))
	require.NoError(t, err)
	kept := run{network: "small", variant: "plain", load: 0.1, seed: 2, accepted: 7, latency: 8, hops: 9}
	done := 0
	got, err := small[0].measure(t.Context(), of.of("small"), table{kept}, func(run) error { done++; return nil })
	require.NoError(t, err)
	require.Len(t, got, 5)
	assert.Equal(t, kept, got[1])
	assert.Equal(t, 4, done, "what is kept is not written again")
}

func TestCompareSaysWhatItCannotDo(t *testing.T) {
	require.ErrorContains(t, compare(t.Context(), small, file(t, columns), t.TempDir()), "no run that ended well of a network compared here")
	require.ErrorIs(t, compare(t.Context(), small, file(t, theirs), filepath.Join(t.TempDir(), "no", "folder")), os.ErrNotExist)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := compare(ctx, small, file(t, theirs), t.TempDir())
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
				assert.Equal(t, n.name == "fattree64", c.Firmware != nil, "up ports are drawn where there are any")
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

// at is a view that knows its place only.
type at struct {
	switching.View
	tree weft.Tree
}

func (a *at) Place() *weft.Place { return &weft.Place{Tree: &a.tree} }

// What is drawn in the upper tier must not depend on what was drawn in the lower: all packets that
// come to a switch would go on together.
func TestDrawnUpPortsOfTwoTiersAreIndependent(t *testing.T) {
	leaf, middle := &at{tree: weft.Tree{K: 4, N: 3, Tier: 2}}, &at{tree: weft.Tree{K: 4, N: 3, Tier: 1}}
	var count [4][4]int
	const each = 200
	for i := range 16 * each {
		h := &weft.Header{Src: weft.NICID(i % 64), Dst: weft.NICID(i / 7 % 64), Seq: uint64(i / 640)}
		a, b := drawn(leaf, h), drawn(middle, h)
		assert.Equal(t, a, drawn(leaf, h), "the draw is the same when the packet has waited")
		count[a][b]++
	}
	for _, row := range count {
		for _, n := range row {
			assert.InDelta(t, each, n, 75, "of %v", count)
		}
	}
}
