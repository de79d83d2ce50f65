package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/bus"
	"github.com/weft-fabric/weft/fabricd/bus/natstest"
	"github.com/weft-fabric/weft/fabricd/jobs"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// farm is a server and agents that work, all of them processes, and a folder in which orders are
// given.
type farm struct {
	*testing.T
	server *natstest.Server
	agents map[string]*rig.Process
	dir    string
	tmp    string // where agents have their folders
}

func startFarm(t *testing.T, names ...string) *farm {
	t.Helper()
	f := &farm{T: t, agents: map[string]*rig.Process{}, dir: t.TempDir(), tmp: t.TempDir()}
	f.server = natstest.Start(t, natstest.Newest, fmt.Sprintf("jetstream { store_dir: %q }", t.TempDir()))
	for _, name := range names {
		f.agent(name)
	}
	return f
}

func (f *farm) agent(name string, args ...string) *rig.Process {
	f.Helper()
	p := f.begin(append([]string{"agent", "--work-only", "--name", name, "--jobs", "1", "--server", f.server.URL},
		args...)...)
	p.Says("computes 1 piece")
	f.agents[name] = p
	return p
}

// begin starts fabricd as a process, in the folder.
func (f *farm) begin(args ...string) *rig.Process {
	f.Helper()
	cmd := inFolder(filepath.Join(builtCommands(f), "fabricd"), f.dir, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+f.tmp)
	return rig.Run(f, cmd)
}

// fabricd runs it to its end.
func (f *farm) fabricd(code int, args ...string) string {
	f.Helper()
	got, said := f.begin(args...).Ends()
	require.Equal(f, code, got, "%v: %s", args, said)
	return said
}

func (f *farm) on(args ...string) []string {
	return append(args, "--on", "all", "--server", f.server.URL)
}

// jobs are those at the server.
func (f *farm) jobs() (list []jobs.Progress) {
	f.Helper()
	j, err := bus.OpenJobs(f.Context(), bus.JobsConfig{URL: f.server.URL})
	require.NoError(f, err)
	defer j.Close()
	orders, err := jobs.List(f.Context(), j)
	require.NoError(f, err)
	for _, o := range orders {
		p, err := jobs.Look(f.Context(), j, o)
		require.NoError(f, err)
		list = append(list, *p)
	}
	return list
}

func (f *farm) write(name, text string) {
	f.Helper()
	writeIn(f, f.dir, name, text)
}

func (f *farm) read(name string) string {
	f.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	require.NoError(f, err)
	return string(data)
}

// journalKey is the key of the first run in a journal.
var journalKey = regexp.MustCompile(`\{"k":"(\w+)"`)

func writeIn(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// inFolder is a program to be run in a folder.
func inFolder(program, dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	return cmd
}

// took is what differs from run to run, and what is said of a job.
var took = regexp.MustCompile(`(?m)"(max_)?(compute_|prepare_)?seconds":[0-9.e+-]+|^job .*\n|^\[\d.*\n`)

func untimed(text string) string { return took.ReplaceAllString(text, "") }

// sameFolders compares the results of two sweeps. The journal has its rows as they came.
func sameFolders(t *testing.T, want, got string) {
	t.Helper()
	entries, err := os.ReadDir(want)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		if e.Name() == "runs.journal" || e.Name() == "runs.journal.lock" {
			continue
		}
		one, err := os.ReadFile(filepath.Join(want, e.Name()))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(got, e.Name()))
		require.NoError(t, err)
		assert.Equal(t, string(one), string(other), e.Name())
	}
}

// A sweep of some small networks.
const smallSweep = `name: small
about: small
base: {topology: "kary-ntree:2,3", traffic: uniform, window: %[2]d}
axes:
  - {axis: load, values: [0.2, 0.3, 0.4, 0.5]}
  - {axis: routing, values: [adaptive-link, updown]}
samples: %[1]d
quick: {samples: 1}
plots:
  - {name: latency, title: Latency, x: load, y: latency_mean, series: [routing]}
`

// neverSure is about a share that no number of samples shows to be 0.
const neverSure = `checks:
  - {says: none deadlocks, ref: ours, value: deadlocked, where: {load: 0.2}, at_most: 0}
`

// largeSweep has two runs: of a network without load, and of one in which all send to one, so that
// their queues take more than a hundred megabytes.
const largeSweep = `name: large
about: large
base:
  {topology: "kary-ntree:4,3", routing: updown, traffic: "hotspot,hot=1,share=1", queue_bytes: 1000000000,
   window: 60000, warmup_skip: true}
axes: [{axis: load, values: [0.01, 1]}]
samples: 1
quick: {samples: 1}
`

