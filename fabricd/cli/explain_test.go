package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-fabric/weft/fabricd/cli"
	"github.com/weft-fabric/weft/fabricd/cli/command"
	"github.com/weft-fabric/weft/fabricd/explain"
	"github.com/weft-fabric/weft/harness/rig"
)

func TestExplainTellsOneDecisionByFlags(t *testing.T) {
	t.Parallel()
	out, errs, code := fabricd(t, "explain", "--switch", "s1.10", "--in-port", "s0.00", "--dst", "n000", "--state", "reroute-vector=0100")
	require.Zero(t, code, errs)
	require.Equal(t, `switch     s1.10, adaptive-link
packet     for n000, from s0.00 (above) by port 4, vc 0
rule       4: U-turn, an up port not in the re-route vector
step       u-turn
goes to    s0.10 by port 5, vc 0
           s0.30 by port 7, vc 0
writes     reroute-vector = 0101
looked at  registers
`, out)

	out, errs, code = fabricd(t, "explain", "--topology", "kary-ntree:2,3", "--routing", "deterministic-link", "--switch", "4", "--in-port", "0", "--vc", "1",
		"--dst", "1", "--src", "0", "--dead-ports", "1,s0.00", "--port-field=-2", "--misroute", "01", "--free", "0", "--json")
	require.Zero(t, code, errs)
	var a explain.Answer
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	require.Equal(t, "s1.00", a.Switch)
	require.Equal(t, "2: down", a.Rule)
	require.Equal(t, []explain.Candidate{{Port: 0, To: "s2.00", ToPort: 2, VC: 1, Need: 1}}, a.Candidates)

	out, errs, code = fabricd(t, "explain", "--topology", "irregular:8,16,1", "--routing", "escape:layers=3", "--switch", "0", "--in-port", "n0", "--dst", "n5",
		"--vc", "2", "--layers", "100")
	require.Zero(t, code, errs)
	require.Contains(t, out, ", vc 2, layers 100\nrule       escape: any way in the adaptive layers, or the escape layer\n")
}

func TestExplainNamesTheFlagThatIsWrong(t *testing.T) {
	t.Parallel()
	one := func(args ...string) []string {
		return append([]string{"explain", "--switch", "s1.10", "--in-port", "0", "--dst", "0"}, args...)
	}
	refused(t, `--switch: unknown switch "s9.10"`, one("--switch", "s9.10")...)
	refused(t, `--in-port: s1.10 and s0.01 are not linked: s1.10 is linked to`, one("--in-port", "s0.01")...)
	refused(t, `--in-port: missing`, "explain", "--switch", "s1.10")
	refused(t, `--dst: NIC 64: expected 0 to 63`, one("--dst", "64")...)
	refused(t, `--src: NIC -1: expected`, one("--src", "-1")...)
	refused(t, `--dead-ports: port 8 of s1.10: expected 0 to 7`, one("--dead-ports", "0,8")...)
	refused(t, `--vc: found 1, expected 0 to 0`, one("--vc", "1")...)
	refused(t, `--vcs 17: expected 0 to 16`, one("--vcs", "17")...)
	refused(t, `--free -1: expected 0 to 4096`, one("--free", "-1")...)
	refused(t, `--routing: unknown routing "updonw": did you mean "updown"?`, one("--routing", "updonw")...)
	refused(t, `--topology: unknown topology "rng:3"`, one("--topology", "rng:3")...)
	refused(t, `--state: unknown register "vector"`, one("--state", "vector=1")...)
	refused(t, `--state reroute-vector: found "2", expected 1 to 64 bits`, one("--state", "reroute-vector=2")...)
	refused(t, `--state reroute-vector: found 10000, expected at most 4 bits`, one("--state", "reroute-vector=10000")...)
	refused(t, `--sub: sub-headers are at most 4`, one("--sub", "x;end")...)
	refused(t, `--misroute: found "x"`, one("--misroute", "x")...)
	refused(t, `--layers: found "x"`, one("--layers", "x")...)
	refused(t, `--layers: found 10000000000000000, expected at most 16 bits`, one("--layers", "10000000000000000")...)
	refused(t, `--path`, one("--path", "65536")...)
	refused(t, `--port-field: found -3, expected a port, or -1 or -2`, one("--port-field=-3")...)
}

// explainLines answers what stands on standard input.
func explainLines(t *testing.T, ctx context.Context, stdin io.Reader, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs rig.Output
	cmd := cli.Command()
	cmd.SetIn(stdin)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(append([]string{"explain"}, args...))
	code = command.Run(ctx, cmd)
	return out.String(), errs.String(), code
}

func TestExplainAnswersLinesOfStandardInputAndFiles(t *testing.T) {
	t.Parallel()
	const good, bad = `{"header": {"dst": "n100"}}`, `{"header": {"dst": "n900"}}`
	file := filepath.Join(t.TempDir(), "questions.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(good+"\n"+good+"\n"), 0o600))

	at := []string{"--switch", "s1.00", "--in-port", "s2.00"}
	out, errs, code := explainLines(t, t.Context(), strings.NewReader(good), append(at, "-")...)
	require.Zero(t, code, errs)
	require.Contains(t, out, `{"line":1,"switch":"s1.00",`)
	out, errs, code = explainLines(t, t.Context(), strings.NewReader(`{"switch": 0, "in": 0, "header": {"dst": 0}}`))
	require.Zero(t, code, errs)
	require.Contains(t, out, `"switch":"s0.00"`)

	out, errs, code = explainLines(t, t.Context(), strings.NewReader(bad+"\n"+good), append(at, file, "-", file+"x")...)
	require.Equal(t, command.ExitUnusable, code)
	require.Equal(t, 4, strings.Count(out, "\n"), "every line has its answer, in all files that can be read")
	require.Equal(t, 3, strings.Count(out, `"rule"`))
	require.Contains(t, out, `{"line":1,"error":"header.dst: unknown NIC \"n900\"`)
	require.Contains(t, errs, "questions.jsonlx: no such file or directory")
	require.Contains(t, errs, `1 of 4 questions cannot be answered: see "error" in the answers`)
}

func TestExplainEndsWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	stdin, ask := io.Pipe()
	ctx, interrupt := context.WithTimeout(t.Context(), rig.Patience)
	defer interrupt()
	type result struct {
		errs string
		code int
	}
	done := make(chan result, 1)
	go func() {
		_, errs, code := explainLines(t, ctx, stdin)
		done <- result{errs, code}
	}()
	_, err := io.WriteString(ask, "{}\n") // it is read, so explain is under way
	require.NoError(t, err)
	interrupt()
	r := rig.Next(t, done, "it does not wait for standard input")
	require.Equal(t, command.ExitUnusable, r.code)
	require.Contains(t, r.errs, "interrupted, not all questions are answered")
	require.NoError(t, ask.Close()) // ends the reader
}
