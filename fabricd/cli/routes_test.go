package cli_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/subnet/survey"
	"github.com/weft-fabric/weft/harness/testenv"
)

// routes runs fabricd routes, which must end well.
func routes(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := fabricd(t, append([]string{"routes"}, args...)...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	return out
}

func TestRoutesTellsLayersLoadsAndPaths(t *testing.T) {
	t.Parallel()
	out := routes(t, "-t", "irregular:16,32,1", "--routing", "lash")
	assert.Regexp(t, `^irregular:16,32,1 by lash \(deterministic\): 16 switches, 16 NICs, 32 links between switches\n`, out)
	assert.Regexp(t, `\nlayers +2\n`, out)
	assert.Regexp(t, `\nchannel dependencies +no cycle: free from deadlock\n`, out)
	assert.Regexp(t, `\nunroutable pairs +0 of 240\n`, out)
	assert.Regexp(t, `\ncomputed in +0\.\d+ s\n$`, out)

	out = routes(t, "-t", "ring:8", "--routing", "minimal-hop")
	assert.Regexp(t, `\nchannel dependencies +a cycle of 8, in which .*: (s\d->s\d vc0, ){7}s\d->s\d vc0\n`, out)
	out = routes(t, "-t", "ring:9", "--routing", "minimal-hop")
	assert.Contains(t, out, " vc0 and 1 more\n", "a long one is cut")
	assert.Regexp(t, `no cycle in the escape layer: free from deadlock`, routes(t, "-t", "ring:8", "--routing", "escape"))
}

func TestRoutesJSONIsOneObjectThatScriptsMayRelyOn(t *testing.T) {
	t.Parallel()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(routes(t, "-t", "irregular:16,32,1", "--routing", "updn:layers=2", "--json")), &v))
	for _, k := range []string{
		"engine", "layers", "cdg_acyclic", "compute_seconds", "max_channel_load", "unroutable_pairs", "mean_channel_load", "addresses", "pairs_per_layer",
		"mean_path_length", "max_hops", "topology",
	} {
		require.Contains(t, v, k)
	}
	assert.Equal(t, "updn:layers=2", v["engine"])
	assert.Equal(t, 2.0, v["layers"])
	assert.Equal(t, true, v["cdg_acyclic"])
	assert.Equal(t, []any{120.0, 120.0}, v["pairs_per_layer"])
	assert.NotContains(t, v, "cycle")
	require.NoError(t, json.Unmarshal([]byte(routes(t, "-t", "ring:5", "--routing", "minimal-hop", "--json")), &v))
	require.Len(t, v["cycle"], 5)
	assert.Subset(t, v["cycle"].([]any)[0], map[string]any{"name": "s0->s4 vc0", "from": "s0", "to": "s4", "vc": 0.0})
}

func TestRoutesOfTreesAreThoseOfTheirTables(t *testing.T) {
	t.Parallel()
	out := routes(t, "path", "n00", "n33", "-t", "kary-ntree:4,2", "--routing", "deterministic-table")
	assert.Equal(t, `n00 to n33 in kary-ntree:4,2 by deterministic-table: shortest paths have 2 links between switches

address 0, layer 0: 2 links between switches
  s1.0   from n00 p0    vc0   p7 -> s0.3
  s0.3   from s1.0 p0   vc0   p3 -> s1.3
  s1.3   from s0.3 p7   vc0   p3 -> n33
`, out)
	refused(t, "adaptive-link computes its decisions, it has no tables: ask fabricd explain what it does with a packet", "routes", "-t", "kary-ntree:2,2", "--routing", "adaptive-link")
}