const smallScenario = `name: small
topology: kary-ntree:2,2
routing: adaptive-link
traffic: uniform:0.2
duration: 200ms
timeline:
  - {at: 50ms, cut: s0.0-s1.0}
expect: {}
`

func TestAgentsComputeWhatOneProcessDoes(t *testing.T) {
	testenv.Unraced(t)
	f := startFarm(t, "h1", "h2")
	f.write("small.yaml", fmt.Sprintf(smallSweep, 3, 500))
	f.write("runs/a.yaml", smallScenario)
	f.write("runs/b.yaml", strings.ReplaceAll(smallScenario, "0.2", "0.3"))
	for _, args := range [][]string{
		{
			"verify", "--topology", "kary-ntree:2,3", "--routing", "adaptive-link", "--faults", "2", "--exhaustive",
			"--no-symmetry", "--json",
		},
		{"tolerate", "--topology", "torus:3x3x3", "--mechanisms", "I+D,I", "--faults", "1-2", "--json"},
		{"reroute", "--topology", "mesh:5x5", "--all", "--json"},
		{"run", "runs", "--virtual", "--json"},
	} {
		code, want := f.begin(args...).Ends()
		assert.Equal(t, untimed(want), untimed(f.fabricd(code, f.on(args...)...)), args)
	}
	f.fabricd(0, "sweep", "small.yaml", "--out", "here")
	f.fabricd(0, f.on("sweep", "small.yaml", "--out", "there")...)
	sameFolders(t, filepath.Join(f.dir, "here"), filepath.Join(f.dir, "there"))
	f.write("open.yaml", strings.ReplaceAll(fmt.Sprintf(smallSweep, 3, 500), "name: small", "name: open")+neverSure)
	f.fabricd(0, "sweep", "open.yaml", "--settle", "--samples", "30", "--out", "settled")
	f.fabricd(0, f.on("sweep", "open.yaml", "--settle", "--samples", "30", "--out", "settled-there")...)
	sameFolders(t, filepath.Join(f.dir, "settled"), filepath.Join(f.dir, "settled-there"))
	both := []string{"sweep", "--settle", "small.yaml", "open.yaml", "--samples", "30", "--out"}
	f.fabricd(0, append(both, "both")...)
	f.fabricd(0, f.on(append(both, "both-there")...)...)
	for _, name := range []string{"small", "open"} {
		sameFolders(t, filepath.Join(f.dir, "both", name), filepath.Join(f.dir, "both-there", name))
	}
	list := f.jobs()
	require.Len(t, list, 7)
	for _, p := range list {
		assert.Equal(t, jobs.Done, p.State)
		assert.Equal(t, p.Pieces, p.Done, p.Args)
		assert.NotContains(t, strings.Join(p.Args, " "), "--json", "what becomes of a result is not part of the order")
	}
	piece := journalKey.FindStringSubmatch(f.read("both/open/runs.journal"))
	f.fabricd(0, "job", "replay", list[6].ID, piece[1], "--server", f.server.URL)
	require.Contains(t, f.fabricd(2, "job", "replay", list[6].ID, "none", "--server", f.server.URL), "no piece none")
	f.fabricd(0, "job", "results", list[4].ID, "--server", f.server.URL, "--", "--out", "fetched")
	sameFolders(t, filepath.Join(f.dir, "here"), filepath.Join(f.dir, "fetched"))
	f.fabricd(0, "job", "cancel", list[4].ID[:6], "--server", f.server.URL)
	require.Len(t, f.jobs(), 6)
}

