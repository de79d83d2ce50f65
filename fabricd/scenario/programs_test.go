package scenario_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/virtual/world"
	"github.com/weft-fabric/weft/switch/wire"
)

const withPrograms = `
name: programs
topology: kary-ntree:2,2
routing: adaptive-link
liveness: {interval: off}
duration: 600ms
programs:
`

// plain runs programs without a network of their own. Those of NIC n11 cannot be started.
type plain struct {
	ctx context.Context
	end context.CancelFunc

	mu    sync.Mutex
	asked int // to end
}

func (p *plain) Run(one *scenario.Program, output *os.File, signals <-chan os.Signal) (int, error) {
	if one.NIC == "n11" {
		return 0, errors.New("n11 has no network")
	}
	cmd := exec.CommandContext(p.ctx, one.Command[0], one.Command[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = output, output, one.Dir
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	over := make(chan struct{})
	var passing sync.WaitGroup
	passing.Go(func() {
		select {
		case s := <-signals:
			p.mu.Lock()
			p.asked++
			p.mu.Unlock()
			_ = cmd.Process.Signal(s)
		case <-over:
		}
	})
	_ = cmd.Wait() // the code says it
	close(over)
	passing.Wait()
	return cmd.ProcessState.ExitCode(), nil
}

func (p *plain) Close() error { p.end(); return nil }

// runPrograms runs a scenario with these programs.
func runPrograms(t *testing.T, programs string) (scenario.Result, *plain) {
	t.Helper()
	testenv.Need(t, "sh", "a shell")
	s, err := scenario.Load(t.Context(), "testdata/programs.yaml", []byte(withPrograms+programs+"expect: {}\n"))
	require.NoError(t, err)
	m := wire.NewMemory()
	defer m.Close()
	p := &plain{}
	p.ctx, p.end = context.WithCancel(t.Context())
	r, err := scenario.Runner{
		Transport: m,
		NICs: func(_ context.Context, _ *fabric.Fabric, names []string) (scenario.NICs, error) {
			assert.NotEmpty(t, names)
			return p, nil
		},
	}.Run(t.Context(), s)
	require.NoError(t, err)
	return r, p
}

func TestProgramsThatDoAsExpectedPass(t *testing.T) {
	t.Parallel()
	r, p := runPrograms(t, `
  - {on: n00, command: [sh, -c, 'echo one; echo "two (2)" >&2; exit 3'], expect: {exit: 3, output: "two (2)"}}
  - {name: again, on: n00, command: [sh, -c, 'printf "no newline 17"'], at: 50ms, expect: {exit: 0, output: '1\d$'}}
  - {name: server, on: n10, command: [sh, -c, 'echo serves; exec sleep 100'], expect: {output: serves}}
  - {name: folder, on: n10, command: [sh, -c, 'ls every-verb.yaml'], expect: {exit: 0}}
`)
	require.True(t, r.Pass, "%v", r.Failed)
	require.Len(t, r.Programs, 4)
	first, again, server := r.Programs[0], r.Programs[1], r.Programs[2]
	assert.Equal(t, "sh", first.Name)
	assert.Equal(t, 3, *first.Exit)
	assert.Contains(t, first.Output, "one\n")
	assert.GreaterOrEqual(t, again.Started, 0.05)
	assert.EqualValues(t, len("no newline 17"), again.Bytes)
	assert.Nil(t, server.Exit, "it runs until the scenario ends it")
	assert.GreaterOrEqual(t, server.Took, 0.5)
	assert.Contains(t, server.String(), "program server on n10 ran for")
	assert.Equal(t, 1, p.asked, "it is asked to end")
}

func TestProgramsThatDoNotAreNamed(t *testing.T) {
	t.Parallel()
	for programs, want := range map[string]string{
		`{on: n00, command: [sh, -c, 'echo why; exit 1'], expect: {exit: 0}}`:            `exit 0: program sh on n00 ended with exit code 1 after [\d.]+ s; its last line: "why"`,
		`{on: n00, command: [sleep, "100"], expect: {exit: 0}}`:                          `exit 0: program sleep on n00 ran for [\d.]+ s, until the scenario ended`,
		`{on: n00, command: [sleep, "100"], expect: {within: 100ms}}`:                    `within 100ms: program sleep on n00 ran`,
		`{on: n00, command: [sh, -c, 'sleep 0.2; echo late'], expect: {within: 100ms}}`:  `within 100ms: program sh on n00 ended with exit code 0`,
		`{on: n00, command: [sh, -c, 'echo one; echo two'], expect: {output: one.*two}}`: `output "one\.\*two": no line of sh on n00 matches; its last line: "two"`,
		`{on: n00, command: [no-such-program]}`:                                          `program no-such-program on n00 has failed: .*no-such-program`,
		`{name: x, on: n11, command: [sh]}`:                                              `program x on n11 has failed: n11 has no network`,
	} {
		t.Run(programs, func(t *testing.T) {
			t.Parallel()
			r, _ := runPrograms(t, "  - "+programs+"\n")
			require.False(t, r.Pass)
			require.Len(t, r.Failed, 1)
			assert.Regexp(t, want, r.Failed[0])
			assert.Equal(t, []string{"programs"}, r.Broken)
		})
	}
}

// Of a program that prints much, the end is kept, and a line is found wherever it was.
func TestTheOutputOfProgramsIsBounded(t *testing.T) {
	t.Parallel()
	r, _ := runPrograms(t, `
  - {on: n00, command: [sh, -c, 'echo first; head -c 3000000 /dev/zero | tr "\0" x; echo; echo last'], expect: {exit: 0, output: ^first$}}
  - {name: same, on: n00, command: [sh, -c, 'head -c 70000 /dev/zero; echo end'], expect: {output: end}}
`)
	require.True(t, r.Pass, "%v", r.Failed)
	p := r.Programs[0]
	assert.EqualValues(t, len("first\n")+3_000_000+len("\nlast\n"), p.Bytes)
	assert.Less(t, len(p.Output), 20_000)
	assert.True(t, strings.HasSuffix(p.Output, "x\nlast\n"))
}

// A program that does not end when it is asked is killed.
func TestAProgramThatIgnoresSignalsEndsAllTheSame(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	r, _ := runPrograms(t, `  - {on: n00, command: [sh, -c, 'trap "" TERM; while :; do sleep 0.1; done']}`+"\n")
	require.True(t, r.Pass, "%v", r.Failed)
	require.Nil(t, r.Programs[0].Exit)
	require.Less(t, r.Programs[0].Took, 60.0)
}

func TestProgramsAreRefusedInVirtualTimeAndUnlessAllowed(t *testing.T) {
	t.Parallel()
	s, err := scenario.Load(t.Context(), "p.yaml", []byte(withPrograms+"  - {on: n00, command: [true-ish]}\nexpect: {}\n"))
	require.NoError(t, err)
	_, err = scenario.Runner{Runtime: func() fabric.Runtime { return world.New() }}.Run(t.Context(), s)
	require.ErrorContains(t, err, "without --virtual")
	_, err = run(t, t.Context(), s, nil)
	require.ErrorContains(t, err, "starts programs, as true-ish on n00: allow it with --programs")
	m := wire.NewMemory()
	defer m.Close()
	_, err = scenario.Runner{Transport: m, NICs: func(context.Context, *fabric.Fabric, []string) (scenario.NICs, error) {
		return nil, errors.New("there is no /dev/net/tun")
	}}.Run(t.Context(), s)
	require.ErrorContains(t, err, "/dev/net/tun")
}

// Interrupted, it ends the programs too.
func TestAnInterruptEndsPrograms(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := scenario.Load(ctx, "p.yaml", []byte(withPrograms+"  - {on: n00, command: [sleep, '100']}\nexpect: {}\n"))
	require.NoError(t, err)
	s.Duration = time.Hour
	m := wire.NewMemory()
	defer m.Close()
	p := &plain{}
	p.ctx, p.end = context.WithCancel(t.Context())
	_, err = scenario.Runner{
		Transport: m, Progress: func(*fabric.Fabric, time.Duration, string) { cancel() },
		NICs: func(context.Context, *fabric.Fabric, []string) (scenario.NICs, error) { return p, nil },
	}.Run(ctx, s)
	require.ErrorIs(t, err, context.Canceled)
	require.Error(t, p.ctx.Err(), "its NICs are given back")
}
