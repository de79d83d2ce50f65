//go:build linux

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/rig"
	"github.com/weft-fabric/weft/harness/testenv"
)

// shippedPrograms is the scenario that comes with Weft, in a shorter form unless there is time.
func shippedPrograms(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../scenarios/programs/iperf3.yaml")
	require.NoError(t, err)
	if !testenv.Full() {
		short := strings.NewReplacer("kary-ntree:4,3", "kary-ntree:2,3", "n333", "n111", "s2.33-s1.30, s2.33-s1.31",
			"s2.11-s1.10",
			"s1.32-s2.33", "s1.11-s2.11", "link: {paced: true, rate: 256000}", "",
			"8s", "6s", `"4"`, `"2"`, "7s", "5s", "for: 1s", "for: 300ms",
			"3500ms", "2500ms").Replace(string(text))
		require.NotEqual(t, string(text), short)
		text = []byte(short)
	}
	return filepath.Join(folder(t, map[string]string{"iperf3.yaml": string(text)}), "iperf3.yaml")
}

// A scenario starts programs, judges them, and its reports say how they ended.
func TestAScenarioStartsPrograms(t *testing.T) {
	testenv.Raced(t)
	rig.NeedTUN(t)
	testenv.Need(t, "iperf3", "iperf3")
	ownRegistry(t)
	path, dir := shippedPrograms(t), t.TempDir()
	t.Chdir(filepath.Dir(filepath.Dir(path)))
	path = filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)) // relative, as people write it
	out, errs, code := fabricd(t, "run", path, "--programs", "--json", "--junit", filepath.Join(dir, "out.xml"),
		"--report",
		filepath.Join(dir, "report"))
	unable(t, errs)
	require.Equal(t, command.ExitOK, code, "%s%s", out, errs)
	var r scenario.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Len(t, r.Programs, 2)
	require.Zero(t, *r.Programs[1].Exit)
	require.Contains(t, r.Programs[1].Output, "receiver")
	require.True(t, r.Ledger.Balanced)
	require.Greater(t, r.Ledger.Delivered, uint64(100))
	for file, has := range map[string]string{
		"out.xml": "program client on n", "report/report.html": `<table id="programs">`, "report/report.json": `"programs":`,
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		assert.Contains(t, string(text), has, file)
	}
	requireNoHolders(t)
}

// unable leaves a test out where this system has no namespaces for programs.
func unable(t *testing.T, errs string) {
	t.Helper()
	if strings.Contains(errs, "programs cannot have namespaces here") {
		testenv.Missing(t, "%s", errs)
	}
}

// A user without rights may do so too.
func TestAUserWithoutRightsStartsPrograms(t *testing.T) {
	testenv.Raced(t)
	path := shippedPrograms(t)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	t.Setenv(scenarioText, string(text))
	rig.WithoutRights(t, "^TestProgramsOfAUser$", "TestProgramsOfAUser")
}

// scenarioText is the scenario that TestProgramsOfAUser runs.
const scenarioText = "WEFT_TEST_SCENARIO"

func TestProgramsOfAUser(t *testing.T) {
	text := os.Getenv(scenarioText)
	if text == "" {
		t.Skip("is started by another test")
	}
	testenv.Need(t, "iperf3", "iperf3")
	ownRegistry(t)
	out, errs, code := fabricd(t, "run", filepath.Join(folder(t, map[string]string{"a.yaml": text}), "a.yaml"),
		"--programs")
	unable(t, errs)
	require.Equal(t, command.ExitOK, code, "%s%s", out, errs)
	require.Contains(t, out, "program client on n")
	requireNoHolders(t)
}

// forever is a scenario whose program runs for so many seconds, which tells it from all others.
func forever(t *testing.T) (path, seconds string) {
	t.Helper()
	seconds = strconv.Itoa(1_000_000 + os.Getpid())
	return filepath.Join(folder(t, map[string]string{"forever.yaml": fmt.Sprintf(`
name: forever
topology: kary-ntree:2,2
routing: adaptive-link
duration: 1h
programs: [{on: n00, command: [sh, -c, 'sleep %s & sleep %s']}]
expect: {}
`, seconds, seconds)}), "forever.yaml"), seconds
}

// Whether fabricd run is killed or interrupted, nothing is left of its programs.
func TestNothingIsLeftOfProgramsWhenARunIsKilled(t *testing.T) {
	rig.NeedTUN(t)
	ownRegistry(t)
	path, seconds := forever(t)
	for _, how := range []os.Signal{os.Kill, os.Interrupt} {
		p := rig.Run(t, exec.Command("fabricd", "run", path, "--programs"))
		rig.Until(t, func() bool { return len(called("sleep\x00"+seconds)) == 2 || p.Ended() }, "the programs run")
		unable(t, p.Out.String())
		require.NoError(t, p.Cmd.Process.Signal(how))
		rig.Until(t, p.Ended, "the run ends")
		rig.Until(t, func() bool { return len(called("sleep\x00"+seconds)) == 0 }, "its programs end")
		requireNoHolders(t)
	}
}

// called are the processes that run whose command line begins with a text.
func called(text string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, _ := os.ReadFile(f)
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "status"))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && bytes.HasPrefix(line, []byte(text)) &&
			!bytes.Contains(status, []byte("State:\tZ")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// holders are the processes of this test that hold the network of a NIC.
func holders(t *testing.T) []int {
	t.Helper()
	self, err := os.Stat("/proc/self/exe")
	require.NoError(t, err)
	return slices.DeleteFunc(called("weft-nic\x00"), func(pid int) bool {
		exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
		return err != nil || !os.SameFile(self, exe)
	})
}

// requireNoHolders waits until there are none.
func requireNoHolders(t *testing.T) {
	t.Helper()
	rig.Until(t, func() bool { return len(holders(t)) == 0 }, "no network of a NIC is left")
}

// Where programs cannot have a network, the run says what to set, and starts nothing.
func TestARunWithoutTUNSaysWhatToSet(t *testing.T) {
	testenv.Need(t, "unshare", "util-linux")
	if os.Geteuid() != 0 {
		t.Skip("only root can hide the device")
	}
	ownRegistry(t)
	path, _ := forever(t)
	out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c",
		"mount -t tmpfs none /dev/net && exec fabricd run --programs "+path).CombinedOutput()
	if strings.Contains(string(out), "unshare: ") || strings.Contains(string(out), "mount: ") {
		testenv.Missing(t, "the device cannot be hidden: %s", out)
	}
	require.Error(t, err)
	require.Contains(t, string(out), "there is no /dev/net/tun: load it with modprobe tun")
}

func TestProgramsAreStartedWhereTheCommandAllowsThem(t *testing.T) {
	t.Parallel()
	path, _ := forever(t)
	refused(t, "forever starts programs, as sh on n00: allow it with --programs if you trust the file", "run", path)
	for _, flag := range []string{"--virtual", "--on=all"} {
		refused(t, "--programs with --virtual or --on: programs run on this machine, by its clock: leave one of them out",
			"run", path, "--programs", flag)
	}
}