// One agent is killed, one frozen, the server killed and started again, and whoever gave the order
// is killed: the results are those of one process, to the byte.
func TestAJobOutlivesWhoeverDoesIt(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	f := startFarm(t, "h1", "h2", "h3")
	f.write("small.yaml", fmt.Sprintf(smallSweep, 12, 2500))
	given := f.begin(f.on("sweep", "small.yaml", "--out", "there")...)
	done := func(n int) {
		t.Helper()
		rig.Until(t, func() bool { list := f.jobs(); return len(list) == 1 && list[0].Done >= n }, "%d pieces are done", n)
	}
	done(10)
	f.agents["h1"].Kill()
	given.Kill()
	f.agents["h2"].Signal(rig.Freeze)
	done(40)
	f.server.Kill()
	f.server.Start()
	done(60)
	f.agents["h2"].Signal(rig.Thaw)
	said := f.fabricd(0, "job", "watch", f.jobs()[0].ID, "--server", f.server.URL)
	require.Contains(t, said, "is done")
	f.fabricd(0, "job", "results", f.jobs()[0].ID, "--server", f.server.URL, "--", "--out", "there")
	f.fabricd(0, "sweep", "small.yaml", "--out", "here")
	sameFolders(t, filepath.Join(f.dir, "here"), filepath.Join(f.dir, "there"))
	f.agents["h2"].Kill()
	f.agents["h3"].Kill()
	rig.Until(t, func() bool {
		left, err := filepath.Glob(filepath.Join(f.tmp, "*"))
		return err == nil && len(left) == 0
	}, "no folder of an agent that was killed is left")
	p := f.jobs()[0]
	require.Empty(t, p.Aside)
	require.Equal(t, jobs.Done, p.State)
}

// Three agents have work until the last 2% of it, and take as long as --dry-run has said, on cores
// that have nothing else to do: what they took is counted by the share of a core that they got.
func TestThreeAgentsAreBusyToTheEndAndAsFastAsForetold(t *testing.T) {
	testenv.Nightly(t)
	testenv.Unraced(t)
	f := startFarm(t, "h1", "h2", "h3")
	f.write("small.yaml", fmt.Sprintf(smallSweep, 30, 60000)) // long beside the second after which agents hear of it
	var foretold struct {
		Seconds float64 `json:"about_worker_seconds"`
	}
	text := f.fabricd(0, "sweep", "small.yaml", "--dry-run", "--workers", "3", "--json")
	require.NoError(t, json.Unmarshal([]byte(text), &foretold), text)
	given := f.begin(f.on("sweep", "small.yaml", "--out", "there")...)
	busy := func(p jobs.Progress) (seconds float64) {
		for _, h := range p.Hosts {
			seconds += h.Seconds
		}
		return seconds
	}
	share := 0.0
	rig.Until(t, func() bool {
		list := f.jobs()
		if len(list) == 0 || list[0].Pieces == 0 || float64(list[0].Done) < 0.98*float64(list[0].Pieces) {
			return false
		}
		began := slices.MinFunc(list[0].Hosts, func(a, b jobs.Host) int { return a.Began.Compare(b.Began) }).Began
		share = busy(list[0]) / (3 * time.Since(began).Seconds())
		return true
	}, "98%% of the pieces are done")
	code, said := given.Ends()
	require.Zero(t, code, said)
	var p jobs.Progress
	rig.Until(t, func() bool {
		p = f.jobs()[0]
		return p.State == jobs.Done && p.Hosts[0].Pieces+p.Hosts[1].Pieces+p.Hosts[2].Pieces == p.Pieces
	}, "all agents have said what they did")
	cores := time.Duration(0) // that the agents had, children included
	for _, a := range f.agents {
		a.Signal(syscall.SIGTERM)
		a.Ends()
		cores += computed(a)
	}
	took := p.Ended.Sub(p.Given).Seconds()
	free := took * min(1, cores.Seconds()/busy(p))
	t.Logf("busy %.3f until 98%%; took %.1f s, %.1f s on free cores, foretold %.1f s: ratio %.2f", share, took, free,
		foretold.Seconds, foretold.Seconds/free)
	require.GreaterOrEqual(t, share, 0.90)
	require.InDelta(t, 1, foretold.Seconds/free, 0.5)
}

func TestAPieceThatNoAgentCanDoIsGivenUpAndNamed(t *testing.T) {
	testenv.Raced(t)
	f := startFarm(t)
	f.agent("h1", "--piece-time", "1ms")
	verify := f.on("verify", "--topology", "kary-ntree:4,2", "--faults", "2", "--samples", "20", "--exhaustive",
		"--no-symmetry")
	said := f.fabricd(2, verify...)
	at := []string{"--server", f.server.URL}
	again := f.givenUp(said, "fault sets 0 to 19", "it took more than 1ms")
	require.Contains(t, f.fabricd(0, append(again, at...)...), "fault sets 0 to 19: ")
	p := f.jobs()[0]
	require.Equal(t, jobs.Failed, p.State)
	require.Len(t, p.Aside, 1)
	require.Contains(t, f.fabricd(1, append([]string{"job", "watch", p.ID}, at...)...), "is failed")

	f.agent("h2") // given again, it goes on with whoever can do it
	f.agents["h1"].Signal(syscall.SIGTERM)
	f.agents["h1"].Ends()
	require.Contains(t, f.fabricd(0, verify...), "it was given before")
	require.Equal(t, jobs.Done, f.jobs()[0].State)
}