func TestRoutesPathShowsAllWaysAndAddresses(t *testing.T) {
	t.Parallel()
	out := routes(t, "path", "s0", "n2", "-t", "ring:4", "--routing", "escape")
	assert.Regexp(t, `\naddress 0, layer 1: 2 links between switches\n`, out)
	assert.Regexp(t, `\n  s0 +from n0 p\d +vc1 +p\d -> s\d \| p\d -> s\d \| else vc0 from here\n`, out)
	assert.Regexp(t, `\n  s0 +escaped here +vc0 +p\d -> s\d\n`, out)
	out = routes(t, "path", "s0", "n2", "-t", "ring:4", "--routing", "mroots:layers=2")
	assert.Contains(t, out, "\naddress 0, layers 0, 1, entered in 0 or 1: 2 links between switches\n")
	out = routes(t, "path", "s0", "n2", "-t", "ring:4", "--routing", "mp-lash")
	assert.Regexp(t, `(?s)\naddress 0, layer.*: 2 links between switches\n.*\naddress 1, layer.*: 2 links between switches\n`, out)

	var p survey.PathsResult
	text := routes(t, "path", "n0", "n2", "-t", "ring:4", "--routing", "escape", "--json")
	assert.Contains(t, text, `"layers":[1],`)
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	assert.Equal(t, "n0", p.Src)
	assert.Equal(t, 2, p.Shortest)
	require.Len(t, p.Ways, 1)
	assert.True(t, p.Ways[0].Arrives)
	require.Len(t, p.Ways[0].Stops[0].Hops, 2)
	assert.Equal(t, "n0", p.Ways[0].Stops[0].From)
	assert.True(t, p.Ways[0].Stops[0].Escape)

	refused(t, `unknown NIC "n20": `, "routes", "path", "n0", "n20", "-t", "ring:4", "--routing", "updn")
	refused(t, "n1 and s1 are one NIC, n1: name two", "routes", "path", "n1", "s1", "-t", "ring:4", "--routing", "updn")
	refused(t, "switch s0.0 has no NIC", "routes", "path", "s0.0", "n00", "-t", "kary-ntree:2,2", "--routing", "updn")
}

func TestRoutesCheckFailsOnACycleAndNamesIt(t *testing.T) {
	t.Parallel()
	out, errs, code := fabricd(t, "routes", "check", "-t", "ring:4", "--routing", "updn")
	require.Zero(t, code, errs)
	assert.Equal(t, "ring:4 by updn\nchannel dependencies: no cycle: free from deadlock\nunroutable pairs: 0 of 12\n", out)
	out, errs, code = fabricd(t, "routes", "check", "-t", "ring:6", "--routing", "minimal-hop")
	require.Equal(t, command.ExitFailed, code, errs)
	assert.Contains(t, out, "channel dependencies: a cycle of 6, in which packets can wait for one another for ever\n")
	assert.Regexp(t, `\n  s0->s5 vc0 +then s5->s4 vc0 +by packets from s\d to n\d(, and \d more)?\n`, out)
	out, _, code = fabricd(t, "routes", "check", "-t", "ring:6", "--routing", "minimal-hop", "--json")
	require.Equal(t, command.ExitFailed, code)
	var v survey.CheckResult
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	assert.False(t, v.Pass)
	require.Len(t, v.Cycle, 6)
	assert.Positive(t, v.Cycle[0].Pairs)
}

// Tables that OpenSM computed, of topologies as ibsim has them.
const (
	torus5   = "../subnet/opensm/testdata/torus5" // by its LASH, but taken in one layer
	opensm16 = "../../scenarios/papers/layered/opensm/updn-cyclic-16"
	opensm64 = "../../scenarios/papers/layered/opensm/updn-cyclic-64" // by its Up*/Down*, which makes forbidden turns here
)

// deadlockOf writes the scenario of a cycle, and returns the channels of the cycle.
func deadlockOf(t *testing.T, topology, routing, path string) (cycle []string) {
	t.Helper()
	out, errs, code := fabricd(t, "routes", "check", "-t", topology, "--routing", routing, "--scenario", path, "--json")
	require.Equal(t, command.ExitFailed, code, errs)
	var v survey.CheckResult
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	for _, d := range v.Cycle {
		cycle = append(cycle, strings.Replace(d.Name, "->", " -> ", 1)) // as fabricd run prints channels
	}
	return cycle
}

