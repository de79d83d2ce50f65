package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/weft-fabric/weft/fabricd/fabric"
	"github.com/weft-fabric/weft/fabricd/scenario"
	"github.com/weft-fabric/weft/harness/report"
	"github.com/weft-fabric/weft/harness/testenv"
	"github.com/weft-fabric/weft/harness/virtual/world"
	"github.com/weft-fabric/weft/switch/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everything has each kind of fault, several at one instant, and what a page could take for markup.
const everything = `
name: everything <b> & more
about: Links & switches <fail>.
topology: %s
routing: updown
traffic: uniform:0.3
duration: 400ms
timeline:
  - {at: 50ms, cut: s0.0-s1.0}
  - {at: 60ms, cut: s0.1-s1.1, silent: true, direction: to}
  - {at: 100ms, crash: s0.2}
  - {at: 100ms, impair: s0.3-s1.3, loss: 20%%, for: 100ms}
  - {at: 150ms, flap: s0.3-s1.2, period: 40ms}
  - {at: 200ms, traffic: "uniform:0.1"}
  - {at: 300ms, heal: true}
expect: {delivered_at_least: 100000000, discarded: 0}
`

func load(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(t.Context(), "a <file>.yaml", []byte(text))
	require.NoError(t, err)
	return s
}

func virtual(ctx context.Context, s *scenario.Scenario, w scenario.Watcher) (scenario.Result, error) {
	return scenario.Runner{Runtime: func() fabric.Runtime { return world.New() }, Watch: w}.Run(ctx, s)
}

func live(ctx context.Context, s *scenario.Scenario, w scenario.Watcher) (scenario.Result, error) {
	m := wire.NewMemory()
	defer m.Close()
	return scenario.Runner{Transport: m, Watch: w}.Run(ctx, s)
}

// doc is a page that was read.
type doc struct {
	text    string
	root    *html.Node
	figures map[string]string
	ids     map[string]*html.Node
}

func read(t *testing.T, path string) doc {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	root, err := html.Parse(bytes.NewReader(data))
	require.NoError(t, err)
	d := doc{string(data), root, map[string]string{}, map[string]*html.Node{}}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "data-figure":
				d.figures[a.Val] = content(n)
			case "id":
				assert.NotContains(t, d.ids, a.Val, "the id is there twice")
				d.ids[a.Val] = n
			}
		}
	}
	return d
}

// content is the text in n, all pieces of it apart.
func content(n *html.Node) string {
	var list []string
	for c := range n.Descendants() {
		if c.Type == html.TextNode && c.Parent.Data != "style" {
			list = append(list, strings.Fields(c.Data)...)
		}
	}
	return strings.Join(list, " ")
}

// has makes sure that text contains want, and does not print all of a page otherwise.
func has(t *testing.T, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q is missing in a text of %d letters", want, len(text))
	}
}

// selfContained makes sure that nothing has to be loaded, and that nothing runs.
func (d doc) selfContained(t *testing.T) {
	t.Helper()
	for n := range d.root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		assert.NotContains(t, []string{
			"script", "link", "img", "image", "iframe", "object", "embed", "base",
			"foreignobject",
		}, strings.ToLower(n.Data))
		for _, a := range n.Attr {
			assert.NotContains(t, []string{"src", "srcset", "style-src"}, a.Key)
			assert.False(t, strings.HasPrefix(a.Key, "on"), "%s of %s runs a script", a.Key, n.Data)
			if a.Key == "href" {
				require.True(t, strings.HasPrefix(a.Val, "#"), "%s leads out of the page", a.Val)
				assert.Contains(t, d.ids, a.Val[1:], "the link leads nowhere")
			}
		}
	}
	assert.False(t, regexp.MustCompile(`(?i)@import|url\(`).MatchString(d.text), "something is to be loaded")
}

// agrees makes sure that the figures of the page are those of the JSON.
func (d doc) agrees(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v))
	require.Greater(t, len(d.figures), 10)
	for name, shown := range d.figures {
		at := v
		parts := strings.Split(name, ".")
		if parts[0] == "fault" {
			for _, f := range v.(map[string]any)["faults"].([]any) {
				if fmt.Sprint(f.(map[string]any)["id"]) == parts[1] {
					at = f
				}
			}
			parts = parts[2:]
		}
		for _, p := range parts {
			at = at.(map[string]any)[p]
		}
		assert.Equal(t, fmt.Sprint(at), strings.ReplaceAll(shown, ",", ""), name)
	}
}

