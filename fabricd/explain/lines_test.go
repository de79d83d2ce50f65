package explain_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/explain"
)

// defaults is a question that a line need not add anything to.
// What is asked after the context has ended is not answered.
func TestLinesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	_, err := explain.New(nil).Lines(ctx, defaults(), "", strings.NewReader("{}\n{}\n"), &out)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, out.String())
}

func defaults() explain.Question {
	q := explain.NewQuestion()
	q.Topology, q.Routing = "kary-ntree:2,3", "updown"
	q.Switch, q.In, q.Dst = explain.Name("s1.00"), explain.Name("s2.00"), explain.Name("n100")
	return q
}

func TestLinesStandOverTheDefaults(t *testing.T) {
	t.Parallel()
	q := defaults()
	q.Routing = "adaptive-link"
	q.Dead, q.State = []explain.Ref{explain.Number(2)}, map[string]uint64{}
	var out bytes.Buffer
	in := "{}\r\n" + `{"dead_ports": [], "state": {"reroute-vector": 1}}` + "\n\n" + `{"id": 9, "switch": "x"}` + "\n{}"
	tally, err := explain.New(nil).Lines(t.Context(), q, "f.jsonl", strings.NewReader(in), &out)
	require.NoError(t, err)
	require.Equal(t, explain.Tally{Lines: 4, Bad: 1}, tally)
	var ports, lines []int
	for line := range strings.Lines(out.String()) {
		var a explain.Answer
		require.NoError(t, json.Unmarshal([]byte(line), &a))
		require.Equal(t, "f.jsonl", a.File)
		lines = append(lines, a.Line)
		if a.Error != "" {
			require.JSONEq(t, "9", string(a.ID))
		} else {
			ports = append(ports, a.Candidates[0].Port)
		}
	}
	require.Equal(t, []int{3, 2, 3}, ports, "no line changes the defaults of the next")
	require.Equal(t, []int{1, 2, 4, 5}, lines)
	require.Empty(t, q.State)
}

func TestALineTooLongIsAnsweredAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	for _, pad := range []int{explain.MaxLine - 2, explain.MaxLine - 1, 3 * explain.MaxLine} {
		var out bytes.Buffer
		in := "{" + strings.Repeat(" ", pad) + "}\n{}\n"
		tally, err := explain.New(nil).Lines(t.Context(), defaults(), "", strings.NewReader(in), &out)
		require.NoError(t, err)
		bad := 1
		if pad+2 <= explain.MaxLine {
			bad = 0
		}
		require.Equal(t, explain.Tally{Lines: 2, Bad: bad}, tally, pad)
		require.Equal(t, bad, strings.Count(out.String(), "more than 1048576 bytes in one line"))
	}
}

// A program that asks one question at a time must have its answer before it sends the next.
func TestAnswersComeBeforeTheNextQuestion(t *testing.T) {
	t.Parallel()
	askIn, ask := io.Pipe()
	answers, answerOut := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := explain.New(nil).Lines(t.Context(), defaults(), "", askIn, answerOut)
		done <- err
	}()
	r := bufio.NewReader(answers)
	for range 3 {
		_, err := io.WriteString(ask, "{}\n")
		require.NoError(t, err)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, `"rule":"1: up"`)
	}
	require.NoError(t, ask.Close())
	require.NoError(t, <-done)
}

func TestAListOfPortsIsBounded(t *testing.T) {
	t.Parallel()
	q := defaults()
	list := func(n int) []byte { return []byte(`{"dead_ports": [0` + strings.Repeat(",0", n-1) + `]}`) }
	require.NoError(t, q.Decode(list(256)))
	require.EqualError(t, q.Decode(list(257)), "dead_ports: 257 ports, expected at most 256")
}

type refuses struct{}

func (refuses) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrorsOfFilesAreTold(t *testing.T) {
	t.Parallel()
	in := io.MultiReader(strings.NewReader("{}\n"), iotest.ErrReader(errors.New("torn")))
	var out bytes.Buffer
	tally, err := explain.New(nil).Lines(t.Context(), defaults(), "", in, &out)
	require.EqualError(t, err, "line 2: torn")
	require.Equal(t, 1, tally.Lines)
	require.Equal(t, 1, strings.Count(out.String(), "\n"), "what was answered is there")
	_, err = explain.New(nil).Lines(t.Context(), defaults(), "", strings.NewReader("{}\n"), refuses{})
	require.ErrorContains(t, err, "disk full")
}

// Whatever stands in a line, it gets one answer in one line, and no firmware panics on it.
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"switch": 3, "in": 1, "vc": 1, "header": {"dst": 5, "misroute": "01", "port_field": -2}}`,
		`{"routing": "deterministic-link", "switch": "s1.10", "in": "s0.00", "dead_ports": ["s0.10", 1]}`,
		`{"routing": "adaptive-link", "vcs": 16, "vc": 15, "state": {"reroute-vector": 3}, "free": 0, "random": 1, "id": [{}]}`,
		`{"topology": "ring:3", "routing": "none", "switch": 0}`, `[`, `{"header": {`, "\xff",
		`{"topology": "mport-tree:4,2", "in": 2}`,
	} {
		f.Add([]byte(s))
	}
	e := explain.New(nil)
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\n") || len(bytes.TrimSpace(line)) == 0 || big(line) {
			return
		}
		var out bytes.Buffer
		tally, err := e.Lines(t.Context(), defaults(), "", bytes.NewReader(line), &out)
		require.NoError(t, err)
		require.Equal(t, 1, tally.Lines)
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")))
		var a explain.Answer
		require.NoError(t, json.Unmarshal(out.Bytes(), &a))
		require.NotContains(t, a.Error, "BUG")
		require.Equal(t, a.Error == "", a.Decision != nil)
		if a.Decision != nil {
			require.Empty(t, a.Problems)
			require.NotEmpty(t, a.Rule)
		}
	})
}

// big reports whether a line may name a topology that takes long to make, or a file.
func big(line []byte) bool {
	var v struct{ Topology string }
	return json.Unmarshal(line, &v) == nil && v.Topology != "" && v.Topology != "ring:3" && v.Topology != "mport-tree:4,2"
}

func BenchmarkExplainerLines(b *testing.B) {
	const n = 1000
	line :=
		`{"switch": "s1.00", "in": "s2.00", "header": {"dst": 6}, "dead_ports": [2], "state": {"reroute-vector": "01"}}` +
			"\n"
	q := defaults()
	q.Routing = "adaptive-link"
	e := explain.New(nil)
	b.ReportAllocs()
	for b.Loop() {
		tally, err := e.Lines(b.Context(), q, "", strings.NewReader(strings.Repeat(line, n)), io.Discard)
		if err != nil || tally.Bad > 0 {
			b.Fatal(tally, err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "lines/s")
}