// The deadlock that the run ends in is the cycle that the tables have: those of ours that may, and
// those of another subnet manager.
func TestTheScenarioOfACycleRunsIntoIt(t *testing.T) {
	t.Parallel()
	for topology, routing := range map[string]string{
		"irregular:16,32,1": "minimal-hop", "irregular:64,128,1": "minimal-hop", "torus:5x5": "minimal-hop",
		torus5 + ".net": "tables:" + torus5 + "-lfts.dump.gz", opensm16 + ".net": "tables:" + opensm16 + ".lfts.gz", opensm64 + ".net": "tables:" + opensm64 + ".lfts.gz",
	} {
		path := filepath.Join(t.TempDir(), "deadlock.yaml")
		want := deadlockOf(t, topology, routing, path)
		out, _, code := fabricd(t, "run", "--virtual", path)
		require.Equal(t, command.ExitFailed, code, out)
		_, cycle, found := strings.Cut(out, " packets in switches wait for each other: ")
		require.True(t, found, out)
		cycle, _, _ = strings.Cut(cycle, ", and round again")
		assert.ElementsMatch(t, want, strings.Split(cycle, ", "), topology)
	}
	refused(t, "updn has no cycle of channel dependencies in ring:4", "routes", "check", "-t", "ring:4", "--routing", "updn", "--scenario", filepath.Join(t.TempDir(), "x.yaml"))
}

// Where the tables of OpenSM's Up*/Down* deadlock, ours and LASH carry the same traffic to its end.
func TestWhatDeadlocksOpenSMsTablesOursCarry(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, net := range []string{opensm16, opensm64} {
		path := filepath.Join(t.TempDir(), "deadlock.yaml")
		deadlockOf(t, net+".net", "tables:"+net+".lfts.gz", path)
		s, err := scenario.Read(path)
		require.NoError(t, err)
		for _, routing := range []string{"updn", "updn:in-port=false", "lash", "escape"} {
			s.File.Routing = routing
			data, err := format.Write(s.File)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o600))
			out, errs, code := fabricd(t, "run", "--virtual", path)
			assert.Zero(t, code, "%s of %s: %s%s", routing, net, out, errs)
		}
	}
}

func TestRoutesLoadDrawsBarsAndAPlot(t *testing.T) {
	t.Parallel()
	plot := filepath.Join(t.TempDir(), "load.svg")
	out := routes(t, "load", "-t", "ring:5", "--routing", "minimal-hop", "--with", "updn", "--plot", plot, "--top", "2")
	assert.Contains(t, out, "ring:5 by minimal-hop: channel load max 3, mean 3.0 source/address pairs over 10 channels\n")
	assert.Regexp(t, `\n +3  █{50}  10\n`, out)
	assert.Regexp(t, `\nthe busiest channels:\n  s0->s4 vc0 +3\n  s\d->s\d vc0 +3\n\nring:5 by updn: `, out)
	data, err := os.ReadFile(plot)
	require.NoError(t, err)
	assert.Contains(t, string(data), "minimal-hop")
	var l survey.LoadResult
	require.NoError(t, json.Unmarshal([]byte(routes(t, "load", "-t", "irregular:64,128,1", "--routing", "updn", "--json")), &l))
	sum := 0
	for i, b := range l.Histogram {
		sum += b.Channels
		if i > 0 {
			require.Equal(t, l.Histogram[i-1].To+1, b.From)
		}
	}
	assert.Equal(t, l.Channels, sum)
	assert.Equal(t, 256, sum)
	assert.LessOrEqual(t, len(l.Histogram), survey.MostBuckets)
	assert.Equal(t, l.Max, l.Busiest[0].Load)
	refused(t, `unknown format "pdf"`, "routes", "load", "-t", "ring:4", "--routing", "updn", "--plot", "x.pdf")
}

func TestRoutesDiffSetsTwoRoutingsSideBySide(t *testing.T) {
	t.Parallel()
	out := routes(t, "diff", "-t", "irregular:16,32,1", "--routing", "updn", "--with", "lash")
	assert.Regexp(t, `\n +updn +lash\nlayers +1 +2\n`, out)
	assert.Regexp(t, `\ncycle of dependencies +none +none\n`, out)
	assert.Regexp(t, `\nentries that differ: \d+ of 256 \(.*%\)\npairs on other links: \d+ of 240`, out)
	assert.Regexp(t, `\nby lash paths of 0 pairs are longer, of \d+ shorter\n`, out)
	assert.Regexp(t, `\non other links: s\d+ to n\d+, .* and \d+ more\n$`, out)
	var d survey.DiffResult
	require.NoError(t, json.Unmarshal([]byte(routes(t, "diff", "-t", "ring:5", "--routing", "updn", "--with", "updn", "--json")), &d))
	assert.Zero(t, d.DifferEntries+d.DifferPairs+d.DifferLayers)
	assert.Equal(t, 20, d.Pairs)
	refused(t, `fabricd routes diff needs --with: see fabricd routes diff --help`, "routes", "diff", "-t", "ring:5")
}