func TestAReportOfAFailedRunShowsAllThereIsToKnow(t *testing.T) {
	for how, run := range map[string]func(context.Context, *scenario.Scenario, scenario.Watcher) (scenario.Result,
		error){"virtual": virtual, "live": live} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := load(t, fmt.Sprintf(everything, "kary-ntree:4,2"))
			rec := report.NewRecorder(s)
			result, err := run(t.Context(), s, rec)
			require.NoError(t, err)
			require.False(t, result.Pass)
			dir := filepath.Join(t.TempDir(), "made", "for it")
			path, err := rec.Write(dir,
				report.About{Scenario: s, Command: "fabricd run 'a <file>.yaml'", Version: "v1", Began: time.Unix(1e9, 0)})
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(dir, report.PageName), path)

			d := read(t, path)
			d.selfContained(t)
			d.agrees(t, filepath.Join(dir, report.JSONName))
			data, err := os.ReadFile(filepath.Join(dir, report.JSONName))
			require.NoError(t, err)
			want, err := json.Marshal(result)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(data))

			all := content(d.root)
			for _, want := range []string{
				"FAIL", "everything <b> & more", "Links & switches <fail>.", "fabricd run 'a <file>.yaml'", "v1",
				"kary-ntree:4,2: 8 switches, 16 NICs, 32 links",
				"updown", "uniform:0.3", "pacing unpaced: ", "tier 1", "crash s0.2; impair s0.3-s1.3, loss 20%", "crashed",
				"heal all", "the end", "Latency from generation to delivery",
			} {
				has(t, all, want)
			}
			for _, why := range result.Failed {
				has(t, content(d.ids["failed"]), why)
			}
			require.Len(t, result.Faults, 5)
			for _, f := range result.Faults {
				section := content(d.ids[fmt.Sprintf("fault-%d", f.ID)])
				has(t, section, f.What)
				for _, figure := range f.Figures() {
					has(t, strings.ReplaceAll(section, ",", ""), strings.ReplaceAll(figure.Label+" "+figure.Text, ",", ""))
				}
			}
			has(t, content(d.ids["events"]), "link down s0.0-s1.0")
			assert.Equal(t, 7, strings.Count(d.text, `class="scene"`), "six instants with steps, and the end")
			for what, dash := range map[string]string{"cut": "7 4", "silent cut": "2 3", "flap": "8 3 2 3", "down": "3 3"} {
				assert.Greater(t, strings.Count(d.text, `stroke-dasharray="`+dash+`"`), 1, "%s is in the legend alone", what)
			}
			assert.GreaterOrEqual(t, strings.Count(d.text, "<svg"), 12)
		})
	}
}

func TestTheSameRunGivesTheSameReport(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	pages, hashes := []string{}, []string{}
	for range 2 {
		s := load(t, fmt.Sprintf(everything, "kary-ntree:4,2"))
		rec := report.NewRecorder(s)
		result, err := virtual(t.Context(), s, rec)
		require.NoError(t, err)
		dir := t.TempDir()
		path, err := rec.Write(dir, report.About{Scenario: s})
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		pages = append(pages, regexp.MustCompile(`<th>took</th><td>[^<]*`).ReplaceAllString(string(data), ""))
		hashes = append(hashes, result.EventHash)
	}
	assert.Equal(t, pages[0], pages[1])

	s := load(t, fmt.Sprintf(everything, "kary-ntree:4,2"))
	unwatched, err := virtual(t.Context(), s, nil)
	require.NoError(t, err)
	assert.Equal(t, unwatched.EventHash, hashes[0], "watching changed the run")
}

func TestWhatIsReroutedIsShownWhereItIs(t *testing.T) {
	t.Parallel()
	s := load(t, "name: one\ntopology: kary-ntree:2,3\nrouting: adaptive-link\ntraffic: uniform:0.3\nduration: "+
		"300ms\ntimeline: [{at: 100ms, cut: s0.00-s1.00}, {at: 200ms, heal: true}]\nexpect: {reroutes_at_least: 1}\n")
	rec := report.NewRecorder(s)
	result, err := virtual(t.Context(), s, rec)
	require.NoError(t, err)
	require.True(t, result.Pass, "%v", result.Failed)
	path, err := rec.Write(t.TempDir(), report.About{Scenario: s})
	require.NoError(t, err)
	d := read(t, path)
	has(t, content(d.root), "PASS one")
	m := regexp.MustCompile(
		`Until 0\.200 s packets were re-routed (\d+) times, (\d+) of them U-turns: s0\.00 (\d+)`).FindStringSubmatch(
		content(d.root))
	require.NotNil(t, m, "the switch beside the cut is not the first that is named")
	has(t, content(d.root), "s0.00: re-routed "+m[3]+", ")
	assert.Equal(t, fmt.Sprint(result.Rerouted), m[1], "all was re-routed between the cut and the repair")
}

// stopping ends the run as Ctrl-C does, once it has seen a step.
type stopping struct {
	*report.Recorder
	stop func()
}

