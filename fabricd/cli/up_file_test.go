package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/document"
	"github.com/weft-fabric/weft/fabricd/registry"
	"github.com/weft-fabric/weft/fabricd/scenario/format"
	"github.com/weft-fabric/weft/fabricd/settings"
)

// written writes a file of that text into a folder of its own.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// saved are the settings in a file.
func saved(t *testing.T, path string) settings.Settings {
	t.Helper()
	_, f, err := document.Read[format.File](path)
	require.NoError(t, err)
	return f.Settings
}

const fabricFile = `
topology: kary-ntree:2,2
firmware: updown
switch: {vcs: 2, queueing: fifo}
link: {rate: 512000, paced: true}
liveness: {interval: 1s, damping: {half_life: 60s}}
traffic: uniform:0.3
seed: 7
`

func TestUpTakesAFileAndSavesWhatRuns(t *testing.T) {
	ownRegistry(t)
	first := written(t, "fabric.yaml", fabricFile)
	second, third := filepath.Join(t.TempDir(), "second.yaml"), filepath.Join(t.TempDir(), "third.yaml")
	u := registered(t, begin(t, "up", "--listen", "off", "--file", first, "--traffic", "uniform:0.2", "--save", second))
	require.Equal(t, "updown", u.entry.Firmware)
	carries(t, u.operator(t))
	require.Empty(t, u.errs.String(), "there is no timeline to speak of")
	text := u.end(t)
	require.Contains(t, text, "4 switches, 4 NICs, 8 links, updown, up in ")

	want := settings.Settings{
		Topology: "kary-ntree:2,2", Firmware: "updown", Traffic: "uniform:0.2", Seed: 7,
		Switch: settings.Switch{VCs: 2, Queueing: "fifo"}, Link: settings.Link{Rate: 512000, Paced: true},
		Liveness: settings.Liveness{Interval: "1s", Damping: settings.Damping{HalfLife: "1m0s"}},
		Manager:  settings.Manager{Method: "none"},
	}
	require.Equal(t, want, saved(t, second))

	out, errs, code := fabricd(t, "up", "--listen", "off", "-f", second, "--for", "100ms", "--save", third)
	require.Equal(t, command.ExitOK, code, errs)
	require.Contains(t, out, "in 100ms it ends by itself")
	require.Equal(t, want, saved(t, third))
	out, errs, code = fabricd(t, "run", "--virtual", third)
	require.Equal(t, command.ExitOK, code, errs)
	require.Contains(t, out, "PASS weft (0.1")
}

func TestUpSavesWhatItHasChosen(t *testing.T) {
	ownRegistry(t)
	path := filepath.Join(t.TempDir(), "saved.yaml")
	_, errs, code := fabricd(t, "up", "--listen", "off", "-t", "kary-ntree:2,2", "--for", "1ms", "--save", path)
	require.Equal(t, command.ExitOK, code, errs)
	require.Equal(t, settings.Settings{
		Topology: "kary-ntree:2,2", Firmware: "adaptive-link", Traffic: "uniform:0.2",
		Link: settings.Link{Paced: true}, Manager: settings.Manager{Method: "none"},
	}, saved(t, path))
}

func TestUpEndsByItselfAsWithCtrlC(t *testing.T) {
	ownRegistry(t)
	out, errs, code := fabricd(t, "up", "--listen", "off", "-t", "kary-ntree:2,2", "--traffic", "uniform:0.3", "--for", "500ms")
	require.Equal(t, command.ExitOK, code, errs)
	require.Regexp(t, `ledger: [1-9]\d* injected = \d+ delivered \+ 0 lost \+ 0 discarded \+ 0 in flight: balanced`, out)
	require.Empty(t, registry.Names())
}

// A scenario is taken, too: what happens when, and what must hold, is for fabricd run.
func TestUpSaysThatATimelineIsForRun(t *testing.T) {
	ownRegistry(t)
	_, errs, code := fabricd(t, "up", "--listen", "off", "--file", "../scenario/testdata/short-heal.yaml", "--for", "1ms")
	require.Equal(t, command.ExitOK, code, errs)
	require.Contains(t, errs, "short-heal.yaml: the timeline and what is expected are for fabricd run: the fabric runs without them")
}
