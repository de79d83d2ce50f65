package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func file(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "booksim.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

const columns = "network,variant,load,seed,status,accepted,latency,network_latency,hops,cycles,cpu_seconds,hops_per_cpu_second\n"

func TestRunsThatEndedWellAreRead(t *testing.T) {
	got, err := readTable(file(t, columns+
		"mesh64,plain,0.1,1,ok,3.2,22.5,22.4,6.25,25041,1.098,457554\n"+
		"mesh64,plain,0.2,1,timeout,,,,,,300,\n"+
		"torus512,match,0.3,2,ok,76.8,28.3,28.1,7,5048,15.9,170038\n"))
	require.NoError(t, err)
	assert.Equal(t, table{
		{network: "mesh64", variant: "plain", load: 0.1, seed: 1, accepted: 3.2, latency: 22.5, hops: 6.25},
		{network: "torus512", variant: "match", load: 0.3, seed: 2, accepted: 76.8, latency: 28.3, hops: 7},
	}, got)
}

func TestColumnsMayStandInAnyOrder(t *testing.T) {
	got, err := readTable(file(t, "hops,extra,latency,accepted,status,seed,load,variant,network\n4,x,16,3,ok,1,0.1,plain,fattree64\n"))
	require.NoError(t, err)
	assert.Equal(t, table{{network: "fattree64", variant: "plain", load: 0.1, seed: 1, accepted: 3, latency: 16, hops: 4}}, got)
}

func TestBadTablesAreNamed(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{"", "empty, without columns"},
		{"network,load\n", `no column "variant": is it a table of run.sh or compare? It has network, load`},
		{columns + "a,plain,fast,1,ok,1,1,1,1,1,1,1\n", `line 2, load: strconv.ParseFloat: parsing "fast"`},
		{columns + "a,plain,0.1,1,ok,1,1,1,1,1,1,1\na,plain,0.1,-1,ok,1,1,1,1,1,1,1\n", "line 3, seed: "},
		{columns + "a,plain,0.1,1,ok\n", "wrong number of fields"},
		{"\"network\n", "parse error on line"},
	} {
		path := file(t, c.text)
		_, err := readTable(path)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, path)
	}
	_, err := readTable("not-there.csv")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "not-there.csv")
}

func TestSeedsAreMergedToTheirMeanAndSpread(t *testing.T) {
	of := func(variant string, load float64, seed uint64, accepted, latency float64) run {
		return run{network: "a", variant: variant, load: load, seed: seed, accepted: accepted, latency: latency}
	}
	points := table{
		of("plain", 0.1, 1, 3, 10), of("plain", 0.2, 1, 6, 20), of("plain", 0.1, 2, 4, 11), of("plain", 0.1, 3, 8, 12), of("match", 0.1, 1, 1, 1),
	}.points()
	require.Len(t, points, 3)
	assert.Equal(t, interval{3, 5, 8}, points[0].accepted)
	assert.Equal(t, interval{10, 11, 12}, points[0].latency)
	assert.Equal(t, interval{6, 6, 6}, points[1].accepted)
	assert.Equal(t, "match", points[2].variant)
}

func TestPointsBeyondSaturationAreNotDrawn(t *testing.T) {
	of := func(load, accepted, latency float64) run {
		return run{variant: "plain", load: load, accepted: accepted, latency: latency}
	}
	var loads []float64
	for _, p := range sustained(table{
		of(0.1, 3.18, 10), of(0.2, 6.4, 12), of(0.3, 9.5, 39),
		of(0.4, 12.3, 20), // less accepted than offered, and the run too short for the latency to show it
		of(0.5, 16, 41),   // and what the queues still take
	}.points()) {
		loads = append(loads, p.load)
	}
	assert.Equal(t, []float64{0.1, 0.2, 0.3}, loads)
}