func TestRoutesDumpListsTablesAndAssignments(t *testing.T) {
	t.Parallel()
	var asYAML, asJSON survey.Listing
	require.NoError(t, yaml.Unmarshal([]byte(routes(t, "dump", "-t", "irregular:8,12,1", "--routing", "lash")), &asYAML))
	path := filepath.Join(t.TempDir(), "dump.json")
	assert.Empty(t, routes(t, "dump", "-t", "irregular:8,12,1", "--routing", "lash", "--json", "-o", path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &asJSON))
	assert.Equal(t, asJSON, asYAML)
	assert.Len(t, asJSON.Tables, 8)
	assert.Len(t, asJSON.Sources, 8)
	assert.Contains(t, string(data), `{"address":0,"layers":[1],"enters":1}`, "numbers, not the bytes that Go makes of them")
	refused(t, `unknown format "yml": did you mean "yaml"?`, "routes", "dump", "-t", "ring:4", "--routing", "updn", "--format", "yml")
}

// Tables of OpenSM that were read are dumped as they were, byte for byte.
func TestRoutesDumpsWhatOpenSMReads(t *testing.T) {
	t.Parallel()
	packed, err := os.Open(torus5 + "-lfts.dump.gz")
	require.NoError(t, err)
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	require.NoError(t, err)
	want, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	got, errs, code := fabricd(t, "routes", "dump", "-t", torus5+".net", "--routing", "tables:"+torus5+"-lfts.dump.gz",
		"--format", "lft")
	assert.Zero(t, code)
	assert.Equal(t, string(want), got)
	assert.Contains(t, errs, "warning: with these tables and one virtual lane", "a torus, all in one lane")

	lids := filepath.Join(t.TempDir(), "guid2lid")
	lash := []string{"dump", "-t", "irregular:8,12,1", "--routing", "lash"}
	assert.Empty(t, routes(t, append(lash, "--format", "guid2lid", "--sm", "n3", "-o", lids)...))
	text, err := os.ReadFile(lids)
	require.NoError(t, err)
	assert.Contains(t, string(text), " 0x0001 0x0001\n", "the first LID")
	sls := routes(t, append(lash, "--format", "path-sl", "--lids", lids)...)
	assert.Regexp(t, `^# slid dlid sl\n(\d+ \d+ \d+\n){56}$`, sls)
	assert.Contains(t, sls, "\n1 ")
	refused(t, `--sm: unknown NIC "n8"`, "routes", "dump", "-t", "irregular:8,12,1", "--routing", "lash", "--format", "lft", "--sm", "n8")
	refused(t, "its switches choose among ports", "routes", "dump", "-t", "irregular:8,12,1", "--routing", "escape", "--format", "lft")
}

// Forwarding tables do not hold layers: those of a routing that needs them come with files that do,
// and with a warning.
func TestForwardingTablesComeWithTheLayersThatTheyDoNotHold(t *testing.T) {
	t.Parallel()
	const topology = "irregular:16,32,1"
	dump := func(routing string, args ...string) (errs string) {
		_, errs, code := fabricd(t,
			append([]string{"routes", "dump", "-t", topology, "--format", "lft", "--routing", routing}, args...)...)
		require.Zero(t, code, errs)
		return errs
	}
	lft := filepath.Join(t.TempDir(), "weft.lfts")
	errs := dump("lash", "-o", lft)
	assert.Regexp(t, `^warning: with these tables and one virtual lane packets can wait for one another for ever, around s0->s11 vc0, .*\. `+
		`lash keeps packets apart in 2 layers, which are not in the tables: \S+\.path-sl has .*, and \S+\.sl2vl maps .*, as updn:in-port=false\n$`, errs)
	alone := "tables:" + lft
	_, errs, code := fabricd(t, "routes", "check", "-t", topology, "--routing", alone)
	assert.Equal(t, command.ExitFailed, code, "the warning is true: %s", errs)
	assert.Contains(t, routes(t, "check", "-t", topology, "--routing",
		alone+",path-sl="+lft+".path-sl,sl2vl="+lft+".sl2vl"), "free from deadlock")

	assert.Contains(t, dump("lash"), "2 layers, which are not in the tables: --out FILE writes them beside the tables.")
	errs = dump("minimal-hop")
	assert.Contains(t, errs, "can wait for one another for ever")
	assert.NotContains(t, errs, "layers")
	lft = filepath.Join(t.TempDir(), "updn.lfts")
	assert.Empty(t, dump("updn:in-port=false", "-o", lft))
	assert.NoFileExists(t, lft+".path-sl", "it has one layer")
}

