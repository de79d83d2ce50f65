package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/harness/testenv"
)

// bench is a copy of run.sh beside a configuration of its own, and a program that stands for
// BookSim2: it notes how it is called.
type bench struct {
	t                         *testing.T
	folder, booksim, out, log string
}

// sane gives results as BookSim2 does, in a row of as many columns, and fails as it does when it
// has succeeded.
const sane = `echo "Time taken is 1000 cycles"
echo "results:0,0,0,0,0,16.5,0,0,15.5,0,0,0,0,0,0,0,0,0,0,0,0.05,0,4.4"
exit 255`

func newBench(t *testing.T, program string) *bench {
	for _, tool := range []string{"bash", "awk", "timeout", "realpath"} {
		testenv.Need(t, tool, "it for run.sh")
	}
	b := &bench{t: t, folder: t.TempDir()}
	b.booksim, b.out, b.log = filepath.Join(b.folder, "booksim"), filepath.Join(b.folder, "out.csv"),
		filepath.Join(b.folder, "calls")
	script, err := os.ReadFile("booksim/run.sh")
	require.NoError(t, err)
	b.write("run.sh", string(script))
	b.write("booksim", "#!/usr/bin/env bash\necho \"$*\" >>'"+b.log+"'\n"+program+"\n")
	b.write("common.cfg", "// of all\n")
	b.write("tiny.cfg",
		"// nodes: 64\n// loads: 0.1 0.25\n// variant wide: speed=2 rooms=3\n// variant late 0.9: speed=1\n")
	return b
}

func (b *bench) write(name, text string) {
	require.NoError(b.t, os.WriteFile(filepath.Join(b.folder, name), []byte(text), 0o755))
}

// run runs the copy, and returns what it said on stderr and its code.
func (b *bench) run(env string, args ...string) (said string, code int) {
	cmd := exec.CommandContext(b.t.Context(), "bash", append([]string{filepath.Join(b.folder, "run.sh")}, args...)...)
	cmd.Env = append(os.Environ(), env)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run() // the code tells
	return stderr.String(), cmd.ProcessState.ExitCode()
}

func (b *bench) lines(path string) []string {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(b.t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestEveryVariantIsRunAtItsLoadsWithEverySeed(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	b := newBench(t, sane)
	said, code := b.run("SEEDS=1 7", b.booksim, b.out)
	require.Zero(t, code, said)
	calls := b.lines(b.log)
	require.Len(t, calls, 2*(2+2+1), "two seeds of two plain loads, two wide ones and a late one")
	assert.Contains(t, calls[0], "common.cfg ")
	assert.Contains(t, calls[0], "tiny.cfg injection_rate=0.1 seed=1")
	assert.Contains(t, calls[4], "speed=2 rooms=3 injection_rate=0.1 seed=1")
	assert.Contains(t, calls[9], "speed=1 injection_rate=0.9 seed=7")

	rows, err := readTable(b.out)
	require.NoError(t, err)
	require.Len(t, rows, 10)
	assert.Equal(t, booksimRun{
		network: "tiny", variant: "plain", load: 0.1, seed: 1, accepted: 3.2, latency: 16.5,
		hops: 4.4,
	}, rows[0])
	assert.Equal(t, booksimRun{
		network: "tiny", variant: "late", load: 0.9, seed: 7, accepted: 3.2, latency: 16.5,
		hops: 4.4,
	}, rows[9])
}

func TestWhatIsThereIsNotRunAgain(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	b := newBench(t, sane)
	_, code := b.run("SEEDS=1", b.booksim, b.out)
	require.Zero(t, code)
	before := b.lines(b.out)
	require.NoError(t, os.Remove(b.log))
	_, code = b.run("SEEDS=1", b.booksim, b.out)
	assert.Zero(t, code)
	assert.Empty(t, b.lines(b.log))
	assert.Equal(t, before, b.lines(b.out))

	// A row is missing, as after an interruption, and one of another network looks alike.
	lost := before[2]
	rest := append(append([]string{before[0], "not-" + lost}, before[1]), before[3:]...)
	require.NoError(t, os.WriteFile(b.out, []byte(strings.Join(rest, "\n")+"\n"), 0o644))
	_, code = b.run("SEEDS=1", b.booksim, b.out)
	assert.Zero(t, code)
	require.Len(t, b.lines(b.log), 1)
	assert.Contains(t, b.lines(b.log)[0], "injection_rate=0.25 seed=1")
}

func TestAProgramThatGivesNoResultsIsNamedAndEndsAll(t *testing.T) {
	b := newBench(t, "echo 'cannot open shared object'; exit 127")
	said, code := b.run("SEEDS=1", b.booksim, b.out)
	assert.Equal(t, 1, code)
	assert.Contains(t, said, b.booksim+": tiny plain at 0.1 gave no results and code 127")
	assert.Contains(t, said, "cannot open shared object")
	assert.Len(t, b.lines(b.log), 1, "no further run was tried")
	assert.Len(t, b.lines(b.out), 1, "there is no row, so that it is run when the program is mended")
}

func TestARunThatDeadlocksOrTakesTooLongHasARow(t *testing.T) {
	testenv.Long(t)
	testenv.Unraced(t)
	for status, program := range map[string]string{
		"deadlock": "echo 'WARNING: Possible network deadlock.'; " + sane,
		"timeout":  "exec tail -f /dev/null",
	} {
		b := newBench(t, program)
		b.write("tiny.cfg", "// nodes: 64\n// loads: 0.1\n")
		said, code := b.run("LIMIT=0.2", b.booksim, b.out)
		assert.Zero(t, code, said)
		rows := b.lines(b.out)
		require.Len(t, rows, 4, "three seeds unless told")
		assert.Contains(t, rows[1], "tiny,plain,0.1,1,"+status+",")
		good, err := readTable(b.out)
		require.NoError(t, err)
		assert.Empty(t, good)
	}
}

func TestRunRefusesWhatItCannotUse(t *testing.T) {
	b := newBench(t, sane)
	b.write("other.csv", "load,network\n")
	for name, of := range map[string]struct {
		args []string
		says string
	}{
		"no program":         {nil, "usage: "},
		"a missing program":  {[]string{b.booksim + "-not"}, "give the path of a BookSim2 that can be run"},
		"an unknown network": {[]string{b.booksim, b.out, "huge"}, "no network huge here: common.cfg tiny.cfg"},
		"another kind of CSV": {
			[]string{b.booksim, filepath.Join(b.folder, "other.csv")},
			"other.csv has other columns than these runs",
		},
	} {
		said, code := b.run("SEEDS=1", of.args...)
		assert.Equal(t, 2, code, name)
		assert.Contains(t, said, of.says, name)
	}
	assert.Empty(t, b.lines(b.log), "nothing was run")
}