// A piece that takes more memory than its share is ended, tried three times in all, and named with
// the command that shows it again; the pieces beside it are done.
func TestAPieceThatTakesTooMuchMemoryIsGivenUpAndNamed(t *testing.T) {
	testenv.Unraced(t) // the race detector takes memory too
	if runtime.GOOS != "linux" {
		t.Skip("the memory of another process is known on Linux alone")
	}
	f := startFarm(t)
	f.agent("h1", "--memory", "80MiB")
	f.write("large.yaml", largeSweep)
	said := f.fabricd(2, f.on("sweep", "large.yaml", "--out", "there")...)
	piece := "sample 0 of load 1"
	again := f.givenUp(said, piece, `it took \d+ MiB of memory, and may take 80`)
	p := f.jobs()[0]
	require.Equal(t, []any{jobs.Failed, 2, 1}, []any{p.State, p.Pieces, p.Done})
	require.Len(t, p.Aside, 1)
	require.Equal(t, []any{piece, 3, "h1"}, []any{p.Aside[0].Piece, p.Aside[0].Tries, p.Aside[0].Worker})
	require.Contains(t, f.fabricd(0, append(again, "--server", f.server.URL)...), piece+": ")
}

// givenUp finds a piece that was given up, for a reason, and returns the command that shows it
// again.
func (f *farm) givenUp(said, piece, why string) []string {
	f.Helper()
	again := regexp.MustCompile(regexp.QuoteMeta(piece) +
		` was given up after 3 tries, the last on h1: its process died: ` + why +
		`; to see it again: fabricd (job replay \w+ \w+)\n`).FindStringSubmatch(said)
	require.NotNil(f, again, said)
	return strings.Fields(again[1])
}

func TestAgentsOfAnotherVersionGetNoJob(t *testing.T) {
	testenv.Raced(t)
	f := startFarm(t)
	j, err := bus.OpenJobs(t.Context(), bus.JobsConfig{URL: f.server.URL})
	require.NoError(t, err)
	defer j.Close()
	other := jobs.Worker{
		Status: jobs.Status{Name: "other", PID: 1, Slots: 1, Version: "another"}, Jobs: j, Cores: 1, Note: func(string) {},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- other.Run(ctx) }()
	rig.Until(t, func() bool { list, err := jobs.Workers(t.Context(), j); return err == nil && len(list) == 1 })
	tolerate := []string{"tolerate", "--topology", "torus:3x3", "--faults", "1", "--server", f.server.URL, "--on"}
	said := f.fabricd(2, append(tolerate, "all")...)
	require.Contains(t, said, "agent other is of version another, and this program of ")
	require.Contains(t, said, "no agent is of the version of this program")
	require.Contains(t, f.fabricd(2, append(tolerate, "othr")...), `unknown agent "othr": did you mean "other"?`)
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, f.jobs())
}

func TestWhatAgentsAreNotGiven(t *testing.T) {
	testenv.Raced(t)
	f := startFarm(t)
	for want, args := range map[string][]string{
		"leave it or --on out":                      {"verify", "--routing", "exec:true"},
		"cannot read this process's standard input": {"verify", "--sets", "-", "--topology", "kary-ntree:2,2"},
		"--on is for --all and --random":            {"reroute", "--down", "s9.9-s10.9"},
		"--on is for counting sets":                 {"tolerate", "--limit"},
		"made where a scenario runs":                {"run", "x.yaml", "--report", "r"},
		"no such file":                              {"sweep", "none.yaml"},
	} {
		require.Contains(t, f.fabricd(2, f.on(args...)...), want)
	}
	require.Contains(t, f.fabricd(2, "verify", "--server", f.server.URL), "--server without --on")
	require.Contains(t, f.fabricd(2, "agent", "--jobs", "2", "--server", f.server.URL), "are for --work-only")
	require.Contains(t, f.fabricd(2, "job", "watch", "abc", "--server", f.server.URL), "there is no such job")
	f.server.Stop()
	f.server.Start("ping_interval: 20s")
	require.Contains(t, f.fabricd(2, f.on("tolerate")...),
		"the broker keeps nothing: it runs without JetStream: start nats-server with -js")
	require.Empty(t, f.agents)
}