func (s stopping) After(f *fabric.Fabric, steps []string) {
	s.Recorder.After(f, steps)
	if strings.HasPrefix(steps[0], "crash") {
		s.stop()
	}
}

func TestAnInterruptedRunHasAReportOfWhatWasKnown(t *testing.T) {
	for how, run := range map[string]func(context.Context, *scenario.Scenario, scenario.Watcher) (scenario.Result,
		error){"virtual": virtual, "live": live} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s := load(t, fmt.Sprintf(everything, "kary-ntree:4,2"))
			rec := report.NewRecorder(s)
			_, err := run(ctx, s, stopping{rec, stop})
			require.ErrorIs(t, err, context.Canceled)
			dir := t.TempDir()
			path, err := rec.Write(dir, report.About{Scenario: s})
			require.NoError(t, err)
			d := read(t, path)
			d.selfContained(t)
			d.agrees(t, filepath.Join(dir, report.JSONName))
			has(t, content(d.root), "NOT FINISHED")
			has(t, content(d.root), "Not judged: interrupted")
			assert.NotContains(t, d.ids, "failed")
			assert.Contains(t, d.ids, "fault-4")
			assert.NotContains(t, d.ids, "fault-5")
			data, err := os.ReadFile(filepath.Join(dir, report.JSONName))
			require.NoError(t, err)
			assert.Contains(t, string(data), `"error":"interrupted: context canceled"`)
			assert.Contains(t, string(data), `"pass":false`)
		})
	}
}

func TestARunWithManyStepsIsBounded(t *testing.T) {
	t.Parallel()
	testenv.Raced(t)
	text := "name: many\ntopology: ring:4\nrouting: static\nduration: 1s\ntimeline:\n"
	if _, err := scenario.Load(t.Context(), "x.yaml", []byte(text+"  - {at: 0s, heal: true}\nexpect: {}\n")); err != nil {
		text = strings.Replace(text, "static", "none", 1)
	}
	for i := range 50 {
		verb := "cut"
		if i%2 == 1 {
			verb = "restore"
		}
		text += fmt.Sprintf("  - {at: %dms, %s: s0-s1}\n", 10*i+10, verb)
	}
	s := load(t, text+"expect: {}\n")
	rec := report.NewRecorder(s)
	_, err := virtual(t.Context(), s, rec)
	require.NoError(t, err)
	path, err := rec.Write(t.TempDir(), report.About{Scenario: s})
	require.NoError(t, err)
	d := read(t, path)
	assert.Equal(t, 31, strings.Count(d.text, `class="scene"`))
	has(t, content(d.root), "20 more steps have no map here")
	assert.Contains(t, d.ids, "fault-25", "all faults have their reports")
}

func TestOnlyAReportOfTheSameScenarioIsReplaced(t *testing.T) {
	t.Parallel()
	s := load(t, "name: one\ntopology: ring:3\nrouting: none\nduration: 20ms\nexpect: {}\n")
	rec := report.NewRecorder(s)
	_, err := rec.Write(t.TempDir(), report.About{Scenario: s})
	require.ErrorIs(t, err, report.ErrNothing)
	_, err = virtual(t.Context(), s, rec)
	require.NoError(t, err)
	about := report.About{Scenario: s}

	dir := t.TempDir()
	require.NoError(t, report.Check(dir, "one"), "an empty folder is free")
	for range 2 {
		_, err = rec.Write(dir, about)
		require.NoError(t, err)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "nothing is left beside the two files")
	assert.ErrorIs(t, report.Check(dir, "two"), report.ErrTaken)
	assert.EqualError(t, report.Check(dir, "two"),
		"the folder holds another report: that in "+dir+" is of one, this one is of two: name another folder, or remove it")

	for name, text := range map[string]string{report.JSONName: `{"scenario":"two"}`, report.PageName: "mine"} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		_, err = rec.Write(dir, about)
		require.ErrorIs(t, err, report.ErrTaken)
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, text, string(data))
	}
	for _, text := range []string{"", "[1]", "{}", `{"scenario":7}`} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, report.JSONName), []byte(text), 0o600))
		assert.ErrorIs(t, report.Check(dir, "one"), report.ErrTaken, text)
	}
}

func TestAReportThatCannotBeWrittenLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := load(t, "name: one\ntopology: ring:3\nrouting: none\nduration: 20ms\nexpect: {}\n")
	rec := report.NewRecorder(s)
	_, err := virtual(t.Context(), s, rec)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = rec.Write(filepath.Join(file, "below"), report.About{Scenario: s})
	require.Error(t, err)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, report.JSONName), []byte(`{"scenario":"one"}`), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, report.PageName), 0o700))
	_, err = rec.Write(dir, report.About{Scenario: s})
	require.ErrorContains(t, err, report.PageName+": it is a folder: make room or mend that, and run again")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "a file that is not whole is left")
}