// NICs of one switch may send to a NIC in different layers: the path of each is its own.
func TestRoutesShowsTheLayersOfEachNIC(t *testing.T) {
	t.Parallel()
	const at = "../subnet/opensm/testdata/dfsssp8"
	args := []string{"-t", at + ".net", "--routing", "tables:" + at + "-lfts.dump.gz,sl2vl=" + at +
		"-sl2vl.dump.gz,path-sl=" + at + "-path-sl.txt"}
	layers := map[string]string{}
	for _, nic := range []string{"n0", "n1"} {
		out := routes(t, append([]string{"path", nic, "n2"}, args...)...)
		layers[nic] = regexp.MustCompile(`vc\d`).FindString(out)
		assert.NotContains(t, out, "address 1")
	}
	assert.Len(t, layers["n0"], 3)
	assert.NotEqual(t, layers["n0"], layers["n1"])
	var l survey.Listing
	require.NoError(t, json.Unmarshal([]byte(routes(t, append([]string{"dump", "--json"}, args...)...)), &l))
	froms := map[string]bool{}
	for _, table := range l.Sources {
		for _, s := range table.Sends {
			if slices.Contains(s.To, "n2") && len(s.From) > 0 {
				froms[s.From[0]] = true
			}
		}
	}
	assert.True(t, froms["n0"] && froms["n1"], "%v", froms)
}

func TestRoutesListsWhatHasTables(t *testing.T) {
	t.Parallel()
	out := routes(t, "list")
	for _, name := range []string{"lash", "updn", "mroots", "d-mroots", "escape", "minimal-hop", "deterministic-table", "e-cube", "ftree", "hybrid", "xy"} {
		assert.Contains(t, "\n"+out, "\n"+name+" ", name)
	}
	assert.NotContains(t, "\n"+out, "\nadaptive-link ")
	var lines []map[string]any
	require.NoError(t, json.Unmarshal([]byte(routes(t, "list", "--json")), &lines))
	assert.GreaterOrEqual(t, len(lines), 7)
}

func TestRoutesNamesWhatIsUnknown(t *testing.T) {
	t.Parallel()
	refused(t, `unknown command "chek": did you mean "check"?`, "routes", "chek")
	refused(t, `did you mean "lash"?`, "routes", "-t", "ring:4", "--routing", "lsh")
	refused(t, `did you mean "layers"?`, "routes", "-t", "ring:4", "--routing", "updn:layer=2")
	refused(t, `unknown topology "rng:4"`, "routes", "-t", "rng:4")
	refused(t, "path of what? name two NICs", "routes", "path", "n0", "-t", "ring:4")
}

func TestRoutesOfAFabricWithoutNICsAreNone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte("switches: [{id: a}, {id: b}]\nlinks: [{a: a, b: b}]\n"), 0o600))
	assert.Regexp(t, `2 switches, 0 NICs, 1 link between switches\n(?s:.*)\nlink load \(.*\) +none\n`, routes(t, "-t", file))
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(routes(t, "-t", file, "--json")), &v))
	assert.EqualValues(t, 0, v["pairs"])
}

// Titles tell which of two routings by the same tables is meant.
func TestRoutesByTablesAreTitledWithTheirOptions(t *testing.T) {
	t.Parallel()
	plain := "tables:" + torus5 + "-lfts.dump.gz"
	layered := plain + ",sl2vl=" + torus5 + "-sl2vl.dump.gz,path-sl=" + torus5 + "-path-sl.txt"
	out := routes(t, "diff", "-t", torus5+".net", "--routing", plain, "--with", layered)
	assert.Contains(t, out, "\n  A is "+plain+"\n  B is "+layered+"\n")
	assert.Regexp(t, `\nlayers +1 +2\n`, out)
}
